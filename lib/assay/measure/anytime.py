"""Bounds that hold however often one looks: evidence about a rate that may be checked after every label.

A bound made for one sample size, looked at again and again, is sooner or later wrong by chance. Here the evidence is a
likelihood ratio averaged over the rates on one side of the target, a nonnegative supermartingale under every rate on the
other side; by Ville's inequality it ever reaches ``1 / delta`` with probability at most delta (Ville 1939; Robbins 1970,
https://doi.org/10.1214/aoms/1177696786). The average is taken over one side of a beta distribution, as in the one-sided
beta-binomial mixture of Howard, Ramdas, McAuliffe and Sekhon (2021), arXiv 1810.08240; read as betting against the
target, it is a mixture of the bets in Waudby-Smith and Ramdas (2024), arXiv 2010.09686.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assay.measure.intervals import whole_count

FloatArray = NDArray[np.float64]

PRIOR_MISSES = 1.0
"""Weight of the beta distribution, in misses: so many in ``1 / (1 - target)`` labels, which puts its mean at the target.
Light enough to give way to data, and enough to find a rate of 0.80 under a target of 0.95 within 100 labels."""

_NARROWEST = 1e-9


def log_evidence_below(successes: ArrayLike, trials: ArrayLike, target: float) -> FloatArray:
    """Return the logarithm of the evidence that the true rate is below `target`.

    Parameters
    ----------
    successes, trials : array-like of whole numbers, broadcast together
    target : float in (0, 1)

    Returns
    -------
    array of the broadcast shape
        Where the true rate is at least the target, its largest value over all times reaches ``log(1 / delta)`` with
        probability at most delta.
    """
    return _log_evidence(successes, trials, target, special.betaincc)


def log_evidence_above(successes: ArrayLike, trials: ArrayLike, target: float) -> FloatArray:
    """Return the logarithm of the evidence that the true rate is above `target`.

    As `log_evidence_below`, with the guarantee for true rates of at most the target.
    """
    return _log_evidence(successes, trials, target, special.betainc)


def anytime_bounds(successes: int, trials: int, delta_lower: float, delta_upper: float) -> tuple[float, float]:
    """Return a lower and an upper bound of a rate, each of which holds at all times together.

    Parameters
    ----------
    successes, trials : int
    delta_lower, delta_upper : float in (0, 1)
        The probabilities that the true rate is ever below the lower and ever above the upper bound.

    Returns
    -------
    lower, upper : float in [0, 1]
        The rates at which the evidence just suffices: any target up to `lower` is shown to be reached.

    Raises
    ------
    ValueError
        If a count is no whole number from 0, if successes exceed trials, or a delta is not in (0, 1).
    """
    if whole_count("successes", successes) > whole_count("trials", trials):
        raise ValueError(f"successes must be at most trials ({trials}), got {successes}")
    for name, delta in (("delta_lower", delta_lower), ("delta_upper", delta_upper)):
        if not 0 < delta < 1:
            raise ValueError(f"{name} must lie in (0, 1), got {delta!r}")
    if not trials:
        return 0.0, 1.0

    def reached(rate: float) -> bool:
        return bool(log_evidence_above(successes, trials, rate) >= -np.log(delta_lower))

    def missed(rate: float) -> bool:
        return bool(log_evidence_below(successes, trials, rate) >= -np.log(delta_upper))

    return _last(reached), 1.0 - _last(lambda shortfall: missed(1.0 - shortfall))


def _log_evidence(
    successes: ArrayLike, trials: ArrayLike, target: float, side: Callable[..., FloatArray]
) -> FloatArray:
    """Average the likelihood ratio against `target` over the rates of misses on one side of the target's own.

    `side` is the distribution function of the beta distribution, or its complement.
    """
    hits = np.asarray(successes, dtype=float)
    misses = np.asarray(trials, dtype=float) - hits
    allowed = 1 - target
    a, b = PRIOR_MISSES, PRIOR_MISSES * target / allowed
    with np.errstate(divide="ignore"):
        # Where the share underflows to 0 there is no evidence at all, which minus infinity says.
        share = np.log(side(a + misses, b + hits, allowed))
    mixture = share + special.betaln(a + misses, b + hits) - special.betaln(a, b) - np.log(side(a, b, allowed))
    return np.asarray(mixture - misses * np.log(allowed) - hits * np.log(target))


def _last(holds: Callable[[float], bool]) -> float:
    """Return the largest rate at which `holds`, which is true from 0 up to some rate; 0 if it is nowhere."""
    low, high = 0.0, 1.0
    while high - low > _NARROWEST:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
