"""Intervals of proportions: Wilson's, at the effective number of items, and the exact binomial bounds.

The item is the unit of every interval here. Ten runs of one item hardly tell more than one run does, so a proportion
over repeated answers is put in Wilson's formula at the *effective number of items*: the number of independent answers
that would leave it as uncertain as the scatter between items shows it to be, and never more than there are items. One
answer per item gives Wilson's interval itself, and so do ten identical answers of each item; only where there are at
most three misses, or three hits, one bound reaches further (`proportion_bounds`).
"""

import operator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

FloatArray: TypeAlias = npt.NDArray[np.float64]

FEW_EVENTS = 3
"""Up to this many misses (or hits) the bound next to the edge is not Wilson's; see `proportion_bounds`."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the two bounds of its confidence interval.

    Attributes
    ----------
    estimate, low, high : float
        All three are NaN when there is nothing to estimate (``n == 0``), and only then.
    n : int
        Trials behind the estimate: answers, not items.
    n_effective : float
        The number of independent answers that the interval counts; at most the number of items.
    """

    estimate: float
    low: float
    high: float
    n: int
    n_effective: float

    @property
    def known(self) -> bool:
        """Whether anything was observed; an unknown interval holds NaN and must be shown as such."""
        return self.n > 0

    @property
    def width(self) -> float:
        """Distance between the bounds, in the unit of the estimate."""
        return self.high - self.low


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"), 0, 0.0)


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval of a proportion.

    Parameters
    ----------
    successes, n : array-like, broadcast together
        Successes and trials; fractions are allowed, for an effective number of trials. No trials give the
        uninformative interval [0, 1].
    confidence : float
        Two-sided confidence in (0, 1).

    Returns
    -------
    low, high : arrays of the broadcast shape (0-d for scalars), within [0, 1]

    Raises
    ------
    ValueError
        If a count is negative or not finite, if successes exceed trials, or if the confidence is not in (0, 1).

    Notes
    -----
    Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953.
    """
    successes, n = _counts(successes, n)
    z = _normal_quantile(confidence)
    # Written without a division by n, so that n = 0 needs no case of its own.
    scale = n + z**2
    centre = (successes + z**2 / 2) / scale
    failures = n - successes
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.where(n > 0, successes * failures / np.where(n > 0, n, 1.0), 0.0)
    half = z * np.sqrt(spread + z**2 / 4) / scale
    # The bound at an all-right or all-wrong sample is 1 or 0 exactly; rounding must not leave it a hair inside.
    low = np.where(successes <= 0, 0.0, np.clip(centre - half, 0.0, 1.0))
    high = np.where(failures <= 0, 1.0, np.clip(centre + half, 0.0, 1.0))
    return low, high


def proportion_bounds(
    successes: npt.ArrayLike, n: npt.ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval with the bound next to 1 moved out at up to three misses, and that next to 0 at up to three hits.

    Wilson's interval of 59 in 60 ends at 0.997. A true rate of 0.998 shows one miss in 60 one time in nine, and each
    time the interval would be wrong: 95 % would be 89 %. With the outer bound from the Poisson distribution of rare
    events it ends at 0.999. The inner bound, the one that a promise rests on, is Wilson's, and so is everything with
    more misses and hits, or with none.

    Parameters, Returns and Raises are those of `wilson`.

    Notes
    -----
    Brown, Cai and DasGupta (2001), section 4.1.1, https://doi.org/10.1214/ss/1009213286.
    """
    low, high = wilson(successes, n, confidence)
    successes, n = _counts(successes, n)
    return np.minimum(low, _rare_rate(successes, n, confidence)), np.maximum(
        high, 1 - _rare_rate(n - successes, n, confidence)
    )


