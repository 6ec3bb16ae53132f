"""Resampling on counts: the bootstrap without going back to the rows.

A bootstrap sample draws items with replacement. Every statistic here is a function of sums over items, so what a sample
needs is how often each *kind* of item was drawn: with confidences in hundredths there are some two hundred kinds, and
one multinomial draw over them takes the place of a hundred thousand. With continuous confidences every item is of its
own kind; then all are drawn, in blocks of one matrix product each, and where they are very many, neighbours in value
count as one kind, at their mean. Where items repeat, an item's answers are summed first and always drawn together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measure.cells import neighbours
from assay.measure.intervals import FloatArray, Interval
from assay.measure.judged import Judged
from assay.measure.reliability import DEFAULT_BINS, Scheme, cut

DEFAULT_RESAMPLES = 2000

MANY_KINDS = 5_000
"""With more kinds than this, neighbours in value are drawn as one."""

GROUPED_KINDS = 256
"""Groups in value; their own scatter, which grouping leaves out, is below a thousandth of the variance."""

_BLOCK = 50_000
"""Numbers in one block of draws: small enough for a processor's cache, and for its product not to be shared between
threads, which costs more than it saves on a busy machine; measured, three times as fast as large blocks."""

_DRAWS_PER_MULTINOMIAL_KIND = 12
"""A multinomial draw of one kind costs about as much as this many draws of single items (measured)."""


@dataclass(frozen=True)
class Resamples:
    """Statistics of bootstrap samples of items; each array has shape (resamples,)."""

    ece: FloatArray
    brier: FloatArray
    accuracy: FloatArray


def resample_calibration(
    judged: Judged,
    bins: int = DEFAULT_BINS,
    scheme: Scheme = "mass",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Resamples:
    """Bootstrap the expected calibration error, the Brier score and the accuracy together, over items.

    Parameters
    ----------
    judged : Judged
    bins : int
    scheme : {"mass", "width"}
        The bins are those of the data, in every sample.
    resamples : int
    seed : int

    Raises
    ------
    ValueError
        If no answer is readable or `resamples` is below 1.

    Notes
    -----
    A sample's calibration error is larger than the data's, as the data's is larger than the truth: chance adds to it
    each time. So its quantiles are no confidence interval; see `assay.measure.ece.ece_test`.
    """
    judged.require_any()
    layout = cut(judged.cells, bins, scheme)
    if judged.repeated:
        sums, count = _item_sums(judged, layout.place(judged.coded[0])[judged.coded[1]], len(layout))
    else:
        sums, count = _cell_sums(judged, layout.inner, len(layout))
    rng = np.random.default_rng(seed)
    width = len(layout)
    parts = []
    for totals in resampled_sums(sums, count, resamples, rng):
        answers = totals[:, -1]
        error = np.abs(totals[:, :width]).sum(axis=1)
        parts.append(np.column_stack([error, totals[:, width], totals[:, width + 1]]) / answers[:, None])
    ece, brier, accuracy = np.concatenate(parts).T
    return Resamples(ece, brier, accuracy)


def resampled_sums(
    sums: FloatArray, count: npt.NDArray[np.int64], resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield blocks of bootstrap totals, each row the sum over one sample of as many items as there are.

    Parameters
    ----------
    sums : (kinds, columns) float64
        What one item of each kind adds to each total.
    count : (kinds,) int
        Items of each kind.
    resamples : int
        Rows over all blocks, at least 1.
    rng : Generator

    Yields
    ------
    (rows, columns) float64
        Blocks bound the memory at a megabyte beyond the input, or at one sample if that is more.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    n, kinds = int(count.sum()), len(count)
    draw = _multinomial if n > _DRAWS_PER_MULTINOMIAL_KIND * kinds else _single_draws
    rows = max(1, _BLOCK // (kinds if draw is _multinomial else n))
    for start in range(0, resamples, rows):
        yield draw(min(rows, resamples - start), count, rng) @ sums


def mean_interval(
    sums: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Mean per answer with its BCa bootstrap interval over items.

    Parameters
    ----------
    sums : array-like, shape (items,)
        Sum over the answers of each item of the quantity to average.
    answers : array-like of int, shape (items,), optional
        Answers of each item, at least 1. Left out: one each.
    confidence : float
        Two-sided confidence in (0, 1).
    resamples : int
    seed : int

    Returns
    -------
    Interval
        With ``n`` the answers and ``n_effective`` the items. One item, or items that are all alike, show no spread:
        then the bounds equal the estimate, and the caller must say what that is worth.

    Raises
    ------
    ValueError
        If there is no item, a value is not finite, or the confidence is not in (0, 1).

    Notes
    -----
    Efron (1987), https://doi.org/10.1080/01621459.1987.10478410. The acceleration comes from the jackknife over items,
    which a ratio of sums has in closed form. The bounds are widened for small samples as Hesterberg (2015) advises,
    https://doi.org/10.1080/00031305.2015.1089789: the normal quantile is replaced by
    ``sqrt(n / (n - 1))`` times Student's.
    """
    sums = np.asarray(sums, dtype=np.float64)
    if sums.ndim != 1:
        raise ValueError(f"sums must be one-dimensional, got {sums.ndim} dimensions")
    return mean_intervals(sums[:, None], answers, confidence, resamples, seed)[0]


