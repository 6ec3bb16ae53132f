"""How small a difference a comparison could have shown: what "no detectable difference" leaves open."""

import numpy as np
from scipy import special

POWER = 0.80
LEVEL = 0.05


def smallest_difference(standard_error: float, level: float = LEVEL, power: float = POWER) -> float:
    """Return the true difference that a comparison of this precision would find with probability `power`.

    Parameters
    ----------
    standard_error : float
        Of the paired difference, in its own unit, at least 0.
    level : float in (0, 1)
        Of the two-sided test; divide it by the number of tests for what a family adjusted together could show at least.
    power : float in (0, 1)

    Returns
    -------
    float
        In the unit of the standard error; NaN where that is unknown.

    Notes
    -----
    ``(z(1 - level / 2) + z(power)) x standard error``, 2.80 standard errors at 5 % and 80 %: the normal approximation.
    The standard error is that of these answers, so this speaks of as many items, as discordant as these were.
    """
    if not (np.isnan(standard_error) or standard_error >= 0):
        raise ValueError(f"standard_error must be at least 0, got {standard_error}")
    for name, value in (("level", level), ("power", power)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float((special.ndtri(1 - level / 2) + special.ndtri(power)) * standard_error)


def fewest_differing(level: float = LEVEL) -> int:
    """Return how many items must differ, all in one direction, before an exact test can reach `level`: 6 at 5 %."""
    return int(np.ceil(1 - np.log2(level)))
