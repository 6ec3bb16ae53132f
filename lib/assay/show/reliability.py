"""Reliability diagrams and confidence histograms, a panel per series."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from assay.measure.calibration_report import CalibrationReport
from assay.measure.corp import CorpCurve
from assay.measure.judged import Judged
from assay.measure.phrases import in_words
from assay.measure.reliability import BinnedCurve
from assay.show.figure import Figure
from assay.show.style import (
    BLUE,
    GREY,
    INK,
    VERMILION,
    house_style,
    outer_labels_only,
    panel_name,
    panels,
    unit_square,
)
from assay.show.words import Words, percent

MOST_PANELS = 16
HISTOGRAM_BINS = 20
NOTHING_READABLE = Words("No series has an answer that can be read, so there is no confidence to look at.")


def draw_reliability(axes: Axes, curve: BinnedCurve, corp: CorpCurve) -> Axes:
    """Draw the share right against the stated confidence, with the consistency band around the diagonal.

    The band shows where the isotonic curve of a calibrated model with these confidences would lie; the points are
    bins of answers with their 95 % intervals, and are not joined.
    """
    band = corp.band
    axes.fill_between(band.confidence, band.low, band.high, color=GREY, alpha=0.25, linewidth=0)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(corp.confidence, corp.frequency, color=BLUE, linewidth=1.8)
    below = np.maximum(0, curve.accuracy - curve.accuracy_low)
    above = np.maximum(0, curve.accuracy_high - curve.accuracy)
    axes.errorbar(
        curve.confidence, curve.accuracy, yerr=[below, above], color=VERMILION, marker="o", markersize=4.5,
        linestyle="none", elinewidth=1, capsize=2,
    )  # fmt: skip
    return unit_square(axes, "stated confidence", "share right")


def draw_histogram(axes: Axes, judged: Judged) -> Axes:
    """Draw how often each confidence was stated, right answers below and wrong ones hatched on top."""
    edges = np.linspace(0, 1, HISTOGRAM_BINS + 1)
    right, wrong = (_heights(judged, edges, outcome) for outcome in (True, False))
    width = edges[1] - edges[0]
    axes.bar(edges[:-1], right, width, align="edge", color=BLUE, edgecolor="white", linewidth=0.4)
    axes.bar(
        edges[:-1], wrong, width, bottom=right, align="edge", color="white", edgecolor=VERMILION, hatch="/////",
        linewidth=0.6,
    )  # fmt: skip
    axes.set(xlim=(-0.02, 1.02), xlabel="stated confidence", ylabel="answers")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    return axes


def reliability(reports: Sequence[CalibrationReport]) -> Figure | Words:
    """The reliability of each series, a panel each; words where no series has an answer that can be read."""
    if not reports:
        return NOTHING_READABLE
    shown = reports[:MOST_PANELS]
    tables = []
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for report, panel in zip(shown, axes, strict=True):
            draw_reliability(panel, report.curve, report.corp)
            panel.set_title(panel_name(report.series.name))
            panel.text(
                0.02, 0.98, f"{report.judged.items:,} items\n{len(report.judged):,} answers", transform=panel.transAxes,
                va="top", fontsize=7.5,
            )  # fmt: skip
            tables.append(report.curve.table().assign(series=report.series.name))
        drawing.legend(
            handles=[
                Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3)), label="calibrated"),
                Patch(facecolor=GREY, alpha=0.25, label="95 % consistency band around the diagonal"),
                Line2D([], [], color=BLUE, linewidth=1.8, label="isotonic curve (one answer per item)"),
                Line2D([], [], color=VERMILION, marker="o", linestyle="none", label="bins, 95 % interval"),
            ],
            loc="outside lower center",
            ncols=min(4, len(shown)) if len(shown) != 3 else 2,
        )
        outer_labels_only(axes)
    title = reliability_title(shown)
    alt = (
        f"Reliability diagrams, one per series ({len(shown)}): stated confidence across and share right up, both 0 to 1, "
        f"with the diagonal, a consistency band around it, the isotonic curve and bins with intervals. "
        f"n = {_sizes(shown)}. {title}."
    )
    table = pd.concat(tables, ignore_index=True).rename(columns={"n_effective": "effective_items"})
    table = table[["series", *table.columns[:-1]]].rename(columns=in_words)
    return Figure(drawing, title=title, alt=alt, table=table, name="reliability")


def histograms(reports: Sequence[CalibrationReport]) -> Figure | Words:
    """How often each confidence was stated by right and by wrong answers, a panel per series; words where there is none."""
    if not reports:
        return NOTHING_READABLE
    shown = reports[:MOST_PANELS]
    edges = np.linspace(0, 1, HISTOGRAM_BINS + 1)
    tables = []
    with house_style():
        drawing, axes = panels(len(shown), across=4, height=2.3)
        for report, panel in zip(shown, axes, strict=True):
            draw_histogram(panel, report.judged)
            panel.set_title(panel_name(report.series.name))
            right, wrong = (_heights(report.judged, edges, outcome) for outcome in (True, False))
            tables.append(
                pd.DataFrame(
                    {"series": report.series.name, "from": edges[:-1], "to": edges[1:], "right": right, "wrong": wrong}
                )
            )
        drawing.legend(
            handles=[
                Patch(facecolor=BLUE, label="right"),
                Patch(facecolor="white", edgecolor=VERMILION, hatch="/////", label="wrong"),
            ],
            loc="outside lower center",
            ncols=2,
        )
        outer_labels_only(axes)
    title = histogram_title(shown)
    alt = (
        f"Histograms, one per series ({len(shown)}): stated confidence across in steps of 0.05, number of answers up, right "
        f"answers filled and wrong ones hatched on top. n = {_sizes(shown)}. {title}."
    )
    table = pd.concat(tables, ignore_index=True)
    return Figure(drawing, title=title, alt=alt, table=table, name="confidence-histogram")


def reliability_title(reports: Sequence[CalibrationReport]) -> str:
    """State the finding of the reliability figure: what the intervals tell apart, and what the test rejects."""
    if len(reports) == 1:
        summary = reports[0].summary
        stated = f"States {percent(summary.confidence)}, is right in {percent(summary.accuracy.estimate)}"
        return f"{stated}: {_direction(reports[0])}"
    over = sum(_direction(report).startswith("over") for report in reports)
    under = sum(_direction(report).startswith("under") for report in reports)
    rejected = sum(report.rejected for report in reports)
    return (
        f"Of {len(reports)} series, {over} are overconfident and {under} underconfident beyond chance; {rejected} are not "
        "calibrated (p at most 0.05)"
    )


def _direction(report: CalibrationReport) -> str:
    share = report.summary.accuracy
    if share.low <= report.summary.confidence <= share.high:
        return "no gap that this many items could show"
    return f"{'over' if report.gap > 0 else 'under'}confident by {abs(100 * report.gap):.1f} points"


def histogram_title(reports: Sequence[CalibrationReport]) -> str:
    """State how the confidences bunch."""
    high = [float((report.judged.confidence >= 0.9).mean()) for report in reports]
    wrong = [float((report.judged.confidence[~report.judged.correct] >= 0.9).mean()) for report in reports
             if not report.judged.correct.all()]  # fmt: skip
    text = f"{_range(high)} of the answers state 0.9 or more"
    return text + (f"; so do {_range(wrong)} of the wrong ones" if wrong else "")


def _heights(judged: Judged, edges: np.ndarray, outcome: bool) -> np.ndarray:
    # The tiny shift puts 0.15, which is 0.15000000000000002 on the grid, into the bin that begins at it.
    stated = np.minimum(judged.confidence[judged.correct == outcome] + 1e-9, 1.0)
    return np.histogram(stated, edges)[0]


def _range(shares: Sequence[float]) -> str:
    low, high = min(shares), max(shares)
    return percent(low, 0) if round(100 * low) == round(100 * high) else f"{100 * low:.0f} to {percent(high, 0)}"


def _sizes(reports: Sequence[CalibrationReport]) -> str:
    items = {report.judged.items for report in reports}
    answers = sum(len(report.judged) for report in reports)
    span = f"{min(items):,}" if len(items) == 1 else f"{min(items):,} to {max(items):,}"
    return f"{span} items a series, {answers:,} answers in all"
