"""Cells: answers as counts per distinct confidence and outcome.

A language model writes confidences in hundredths, so a hundred thousand answers are some two hundred counts. What
depends on confidences and outcomes alone (curves, scores, simulations) is computed on the counts. Counts are additive:
parts of a data set can be counted apart and added. Where confidences are continuous and many, neighbours can share a
cell, which keeps counts, right answers and mean confidence of every cell exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.intervals import FloatArray


@dataclass(frozen=True)
class Cells:
    """Counts of right and wrong answers at each distinct confidence.

    Attributes
    ----------
    confidence : (k,) float64, strictly increasing, in [0, 1]
    right, wrong : (k,) int
        Answers at that confidence, by outcome.
    """

    confidence: FloatArray
    right: npt.NDArray[np.int64]
    wrong: npt.NDArray[np.int64]

    @classmethod
    def of(cls, confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> "Cells":
        """Count answers; `assay.measure.judged.Judged` is the way in that checks them.

        Parameters
        ----------
        confidence : (n,) float64 in [0, 1]
        correct : (n,) bool
        """
        return counted_cells(*distinct_values(confidence), correct)

    def __len__(self) -> int:
        return len(self.confidence)

    def __add__(self, other: "Cells") -> "Cells":
        """Return the counts of two parts together."""
        return sum_cells([self, other])

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """Answers at each confidence, shape (k,)."""
        return np.asarray(self.right + self.wrong, dtype=np.int64)

    @property
    def n(self) -> int:
        """Number of answers."""
        return int(self.right.sum() + self.wrong.sum())

    @property
    def accuracy(self) -> float:
        """Share of right answers; there must be an answer."""
        return float(self.right.sum()) / self.n

    def quantiles(self, shares: npt.ArrayLike) -> FloatArray:
        """Quantiles of the confidences, as ``numpy.quantile`` gives them for the single answers.

        Parameters
        ----------
        shares : array-like in [0, 1]
        """
        position = np.asarray(shares, dtype=np.float64) * (self.n - 1)
        below = np.floor(position).astype(np.int64)
        last = np.cumsum(self.count) - 1
        lower = self.confidence[np.searchsorted(last, below, side="left")]
        upper = self.confidence[np.searchsorted(last, np.minimum(below + 1, self.n - 1), side="left")]
        return np.asarray(lower + (upper - lower) * (position - below), dtype=np.float64)

    def grouped(self, limit: int, inner_edges: FloatArray | None = None) -> "Cells":
        """Cells in which neighbouring confidences share one, if there are more than `limit`.

        A group spans at most ``2 / limit`` of the range of confidences and about as small a share of the answers, and
        never crosses an edge of `inner_edges` (a confidence at an edge belongs to the group below it). Its confidence
        is the mean of its answers'.
        """
        if len(self) <= limit:
            return self
        group = neighbours(self.confidence, self.count, limit)
        if inner_edges is not None:
            group = group + np.searchsorted(inner_edges, self.confidence, side="left")
        start = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        count = np.add.reduceat(self.count, start)
        return Cells(
            np.add.reduceat(self.confidence * self.count, start) / count,
            np.add.reduceat(self.right, start),
            np.add.reduceat(self.wrong, start),
        )


def sum_cells(parts: Sequence[Cells]) -> Cells:
    """Add up the counts of many parts at once; the result does not depend on how the answers were parted."""
    confidence = np.concatenate([part.confidence for part in parts] or [np.empty(0)])
    # The parts are sorted runs, which a stable sort merges.
    order = np.argsort(confidence, kind="stable")
    confidence = confidence[order]
    new = np.ones(len(confidence), dtype=np.bool_)
    new[1:] = confidence[1:] > confidence[:-1]
    all_distinct = bool(new.all())  # as of continuous confidences, of which a second copy would not be small

    def added(counts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        each = np.concatenate(counts or [np.empty(0, np.int64)])[order]
        return each if all_distinct else np.add.reduceat(each, np.flatnonzero(new))

    right, wrong = added([part.right for part in parts]), added([part.wrong for part in parts])
    return Cells(confidence if all_distinct else confidence[new], right, wrong)


def distinct_values(values: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Return the distinct values, increasing, and the position of each value among them."""
    # Hashing finds few values fastest and many slowest; the first values tell which it is.
    probe = values[:4096]
    if 2 * len(np.unique(probe)) > len(probe):
        distinct, codes = np.unique(values, return_inverse=True)
    else:
        codes, distinct = pd.factorize(values, sort=True)
    return np.asarray(distinct, dtype=np.float64), np.asarray(codes, dtype=np.intp)


def counted_cells(distinct: FloatArray, codes: npt.NDArray[np.intp], correct: npt.NDArray[np.bool_]) -> Cells:
    """Return the cells of answers whose confidences are coded as `distinct_values` does."""
    right = np.bincount(codes[correct], minlength=len(distinct))
    return Cells(distinct, right, np.bincount(codes, minlength=len(distinct)) - right)


def neighbours(values: FloatArray, count: npt.ArrayLike, limit: int) -> npt.NDArray[np.int64]:
    """Group numbers, never decreasing, that put neighbouring sorted `values` together in about `limit` groups.

    Half of the cuts are equally spaced in value and half in count: the first keep a sparse tail apart, the second
    the bulk. So the scatter inside the groups is a vanishing share of the whole, whatever the distribution.
    """
    low, high = float(values[0]), float(values[-1])
    by_value = np.floor((values - low) / max(high - low, np.finfo(float).tiny) * (limit // 2)).astype(np.int64)
    cumulative = np.cumsum(count)
    by_count = (cumulative - 1) * (limit // 2) // cumulative[-1]
    return np.asarray(by_value + by_count, dtype=np.int64)
