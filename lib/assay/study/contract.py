"""How an answer is written: the contract that `study.toml` names, one class for each of the four kinds.

A contract over completions (`classification`, `distribution`, `verdict`) reads a model's whole text with the parser of
that name. A `table` contract takes columns in which the answers were already taken apart. All of them end in the same
few things, a `Reading`, so that what follows need not know which it was.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.rules import Taxonomy
from assay.rules.answers import Question, QuestionError, validate_questions
from assay.rules.documents import Fields
from assay.rules.parsing import (
    DEFAULT_FIELDS,
    SCALES,
    AnswerError,
    AnswerFields,
    parse_classification,
    parse_distribution,
    parse_verdict,
)
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.tables import as_table, one_of, open_table

KINDS = ("classification", "distribution", "verdict", "table")
"""What `[contract] kind` may be."""

_NAMED = ("label", "confidence", "alternatives", "missing_context", "entities")
_COLUMNS = ("label", "confidence", "alternatives", "probabilities", "missing_context")


@dataclass(frozen=True)
class Reading:
    """What one answer says, or why it cannot be read.

    Parameters
    ----------
    predicted : str or None
        A class or the abstain name; None where `error` is given.
    confidence : float in [0, 1], NaN where unreadable
    alternatives : mapping of str to float, or None
        Runner-up classes. The predicted class is among them only where it was given there a larger number than its
        confidence, which is then the number that the tie rule goes by.
    missing_context, flags : tuple of str
    error : str or None
        The kind of fault.
    """

    predicted: str | None = None
    confidence: float = math.nan
    alternatives: Mapping[str, float] | None = None
    missing_context: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class ClassificationContract:
    """One JSON object with a label and a confidence, under the field names given."""

    fields: AnswerFields
    kind: ClassVar[str] = "classification"

    @property
    def scale(self) -> int:
        """What a model writes to mean certainty."""
        return self.fields.scale

    def read(self, text: str, taxonomy: Taxonomy, finish_reason: str | None = None) -> Reading:
        """Read one completion."""
        try:
            said = parse_classification(text, taxonomy, self.fields, finish_reason)
        except AnswerError as error:
            return Reading(error=error.kind)
        alternatives = {
            name: confidence
            for name, confidence in said.alternatives.items()
            if name != said.label or confidence > said.confidence
        }
        return Reading(said.label, said.confidence, alternatives or None, said.missing_context, said.flags)


@dataclass(frozen=True)
class DistributionContract:
    """A probability for every label of one or more typed questions, one of which the study evaluates."""

    questions: Mapping[str, Question]
    question: str
    kind: ClassVar[str] = "distribution"
    scale: ClassVar[int] = 1

    def read(self, text: str, taxonomy: Taxonomy, finish_reason: str | None = None) -> Reading:
        """Read one completion; its fault is named as the parser names it, whatever the provider's finish reason."""
        try:
            answer = parse_distribution(text, self.questions)[self.question]
        except AnswerError as error:
            return Reading(error=error.kind)
        label = self._label(answer.value, answer.probabilities, answer.confidence)
        probabilities = {taxonomy.resolve(name) or name: share for name, share in answer.probabilities.items()}
        predicted = taxonomy.resolve(label)
        alternatives = {name: share for name, share in probabilities.items() if name != predicted}
        return Reading(predicted, answer.confidence, alternatives or None)

    def _label(self, value: str | float | bool, probabilities: Mapping[str, float], confidence: float) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value
        # Two levels may name one number ("5" and "5.0"): the confidence tells which of them was chosen.
        named = [name for name in self.questions[self.question].labels if float(name) == value]
        return next((name for name in named if probabilities[name] == confidence), named[0])


@dataclass(frozen=True)
class VerdictContract:
    """A verdict with a certainty from 0 to 100; the classes are the verdicts."""

    kind: ClassVar[str] = "verdict"
    scale: ClassVar[int] = 100

    def read(self, text: str, taxonomy: Taxonomy, finish_reason: str | None = None) -> Reading:
        """Read one completion; a verdict that the taxonomy does not have is `unknown_class`."""
        try:
            verdict = parse_verdict(text)
        except AnswerError as error:
            return Reading(error=error.kind)
        predicted = taxonomy.resolve(verdict.verdict)
        if predicted is None:
            return Reading(error="unknown_class")
        return Reading(predicted, verdict.certainty / 100)


@dataclass(frozen=True)
class TableContract:
    """Columns in which the answers were already taken apart.

    Parameters
    ----------
    label : str or None
        The column of the chosen class. None only where `probabilities` has a column for each class: then the chosen one
        is the most probable, the first of equal ones.
    confidence : str or None
        The column of its confidence, on `scale`. None where `probabilities` is given.
    alternatives : str or None
        A column of runner-up classes with their confidences, as a JSON text, an object or a map.
    probabilities : str, mapping of str to str, or None
        A column of classes with their probabilities, the chosen one among them: its own is the confidence, the others
        are the alternatives. Or the column of each class.
    missing_context : str or None
        A column of lists of names.
    scale : {1, 100}
    """

    label: str | None = "predicted"
    confidence: str | None = "confidence"
    alternatives: str | None = None
    probabilities: str | Mapping[str, str] | None = None
    missing_context: str | None = None
    scale: int = 1
    kind: ClassVar[str] = "table"


