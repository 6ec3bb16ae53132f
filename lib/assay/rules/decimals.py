"""Comparing confidences as the decimals people and models write.

Confidences come in hundredths and vote shares, so a gap of exactly the tie margin, or a confidence of exactly the
threshold, is common; binary floats miss many of them (``0.40 - 0.30 <= 0.10`` is false). Every comparison with a bound
therefore goes through this module: the number is taken in doubles, rounded to 1e-9 and compared as an integer.
"""

import math
from typing import SupportsFloat

NANO = 1_000_000_000
"""Units per one: numbers that differ by less than about half of 1 / NANO compare as equal."""


def as_double(value: SupportsFloat) -> float:
    """Return a number of any type as a double; one of fewer bits, as of numpy, as the decimal that it prints as.

    0.9 in 32 bits is 0.899999976 to whoever widens it, below a threshold of 0.9.
    """
    if isinstance(value, float | int):
        return float(value)
    try:
        return float(str(value))
    except ValueError:
        return float(value)


def nano(value: float) -> int:
    """Return `value` in integer units of 1e-9, rounded half to even.

    Raises
    ------
    ValueError
        If `value` is NaN or infinite.
    """
    scaled = (value if type(value) is float else as_double(value)) * NANO
    if not math.isfinite(scaled):
        raise ValueError(f"a number to compare must be finite, got {value!r}")
    return round(scaled)


def at_least(value: float, bound: float) -> bool:
    """Tell whether `value` reaches `bound` (equal passes; NaN never does)."""
    if math.isnan(value) or math.isnan(bound):
        return False
    if math.isinf(value) or math.isinf(bound):
        return value >= bound
    return nano(value) >= nano(bound)


def below(value: float, bound: float) -> bool:
    """Tell whether `value` is strictly below `bound` once both are rounded (NaN: false)."""
    return at_least(bound, value) and not at_least(value, bound)


def gap_within(high: float, low: float, margin: float) -> bool:
    """Tell whether ``high - low`` is at most `margin`: the difference is rounded once, not its two sides apart."""
    return at_least(margin, high - low)
