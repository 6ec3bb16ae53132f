"""Judged answers: what every figure of calibration is computed from.

A judged answer is a stated confidence together with whether the answer was right, and the item it belongs to. Input is
checked here once; the modules that compute take a `Judged` and need no checks of their own. Answers that could not be
read are left out and counted, and answers whose confidences come from different places (another calibration, another
elicitation) are refused together, because their numbers do not mean the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.cells import Cells, counted_cells, distinct_values
from assay.measure.intervals import FloatArray, item_codes


@dataclass(frozen=True)
class Judged:
    """Confidences with their outcomes, one entry per readable answer.

    Attributes
    ----------
    confidence : (n,) float64 in [0, 1]
    correct : (n,) bool
    item : (n,) int
        Item codes 0..items-1, each of them in use.
    first : (n,) bool
        Whether the answer is the one of its item's lowest run: True at most once per item.
    unreadable : int
        Answers that were left out because they could not be read.
    calibration, elicitation : str
        Where the confidences come from; empty when unknown or not applicable.
    """

    confidence: FloatArray
    correct: npt.NDArray[np.bool_]
    item: npt.NDArray[np.intp]
    first: npt.NDArray[np.bool_]
    unreadable: int = 0
    calibration: str = ""
    elicitation: str = ""

    @classmethod
    def of(
        cls,
        confidence: npt.ArrayLike,
        correct: npt.ArrayLike,
        items: npt.ArrayLike | None = None,
        runs: npt.ArrayLike | None = None,
        *,
        calibration: str = "",
        elicitation: str = "",
    ) -> "Judged":
        """Check and keep plain arrays.

        Parameters
        ----------
        confidence : array-like of float, shape (answers,)
            In [0, 1]; NaN for an answer that could not be read.
        correct : array-like of bool or 0/1, shape (answers,)
            Ignored where the confidence is NaN.
        items : array-like of ids, shape (answers,), optional
            Left out: every answer is an item of its own.
        runs : array-like of int, shape (answers,), optional
            Run numbers, to tell an item's first answer. Left out: the order of the rows decides.
        calibration, elicitation : str
            Where the confidences come from, if known.

        Raises
        ------
        ValueError
            If lengths differ, a confidence is outside [0, 1], or an outcome is not 0 or 1; the position is named.
        """
        confidence = np.atleast_1d(np.asarray(confidence, dtype=np.float64)) + 0.0
        readable = ~np.isnan(confidence)
        correct = _outcomes(correct, readable)
        if confidence.ndim != 1 or confidence.shape != correct.shape:
            raise ValueError(
                f"confidence and correct must be one-dimensional and equally long, "
                f"got {confidence.shape} and {correct.shape}"
            )
        outside = readable & ~((confidence >= 0) & (confidence <= 1))
        if outside.any():
            raise ValueError(f"confidence must lie in [0, 1]; that of answer {int(np.argmax(outside)) + 1} does not")
        item = np.arange(len(confidence), dtype=np.intp)
        first = np.ones(len(confidence), dtype=np.bool_)
        if items is not None:
            item = _same_length("items", item_codes(items)[0], len(confidence))
            first = _first_answers(item, None if runs is None else np.asarray(runs))
        unreadable = int((~readable).sum())
        if unreadable:
            confidence, correct, item, first = (
                confidence[readable],
                correct[readable],
                item[readable],
                first[readable],
            )
        return cls(confidence, correct, _compact(item), first, unreadable, calibration, elicitation)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> "Judged":
        """Read a tidy frame of answers.

        Needs ``confidence`` and either ``correct`` or both ``label`` and ``predicted``; uses ``item_id``, ``run``,
        ``calibration`` and ``elicitation`` where present. An answer without a prediction, an outcome or a confidence
        is unreadable. An item's first answer is its lowest run: where that one is unreadable, the item has none, and
        no other run takes its place.

        Raises
        ------
        ValueError
            If a column is missing, if the rows mix calibrations or elicitations, which are named, or if labels and
        predictions are of different types, so that 1 and "1" would quietly differ.
        """
        _require_columns(frame)
        calibration, elicitation = (_single_source(frame, name) for name in ("calibration", "elicitation"))
        confidence = frame["confidence"].to_numpy(dtype=np.float64, na_value=np.nan).copy()
        if "correct" in frame:
            outcome = frame["correct"].astype("boolean")
            unknown = outcome.isna().to_numpy()
            correct = outcome.fillna(False).to_numpy(dtype=np.bool_)
        else:
            _refuse_mixed_types(frame)
            unknown = frame["predicted"].isna().to_numpy()
            correct = (frame["predicted"] == frame["label"]).fillna(False).to_numpy(dtype=np.bool_)
        confidence[unknown] = np.nan
        items = frame["item_id"].to_numpy() if "item_id" in frame else None
        runs = frame["run"].to_numpy() if "run" in frame else None
        return cls.of(confidence, correct, items, runs, calibration=calibration, elicitation=elicitation)

    def __len__(self) -> int:
        return len(self.confidence)

    @cached_property
    def items(self) -> int:
        """Number of items with a readable answer."""
        return int(self.item.max()) + 1 if len(self) else 0

    @property
    def repeated(self) -> bool:
        """Whether any item has more than one readable answer."""
        return self.items < len(self)

    @cached_property
    def coded(self) -> tuple[FloatArray, npt.NDArray[np.intp]]:
        """The distinct confidences, increasing, and the position of each answer's own among them."""
        return distinct_values(self.confidence)

    @cached_property
    def cells(self) -> Cells:
        """The answers as counts of distinct (confidence, outcome) cells."""
        return counted_cells(*self.coded, self.correct)

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> "Judged":
        """Keep the answers at `rows` (a mask or positions); the count of unreadable ones stays with the whole."""
        return Judged(
            self.confidence[rows],
            self.correct[rows],
            _compact(self.item[rows]),
            self.first[rows],
            0,
            self.calibration,
            self.elicitation,
        )

    def one_per_item(self) -> "Judged":
        """Keep the first answer of each item, which makes the answers independent of each other."""
        return self.take(self.first) if self.repeated or not self.first.all() else self

    def require_any(self) -> None:
        """Raise ValueError if there is no readable answer to compute from."""
        if not len(self):
            raise ValueError(
                "no readable answer with a confidence" + (f", {self.unreadable} unreadable" if self.unreadable else "")
            )


