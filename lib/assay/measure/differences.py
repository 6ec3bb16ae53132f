"""Intervals of paired differences: what the items that two variants share say about how far apart they are.

All of them resample or sum over items, both variants' answers to an item together. A difference of shares is resampled
with two more items, one for each variant, on which that variant alone is right; so variants that never differ do not
get an interval of no width, and small samples are covered as promised. Means take BCa intervals. A calibration error is
inflated by chance, and more so when resampled, so its differences take the pivotal interval, widened by what that leaves.
A difference of AUROCs has a variance in closed form.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measure.intervals import FloatArray
from assay.measure.item_means import Confidences
from assay.measure.resample import MANY_KINDS, bca_bounds, mean_interval

_BLOCK = 4_000_000
_KEPT_AS_FLOATS = 12_000_000


@dataclass(frozen=True)
class Bounds:
    """An interval of a difference.

    Attributes
    ----------
    low, high : float
        NaN where the items show no spread from which one could be told.
    standard_error : float
        Of the difference; NaN where unknown.
    note : str
        Empty, or what a reader must know.
    """

    low: float
    high: float
    standard_error: float
    note: str = ""


NO_PAIRS_DIFFER = "no pairs differ"
NOTHING = Bounds(float("nan"), float("nan"), float("nan"), "nothing to compare")


class ItemDraws:
    """Bootstrap samples of items, drawn once for each number of items and used for every pair and metric.

    Parameters
    ----------
    resamples : int
    seed : int
    """

    def __init__(self, resamples: int, seed: int) -> None:
        if resamples < 100:
            raise ValueError(f"resamples must be at least 100, got {resamples}")
        self.resamples = resamples
        self.seed = seed
        self._items = 0
        self._counts: npt.NDArray[np.float64 | np.uint8] = np.zeros((0, 0))

    def totals(self, columns: FloatArray) -> FloatArray:
        """Return the sums over each sample, (resamples, columns), of an (items, columns) array."""
        counts = self._drawn(len(columns))
        rows = _rows(len(columns))
        blocks = [
            counts[start : start + rows].astype(np.float64, copy=False) @ columns
            for start in range(0, self.resamples, rows)
        ]
        return np.concatenate(blocks)

    def _drawn(self, items: int) -> npt.NDArray[np.float64 | np.uint8]:
        """Count how often each sample holds each item; kept as bytes, which no count outgrows, where there are many."""
        if self._items != items:
            rng = np.random.default_rng(self.seed)
            kind = np.float64 if items * self.resamples <= _KEPT_AS_FLOATS else np.uint8
            blocks = []
            for start in range(0, self.resamples, _rows(items)):
                size = min(_rows(items), self.resamples - start)
                drawn = rng.integers(0, items, size=(size, items), dtype=np.int32) + np.arange(size)[:, None] * items
                blocks.append(np.bincount(drawn.ravel(), minlength=size * items).astype(kind).reshape(size, items))
            self._counts, self._items = np.concatenate(blocks), items
        return self._counts


def share_bounds(differences: FloatArray, confidence: float, resamples: int, seed: int) -> Bounds:
    """Bound a difference of shares, such as accuracies.

    Parameters
    ----------
    differences : (items,) float64 in [-1, 1]
        Per item. Without repeats there are three kinds of item (only the first variant right, only the second, both
        alike), so a resample is one draw of three counts; with ten runs there are at most twenty-one.
    confidence : float in (0, 1)
        Two-sided.
    resamples, seed : int

    Notes
    -----
    The two added items are those of Bonett and Price (2012), https://doi.org/10.3102/1076998611411915, whose interval
    is the normal one; the percentile interval here keeps the skewness of rare differences.
    """
    items = len(differences)
    if not items:
        return NOTHING
    kinds, count = _kinds(differences)
    enlarged = items + 2
    rng = np.random.default_rng(seed)
    means = rng.multinomial(enlarged, count / enlarged, size=resamples) @ kinds / enlarged
    low, high = np.quantile(means, _tails(confidence))
    estimate = float(differences.mean())
    centre = float(count @ kinds) / enlarged
    error = float(np.sqrt((count @ kinds**2 / enlarged - centre**2) / enlarged))
    note = NO_PAIRS_DIFFER if not differences.any() else ""
    return Bounds(min(float(low), estimate), max(float(high), estimate), error, note)


def mean_bounds(differences: FloatArray, confidence: float, draws: ItemDraws) -> Bounds:
    """Bound a difference of means, such as Brier scores, by the BCa bootstrap.

    Parameters
    ----------
    differences : (items,) float64
    confidence : float in (0, 1)
    draws : ItemDraws

    Notes
    -----
    As `assay.measure.resample.mean_interval`, with samples that all metrics and pairs of equal size share. Where items
    are very many, that function's grouping of neighbours takes over.
    """
    items = len(differences)
    if not items:
        return NOTHING
    if not differences.any():
        return Bounds(float("nan"), float("nan"), float("nan"), NO_PAIRS_DIFFER)
    estimate = float(differences.mean())
    if items == 1 or np.ptp(differences) <= 1e-12 * max(1.0, abs(estimate)):
        note = "one item: no interval" if items == 1 else "every item differs by the same amount"
        bound = float("nan") if items == 1 else estimate
        return Bounds(bound, bound, float("nan") if items == 1 else 0.0, note)
    error = float(differences.std(ddof=1) / np.sqrt(items))
    if items > MANY_KINDS:
        interval = mean_interval(differences, None, confidence, draws.resamples, draws.seed)
        return Bounds(interval.low, interval.high, error)
    means = draws.totals(differences[:, None])[:, 0] / items
    low, high = bca_bounds(means, float(differences.mean()), -differences, confidence)
    return Bounds(min(low, estimate), max(high, estimate), error)


def calibration_bounds(gaps_a: FloatArray, gaps_b: FloatArray, confidence: float, draws: ItemDraws) -> Bounds:
    """Bound a difference of expected calibration errors.

    Parameters
    ----------
    gaps_a, gaps_b : (items, bins) float64
        What each item adds to the signed gap of each bin; see `gaps_by_item`.
    confidence : float in (0, 1)
    draws : ItemDraws

    Notes
    -----
    The pivotal bootstrap, with either side moved out by the inflation that it may leave in the other variant's error;
    see `_inflation_left`. In simulations it covers in 90 to 99 % of studies, whether neither, one or both variants are
    calibrated, where the plain pivotal interval covers in as few as 72 %.
    """
    items = len(gaps_a)
    if not items:
        return NOTHING
    both = np.hstack([gaps_a, gaps_b])
    if items <= MANY_KINDS:
        totals = draws.totals(both)
    else:
        # Sums over this many items are normal to all purposes, and cost as much as one item each.
        covariance = items * np.cov(both, rowvar=False, bias=True)
        rng = np.random.default_rng(draws.seed)
        totals = rng.multivariate_normal(both.sum(axis=0), covariance, size=draws.resamples, method="svd")
    bins = gaps_a.shape[1]
    samples = (np.abs(totals[:, :bins]).sum(axis=1) - np.abs(totals[:, bins:]).sum(axis=1)) / items
    estimate = calibration_error(gaps_a) - calibration_error(gaps_b)
    if np.ptp(samples) <= 1e-12:
        return Bounds(float("nan"), float("nan"), float("nan"), NO_PAIRS_DIFFER)
    lower, upper = np.quantile(samples, _tails(confidence))
    low, high = 2 * estimate - upper - _inflation_left(gaps_a), 2 * estimate - lower + _inflation_left(gaps_b)
    return Bounds(float(low), float(high), float(samples.std()))


def _inflation_left(gaps: FloatArray) -> float:
    """Bound the inflation of a calibration error that the pivotal interval does not take out.

    A bin's gap that is nothing but noise of standard error s shows ``sqrt(2 / pi) s`` on average; resampling adds another
    ``sqrt(2) - 1`` of that, which is what is taken out. The rest counts for the bins whose gap may be noise.
    """
    gap, error = gaps.mean(axis=0), gaps.std(axis=0) / np.sqrt(len(gaps))
    return float(np.sqrt(2 / np.pi) * (2 - np.sqrt(2)) * error[np.abs(gap) < 2 * error].sum())


def gaps_by_item(stated: Confidences, place: npt.NDArray[np.intp], bins: int, items: int) -> FloatArray:
    """Sum outcome less confidence, weighted, over the answers of each item in each bin: (items, bins)."""
    gap = stated.weight * (stated.correct - stated.confidence)
    flat = np.bincount(stated.item * bins + place, weights=gap, minlength=items * bins)
    return np.asarray(flat.reshape(items, bins))


def calibration_error(gaps: FloatArray) -> float:
    """Return the expected calibration error in [0, 1] from what each item adds to each bin's gap; NaN over no items."""
    return float(np.abs(gaps.sum(axis=0)).sum() / len(gaps)) if len(gaps) else float("nan")


