"""The pictures of notebook 20: figures over the threshold and the margin, the plane, and safety against coverage.

What does not move is said and not drawn: where no answer names a runner-up, a tie margin has nothing to work on.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from assay.measure.operating import gate_name, worst_slack
from assay.measure.phrases import in_words
from assay.measure.tuning import CERTIFIED, DESCRIPTIVE, FAVOURED, GIVEN, Tuned
from assay.show.decisions import (
    coverage_scale,
    draw_along,
    draw_plane,
    draw_safety_against_coverage,
    plane_key,
    safety_against_coverage,
)
from assay.show.figure import Figure
from assay.show.style import house_style, outer_labels_only, panel_name, panels
from assay.show.words import Words, listed, span

MOST_PANELS = 16

HOW = {
    CERTIFIED: "certified",
    GIVEN: "given beforehand",
    FAVOURED: "favoured by the tuning part, not certified",
    DESCRIPTIVE: "best of all items as observed, not certified",
}

UNMOVED = "No tie margin changes any decision: the answers name no runner-up that could tie."


def along_threshold(tuned: Sequence[Tuned]) -> Figure:
    """Gate figures over the threshold, at each series' chosen margin."""
    return _along(tuned, "threshold", "threshold")


def along_margin(tuned: Sequence[Tuned]) -> Figure | Words:
    """Gate figures over the tie margin, at each series' chosen threshold; words where it changes nothing."""
    if all(first_effective_margin(one) is None for one in tuned):
        return Words(UNMOVED)
    return _along(tuned, "tie_margin", "tie margin")


def planes(tuned: Sequence[Tuned]) -> Figure:
    """Coverage and gates over the whole plane, a panel per series."""
    shown = tuned[:MOST_PANELS]
    rows = []
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, panel in zip(shown, axes, strict=True):
            draw_plane(panel, one.counts, one.gates, (one.threshold, one.tie_margin), one.certificate)
            panel.set_title(panel_name(one.series.name))
            rows.append({"series": one.series.name, "threshold": one.threshold, "tie margin": one.tie_margin})
        coverage_scale(drawing, axes)
        plane_key(drawing, len(shown), certified=any(one.certificate.passed for one in shown))
    certified = [one for one in shown if one.certificate.passed]
    title = (
        f"Certified: {len(certified)} of {len(shown)} series"
        if len(shown) > 1
        else f"The plane of decisions; the operating point is {HOW[shown[0].how]}"
    )
    alt = (
        f"Maps, one per series ({len(shown)}), threshold up and tie margin across, both 0 to 1. Darker is more coverage; "
        "hatching marks points whose observed figures meet every gate, a filled region the certified policies, if any; the "
        "ring is the operating point. "
        f"n = {_items(shown)}. {title}."
    )
    return Figure(drawing, title=title, alt=alt, table=pd.DataFrame(rows), name="plane")


def safety_for_coverage(tuned: Sequence[Tuned]) -> Figure:
    """The best each gate's figure can be at each coverage, a panel per series."""
    shown = tuned[:MOST_PANELS]
    tables = []
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, panel in zip(shown, axes, strict=True):
            envelope = safety_against_coverage(one.counts, one.gates)
            draw_safety_against_coverage(panel, envelope, one.gates)
            panel.set_title(panel_name(one.series.name))
            tables.append(envelope.assign(series=one.series.name))
        _legend_below(drawing, axes)
        outer_labels_only(axes)
    title = _reach(shown)
    alt = (
        f"Step lines, one panel per series ({len(shown)}): coverage across, the best reachable share of each gate's figure "
        f"up, both 0 to 1, the targets dotted. n = {_items(shown)}. {title}."
    )
    table = pd.concat(tables, ignore_index=True)
    table = table[["series", *table.columns[:-1]]].rename(columns=in_words)
    return Figure(drawing, title=title, alt=alt, table=table, name="safety-coverage")


def margin_price(tuned: Sequence[Tuned]) -> Figure | Words:
    """What a tie margin buys and costs: misroutes of the gated classes against over-restriction, over the margin."""
    if all(first_effective_margin(one) is None for one in tuned):
        return Words(UNMOVED)
    shown = tuned[:MOST_PANELS]
    names = [*misroutes_of(shown[0]), "over-restriction"]
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, panel in zip(shown, axes, strict=True):
            draw_along(panel, one.along_margin, "tie_margin", names, chosen=one.tie_margin)
            panel.set_title(panel_name(one.series.name))
        _legend_below(drawing, axes)
        outer_labels_only(axes)
    first = [first_effective_margin(one) for one in shown]
    known = [value for value in first if value is not None]
    title = f"No margin under {min(known):g} changes any decision"
    if len(known) < len(first):
        title += f"; {len(first) - len(known)} series never change"
    alt = (
        f"Lines with 95 % interval bands, one panel per series ({len(shown)}): tie margin across from 0 to 1, share of items "
        f"up; {listed(names)}. n = {_items(shown)}. {title}."
    )
    table = pd.concat([changes(one.along_margin, one, names) for one in shown], ignore_index=True)
    return Figure(drawing, title=title, alt=alt, table=table, name="margin-price")


