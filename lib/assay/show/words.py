"""Findings in words, computed from numbers, and the numbers as people read them."""

import html
import math
from collections.abc import Iterable, Sequence

from assay.measure.intervals import Interval
from assay.measure.phrases import in_words
from assay.study.series import Series

NO_DATE = "not recorded"


class Words:
    """Paragraphs of computed prose; shows itself in a notebook with everything escaped."""

    def __init__(self, *paragraphs: str) -> None:
        self.paragraphs = tuple(paragraph for paragraph in paragraphs if paragraph)

    def __str__(self) -> str:
        return "\n\n".join(self.paragraphs)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in self.paragraphs)


def percent(share: float, digits: int = 1) -> str:
    """Write a share as a percentage; ``not defined`` where it is NaN."""
    return "not defined" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def with_interval(interval: Interval, digits: int = 1) -> str:
    """Write a proportion with its interval: ``56.8 % (95 % interval 53.1 to 60.4)``."""
    if not interval.known:
        return "not defined (nothing to count)"
    low, high = (f"{100 * bound:.{digits}f}" for bound in (interval.low, interval.high))
    return f"{percent(interval.estimate, digits)} (95 % interval {low} to {high})"


def short_interval(interval: Interval, digits: int = 1) -> str:
    """Write a proportion with its interval for a table cell: ``56.8 (53.1, 60.4)``, in percent."""
    if not interval.known:
        return "none"
    return f"{100 * interval.estimate:.{digits}f} ({100 * interval.low:.{digits}f}, {100 * interval.high:.{digits}f})"


def bounds(interval: Interval | None, digits: int = 3) -> str:
    """Write any estimate with its interval for a table cell: ``0.800 (0.732, 0.853)``."""
    if interval is None or not interval.known or math.isnan(interval.estimate):
        return "not defined"
    return f"{interval.estimate:.{digits}f} ({interval.low:.{digits}f}, {interval.high:.{digits}f})"


def count(number: int | float, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun: ``1 item``, ``16,950 answers``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``; beyond `most`, how many more there are."""
    names = list(names)
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def listed_series(series: Sequence[Series], most: int = 20) -> str:
    """Join the names of series, those of one model after its name: ``phi-4 (L1, token; L1, verbal) and o3, L1, verbal``."""
    by_model: dict[str, list[Series]] = {}
    for one in series:
        by_model.setdefault(one.model, []).append(one)
    names = []
    for model, own in by_model.items():
        rest = [one.name.removeprefix(f"{model}, ") for one in own]
        together = len(own) > 1 and all(one.name.startswith(f"{model}, ") for one in own)
        names += [f"{model} ({'; '.join(rest)})"] if together else [one.name for one in own]
    return listed(names, most)


def confidence_words(calibration: str | None, elicitation: str | None) -> str:
    """Write where confidences come from: ``language model verbal``, ``classifier``."""
    return " ".join(in_words(part) for part in (calibration, elicitation) if part)


def dates(asked: Iterable[str]) -> str:
    """Write the days of some times in ISO 8601: ``2026-11-30``, ``2026-11-30 to 12-01``; that none is recorded."""
    days = sorted(time[:10] for time in asked)
    if not days:
        return NO_DATE
    first, last = days[0], days[-1]
    if first == last:
        return first
    return f"{first} to {last[5:] if first[:4] == last[:4] else last}"


def span(shares: Sequence[float]) -> str:
    """Write the least and the greatest of some shares: ``12.0 % to 98.1 %``, once where they are the same."""
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low} to {high}"


def sentence(text: str) -> str:
    """Give a text a capital and a full stop."""
    text = text.strip()
    if not text:
        return text
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
