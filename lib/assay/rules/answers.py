"""Typed questions and their answers: what is asked in one call, and what a reply to it may hold.

A set of questions is a mapping of id to `Question`. It is checked by `validate_questions` before anything is sent, and
`answer_schema` turns it into the JSON schema that the reply has to follow. `assay.rules.parsing.parse_distribution`
reads the reply back into one `Answer` for each id.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, Self

QuestionKind = Literal["choice", "score", "noul"]
"""One of several named criteria, a level on an ordered scale, or yes and no."""

QuestionFault = Literal[
    "empty_set",
    "blank_id",
    "blank_instructions",
    "too_few_labels",
    "duplicate_level",
    "level_not_number",
    "not_text",
]
"""What may be wrong with a set of questions."""

NOUL_LABELS: Final = ("true", "false")
"""The labels of a yes/no question, yes first."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")


class Calibration(StrEnum):
    """Where a confidence comes from; numbers of different calibrations are not comparable."""

    CLASSIFIER = "classifier"
    """A model trained to classify."""
    LANGUAGE_MODEL = "language_model"
    """A general model's own number."""


class Elicitation(StrEnum):
    """How a language model's confidence was obtained; kept apart within `Calibration.LANGUAGE_MODEL`."""

    VERBAL = "verbal"
    """The number that it wrote."""
    TOKEN = "token"  # noqa: S105
    """Read off the log probabilities of its tokens."""
    VOTE = "vote"
    """The share of repeated samples that agree."""


class QuestionError(ValueError):
    """A set of questions that must not be asked; `kind` is the fault, the message names the question."""

    def __init__(self, kind: QuestionFault, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Question:
    """One typed question; build it with `choice`, `score` or `noul`.

    Parameters
    ----------
    kind : {"choice", "score", "noul"}
    instructions : str
        What is asked.
    meanings : tuple of (str, str)
        The labels as they were given, each with what it means; empty for a yes/no question.

    Notes
    -----
    Nothing is checked here, so that a set read from a file is refused as a whole, by `validate_questions`.
    """

    kind: QuestionKind
    instructions: str
    meanings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def choice(cls, instructions: str, criteria: Mapping[str, str]) -> Self:
        """Ask for one of several named criteria (name to meaning), at least two."""
        return cls("choice", instructions, tuple(criteria.items()))

    @classmethod
    def score(cls, instructions: str, levels: Sequence[tuple[str, str]]) -> Self:
        """Ask for a level of an ordered scale, at least two levels (name, meaning).

        A level is named by the decimal number it stands for (``"1"``, ``"2.5"``, ``"-1"``, ``"1e2"``); words belong
        in its meaning.
        """
        return cls("score", instructions, tuple((name, meaning) for name, meaning in levels))

    @classmethod
    def noul(cls, instructions: str) -> Self:
        """Ask for yes or no; the labels are ``true`` and ``false``."""
        return cls("noul", instructions)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order in which the schema offers them.

        The criteria of a choice are sorted by code point, so that the order in which they were written down does not
        change the request; levels keep their order.
        """
        if self.kind == "noul":
            return NOUL_LABELS
        names = tuple(name for name, _ in self.meanings)
        return tuple(sorted(names)) if self.kind == "choice" else names


@dataclass(frozen=True)
class Answer:
    """One answer to one question.

    Parameters
    ----------
    kind : {"choice", "score", "noul"}
    value : str, float or bool
        The label of a choice, the number that a score level names, or the verdict of a yes/no question.
    confidence : float in [0, 1]
        The probability of the chosen label; NaN where it is not known.
    probabilities : mapping of str to float in [0, 1]
        By label. Labels may be missing when they come from elsewhere than `parse_distribution`, which reports every
        label and makes the sum 1.
    """

    kind: QuestionKind
    value: str | float | bool
    confidence: float
    probabilities: Mapping[str, float] = field(default_factory=dict)


def validate_questions(questions: Mapping[str, Question]) -> None:
    """Refuse a set of questions that must not be asked.

    The ids are looked at in the order given, and the first fault is the one named. Score levels that are distinct as
    names are allowed even where they name the same number (``"5"`` and ``"5.0"``).

    Raises
    ------
    QuestionError
        Its `kind` is `empty_set`, `blank_id` (also an id that is not a string), `blank_instructions`,
        `too_few_labels` (under two), `duplicate_level`, `level_not_number` (not a finite decimal number in ASCII
        digits) or `not_text` (instructions, label or meaning is no string).
    """
    if not questions:
        raise QuestionError("empty_set", "questions: at least one question is needed")
    for name, question in questions.items():
        if not isinstance(name, str) or not name.strip():
            raise QuestionError("blank_id", f"questions: an id must be a string that is not blank, got {name!r}")
        _validate(question, f"question {name!r}")


def answer_schema(questions: Mapping[str, Question]) -> dict[str, Any]:
    """Build the JSON schema of the reply: exactly the ids asked, and for each exactly the labels offered.

    Parameters
    ----------
    questions : mapping of str to Question
        As `validate_questions` accepts them; it is not called here.

    Returns
    -------
    dict
        Ids are listed in code point order, labels in the order of `Question.labels`. No other key is allowed anywhere.
    """
    names = sorted(questions)
    answers = _closed_object({name: _entry_schema(questions[name]) for name in names}, names)
    return _closed_object({"answers": answers}, ["answers"])


def _validate(question: Question, where: str) -> None:
    if not isinstance(question.instructions, str):
        raise QuestionError("not_text", f"{where}: instructions must be a string, got {question.instructions!r}")
    if not question.instructions.strip():
        raise QuestionError("blank_instructions", f"{where}: instructions must not be blank")
    for name, meaning in question.meanings:
        for text, what in ((name, "the name of a label"), (meaning, "the meaning of a label")):
            if not isinstance(text, str):
                raise QuestionError("not_text", f"{where}: {what} must be a string, got {text!r}")
    if len(question.labels) < 2:
        what = "levels" if question.kind == "score" else "criteria"
        raise QuestionError("too_few_labels", f"{where}: at least two {what} are needed, got {len(question.labels)}")
    if question.kind == "score":
        _validate_levels(question.labels, where)


def _validate_levels(levels: tuple[str, ...], where: str) -> None:
    seen = set()
    for level in levels:
        if level in seen:
            raise QuestionError("duplicate_level", f"{where}: level {level!r} is given twice")
        seen.add(level)
        if not _DECIMAL.fullmatch(level) or not math.isfinite(float(level)):
            raise QuestionError(
                "level_not_number", f"{where}: a level must be named by a finite decimal number, got {level!r}"
            )


def _entry_schema(question: Question) -> dict[str, Any]:
    labels = list(question.labels)
    probabilities = _closed_object({label: {"type": "number"} for label in labels}, labels)
    return _closed_object({"value": {"enum": labels}, "probabilities": probabilities}, ["value", "probabilities"])


def _closed_object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
