"""Numbers and names as they stand in the sentences of findings and in the tables of pages."""

from collections.abc import Iterable, Mapping
from typing import Any

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


def in_words(name: str) -> str:
    """Write a name that code goes by as people read it: ``unknown class`` for ``unknown_class``."""
    return name.replace("_", " ")


def only_kind(kinds: Iterable[Iterable[str]]) -> str | None:
    """Write the one kind that there is in all of some collections of kinds; None where there is none or are several."""
    found = {kind for each in kinds for kind in each}
    return in_words(found.pop()) if len(found) == 1 else None


def kinds_in_words(counts: Mapping[Any, int], nothing: str = "none") -> str:
    """Write counts by kind, in their order: ``truncated 16, unknown class 2``."""
    return ", ".join(f"{in_words(str(kind))} {number:,}" for kind, number in counts.items()) or nothing
