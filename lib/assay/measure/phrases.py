"""Numbers as they stand in the sentences of findings."""

from assay.measure.intervals import Interval


def percent(share: float, digits: int = 0) -> str:
    """Write a share as ``55 %``; a share that is not 0 or 1 is never rounded to either."""
    written = f"{100 * share:.{digits}f}"
    smallest = 10.0**-digits
    if share > 0 and float(written) == 0:
        written = f"under {smallest:g}"
    elif share < 1 and float(written) == 100:
        written = f"over {100 - smallest:g}"
    return f"{written} %"


def percent_interval(interval: Interval, digits: int = 0) -> str:
    """Write a proportion as ``55 % (53 to 57 %)``."""
    if not interval.known:
        return "unknown"
    return f"{percent(interval.estimate, digits)} ({100 * interval.low:.{digits}f} to {percent(interval.high, digits)})"


def counted(number: int, noun: str) -> str:
    """Write ``1 answer`` or ``1,887 answers``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