def counts_of(judged: Judged | Cells) -> Cells:
    """Return the counts of answers; ValueError if there is none."""
    if isinstance(judged, Judged):
        judged.require_any()
        return judged.cells
    if not judged.n:
        raise ValueError("no answer is counted")
    return judged


def _require_columns(frame: pd.DataFrame) -> None:
    needed: Sequence[str] = ("confidence",) if "correct" in frame else ("confidence", "label", "predicted")
    for column in needed:
        if column not in frame:
            present = ", ".join(map(str, frame.columns))
            raise ValueError(f"the frame has no column {column!r}; it has: {present}")


def _refuse_mixed_types(frame: pd.DataFrame) -> None:
    label, predicted = frame["label"], frame["predicted"]
    if label.dtype == predicted.dtype and label.dtype != np.dtype(object):
        return
    types = sorted({type(value).__name__ for column in (label, predicted) for value in column.dropna()})
    if len(types) > 1:
        raise ValueError(f"mixed label types: label and predicted hold {', '.join(types)}; make them one type")


def _single_source(frame: pd.DataFrame, column: str) -> str:
    if column not in frame or frame.empty:
        return ""
    found = sorted(str(value) for value in frame[column].dropna().unique())
    if len(found) > 1:
        named = ", ".join(value or "(none)" for value in found)
        raise ValueError(f"confidences of different {column}s are not comparable; the answers mix {named}")
    return found[0] if found else ""


def _outcomes(correct: npt.ArrayLike, readable: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    values = np.atleast_1d(np.asarray(correct))
    if values.dtype == np.bool_:
        return values
    numbers = values.astype(np.float64)
    if numbers.shape == readable.shape:
        numbers = np.where(readable, numbers, 0.0)
    wrong = (numbers != 0) & (numbers != 1)
    if wrong.any():
        raise ValueError(f"correct must be 0 or 1; that of answer {int(np.argmax(wrong)) + 1} is neither")
    return numbers.astype(np.bool_)


def _same_length(name: str, codes: npt.NDArray[np.intp], length: int) -> npt.NDArray[np.intp]:
    if len(codes) != length:
        raise ValueError(f"{name} must be as long as confidence ({length}), got {len(codes)}")
    return codes


def _first_answers(item: npt.NDArray[np.intp], runs: npt.NDArray[np.generic] | None) -> npt.NDArray[np.bool_]:
    order = np.arange(len(item))
    if runs is not None:
        _same_length("runs", runs.astype(np.intp), len(item))
        order = np.argsort(runs, kind="stable")
    first = np.zeros(len(item), dtype=np.bool_)
    # np.unique gives the first occurrence of each item, here in the order of the runs.
    first[order[np.unique(item[order], return_index=True)[1]]] = True
    return first


def _compact(item: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Item codes without gaps, so that per-item arrays have no empty entry."""
    if not len(item):
        return item
    used = np.bincount(item) > 0
    if used.all():
        return item
    return np.asarray((np.cumsum(used) - 1)[item], dtype=np.intp)
