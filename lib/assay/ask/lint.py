"""What is wrong with a prompt before a model ever sees it.

A model copies the shape of its examples more readily than it follows the text above them, so each example has to be
the whole reply that is asked for. The lint also looks for what spoils a study in silence: an item that the prompt gives
away, a class that no example shows, a confidence that never varies, and a system text that is a template.
"""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assay.ask.prompts import PromptError, PromptFile, load_prompt
from assay.rules import Taxonomy
from assay.rules.answers import Answer
from assay.rules.parsing import (
    DEFAULT_FIELDS,
    VERDICTS,
    AnswerError,
    AnswerFields,
    parse_classification,
    parse_distribution,
    parse_verdict,
)
from assay.study.contract import ClassificationContract, DistributionContract, TextContract

if TYPE_CHECKING:
    from assay.study import Study

CERTAIN: Final = 0.9
"""A stated confidence above this needs no runner-up."""

MOST_REASON_CHARS: Final = 350
"""Characters under which a verdict prompt has to ask for a reason: one of up to 500 then lands uncut."""

NEARLY_THE_SAME: Final = 0.9
"""Share of matching characters from which two normalised questions count as one."""

_FEWEST_QUOTED_WORDS: Final = 4
_COMMON_WORDS: Final = 0.5
_ROUNDING: Final = 1e-9
_NO_OBJECT: Final = ("not_json", "ambiguous", "empty")

