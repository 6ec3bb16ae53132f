"""Answers as arrays: the form in which everything that decides or counts reads them.

A tidy frame holds one dict of alternatives per answer, which is pleasant to look at and slow to compute on. An
`AnswerTable` holds the same answers as integer codes and flat arrays (alternatives in compressed rows), so that a
decision for a hundred thousand answers is a few array operations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from assay.rules import Taxonomy
from assay.rules.decimals import NANO, as_double
from assay.study.floats import doubles

UNREADABLE = -1
"""Code of an answer that could not be read; in decisions it is an abstention."""

MAX_CLASSES = 2**20 - 1
MAX_RANKS = 2**12


@dataclass(frozen=True)
class AnswerTable:
    """Answers in arrays of one entry per answer, under one taxonomy.

    Attributes
    ----------
    taxonomy : Taxonomy
    label, predicted : (n,) int32
        Codes: the position of the class in ``taxonomy.names``, or `abstain_code`; `predicted` may be `UNREADABLE`.
    confidence : (n,) float64 in [0, 1]
        The answer's own confidence; NaN exactly where it is unreadable.
    alternative_start : (n + 1,) int64
        Answer i has the alternatives ``alternative_start[i]`` up to ``alternative_start[i + 1]``.
    alternative_code, alternative_confidence : (a,) int32 and float64
    missing : (n, number of context rules) bool
        Whether the answer says that what the rule names is missing.
    item : (n,) int64
        Codes of the items, 0 upward: the unit for intervals.
    """

    taxonomy: Taxonomy
    label: NDArray[np.int32]
    predicted: NDArray[np.int32]
    confidence: NDArray[np.float64]
    alternative_start: NDArray[np.int64]
    alternative_code: NDArray[np.int32]
    alternative_confidence: NDArray[np.float64]
    missing: NDArray[np.bool_]
    item: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.taxonomy.classes) > MAX_CLASSES:
            raise ValueError(f"a taxonomy may have at most {MAX_CLASSES:,} classes, got {len(self.taxonomy.classes):,}")
        if len(set(self.taxonomy.ranks.values())) > MAX_RANKS:
            raise ValueError(f"a taxonomy may have at most {MAX_RANKS:,} distinct ranks")
        for name, values in (("confidence", self.confidence), ("alternatives", self.alternative_confidence)):
            wrong = np.flatnonzero((values < 0) | (values > 1))
            if wrong.size:
                raise ValueError(f"{name} must lie in [0, 1]; entry {wrong[0]} does not")
        unreadable = self.predicted == UNREADABLE
        if (np.isnan(self.confidence) != unreadable).any() or np.isnan(self.alternative_confidence).any():
            raise ValueError("confidence must be NaN exactly where the answer is unreadable, and in no alternative")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, taxonomy: Taxonomy) -> "AnswerTable":
        """Read a tidy frame (`Study.answers`, or any with label, predicted and confidence).

        Optional columns: ``item_id`` (else every row is an item), ``alternatives`` (dict or None per row; names that
        are no class are skipped, as the rules do), ``missing_context`` (tuple of str per row). A row whose predicted
        or confidence is missing is unreadable.

        Raises
        ------
        ValueError
            If a column is missing, a label or prediction is not of the taxonomy, or a confidence is outside [0, 1].
        """
        for column in ("label", "predicted", "confidence"):
            if column not in frame:
                raise ValueError(f"the frame has no column {column!r}; it has: {', '.join(map(str, frame.columns))}")
        confidence = doubles(frame["confidence"])
        label = class_codes(frame["label"], taxonomy, "label")
        if (label == UNREADABLE).any():
            raise ValueError(f"label is missing in row {int(np.argmax(label == UNREADABLE)) + 1}")
        predicted = class_codes(frame["predicted"], taxonomy, "predicted")
        predicted[np.isnan(confidence)] = UNREADABLE
        confidence[predicted == UNREADABLE] = np.nan
        start, code, alternative = _alternatives(frame, taxonomy, predicted == UNREADABLE)
        if "item_id" in frame:
            item = pd.factorize(frame["item_id"])[0].astype(np.int64)
        else:
            item = np.arange(len(frame), dtype=np.int64)
        return cls(taxonomy, label, predicted, confidence, start, code, alternative, _missing(frame, taxonomy), item)

    @classmethod
    def from_scores(cls, label: ArrayLike, scores: ArrayLike, taxonomy: Taxonomy) -> "AnswerTable":
        """Build from a full score matrix: the largest score is the prediction, the others are its alternatives.

        Parameters
        ----------
        label : (n,) int
            Class codes.
        scores : (n, number of classes) float in [0, 1]
            The first of equal largest scores is the prediction.
        taxonomy : Taxonomy
        """
        matrix = doubles(scores)
        count, width = matrix.shape
        if width != len(taxonomy.classes):
            raise ValueError(f"scores must have {len(taxonomy.classes)} columns, one per class, got {width}")
        best = matrix.argmax(axis=1)
        others = np.ones(matrix.shape, dtype=bool)
        others[np.arange(count), best] = False
        codes = np.broadcast_to(np.arange(width, dtype=np.int32), matrix.shape)
        return cls(
            taxonomy,
            np.asarray(label, dtype=np.int32),
            best.astype(np.int32),
            matrix[np.arange(count), best],
            np.arange(count + 1, dtype=np.int64) * (width - 1),
            codes[others],
            matrix[others],
            np.zeros((count, len(taxonomy.context)), dtype=bool),
            np.arange(count, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.label)

    @property
    def abstain_code(self) -> int:
        """The code of the decision to abstain: a class's own code if it is one, else the number of classes."""
        return abstain_code(self.taxonomy)

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the prediction is the label; False where unreadable. Shape (n,)."""
        return self.predicted == self.label

    def take(self, rows: NDArray[np.intp] | slice) -> "AnswerTable":
        """Return the table of the given rows (positions or a slice), in that order."""
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        width = np.diff(self.alternative_start)[rows]
        start = np.concatenate([[0], np.cumsum(width)])
        source = np.repeat(self.alternative_start[rows] - start[:-1], width) + np.arange(start[-1])
        return AnswerTable(
            self.taxonomy,
            self.label[rows],
            self.predicted[rows],
            self.confidence[rows],
            start,
            self.alternative_code[source],
            self.alternative_confidence[source],
            self.missing[rows],
            self.item[rows],
        )


def abstain_code(taxonomy: Taxonomy) -> int:
    """Return the code that decisions use for abstaining under `taxonomy`."""
    names = taxonomy.names
    return names.index(taxonomy.abstain) if taxonomy.abstain in taxonomy else len(names)


def decision_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """Return the names of the decision codes: the classes, then the abstain name unless it is one of them."""
    return taxonomy.names if taxonomy.abstain in taxonomy else (*taxonomy.names, taxonomy.abstain)


def class_codes(values: Iterable[object], taxonomy: Taxonomy, column: str) -> NDArray[np.int32]:
    """Return the code of each name, `UNREADABLE` where it is missing; ValueError names the first unknown row."""
    names = decision_names(taxonomy)
    series = values if isinstance(values, pd.Series) else pd.Series(list(values), dtype=object)
    known = {name: code for code, name in enumerate(names)}
    positions, distinct = pd.factorize(series, use_na_sentinel=True)
    lookup = np.array([known.get(str(name), -2) for name in distinct] + [UNREADABLE], dtype=np.int32)
    codes = lookup[positions]
    if (codes == -2).any():
        row = int(np.argmax(codes == -2))
        # A label is a person's and is named; a prediction is a model's and is not quoted.
        what = f" {series.iloc[row]!r}" if column == "label" else ""
        raise ValueError(f"{column}{what} in row {row + 1} is not a class of the taxonomy")
    return codes


def to_nano(values: ArrayLike) -> NDArray[np.int64]:
    """Return numbers in integer units of 1e-9, exactly as `assay.rules.nano` rounds them. NaN is not allowed."""
    return np.rint(np.asarray(values, dtype=float) * NANO).astype(np.int64)


def _alternatives(
    frame: pd.DataFrame, taxonomy: Taxonomy, unreadable: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    if "alternatives" not in frame:
        return np.zeros(len(frame) + 1, np.int64), np.empty(0, np.int32), np.empty(0)
    known = {name: code for code, name in enumerate(taxonomy.names)}
    width = np.zeros(len(frame), np.int64)
    codes: list[int] = []
    confidences: list[float] = []
    for row, alternatives in enumerate(frame["alternatives"].tolist()):
        if not alternatives or not isinstance(alternatives, dict) or unreadable[row]:
            continue
        for name, confidence in alternatives.items():
            code = known.get(name)
            if code is not None:
                codes.append(code)
                confidences.append(as_double(confidence))
                width[row] += 1
    start = np.concatenate([[0], np.cumsum(width)])
    return start, np.array(codes, dtype=np.int32), np.array(confidences, dtype=float)


def _missing(frame: pd.DataFrame, taxonomy: Taxonomy) -> NDArray[np.bool_]:
    missing = np.zeros((len(frame), len(taxonomy.context)), dtype=bool)
    if taxonomy.context and "missing_context" in frame:
        said: Sequence[object] = frame["missing_context"].tolist()
        for column, rule in enumerate(taxonomy.context):
            missing[:, column] = [isinstance(one, tuple | list) and rule.missing in one for one in said]
    return missing