def changes(along: pd.DataFrame, one: Tuned, names: Sequence[str]) -> pd.DataFrame:
    """Keep of figures along a line the points from which on something is different.

    Parameters
    ----------
    along : DataFrame
        See `assay.measure.operating.figures_along`.
    one : Tuned
        Whose line it is.
    names : sequence of str
        Figures to keep.

    Returns
    -------
    DataFrame
        Each row holds up to the next of the same figure; the first column names the series.
    """
    rows = along[along["figure"].isin(names)]
    values = ["estimate", "low", "high", "answers"]
    before = rows.groupby("figure", sort=False)[values].shift()
    same = (rows[values] == before) | (rows[values].isna() & before.isna())
    first = ~rows.duplicated("figure")
    kept = rows[first | ~same.all(axis=1)]
    kept = kept.rename(columns={"threshold": "threshold, from", "tie_margin": "tie margin, from"})
    return kept.assign(series=one.series.name)[["series", *kept.columns]]


def first_effective_margin(tuned: Tuned) -> float | None:
    """Return the smallest margin on the grid at which some counted outcome differs from margin 0, or None."""
    row = int(np.argmin(np.abs(tuned.counts.thresholds - tuned.threshold)))
    plane = tuned.counts.outcomes[:, :, row]
    changed = np.flatnonzero((plane != plane[:, :, :1]).any(axis=(0, 1)))
    return float(tuned.counts.margins[changed[0]]) if changed.size else None


def misroutes_of(one: Tuned) -> list[str]:
    """Name the misroutes of the gated classes, as `figures_along` names them."""
    return [f"dangerous misroutes of {gate.classes[0]}" for gate in one.gates if gate.classes]


def _along(tuned: Sequence[Tuned], by: str, word: str) -> Figure:
    shown = tuned[:MOST_PANELS]
    names = [*(gate_name(gate) for gate in shown[0].gates), "coverage"]
    targets = [gate.target for gate in shown[0].gates]
    lines = [one.along_threshold if by == "threshold" else one.along_margin for one in shown]
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, rows, panel in zip(shown, lines, axes, strict=True):
            draw_along(panel, rows, by, names, targets=targets, chosen=getattr(one, by))
            panel.set_title(panel_name(one.series.name))
        _legend_below(drawing, axes)
        outer_labels_only(axes)
    title = _met(shown, word)
    alt = (
        f"Lines with 95 % interval bands, one panel per series ({len(shown)}): {word} across from 0 to 1, share up from 0 to "
        f"1; {listed(names)}; a vertical line at the chosen {word}, targets dotted. n = {_items(shown)}. {title}."
    )
    table = pd.concat([changes(rows, one, names) for one, rows in zip(shown, lines, strict=True)], ignore_index=True)
    return Figure(drawing, title=title, alt=alt, table=table, name=f"along-{word.replace(' ', '-')}")


def _met(shown: Sequence[Tuned], word: str) -> str:
    """Say how the observed figures at the chosen points stand to the targets."""
    met = [one for one in shown if _meets(one)]
    acted = span([one.figures.coverage.estimate for one in shown])
    if len(shown) == 1:
        one = shown[0]
        value = one.threshold if word == "threshold" else one.tie_margin
        stand = "every gate is met as observed" if met else "some gate is missed as observed"
        return f"At the chosen {word}, {value:.3g}, {stand} and {acted} of the answers are acted on"
    return (
        f"At its chosen {word}, {len(met)} of {len(shown)} series meet every gate as observed; "
        f"they act on {acted} of the answers"
    )


def _reach(shown: Sequence[Tuned]) -> str:
    """Say on how many answers a series can act at most while its observed figures meet every gate."""
    most = []
    for one in shown:
        meets = worst_slack(one.counts, one.gates) >= 0
        # Acting on nothing meets no gate, so what is left acts on something.
        most.append(float(one.counts.coverage()[meets].max()) if meets.any() else None)
    known = [share for share in most if share is not None]
    if not known:
        return "No threshold and margin meets every gate, even as observed"
    who = "a series" if len(shown) > 1 else "it"
    title = f"Meeting every gate as observed, {who} can act on at most {span(known)} of the answers"
    return title + (f"; {len(most) - len(known)} of {len(shown)} meet them nowhere" if len(known) < len(most) else "")


def _meets(one: Tuned) -> bool:
    t, m = one.counts.at(one.threshold, one.tie_margin)
    return bool(worst_slack(one.counts, one.gates)[t, m] >= 0)


def _items(tuned: Sequence[Tuned]) -> str:
    sizes = {one.figures.items for one in tuned}
    return f"{min(sizes):,} items" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,} items a series"


def _legend_below(drawing: Drawing, axes: Sequence[Axes]) -> None:
    handles, labels = axes[0].get_legend_handles_labels()
    drawing.legend(
        handles, labels, loc="outside lower center", ncols=min(4 if len(axes) > 2 else len(axes), len(labels))
    )
