"""The pictures of notebook 30: the ranking with its intervals, and the matrix of paired differences."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import PercentFormatter

from assay.measure.comparison import Comparison
from assay.measure.metrics import LEFT_OUT, SHARE, Metric
from assay.measure.pairing import BETTER, UNDEFINED, WORSE
from assay.measure.variant_summary import VariantSummary
from assay.show.figure import Figure
from assay.show.prompts.findings import NOTHING, tally
from assay.show.prompts.gaps import amount, gap, gap_interval, of_metric
from assay.show.style import INK, house_style, look, panels
from assay.show.words import Words, count, listed, sentence

MOST_PANELS = 6
_WORDED = 6
_QUIET = "#555555"
_FOUND = {BETTER: ("#CFE3F1", ""), WORSE: ("#F6DCC9", "////")}


def ranking(comparison: Comparison, metric: Metric | None = None) -> Figure | Words:
    """Every variant's figure with its interval, best first, a panel per group.

    Where answers are unreadable, a second, open mark shows the figure with them left out.
    """
    metric = metric or comparison.primary[0]
    groups = comparison.groups[:MOST_PANELS]
    if not groups:
        return Words(NOTHING)
    members = [comparison.ranking(group, metric) for group in groups]
    most = max(len(ranked) for ranked in members)
    twice = metric.name + LEFT_OUT in members[0][0].estimates and any(
        one.unreadable for each in members for one in each
    )
    rows = []
    with house_style():
        width = (4.0 if len(groups) < 3 else 3.2) + 0.07 * max(
            len(_short(one.name)) for each in members for one in each
        )
        drawing, axes = panels(len(groups), across=min(3, len(groups)), width=width, height=1.1 + 0.3 * most)
        for group, ranked, panel in zip(groups, members, axes, strict=True):
            draw_ranking(panel, ranked, metric, twice)
            panel.set_title(group or f"{count(ranked[0].items, 'item')}")
            rows += [_ranked_row(one, metric, twice) for one in ranked]
        low = min(panel.get_xlim()[0] for panel in axes)
        high = max(panel.get_xlim()[1] for panel in axes)
        for panel in axes:
            panel.set_xlim(low, high)
        if twice:
            drawing.legend(handles=_both_ways(), loc="outside lower center", ncols=2)
    first = [
        f"{_leaders(ranked, metric)}{f' for {group}' if group else ''}"
        for group, ranked in zip(groups, members, strict=True)
    ]
    title = f"First by {metric.name}: {listed(first)}; whether that is more than chance, the pairs tell"
    items = {one.items for each in members for one in each}
    alt = (
        f"Points with 95 % interval bars, one row per variant, best on top, one panel per group ({len(groups)}): "
        f"{metric.name} across. n = {_either(items)} items. {title}."
    )
    return Figure(drawing, title=title, alt=alt, table=pd.DataFrame(rows), name="ranking")


def draw_ranking(axes: Axes, ranked: list[VariantSummary], metric: Metric, twice: bool) -> Axes:
    """Draw one group's variants, best on top, with intervals where the metric has them.

    Parameters
    ----------
    axes : Axes
    ranked : list of VariantSummary
    metric : Metric
    twice : bool
        Whether to draw the figure with unreadable answers left out as well.
    """
    for place, one in enumerate(ranked):
        for name, style, shift in ((metric.name, look(0), 0.0), (metric.name + LEFT_OUT, look(1), 0.24)):
            if shift and not (twice and one.unreadable):
                continue
            value, interval = one.estimates[name], one.intervals.get(name)
            y = place + shift
            if interval is not None and interval.known:
                axes.plot(
                    [interval.low, interval.high], [y, y], color=style.colour, linestyle="-" if not shift else ":"
                )
            axes.plot(
                value, y, marker=style.marker, color=style.colour, linestyle="none", clip_on=False,
                markerfacecolor=style.colour if not shift else "white",
            )  # fmt: skip
        axes.annotate(
            amount(metric, one.estimates[metric.name]),
            (one.estimates[metric.name], place),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
        )
    axes.set_yticks(range(len(ranked)), [_short(one.name) for one in ranked])
    axes.set_ylim(len(ranked) - 0.4, -0.6)
    if metric.form == SHARE:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    bars = ", with 95 % interval" if metric.name in ranked[0].intervals else ""
    axes.set_xlabel(f"{metric.name}{f', {metric.unit}' if metric.unit else ''}{bars}")
    axes.grid(visible=False, axis="y")
    return axes


def matrix(comparison: Comparison, metric: Metric | None = None) -> Figure | Words:
    """Row less column for every pair, with the word where a difference is found, a square panel per group."""
    metric = metric or comparison.primary[0]
    groups = [group for group in comparison.groups if _size(comparison, group) > 1][:MOST_PANELS]
    if not groups:
        return Words(NOTHING)
    widest = max(_size(comparison, group) for group in groups)
    longest = max(len(_short(one.name)) for one in comparison.variants if one.group in groups)
    side = 1.1 + 0.5 * widest + 0.07 * longest
    rows: list[dict[str, object]] = []
    with house_style():
        drawing, axes = panels(len(groups), across=min(3, len(groups)), width=side, height=side)
        for group, panel in zip(groups, axes, strict=True):
            draw_matrix(panel, comparison, group, metric)
            panel.set_title(group or of_metric(metric))
            rows += _matrix_rows(comparison, group, metric)
        drawing.legend(handles=_verdict_key(), loc="outside lower center", ncols=min(3, 1 + len(groups)), fontsize=8)
    title = (
        sentence(tally(comparison, metric)).rstrip(".") if metric in comparison.primary else f"Pairs on {metric.name}"
    )
    alt = (
        f"Square tables, one per group ({len(groups)}), variants down and across, best first; each cell holds row less column "
        f"in {of_metric(metric)}, and says better or worse where a difference was found after adjustment; the "
        f"diagonal holds each variant's own figure. n = "
        f"{_either({pair.items for pair in comparison.pairs if pair.group in groups})} items. {title}."
    )
    return Figure(drawing, title=title, alt=alt, table=pd.DataFrame(rows), name="differences")


def draw_matrix(axes: Axes, comparison: Comparison, group: str, metric: Metric) -> Axes:
    """Draw one group's pairs: row less column, shaded, hatched and worded by verdict."""
    members = comparison.ranking(group, metric)
    size = len(members)
    font = 8.5 if size <= _WORDED else 6.8
    for row, first in enumerate(members):
        for column, second in enumerate(members):
            if row == column:
                text, shade, hatch, ink = amount(metric, first.estimates[metric.name]), "#EFEFEF", "", _QUIET
            else:
                one = comparison.pair(first.name, second.name, group).of(metric)
                shade, hatch = _FOUND.get(one.verdict, ("white", ""))
                text, ink = gap(metric, one.difference), INK
                if one.verdict in _FOUND:
                    text += f"\n{one.verdict}"
                elif one.verdict == UNDEFINED:
                    text = "not\ndefined"
            axes.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5), 1, 1, facecolor=shade, edgecolor="#BBBBBB", hatch=hatch, linewidth=0.6
                )
            )
            axes.text(
                column, row, text, ha="center", va="center", fontsize=font, color=ink,
                bbox={"facecolor": shade, "edgecolor": "none", "pad": 1.0} if hatch else None,
            )  # fmt: skip
    names = [_short(one.name) for one in members]
    level = size <= _WORDED and max(map(len, names)) < 8
    axes.set_xticks(range(size), names, rotation=0 if level else 40, ha="center" if level else "left")
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.set(
        xlim=(-0.5, size - 0.5),
        ylim=(size - 0.5, -0.5),
        aspect="equal",
        xlabel="less this variant",
        ylabel="this variant",
    )
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _leaders(ranked: list[VariantSummary], metric: Metric) -> str:
    """Name the first, and how many are level with it."""
    best = amount(metric, ranked[0].estimates[metric.name])
    level = sum(amount(metric, one.estimates[metric.name]) == best for one in ranked[1:])
    return f"{ranked[0].name} and {level} more alike" if level else ranked[0].name