def effective_items(hits: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
    """Effective number of items behind the ratio ``sum(hits) / sum(trials)``, items along the first axis.

    Parameters
    ----------
    hits, trials : array-like, shape (items, ...)
        Totals of each item; trailing axes (bins, thresholds) are treated one by one. An item without trials counts as
        absent.

    Returns
    -------
    array, shape (...)
        ``p (1 - p) / variance(p)`` with the linearised variance of a ratio of item totals, at most the number of items
        with trials. An estimate of 0 or 1 shows no scatter, and stands on as many answers as there are items.

    Notes
    -----
    The ratio of cluster totals and its variance: Cochran, Sampling Techniques (1977), chapter 6; an effective sample
    size in an interval of a proportion: Korn and Graubard (1998), Survey Methodology 24(2), 193-201.
    """
    hits = np.asarray(hits, dtype=np.float64)
    trials = np.asarray(trials, dtype=np.float64)
    total_hits = hits.sum(axis=0)
    total_trials = trials.sum(axis=0)
    share = np.divide(total_hits, total_trials, out=np.zeros_like(total_hits), where=total_trials > 0)
    scatter = ((hits - share * trials) ** 2).sum(axis=0)
    items = (trials > 0).sum(axis=0).astype(np.float64)
    independent = total_hits * (total_trials - total_hits)
    measurable = (independent > 0) & (scatter > 0)
    ratio = np.divide(independent, scatter, out=np.full_like(independent, np.inf), where=measurable)
    return np.asarray(np.minimum(ratio, items), dtype=np.float64)


def plain_proportion(hits: float, trials: float, confidence: float = 0.95) -> Interval:
    """Proportion of trials that are independent of each other, as of one answer per item; unknown without a trial."""
    if not trials:
        return UNKNOWN
    low, high = proportion_bounds(hits, trials, confidence)
    return Interval(hits / trials, float(low), float(high), round(trials), float(trials))


class ClusteredShare(NamedTuple):
    """A share of answers that may share their items, before its interval; NaN of no trial.

    Attributes
    ----------
    estimate : float
    trials : int
    effective : float
        Effective number of items; see `effective_items`.
    """

    estimate: float
    trials: int
    effective: float


def clustered_share(hits: npt.ArrayLike, trials: npt.ArrayLike, items: npt.ArrayLike | None = None) -> ClusteredShare:
    """Share ``sum(hits) / sum(trials)`` and what it stands on; parameters and errors are `clustered_proportion`'s."""
    hits, trials = _counts(hits, trials, names=("hits", "trials"))
    hits, trials = np.atleast_1d(hits), np.atleast_1d(trials)
    if items is not None:
        codes, count = item_codes(items)
        if codes.shape != hits.shape:
            raise ValueError(f"items must have the shape of hits {hits.shape}, got {codes.shape}")
        hits = np.bincount(codes, weights=hits, minlength=count)
        trials = np.bincount(codes, weights=trials, minlength=count)
    total = float(trials.sum())
    if total == 0:
        return ClusteredShare(float("nan"), 0, 0.0)
    return ClusteredShare(float(hits.sum()) / total, round(total), float(effective_items(hits, trials)))


def share_bounds(
    estimate: npt.ArrayLike, effective: npt.ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return `proportion_bounds` of shares at their effective numbers of items, arrays of one shape; NaN stays NaN."""
    estimate, effective = np.asarray(estimate, dtype=np.float64), np.asarray(effective, dtype=np.float64)
    unknown = np.isnan(estimate)
    # The ratio before the product: rounding could else put the successes above the trials.
    successes = np.where(unknown, 0.0, np.minimum(estimate * effective, effective))
    low, high = proportion_bounds(successes, effective, confidence)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def clustered_proportion(
    hits: npt.ArrayLike,
    trials: npt.ArrayLike,
    items: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Proportion ``sum(hits) / sum(trials)`` with `proportion_bounds` at the effective number of items.

    Parameters
    ----------
    hits, trials : array-like, shape (answers,)
        0/1 or counts, ``0 <= hits <= trials``. An answer outside the denominator has no trial; its item counts only if
        another of its answers has one.
    items : array-like of ids or codes, shape (answers,), optional
        The item of each answer. Left out: every answer is an item of its own.
    confidence : float
        Two-sided confidence in (0, 1).

    Returns
    -------
    Interval
        With ``n`` the number of trials. No trials: NaN estimate and bounds, ``n = 0`` (see `Interval.known`).
        All right or all wrong: the number of items is the effective number, so the width is never zero.

    Raises
    ------
    ValueError
        If shapes differ, or for counts and confidences that `wilson` refuses.
    """
    share = clustered_share(hits, trials, items)
    low, high = share_bounds(share.estimate, share.effective, confidence)
    return Interval(share.estimate, float(low), float(high), share.trials, share.effective)


def exact_lower(k: npt.ArrayLike, n: npt.ArrayLike, delta: float) -> FloatArray:
    """One-sided exact (Clopper-Pearson) lower bound of a binomial proportion at confidence ``1 - delta``.

    Parameters
    ----------
    k, n : array-like, broadcast together
        Successes and trials.
    delta : float
        Probability in (0, 1) that the bound may exceed the truth.

    Returns
    -------
    array of the broadcast shape (0-d for scalars)
        0 where there are no successes or no trials: nothing is claimed.

    Raises
    ------
    ValueError
        For counts that `wilson` refuses or a `delta` outside (0, 1).

    Notes
    -----
    Clopper and Pearson (1934), https://doi.org/10.1093/biomet/26.4.404.
    """
    k, n = _counts(k, n, names=("k", "n"))
    _check_open_unit("delta", delta)
    inside = k > 0
    bound = special.betaincinv(np.where(inside, k, 1.0), np.where(inside, n - k + 1, 1.0), delta)
    return np.asarray(np.where(inside, bound, 0.0), dtype=np.float64)


def exact_upper(k: npt.ArrayLike, n: npt.ArrayLike, delta: float) -> FloatArray:
    """One-sided exact (Clopper-Pearson) upper bound of a binomial proportion at confidence ``1 - delta``.

    The mirror of `exact_lower`: 1 where there are no failures or no trials.
    """
    k, n = _counts(k, n, names=("k", "n"))
    return np.asarray(1.0 - exact_lower(n - k, n, delta), dtype=np.float64)


def whole_count(name: str, value: object) -> int:
    """Return a count as an int; ValueError, naming it, if it is no whole number or below 0."""
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")
    return count


def item_codes(items: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], int]:
    """Whole numbers 0..count-1 in place of item ids, and the count.

    Integers that already run from 0 without large gaps are taken as they are: nothing is sorted.
    """
    ids: Any = np.asarray(items)
    if ids.ndim != 1:
        raise ValueError(f"items must be one-dimensional, got {ids.ndim} dimensions")
    if ids.size == 0:
        return np.zeros(0, dtype=np.intp), 0
    if np.issubdtype(ids.dtype, np.integer) and ids.min() >= 0 and ids.max() < 2 * ids.size:
        return ids.astype(np.intp, copy=False), int(ids.max()) + 1
    codes, distinct = pd.factorize(ids)
    if (codes < 0).any():
        raise ValueError(f"items must all be named, position {int(np.argmax(codes < 0))} is missing")
    return codes.astype(np.intp, copy=False), len(distinct)


def _counts(
    successes: npt.ArrayLike, n: npt.ArrayLike, names: tuple[str, str] = ("successes", "n")
) -> tuple[FloatArray, FloatArray]:
    successes = np.asarray(successes, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(successes).all() and np.isfinite(n).all()):
        raise ValueError(f"{names[0]} and {names[1]} must be finite")
    try:
        successes, n = np.broadcast_arrays(successes, n)
    except ValueError:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same shape, got {successes.shape} and {n.shape}"
        ) from None
    wrong = (successes < 0) | (successes > n)
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{names[0]} must lie between 0 and {names[1]}, got {float(successes[first])} of {float(n[first])}"
        )
    return successes, n


def _rare_rate(events: FloatArray, n: FloatArray, confidence: float) -> FloatArray:
    """Lowest rate at which as many rare events are still plausible; 1 where events are none or not rare."""
    # Events that a share times a number gave may be off in the last bits.
    rare = (events > 0) & (events <= FEW_EVENTS * (1 + 1e-9))
    mean = special.gammaincinv(np.where(rare, events, 1.0), 1 - confidence)
    return np.asarray(np.where(rare, mean / np.where(rare, n, 1.0), 1.0), dtype=np.float64)


def _normal_quantile(confidence: float) -> float:
    _check_open_unit("confidence", confidence)
    return float(special.ndtri(0.5 + confidence / 2))


def _check_open_unit(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
