"""How many labels a gate takes: before any are collected, and once some are.

The numbers come from the exact tests that `certify` makes, so a plan and its certificate cannot disagree.
"""

import math

import numpy as np

from assay.measure.binomial import UNDECIDED, chance_of_at_least, decided

LIMIT = 10_000
"""Beyond this many labels a plan says "more than 10,000" instead of a number."""


def fewest_labels(target: float, delta: float = 0.05) -> int:
    """Return the fewest labels that can show a rate of at least `target`: all of them without a miss.

    Parameters
    ----------
    target, delta : float in (0, 1)

    Returns
    -------
    int
        The smallest n with ``target ** n <= delta``: 59 for 0.95 at 0.05.
    """
    _require_open("target", target)
    _require_open("delta", delta)
    count = max(1, math.ceil(math.log(delta) / math.log(target)))
    # The quotient of logarithms may round to the wrong side of a whole number; the test itself decides.
    while count > 1 and chance_of_at_least(count - 1, count - 1, target) <= delta:
        count -= 1
    while chance_of_at_least(count, count, target) > delta:
        count += 1
    return count


def labels_needed(
    target: float, expected: float = 1.0, delta: float = 0.05, *, power: float = 0.9, limit: int = LIMIT
) -> int | None:
    """Plan the number of labels for one gate.

    Parameters
    ----------
    target : float in (0, 1)
        What the gate asks for.
    expected : float in [0, 1]
        The true rate that is hoped for.
    delta : float in (0, 1)
        The chance of passing a policy just below the target.
    power : float in (0, 1)
        The wanted chance that a policy of the expected rate passes.
    limit : int
        Where to stop looking.

    Returns
    -------
    int or None
        The number from which on the gate passes with probability `power` or more. None: more than `limit`, as for any
        expected rate that is not above the target. A rate of 1 needs `fewest_labels`.

    Notes
    -----
    One more label can lower the chance a little, where it does not yet allow one more miss; the number returned is past
    the last such dip.
    """
    for name, value in (("target", target), ("delta", delta), ("power", power)):
        _require_open(name, value)
    if not 0 <= expected <= 1:
        raise ValueError(f"expected must lie in [0, 1], got {expected!r}")
    # Loading it takes half a second, which runs that plan nothing should not spend.
    from scipy import stats

    trials = np.arange(1, limit + 1)
    passing = stats.binom.isf(delta, trials, target) + 1
    chance = np.where(passing <= trials, stats.binom.sf(passing - 1, trials, expected), 0.0)
    short = np.flatnonzero(chance < power)
    fewest = 1 if not short.size else int(short[-1]) + 2
    return fewest if fewest <= limit else None


def further_labels(
    successes: int, trials: int, target: float, delta: float = 0.05, *, limit: int = LIMIT
) -> int | None:
    """Count the further labels that would decide a gate if they came out at the rate observed so far.

    Parameters
    ----------
    successes, trials : int
        ``0 <= successes <= trials``. Without trials a rate of 1 is supposed.
    target, delta : float in (0, 1)
    limit : int

    Returns
    -------
    int or None
        0 where the gate is decided already, either way; None where even `limit` more would not decide it. Counts in
        between are interpolated, so this is what to expect and no promise.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie between 0 and trials ({trials}), got {successes}")
    _require_open("target", target)
    _require_open("delta", delta)
    more = np.arange(limit + 1)
    rate = successes / trials if trials else 1.0
    enough = decided(rate * (trials + more), trials + more, target, delta) != UNDECIDED
    return int(enough.argmax()) if enough.any() else None


def count_in_words(count: int | None, limit: int = LIMIT) -> str:
    """Write a number of labels as `labels_needed` and `further_labels` give it."""
    return f"more than {limit:,}" if count is None else f"{count:,}"


def _require_open(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