def mean_intervals(
    sums: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> list[Interval]:
    """Intervals of several means from the same resamples, each as `mean_interval` alone would give it.

    Parameters
    ----------
    sums : array-like, shape (items, means)
    answers, confidence, resamples, seed
        As `mean_interval`.
    """
    sums, answers = _per_item(sums, answers)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    total, size, items = sums.sum(axis=0), float(answers.sum()), len(sums)
    estimate = total / size
    influence = sums - estimate * answers[:, None]
    spread = np.ptp(influence, axis=0) > 1e-12 * np.maximum(1.0, np.abs(estimate))
    found = [Interval(float(value), float(value), float(value), round(size), float(items)) for value in estimate]
    if items == 1 or not spread.any():
        return found
    means = _resampled_means(sums, answers, influence, resamples, seed)
    jackknife = (total - sums) / (size - answers)[:, None]
    for column in np.flatnonzero(spread):
        middle = float(estimate[column])
        low, high = bca_bounds(means[:, column], middle, jackknife[:, column], confidence)
        found[column] = Interval(middle, min(low, middle), max(high, middle), round(size), float(items))
    return found


def _resampled_means(
    sums: FloatArray, answers: FloatArray, influence: FloatArray, resamples: int, seed: int
) -> FloatArray:
    """Bootstrap means, shape (resamples, means); very many items are drawn as groups of neighbours in influence."""
    if len(sums) <= MANY_KINDS:
        kinds = np.column_stack([sums, answers])
        count = np.ones(len(sums), dtype=np.int64)
        totals = resampled_sums(kinds, count, resamples, np.random.default_rng(seed))
        return np.concatenate([block[:, :-1] / block[:, -1:] for block in totals])
    columns = []
    for one, pull in zip(sums.T, influence.T, strict=True):
        order = np.argsort(pull, kind="stable")
        group = neighbours(pull[order], np.ones(len(pull)), GROUPED_KINDS)
        start = np.flatnonzero(np.diff(group, prepend=-1))
        count = np.diff(np.append(start, len(pull)))
        kinds = np.add.reduceat(np.column_stack([one, answers])[order], start, axis=0) / count[:, None]
        totals = resampled_sums(kinds, count, resamples, np.random.default_rng(seed))
        columns.append(np.concatenate([block[:, 0] / block[:, 1] for block in totals]))
    return np.column_stack(columns)


def bca_bounds(means: FloatArray, estimate: float, jackknife: FloatArray, confidence: float) -> tuple[float, float]:
    """Return BCa bounds from resampled means; the jackknife values, (items,), matter only up to a positive factor."""
    resamples, items = len(means), len(jackknife)
    below = float((means < estimate).sum() + (means == estimate).sum() / 2)
    # A bias outside what the resamples can resolve would be infinite.
    bias = float(special.ndtri(np.clip(below / resamples, 0.5 / resamples, 1 - 0.5 / resamples)))
    deviation = jackknife.mean() - jackknife
    acceleration = float((deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5))
    quantile = float(special.stdtrit(items - 1, 0.5 + confidence / 2)) * np.sqrt(items / (items - 1))
    shifted = bias + np.array([-quantile, quantile])
    adjusted = bias + shifted / np.maximum(1 - acceleration * shifted, 0.05)
    low, high = np.quantile(means, special.ndtr(adjusted))
    return float(low), float(high)


def _multinomial(rows: int, count: npt.NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    n = int(count.sum())
    return rng.multinomial(n, count / n, size=rows).astype(np.float64)


def _single_draws(rows: int, count: npt.NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    n, kinds = int(count.sum()), len(count)
    drawn = rng.integers(0, n, size=(rows, n))
    if kinds < n:
        drawn = np.repeat(np.arange(kinds), count)[drawn]
    drawn += (np.arange(rows) * kinds)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * kinds).reshape(rows, kinds).astype(np.float64)


def _item_sums(judged: Judged, place: npt.NDArray[np.intp], bins: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Per item: the signed gap in each bin, the squared errors, the right answers, the answers."""
    error = judged.correct - judged.confidence
    gaps = np.bincount(judged.item * bins + place, weights=error, minlength=judged.items * bins)
    sums = np.empty((judged.items, bins + 3))
    sums[:, :bins] = gaps.reshape(judged.items, bins)
    sums[:, bins] = np.bincount(judged.item, weights=error**2, minlength=judged.items)
    sums[:, bins + 1] = np.bincount(judged.item, weights=judged.correct, minlength=judged.items)
    sums[:, bins + 2] = np.bincount(judged.item, minlength=judged.items)
    return sums, np.ones(judged.items, dtype=np.int64)


def _cell_sums(judged: Judged, inner_edges: FloatArray, bins: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Per kind of answer (confidence and outcome): the same four, for one answer of the kind."""
    cells = judged.cells
    place = np.searchsorted(inner_edges, cells.confidence, side="left")
    group = np.arange(len(cells))
    if len(cells) > MANY_KINDS:
        group = neighbours(cells.confidence, cells.count, GROUPED_KINDS) + place
    parts = []
    for outcome, number in ((1.0, cells.right), (0.0, cells.wrong)):
        held = number > 0
        start = np.flatnonzero(np.diff(group[held], prepend=-1))
        if not len(start):
            continue
        add = _group_adder(start, number[held])
        error = outcome - cells.confidence[held]
        sums = np.zeros((len(start), bins + 3))
        sums[np.arange(len(start)), place[held][start]] = add(error)
        sums[:, bins] = add(error**2)
        sums[:, bins + 1] = outcome
        sums[:, bins + 2] = 1.0
        parts.append((sums, np.add.reduceat(number[held], start)))
    return np.concatenate([sums for sums, _ in parts]), np.concatenate([number for _, number in parts])


def _group_adder(start: npt.NDArray[np.intp], number: npt.NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
    """Return the function that takes values per cell to their mean over the answers of each group."""
    answers = np.add.reduceat(number, start)

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values * number, start) / answers, dtype=np.float64)

    return mean


def _per_item(sums: npt.ArrayLike, answers: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    sums = np.asarray(sums, dtype=np.float64)
    answers = np.ones(len(sums)) if answers is None else np.asarray(answers, dtype=np.float64)
    if answers.shape != sums.shape[:1]:
        raise ValueError(f"sums and answers must be of equally many items, got {len(sums)} and {answers.shape}")
    if not len(sums):
        raise ValueError("an interval of a mean needs at least one item")
    if not np.isfinite(sums).all():
        raise ValueError("sums must be finite")
    if (answers < 1).any():
        raise ValueError("answers must be at least 1 for every item")
    return sums, answers
