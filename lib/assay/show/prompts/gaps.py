"""Paired differences as people read them: points for shares, the metric's own unit for the rest, and words for verdicts."""

import math

from assay.measure.metrics import SHARE, Metric
from assay.measure.pairing import BETTER, WORSE, Difference

MINUS = "\N{MINUS SIGN}"


def amount(metric: Metric, value: float) -> str:
    """Write a value of a metric: ``83.5 %``, ``0.132``, ``1,202``."""
    if math.isnan(value):
        return "not defined"
    if metric.form == SHARE:
        return f"{100 * value:.1f} %"
    return _number(value)


def gap(metric: Metric, value: float) -> str:
    """Write a difference on a metric without its unit: ``4.3`` for points, and a true minus sign."""
    if math.isnan(value):
        return "not defined"
    text = f"{100 * value:.1f}" if metric.form == SHARE else _number(value)
    # What rounds to nothing has no sign.
    return text.replace("-", MINUS if float(text.replace(",", "")) else "")


def gap_unit(metric: Metric) -> str:
    """Return the unit of a difference: points for shares, which are percentages; empty where a metric has none."""
    return "points" if metric.form == SHARE else metric.unit


def of_metric(metric: Metric) -> str:
    """Name a metric with the unit of its differences, if it has one: ``accuracy, points``."""
    return f"{metric.name}, {gap_unit(metric)}" if gap_unit(metric) else metric.name


def with_unit(metric: Metric, text: str) -> str:
    """Put the unit of a difference behind a number, or numbers."""
    return f"{text} {gap_unit(metric)}".rstrip()


def gap_interval(one: Difference) -> str:
    """Write the interval of a difference: ``−2.3 to 11.3``; why not, where there is none."""
    if math.isnan(one.low):
        return one.note or "none"
    return f"{gap(one.metric, one.low)} to {gap(one.metric, one.high)}"


def short_gap(one: Difference) -> str:
    """Write a difference, its interval and, where found, its word for a table cell: ``−28.4 (−31.8 to −27.1), better``."""
    if math.isnan(one.difference):
        return "not defined"
    word = f", {one.verdict}" if one.verdict in (BETTER, WORSE) else ""
    return f"{gap(one.metric, one.difference)} ({gap_interval(one)}){word}"


def p_words(p_value: object) -> str:
    """Write a p-value: ``0.21``, ``0.002``, ``under 0.001``."""
    if not isinstance(p_value, float) or math.isnan(p_value):
        return "none"
    if p_value < 0.001:
        return "under 0.001"
    return f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"


def said(one: Difference) -> str:
    """Say what is known of a tested pair: difference, interval, both p-values."""
    p_value = p_words(one.p_value)
    stated = f"p {p_value}" if p_value.startswith("under") else f"p = {p_value}"
    tested = f"{stated}, Holm-adjusted {p_words(one.adjusted)}" if one.primary else "exploratory"
    return f"{with_unit(one.metric, gap(one.metric, one.difference))} (95 % interval {gap_interval(one)}; {tested})"


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}"