TextContract = ClassificationContract | DistributionContract | VerdictContract
Contract = TextContract | TableContract


def read_contract(table: object, where: str, taxonomy: Taxonomy) -> Contract:
    """Read the `[contract]` table, which messages call `where`.

    Raises
    ------
    StudyError
        If a key is unknown, the kind or the scale is not one there is, or the question's labels are not classes.
    DocumentError
        If a key is missing or its value is of the wrong type.
    """
    kind = one_of(Fields(table, where), "kind", list(KINDS))
    if kind == "classification":
        return _classification(open_table(table, where, "kind", *_NAMED, "scale"), where)
    if kind == "distribution":
        return _distribution(open_table(table, where, "kind", "question", "questions"), taxonomy)
    if kind == "verdict":
        open_table(table, where, "kind")
        return VerdictContract()
    return _table(open_table(table, where, "kind", *_COLUMNS, "scale"), taxonomy)


def _classification(fields: Fields, where: str) -> ClassificationContract:
    names = {key: fields.text(key, getattr(DEFAULT_FIELDS, key)) for key in _NAMED}
    try:
        return ClassificationContract(AnswerFields(**names, scale=_scale(fields)))
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None


def _table(fields: Fields, taxonomy: Taxonomy) -> TableContract:
    columns: dict[str, Any] = {key: fields.text(key, None) for key in _COLUMNS if key != "probabilities"}
    columns["probabilities"] = _probabilities(fields, taxonomy)
    if columns["probabilities"] and (columns["confidence"] or columns["alternatives"]):
        raise StudyError(f"{fields.where}: probabilities hold the confidence and the alternatives; leave those two out")
    if not columns["probabilities"]:
        columns["confidence"] = columns["confidence"] or "confidence"
    if not isinstance(columns["probabilities"], Mapping):
        columns["label"] = columns["label"] or "predicted"
    return TableContract(**columns, scale=_scale(fields))


def _probabilities(fields: Fields, taxonomy: Taxonomy) -> str | dict[str, str] | None:
    """Take the column of probabilities, or the table that names the column of each class."""
    given = fields.take("probabilities", None)
    where = f"{fields.where}.probabilities"
    if given is None or isinstance(given, str):
        return given
    for name, column in as_table(given, where).items():
        if taxonomy.resolve(name) is None:
            raise StudyError(
                f"{where}: {shown(name)} is not a class{nearest(name, taxonomy.names)}", kind="unknown_label"
            )
        if not isinstance(column, str):
            raise StudyError(f"{where}.{name} must be the name of a column, got {shown(column)}")
    return dict(given) or None


def _scale(fields: Fields) -> int:
    scale = fields.take("scale", 1)
    if isinstance(scale, bool) or scale not in SCALES:
        raise StudyError(f"{fields.where}.scale must be 1 or 100, got {shown(scale)}")
    return int(scale)


def _distribution(fields: Fields, taxonomy: Taxonomy) -> DistributionContract:
    name = fields.text("question")
    where = f"{fields.where}.questions"
    tables = as_table(fields.take("questions"), where)
    questions = {key: _question(one, f"{where}.{key}", taxonomy) for key, one in tables.items()}
    if name not in questions:
        raise StudyError(f"{fields.where}.question: {shown(name)} is not one of the questions ({listed(questions)})")
    try:
        validate_questions(questions)
    except QuestionError as error:
        raise StudyError(f"{fields.where}: {error}") from None
    for label in questions[name].labels:
        if taxonomy.resolve(label) is None:
            raise StudyError(
                f"{fields.where}.question: its label {shown(label)} is not a class{nearest(label, taxonomy.names)}",
                kind="unknown_label",
            )
    return DistributionContract(questions, name)


def _question(table: object, where: str, taxonomy: Taxonomy) -> Question:
    fields = open_table(table, where, "kind", "instructions", "criteria", "levels")
    kind, instructions = one_of(fields, "kind", ["choice", "score", "noul"]), fields.text("instructions")
    if kind == "noul":
        return Question.noul(instructions)
    if kind == "choice":
        meanings = {one.name: one.meaning for one in taxonomy.classes}
        return Question.choice(instructions, as_table(fields.take("criteria", meanings), f"{where}.criteria"))
    levels = fields.take("levels")
    if not isinstance(levels, list) or not all(isinstance(one, list) and len(one) == 2 for one in levels):
        raise StudyError(f"{where}.levels must be a list of [name, meaning] pairs")
    return Question.score(instructions, [(one[0], one[1]) for one in levels])
