"""Tails of the binomial distribution, on arrays, and which side of a target counts have shown themselves to be on.

A gate is judged by two one-sided exact tests. Both are written with the incomplete beta function, so that a hundred
thousand candidates cost milliseconds, and so that counts may be fractions where a plan interpolates between whole ones.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
"""What counts show about a rate and its target: at least the target, below it, or neither yet."""


def chance_of_at_least(successes: ArrayLike, trials: ArrayLike, rate: ArrayLike) -> FloatArray:
    """Return the probability of `successes` or more when each trial succeeds with probability `rate`.

    Parameters
    ----------
    successes, trials : array-like, broadcast together
        ``0 <= successes <= trials``; fractions interpolate smoothly between whole counts.
    rate : array-like of float in (0, 1)

    Returns
    -------
    array of the broadcast shape
        The p-value of "the true rate is at most `rate`". 1 for no successes, and so for no trials.
    """
    k, n, p = np.broadcast_arrays(*(np.asarray(one, dtype=float) for one in (successes, trials, rate)))
    some = k > 0
    return np.asarray(np.where(some, special.betainc(np.where(some, k, 1.0), n - k + 1, p), 1.0))


def chance_of_at_most(successes: ArrayLike, trials: ArrayLike, rate: ArrayLike) -> FloatArray:
    """Return the probability of `successes` or fewer: the p-value of "the true rate is at least `rate`".

    As `chance_of_at_least`, with the tails exchanged.
    """
    k, n, p = (np.asarray(one, dtype=float) for one in (successes, trials, rate))
    return chance_of_at_least(n - k, n, 1 - p)


def decided(successes: ArrayLike, trials: ArrayLike, target: float, delta: float) -> NDArray[np.str_]:
    """Return `PASS`, `FAIL` or `UNDECIDED` for each pair of counts.

    Pass: the exact lower bound at confidence ``1 - delta`` is at least the target. Fail: the upper bound is below it.
    """
    passes = chance_of_at_least(successes, trials, target) <= delta
    fails = chance_of_at_most(successes, trials, target) < delta
    return np.asarray(np.where(passes, PASS, np.where(fails, FAIL, UNDECIDED)))
