"""Prompt files: what a model is told, the examples it is shown, and how it is sampled.

A prompt is a TOML file that people write and review. It is known by the hash of what it says, so that answers to an
earlier wording are never taken for answers to this one; comments, layout and the file's name do not count.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, cast

from assay.rules import Taxonomy
from assay.rules.documents import DocumentError, Fields, OneLineError, read_toml
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields
from assay.study.contract import ClassificationContract, TextContract, VerdictContract, read_contract
from assay.study.errors import StudyError

ContractName = Literal["classification", "distribution", "verdict"]

CONTRACTS: Final[tuple[ContractName, ...]] = ("classification", "distribution", "verdict")
"""How a reply to a prompt is read; see `assay.rules.parsing`."""

DEFAULT_MAX_TOKENS: Final = 300
"""Tokens of a completion that are paid for unless a prompt says otherwise."""


class PromptError(OneLineError):
    """A prompt file that cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class Example:
    """One question with the whole reply that is wanted for it."""

    question: str
    reply: str


@dataclass(frozen=True)
class Sampling:
    """How a model writes its completion.

    Parameters
    ----------
    temperature : float in [0, 2]
        Sent unless the model refuses it.
    max_tokens : int
        Most tokens of a completion, at least 1.
    n : int
        Samples of each item, at least 1. Each is an ask of its own, with a run number from 0; more than one gives
        votes.
    """

    temperature: float = 0.0
    max_tokens: int = DEFAULT_MAX_TOKENS
    n: int = 1


DEFAULT_SAMPLING: Final = Sampling()


@dataclass(frozen=True)
class PromptFile:
    """A prompt as it is sent.

    Parameters
    ----------
    name : str
        What people call it; not a part of what is sent.
    contract : {"classification", "distribution", "verdict"}
    system : str
        The system text, letter for letter: nothing is ever put into it.
    examples : tuple of Example
    sampling : Sampling
    questions : mapping of str to mapping
        For the distribution contract, the questions as the file spells them; empty otherwise. A choice without
        criteria is among the classes of the taxonomy.
    question : str, optional
        For the distribution contract, the id of the question whose answer a study evaluates.
    source : str
        What messages call the file.
    """

    name: str
    contract: ContractName
    system: str
    examples: tuple[Example, ...] = ()
    sampling: Sampling = DEFAULT_SAMPLING
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    question: str | None = None
    source: str = field(default="prompt", compare=False)

    @cached_property
    def hash(self) -> str:
        """The sha256 (64 hex digits) of all that decides an answer: contract, texts, questions and sampling."""
        content = {
            "contract": self.contract,
            "system": self.system,
            "examples": [[one.question, one.reply] for one in self.examples],
            "questions": {name: dict(table) for name, table in self.questions.items()},
            "question": self.question,
            "sampling": [float(self.sampling.temperature), self.sampling.max_tokens, self.sampling.n],
        }
        canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def contract_for(self, taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS) -> TextContract:
        """Return what reads the replies to this prompt.

        Parameters
        ----------
        taxonomy : Taxonomy
        fields : AnswerFields
            What the fields of a classification are called; the other contracts name theirs themselves.

        Raises
        ------
        PromptError
            If a question of a distribution prompt is not one (the message names its field), or the labels of the
            question to evaluate are not classes of the taxonomy.
        """
        if self.contract == "classification":
            return ClassificationContract(fields)
        if self.contract == "verdict":
            return VerdictContract()
        table = {"kind": self.contract, "question": self.question, "questions": dict(self.questions)}
        try:
            return cast(TextContract, read_contract(table, self.source, taxonomy))
        except (DocumentError, StudyError) as error:
            raise PromptError(str(error)) from None


def load_prompt(path: Path | str) -> PromptFile:
    """Read a prompt file.

    Parameters
    ----------
    path : path of a TOML file in UTF-8

    Raises
    ------
    PromptError
        If it cannot be read, is not TOML (the line is named), or a field is missing, unknown or of the wrong type.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PromptError(f"{path}: cannot be read ({error.strerror or 'I/O error'})") from None
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: not UTF-8 text (byte {error.start + 1:,})") from None
    return parse_prompt(text, str(path))


def parse_prompt(text: str, source: str = "prompt") -> PromptFile:
    """Read the text of a prompt file; `source` is what messages call it.

    Raises
    ------
    PromptError
        As `load_prompt`.
    """
    try:
        document = read_toml(text.replace("\r\n", "\n"), source)
        document.setdefault("example", [])
        return _prompt(Fields(document, source), source)
    except DocumentError as error:
        raise PromptError(str(error)) from None


def _prompt(fields: Fields, source: str) -> PromptFile:
    name = _not_blank(fields, "name")
    contract = fields.text("contract")
    if contract not in CONTRACTS:
        raise PromptError(f"{source}.contract must be one of {', '.join(CONTRACTS)}, got {contract!r}")
    system = _not_blank(fields, "system")
    examples = tuple(_example(one) for one in fields.objects("example"))
    sampling = _sampling(Fields(fields.take("sampling", {}), f"{source}.sampling"))
    questions: dict[str, Any] = {}
    question = None
    if contract == "distribution":
        questions = _tables(fields.take("questions"), f"{source}.questions")
        question = fields.text("question", next(iter(questions)))
        if question not in questions:
            raise PromptError(f"{source}.question must be one of {', '.join(questions)}, got {question!r}")
    fields.done()
    return PromptFile(name, cast(ContractName, contract), system, examples, sampling, questions, question, source)


def _tables(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not value or not all(isinstance(one, dict) for one in value.values()):
        raise PromptError(f"{where} must hold a table for each question, at least one")
    return value


def _example(fields: Fields) -> Example:
    example = Example(_not_blank(fields, "question"), _not_blank(fields, "reply"))
    fields.done()
    return example


def _sampling(fields: Fields) -> Sampling:
    temperature = fields.take("temperature", 0.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise PromptError(f"{fields.where}.temperature must lie in [0, 2], got {temperature!r}")
    max_tokens, samples = fields.whole("max_tokens", DEFAULT_MAX_TOKENS), fields.whole("n", 1)
    fields.done()
    for name, value in (("max_tokens", max_tokens), ("n", samples)):
        if value < 1:
            raise PromptError(f"{fields.where}.{name} must be at least 1, got {value}")
    if samples > 1 and temperature == 0:
        raise PromptError(f"{fields.where}.n is {samples} at temperature 0, where every sample is the same")
    return Sampling(float(temperature), max_tokens, samples)


def _not_blank(fields: Fields, name: str) -> str:
    value = cast(str, fields.text(name))
    if not value.strip():
        raise PromptError(f"{fields.where}.{name} must not be blank")
    return value
