"""What is sent: the messages, the schema of the reply, and the parameters that this model has not refused.

Everything before the question is the same bytes in every request under one prompt, so that a provider's prompt cache
applies. The parameters start at what the spec of an ask says and give way one at a time where a model refuses one; what
was learnt is a `Dialect`.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Self

from assay.ask.prompts import ContractName, PromptFile
from assay.ask.schema import reply_schema
from assay.rules import Taxonomy
from assay.rules.answers import Question
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields
from assay.study.contract import DistributionContract

Format = Literal["strict_schema", "json_schema", "json_object", "text"]
"""How firmly the shape of a reply is asked for, most firmly first."""

FORMATS: Final[tuple[Format, ...]] = ("strict_schema", "json_schema", "json_object", "text")

Parameter = Literal["response_format", "temperature", "max_tokens", "max_completion_tokens", "logprobs", "seed"]
"""A parameter of a request without which it can be sent again."""

MOST_TOP_LOGPROBS: Final = 20
"""Alternatives for each token that hosted models give at most."""

_FEWER_TOP_LOGPROBS: Final = 5

# Known to refuse temperature, max_tokens and logprobs; guessing spares the calls that would tell. Others are asked.
_REASONING = re.compile(r"(?:.*/)?(?:o[1-9]|gpt-5(?!-chat))(?:-[\w.-]*)?")


@dataclass(frozen=True)
class Patience:
    """How long an ask is kept up; it does not change what is asked.

    Parameters
    ----------
    timeout : float
        Seconds that one try may take from first byte sent to last byte read.
    tries : int
        Most requests that one ask may send, at least 1; requests that a model refused for a parameter do not count.
    first_wait, longest_wait : float
        Seconds before the second try, doubled for each further one, and their ceiling. A longer wait named by the
        provider ends the ask instead.
    """

    timeout: float = 60.0
    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise ValueError(f"tries must be a whole number of at least 1, got {self.tries!r}")
        for name, lowest in (
            ("timeout", "above 0"),
            ("first_wait", "of at least 0"),
            ("longest_wait", "of at least 0"),
        ):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < float("inf") or (name == "timeout" and value == 0):
                raise ValueError(f"{name} must be a number of seconds {lowest}, got {value!r}")


DEFAULT_PATIENCE: Final = Patience()


@dataclass(frozen=True)
class Settings:
    """What an ask wants beyond its prompt.

    Parameters
    ----------
    format : {"strict_schema", "json_schema", "json_object", "text"}
        The firmest form to try; a model that does not offer it gets the next.
    top_logprobs : int
        Alternatives to ask for at each token, from which token confidence is read; 0 asks for no log probabilities.
        Hosted models give 20 at most.
    seed : int, optional
        Sent where given and not refused. No provider promises the same text for it.
    patience : Patience
    """

    format: Format = "strict_schema"
    top_logprobs: int = MOST_TOP_LOGPROBS
    seed: int | None = None
    patience: Patience = DEFAULT_PATIENCE

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        for name, value in (("top_logprobs", self.top_logprobs), ("seed", 0 if self.seed is None else self.seed)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")

    def digest(self) -> str:
        """Return the sha256 (64 hex digits) of what may change an answer; patience does not."""
        canonical = json.dumps([self.format, self.top_logprobs, self.seed], separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


DEFAULT_SETTINGS: Final = Settings()


class AskKey(NamedTuple):
    """What makes two asks the same ask."""

    item_id: str
    model: str
    prompt_hash: str
    settings_digest: str
    run: int


@dataclass(frozen=True)
class Ask:
    """One item put to one model under one prompt, once.

    Parameters
    ----------
    item_id : str
    text : str
        The item itself, which becomes the last message.
    prompt : PromptFile
    model : str
        Name of the model; on Azure, of the deployment.
    run : int
        Which of the repeated asks this is, from 0.
    settings : Settings
    """

    item_id: str
    text: str
    prompt: PromptFile
    model: str
    run: int = 0
    settings: Settings = DEFAULT_SETTINGS

    @property
    def key(self) -> AskKey:
        """What the answer is stored under."""
        return AskKey(self.item_id, self.model, self.prompt.hash, self.settings.digest(), self.run)

    @property
    def text_hash(self) -> str:
        """The sha256 (64 hex digits) of the item's text, to notice that it was changed under the same id."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Dialect:
    """Which parameters a model takes.

    Parameters
    ----------
    format : {"strict_schema", "json_schema", "json_object", "text"}
        The firmest form that was not refused.
    temperature, seed : bool
        Whether they may be sent.
    limit : {"max_tokens", "max_completion_tokens"}
        What the limit of a completion is called.
    top_logprobs : int
        Most alternatives for each token that may be asked for; 0 for no log probabilities at all.
    """

    format: Format = "strict_schema"
    temperature: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    top_logprobs: int | None = None
    seed: bool = True

    @classmethod
    def expected_of(cls, model: str) -> Self:
        """Return what is tried first: everything, except with models that are known to refuse some of it."""
        if _REASONING.fullmatch(model):
            return cls(temperature=False, limit="max_completion_tokens", top_logprobs=0)
        return cls()

    def without(self, refused: Parameter, sent: Mapping[str, Any]) -> Self | None:
        """Return what to try after a refusal, or None if there is nothing left to give up.

        Parameters
        ----------
        refused : str
            The parameter that the model would not take.
        sent : mapping
            The request that it refused.
        """
        if refused == "response_format":
            at = FORMATS.index(sent_format(sent))
            return replace(self, format=FORMATS[at + 1]) if at + 1 < len(FORMATS) else None
        if refused == "temperature":
            return replace(self, temperature=False)
        if refused == "seed":
            return replace(self, seed=False)
        if refused == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if refused == "logprobs":
            asked = sent.get("top_logprobs", 0)
            return replace(self, top_logprobs=_FEWER_TOP_LOGPROBS if asked > _FEWER_TOP_LOGPROBS else 0)
        return None