def ranking_bounds(estimate: float, influence: FloatArray, confidence: float) -> Bounds:
    """Bound a difference of AUROCs.

    Parameters
    ----------
    estimate : float
    influence : (items,) float64
        What each item adds to the deviation of the first area, less that of the second; see `area_by_item`.
    confidence : float in (0, 1)

    Notes
    -----
    DeLong et al. (1988), https://doi.org/10.2307/2531595, with the items as clusters; Student's quantile.
    """
    items = len(influence)
    if items < 2 or np.isnan(estimate):
        return NOTHING
    error = float(np.sqrt((influence**2).sum() * items / (items - 1)))
    if error <= 1e-12:
        return Bounds(float("nan"), float("nan"), float("nan"), NO_PAIRS_DIFFER)
    half = float(special.stdtrit(items - 1, 0.5 + confidence / 2)) * error
    return Bounds(max(estimate - half, -1.0), min(estimate + half, 1.0), error)


def _rows(items: int) -> int:
    return max(1, _BLOCK // max(1, items))


def _kinds(differences: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The distinct differences with the number of items of each, one added at either end."""
    whole = differences.astype(np.int8)
    if (whole == differences).all():
        return np.array([-1.0, 0.0, 1.0]), np.bincount(whole + 1, minlength=3) + np.array([1, 0, 1])
    kinds, count = np.unique(np.round(np.append(differences, [-1.0, 1.0]), 12), return_counts=True)
    return kinds, count


def _tails(confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    return (1 - confidence) / 2, (1 + confidence) / 2