def _ranked_row(one: VariantSummary, metric: Metric, twice: bool) -> dict[str, object]:
    row: dict[str, object] = {"group": one.group, "variant": one.name, "items": one.items, "unreadable": one.unreadable}
    for name in (metric.name, metric.name + LEFT_OUT) if twice else (metric.name,):
        row[name] = one.estimates[name]
        if name in one.intervals:
            row[f"{name}, low"], row[f"{name}, high"] = one.intervals[name].low, one.intervals[name].high
    return row


def _matrix_rows(comparison: Comparison, group: str, metric: Metric) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for pair in comparison.pairs:
        if pair.group == group and pair.items:
            one = pair.of(metric)
            rows.append(
                {
                    "group": group,
                    "variant": pair.a,
                    "less": pair.b,
                    f"difference in {of_metric(metric)}": gap(metric, one.difference),
                    "95 % interval": gap_interval(one),
                    "verdict": one.verdict,
                }
            )
    return rows


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _size(comparison: Comparison, group: str) -> int:
    return sum(one.group == group for one in comparison.variants)


def _both_ways() -> list[Line2D]:
    counted, left_out = look(0), look(1)
    return [
        Line2D([], [], color=counted.colour, marker=counted.marker, label="unreadable answers count as not right"),
        Line2D(
            [],
            [],
            color=left_out.colour,
            marker=left_out.marker,
            markerfacecolor="white",
            linestyle=":",
            label="unreadable answers left out",
        ),
    ]


def _verdict_key() -> list[Patch]:
    found = [
        Patch(facecolor=shade, hatch=hatch, edgecolor="#999999", label=f"{word}, after Holm's adjustment")
        for word, (shade, hatch) in _FOUND.items()
    ]
    return [*found, Patch(facecolor="white", edgecolor="#999999", label="no detectable difference at this size")]


def _either(counts: set[int]) -> str:
    return " or ".join(f"{number:,}" for number in sorted(counts))