class Dialects:
    """The dialects of models, each as far as it is known."""

    def __init__(self) -> None:
        self._learnt: dict[tuple[str, ContractName], Dialect] = {}

    def of(self, model: str, contract: ContractName) -> Dialect:
        """Return the parameters to try with a model: those that it took last time, else all that are expected of it."""
        return self._learnt.get((model, contract)) or Dialect.expected_of(model)

    def learn(self, model: str, contract: ContractName, dialect: Dialect) -> None:
        """Remember the parameters that a model took."""
        self._learnt[model, contract] = dialect


EVERYTHING: Final = Dialect()
"""The dialect of a model that refuses nothing."""


def build_request(
    ask: Ask, taxonomy: Taxonomy, dialect: Dialect = EVERYTHING, fields: AnswerFields = DEFAULT_FIELDS
) -> dict[str, Any]:
    """Build the body of a chat completion request.

    Parameters
    ----------
    ask : Ask
    taxonomy : Taxonomy
    dialect : Dialect
        What the model is known to take.
    fields : AnswerFields
        What the fields of a classification are called.

    Returns
    -------
    dict
        JSON for ``/chat/completions``. Of two requests under one prompt, only the last message differs.
    """
    prompt = ask.prompt
    contract = prompt.contract_for(taxonomy, fields)
    questions = contract.questions if isinstance(contract, DistributionContract) else {}
    schema = reply_schema(prompt, taxonomy, fields, questions)
    shown = [(example.question, example.reply) for example in prompt.examples]
    texts = [(render(questions, question), reply) for question, reply in shown] if questions else shown
    last = render(questions, ask.text) if questions else ask.text
    return assemble(ask.model, prompt, chat(prompt.system, texts, last), schema, ask.settings, dialect)


def assemble(
    model: str,
    prompt: PromptFile,
    messages: list[dict[str, str]],
    schema: dict[str, Any],
    settings: Settings,
    dialect: Dialect,
    max_tokens: int | None = None,
) -> dict[str, Any]:
    """Put a request together from its messages and the schema of the reply, leaving out what the model refuses."""
    body: dict[str, Any] = {"model": model, "messages": messages}
    if dialect.temperature:
        body["temperature"] = prompt.sampling.temperature
    body[dialect.limit] = max_tokens or prompt.sampling.max_tokens
    if settings.seed is not None and dialect.seed:
        body["seed"] = settings.seed
    form = FORMATS[max(FORMATS.index(settings.format), FORMATS.index(dialect.format), _firmest(prompt.contract))]
    if form == "json_object":
        body["response_format"] = {"type": "json_object"}
    elif form != "text":
        named = {"name": prompt.contract, "strict": form == "strict_schema", "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    top = settings.top_logprobs if dialect.top_logprobs is None else min(settings.top_logprobs, dialect.top_logprobs)
    if top:
        body["logprobs"] = True
        body["top_logprobs"] = top
    return body


def sent_format(body: Mapping[str, Any]) -> Format:
    """Return how firmly a request asked for the shape of its reply."""
    asked = body.get("response_format")
    if asked is None:
        return "text"
    if asked["type"] == "json_object":
        return "json_object"
    return "strict_schema" if asked["json_schema"]["strict"] else "json_schema"


def chat(system: str, examples: Sequence[tuple[str, str]], last: str) -> list[dict[str, str]]:
    """Return the messages: the system text as it is, the examples (question, reply), and the question."""
    messages = [{"role": "system", "content": system}]
    for question, reply in examples:
        messages += ({"role": "user", "content": question}, {"role": "assistant", "content": reply})
    messages.append({"role": "user", "content": last})
    return messages


def render(questions: Mapping[str, Question], state: str) -> str:
    """Write typed questions and the text they are about as one message, the text last.

    The same questions give the same letters up to the text, whatever the order of their ids.
    """
    asked = {
        name: {
            "kind": question.kind,
            "instructions": question.instructions,
            "labels": dict(question.meanings) or dict.fromkeys(question.labels, ""),
        }
        for name, question in sorted(questions.items())
    }
    return f"Questions:\n{json.dumps(asked, ensure_ascii=False)}\n\nText:\n{state}"


def _firmest(contract: ContractName) -> int:
    # Strict schemas allow no optional and no open fields, and a classification has both.
    return FORMATS.index("json_schema") if contract == "classification" else 0