# Braces round a name or a number, as string formatting has them; JSON has a quote or nothing after a brace.
_PLACEHOLDER = re.compile(
    r"\{\{[^{}\"]*\}\}|\{%[^{}]*%\}|\$\{?[A-Za-z_]\w*\}?|<<[^<>\n]+>>|%\([A-Za-z_]\w*\)[sdrf]|%[sdr]\b"
    r"|\{[A-Za-z_][\w.\[\]]*(?:![rsa])?(?::[^{}\"\n]*)?\}|\{\d+\}|(?<!\":)(?<!\": )(?<![\[,])(?<![\[,] )\{\}"
)
_CHARACTERS = re.compile(r"(\d[\d,]*)\s*(?:characters|chars)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a prompt file.

    Parameters
    ----------
    file : str
    example : int or None
        Which few-shot example, counted from 1; None for the file as a whole.
    reason : str
        What is wrong and what is wanted.
    """

    file: str
    example: int | None
    reason: str

    def __str__(self) -> str:
        where = self.file if self.example is None else f"{self.file}: example {self.example}"
        return f"{where}: {self.reason}"


@dataclass(frozen=True)
class _Shown:
    """What the reply of one example says."""

    example: int
    chosen: tuple[str, ...]
    confidences: tuple[float, ...]
    alternatives: dict[str, float] | None = None
    flags: tuple[str, ...] = ()


_Found = Iterator[tuple[int | None, str]]


def lint_prompt(path: Path | str, study: "Study | None" = None) -> list[Finding]:
    """Look for faults in a prompt file.

    Parameters
    ----------
    path : path of a prompt file
    study : Study, optional
        The study that it is for. Its taxonomy says which labels there are and its contract what the fields are
        called, and its items must not be given away. Without it the labels of the examples are taken for all labels.

    Returns
    -------
    list of Finding
        In the order of the file; empty if nothing was found. A file that cannot be read is one finding.
    """
    try:
        prompt = load_prompt(path)
        taxonomy, fields = _terms(prompt, study)
        contract = prompt.contract_for(taxonomy, fields)
    except PromptError as error:
        return [Finding(str(path), None, str(error).removeprefix(f"{path}").lstrip(":. "))]
    shown: list[_Shown] = []
    found: list[tuple[int | None, str]] = []
    for number, example in enumerate(prompt.examples, start=1):
        missing = _left_out(prompt, example.reply, fields)
        said, kind, reason = None, "", ""
        try:
            said = _read(prompt, example.reply, taxonomy, fields, number)
        except AnswerError as error:
            kind, reason = error.kind, f"the reply does not parse ({error.kind}): {error.message}"
        if missing and kind not in _NO_OBJECT:
            # The shape is the cause: that a field is missing is not said twice.
            reason = "" if kind in ("missing_field", "missing_confidence") else reason
            found.append((number, f"the reply leaves out {', '.join(missing)}: a model copies the shape it is shown"))
        if reason:
            found.append((number, reason))
        if said is None:
            continue
        shown.append(said)
        found += [(number, f"the reply is read only with a repair ({flag})") for flag in said.flags]
    labels = _labels(prompt, contract, taxonomy)
    found += _numbers(shown)
    found += _runners_up(prompt, shown)
    found += _classes(prompt, shown, labels, fields, told=study is not None)
    found += _repeated(prompt)
    found += _system_text(prompt)
    if study is not None:
        texts = study.items[["item_id", "text"]].itertuples(index=False)
        found += _leaks(prompt, [(str(item_id), str(text)) for item_id, text in texts])
    found.sort(key=lambda one: (one[0] is None, one[0] or 0))
    return [Finding(str(path), example, reason) for example, reason in found]


def _terms(prompt: PromptFile, study: "Study | None") -> tuple[Taxonomy, AnswerFields]:
    """Return the labels and field names: the study's, else those that the examples use."""
    if study is not None:
        contract = study.contract
        return study.taxonomy, contract.fields if isinstance(contract, ClassificationContract) else DEFAULT_FIELDS
    replies = " ".join(example.reply for example in prompt.examples)
    named = dict.fromkeys(re.findall(r'"(?:label|value)"\s*:\s*"([^"\\]+)"', replies))
    for table in prompt.questions.values():
        named |= dict.fromkeys(_criteria(table))
    names = {name.strip().casefold(): name.strip() for name in named if name.strip()}
    return Taxonomy.of(*(names.values() or ("label",)), abstain="abstain"), DEFAULT_FIELDS


def _criteria(table: object) -> list[str]:
    if not isinstance(table, dict):
        return []
    if table.get("kind") == "noul":
        return ["true", "false"]
    criteria, levels = table.get("criteria"), table.get("levels")
    if isinstance(criteria, dict):
        return [name for name in criteria if isinstance(name, str)]
    return [one[0] for one in levels if isinstance(one, list) and one and isinstance(one[0], str)] if levels else []


def _left_out(prompt: PromptFile, reply: str, fields: AnswerFields) -> list[str]:
    """Return the fields that a classification prompt speaks of and a reply does not have."""
    if prompt.contract != "classification":
        return []
    always = (fields.label, fields.confidence)
    asked = [name for name in fields.names() if name in always or re.search(rf"\b{re.escape(name)}\b", prompt.system)]
    return [name for name in asked if f'"{name}"' not in reply]


def _read(prompt: PromptFile, reply: str, taxonomy: Taxonomy, fields: AnswerFields, number: int) -> _Shown:
    """Read one reply under the prompt's contract."""
    if prompt.contract == "verdict":
        verdict = parse_verdict(reply)
        return _Shown(number, (verdict.verdict,), (verdict.certainty / 100,))
    if prompt.contract == "distribution":
        contract = prompt.contract_for(taxonomy, fields)
        assert isinstance(contract, DistributionContract)
        answers = parse_distribution(reply, contract.questions)
        chosen = tuple(f"{name}={_label(answer)}" for name, answer in answers.items())
        return _Shown(number, chosen, tuple(answer.confidence for answer in answers.values()))
    said = parse_classification(reply, taxonomy, fields)
    return _Shown(number, (said.label,), (said.confidence,), dict(said.alternatives), said.flags)


def _label(answer: Answer) -> str:
    return max(answer.probabilities, key=lambda name: answer.probabilities[name] == answer.confidence)


def _labels(prompt: PromptFile, contract: TextContract, taxonomy: Taxonomy) -> tuple[str, ...]:
    """Return every label that some example should show, as `_Shown.chosen` spells it."""
    if isinstance(contract, DistributionContract):
        return tuple(f"{name}={label}" for name, asked in contract.questions.items() for label in asked.labels)
    return VERDICTS if prompt.contract == "verdict" else taxonomy.names


def _numbers(shown: Sequence[_Shown]) -> _Found:
    stated = [number for one in shown for number in one.confidences]
    if len(stated) < 2:
        return
    (number, times), *_ = Counter(stated).most_common()
    if times > len(stated) / 2:
        yield (
            None,
            f"the confidence is {number:g} in {times} of {len(stated)} replies: a constant is what a model then writes",
        )


def _runners_up(prompt: PromptFile, shown: Sequence[_Shown]) -> _Found:
    if prompt.contract != "classification":
        return
    for one in shown:
        (confidence,), (label,) = one.confidences, one.chosen
        others = {name: number for name, number in (one.alternatives or {}).items() if name != label}
        if not others and confidence <= CERTAIN:
            yield (
                one.example,
                f"a confidence of {confidence:g} needs a runner-up in the alternatives: the tie rule lives on them",
            )
        if others and max(others.values()) > confidence:
            yield one.example, "an alternative has more confidence than the label"
        if confidence + sum(others.values()) > 1 + _ROUNDING:
            yield one.example, f"label and alternatives add up to {confidence + sum(others.values()):g}, more than 1"


def _classes(
    prompt: PromptFile, shown: Sequence[_Shown], labels: Sequence[str], fields: AnswerFields, *, told: bool
) -> _Found:
    seen = {label.casefold() for one in shown for label in one.chosen}
    if prompt.contract == "classification":
        seen |= {_label_alone(example.reply, fields.label) for example in prompt.examples}
    unseen = [label for label in labels if label.casefold() not in seen]
    if prompt.examples and unseen:
        listed = ", ".join(unseen[:8]) + (f" and {len(unseen) - 8} more" if len(unseen) > 8 else "")
        yield None, f"no example shows {listed}"
    if told and prompt.contract == "classification":
        for label in labels:
            if not re.search(rf"(?<!\w){re.escape(label)}(?!\w)", prompt.system, re.IGNORECASE):
                yield None, f"the system text does not name the class {label!r}"


def _label_alone(reply: str, name: str) -> str:
    """Return the label of a reply whatever else is wrong with it."""
    found = re.search(rf'"{re.escape(name)}"\s*:\s*"([^"\\]*)"', reply)
    return found[1].strip().casefold() if found else ""


def _repeated(prompt: PromptFile) -> _Found:
    first: dict[str, int] = {}
    for number, example in enumerate(prompt.examples, start=1):
        earlier = first.setdefault(_normalised(example.question), number)
        if earlier != number:
            yield number, f"asks the same question as example {earlier}"


def _system_text(prompt: PromptFile) -> _Found:
    for placeholder in dict.fromkeys(found[0] for found in _PLACEHOLDER.finditer(prompt.system)):
        yield (
            None,
            f"the system text holds {placeholder!r}, which looks like a template: it is sent as it stands, letter for letter",
        )
    if prompt.contract == "verdict":
        limits = [int(found[1].replace(",", "")) for found in _CHARACTERS.finditer(prompt.system)]
        if not limits or min(limits) > MOST_REASON_CHARS:
            asked = f"asks for {min(limits)} characters" if limits else "names no length"
            yield (
                None,
                f"the reason has to be asked for in under {MOST_REASON_CHARS} characters, but the system text {asked}",
            )


def _leaks(prompt: PromptFile, items: Sequence[tuple[str, str]]) -> _Found:
    """Find items that the prompt gives away: as the question of an example, or quoted in the system text."""
    known = [(item_id, text) for item_id, raw in items if (text := _normalised(raw))]
    for number, example in enumerate(prompt.examples, start=1):
        question = _normalised(example.question)
        for item_id, text in known:
            if text == question:
                yield number, f"the question is the item {item_id!r} of the study: a leak"
                break
            if _nearly_same(question, text):
                yield number, f"the question is nearly the item {item_id!r} of the study: a leak"
                break
    system = f" {_normalised(prompt.system)} "
    for item_id, text in known:
        if text.count(" ") >= _FEWEST_QUOTED_WORDS - 1 and f" {text} " in system:
            yield None, f"the system text quotes the item {item_id!r} of the study: a leak"


def _normalised(text: str) -> str:
    """Return the words of a text without case, punctuation, or differences of spacing and form."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def _nearly_same(one: str, other: str) -> bool:
    words, more = set(one.split()), set(other.split())
    if len(words & more) < _COMMON_WORDS * len(words | more):
        return False
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= NEARLY_THE_SAME and matcher.ratio() >= NEARLY_THE_SAME
