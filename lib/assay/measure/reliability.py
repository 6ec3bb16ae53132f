"""Reliability in bins: how often answers are right, against how sure they said they were.

A curve in bins shows, for answers of similar confidence, the share that is right with its interval. Bins of equal mass
hold about as many answers each; bins of equal width cut [0, 1] evenly. A language model states few distinct values, so
asked-for bins of equal mass often cannot be had: they then collapse, down to one per distinct value, and the curve says
so. The last bin includes 1 and the first includes 0; a confidence at an inner edge belongs to the bin below it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray, effective_items, proportion_bounds
from assay.measure.judged import Judged

Scheme = Literal["mass", "width"]

DEFAULT_BINS = 15

EDGE_TOLERANCE = 5e-10
"""A confidence this close above an edge counts as at the edge: 1 - 1/3 and 2/3 are the same confidence."""


@dataclass(frozen=True)
class Bins:
    """A cut of [0, 1] into bins, right-closed except that the first includes its lower end.

    Attributes
    ----------
    edges : (bins + 1,) float64, increasing; the first two may both be 0, for a bin of exact zeros
    scheme : {"mass", "width"}
    asked : int
        Number of bins that was asked for.
    note : str
        Empty, or why there are fewer.
    """

    edges: FloatArray
    scheme: Scheme
    asked: int
    note: str = ""

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def inner(self) -> FloatArray:
        """Inner edges with their tolerance, for `numpy.searchsorted` from the left."""
        return np.asarray(self.edges[1:-1] + EDGE_TOLERANCE, dtype=np.float64)

    def place(self, confidence: FloatArray) -> npt.NDArray[np.intp]:
        """Return the bin number of each confidence."""
        return np.searchsorted(self.inner, confidence, side="left")


@dataclass(frozen=True)
class BinnedCurve:
    """Share of right answers per bin of confidence; empty bins are left out. All arrays have shape (bins,).

    Attributes
    ----------
    low, high : float64
        Edges of the bin.
    answers, items : int
        Answers in the bin and the items they belong to.
    n_effective : float64
        Effective number of items (`assay.measure.intervals.effective_items`).
    confidence, accuracy : float64
        Mean confidence and share of right answers.
    accuracy_low, accuracy_high : float64
        Interval of the accuracy: `assay.measure.intervals.proportion_bounds` at the effective number of items.
    scheme : {"mass", "width"}
    asked : int
        Number of bins asked for.
    note : str
        Empty, or what a reader must know about the bins.
    """

    low: FloatArray
    high: FloatArray
    answers: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    n_effective: FloatArray
    confidence: FloatArray
    accuracy: FloatArray
    accuracy_low: FloatArray
    accuracy_high: FloatArray
    scheme: Scheme
    asked: int
    note: str

    def __len__(self) -> int:
        return len(self.answers)

    def table(self) -> pd.DataFrame:
        """One row per bin, with the columns named as the attributes."""
        names = ["low", "high", "answers", "items", "n_effective", "confidence"]
        names += ["accuracy", "accuracy_low", "accuracy_high"]
        return pd.DataFrame({name: getattr(self, name) for name in names})


def cut(cells: Cells, bins: int = DEFAULT_BINS, scheme: Scheme = "mass") -> Bins:
    """Cut [0, 1] into bins for the given answers.

    Parameters
    ----------
    cells : Cells
        With at least one answer. Only the confidences matter, never the outcomes.
    bins : int
        Number of bins asked for, at least 1.
    scheme : {"mass", "width"}
        "mass" cuts at quantiles of the confidences, where repeated quantiles merge; with no more distinct values than
        bins, every value is a bin of its own. "width" cuts evenly.

    Raises
    ------
    ValueError
        For fewer than one bin or another scheme.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    if scheme == "width":
        return Bins(np.linspace(0.0, 1.0, bins + 1), scheme, bins)
    if scheme != "mass":
        raise ValueError(f"scheme must be 'mass' or 'width', got {scheme!r}")
    if len(cells) <= bins:
        inner = cells.confidence[:-1]
    else:
        inner = np.unique(cells.quantiles(np.arange(1, bins) / bins))
        # An edge at the largest value would leave the bin above it empty.
        inner = inner[inner < cells.confidence[-1]]
    edges = np.concatenate([[0.0], inner[inner > 0], [1.0]])
    if inner.size and inner[0] == 0:
        # A bin of exact zeros: [0, 0].
        edges = np.concatenate([[0.0], edges])
    return Bins(edges, scheme, bins, _collapse_note(len(edges) - 1, bins, len(cells)))


def binned_curve(judged: Judged, bins: int = DEFAULT_BINS, scheme: Scheme = "mass") -> BinnedCurve:
    """Compute the share of right answers per bin of confidence, with Wilson intervals clustered by item.

    Parameters
    ----------
    judged : Judged
    bins : int
        Number of bins asked for.
    scheme : {"mass", "width"}

    Raises
    ------
    ValueError
        If no answer is readable, or as `cut`.
    """
    judged.require_any()
    layout = cut(judged.cells, bins, scheme)
    place = layout.place(judged.coded[0])[judged.coded[1]]
    total = np.bincount(place, minlength=len(layout))
    kept = total > 0
    right = np.bincount(place, weights=judged.correct, minlength=len(layout))[kept]
    stated = np.bincount(place, weights=judged.confidence, minlength=len(layout))[kept]
    items, effective = _items_per_bin(judged, place, len(layout))
    accuracy = right / total[kept]
    effective = effective[kept]
    low, high = proportion_bounds(np.minimum(accuracy * effective, effective), effective)
    return BinnedCurve(
        low=layout.edges[:-1][kept],
        high=layout.edges[1:][kept],
        answers=total[kept].astype(np.int64),
        items=items[kept],
        n_effective=effective,
        confidence=stated / total[kept],
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        scheme=scheme,
        asked=bins,
        note=layout.note or _empty_note(kept),
    )


def _items_per_bin(judged: Judged, place: npt.NDArray[np.intp], bins: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Items and effective items of every bin, from the counts of (bin, item) pairs."""
    if not judged.repeated:
        items = np.bincount(place, minlength=bins).astype(np.int64)
        return items, items.astype(np.float64)
    items = np.zeros(bins, dtype=np.int64)
    effective = np.zeros(bins)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=bins))
    for number, rows in enumerate(np.split(order, ends[:-1])):
        trials = np.bincount(judged.item[rows], minlength=1)
        hits = np.bincount(judged.item[rows], weights=judged.correct[rows], minlength=1)
        items[number] = int((trials > 0).sum())
        effective[number] = float(effective_items(hits, trials))
    return items, effective


def _empty_note(kept: npt.NDArray[np.bool_]) -> str:
    return "" if kept.all() else f"{int((~kept).sum())} of {len(kept)} bins hold no answer and are left out"


def _collapse_note(made: int, asked: int, distinct: int) -> str:
    if made == asked:
        return ""
    if made == distinct:
        values = "one distinct confidence" if distinct == 1 else f"{distinct} distinct confidences"
        return f"{values}: {made} of {asked} bins, one per value"
    return f"confidences repeat too often to fill {asked} bins of equal mass: {made} made"
