"""The pictures, tables and findings of notebook 20: which threshold and which tie margin, and what they buy."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from assay.measure.operating import gate_name, named_figures
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
from assay.show.tables import Table
from assay.show.words import Words, count, listed, percent, sentence, short_interval, with_interval

MOST_PANELS = 16
FEW = 4

HOW = {
    CERTIFIED: "certified",
    GIVEN: "given beforehand",
    FAVOURED: "favoured by the tuning part, not certified",
    DESCRIPTIVE: "best of all items as observed, not certified",
}


def operating_table(tuned: Sequence[Tuned]) -> Table:
    """One row per series: its operating point and every figure there, in percent with 95 % intervals over items."""
    rows = []
    for one in tuned:
        row: dict[str, object] = {
            "series": one.series.name,
            "items": one.figures.items,
            "answers": one.figures.answers,
            "unreadable": one.figures.unreadable,
            "threshold": one.threshold,
            "tie margin": one.tie_margin,
        }
        for name, interval in named_figures(one.figures, one.gates).items():
            row[f"{name}, %"] = short_interval(interval)
        if any(not gate.classes for gate in one.gates):
            row["dangerous or wrong, answers"] = one.figures.dangerous
        row["the point is"] = one.how
        rows.append(row)
    formats = {"threshold": ".3g", "tie margin": ".3g"}
    caption = "Each series at its own operating point; shares in percent with 95 % intervals that count items"
    return Table(pd.DataFrame(rows), caption=caption, name="operating-points", formats=formats)


def findings(tuned: Sequence[Tuned]) -> Words:
    """Say what the operating points come to: each by itself if they are few, else what they have in common."""
    stuck = [one for one in tuned if _one_answer(one)]
    paragraphs = [_finding(one) for one in tuned] if len(tuned) <= FEW else [_together(tuned)]
    if stuck:
        names, classes = [one.series.name for one in stuck], sorted({_one_answer(one) for one in stuck})
        paragraphs.append(
            f"{listed(names, most=20)}: the point decides {listed(classes)} "
            "for nearly every answer that it acts on. It meets its gates by no longer classifying."
        )
    return Words(*paragraphs)


def _finding(one: Tuned) -> str:
    figures = named_figures(one.figures, one.gates)
    gates = "; ".join(
        f"{gate_name(gate)} {with_interval(figures[gate_name(gate)])} against a target of {percent(gate.target, 0)}"
        for gate in one.gates
    )
    return (
        f"{one.series.name}: threshold {one.threshold:.3g} and tie margin {one.tie_margin:.3g} ({HOW[one.how]}). "
        f"{sentence(gates)} It acts on {with_interval(one.figures.coverage)} of {count(one.figures.answers, 'answer')}."
    )


def _together(tuned: Sequence[Tuned]) -> str:
    kinds = [one.how for one in tuned]
    counted = listed([f"{kinds.count(how)} {words}" for how, words in HOW.items() if how in kinds])
    shares = [one.figures.coverage.estimate for one in tuned]
    return (
        f"Operating points of {count(len(tuned), 'series', 'series')}: {counted}. They act on {_span(shares)} "
        "of their answers; the table has each with its intervals."
    )


def along_threshold(tuned: Sequence[Tuned]) -> Figure:
    """Gate figures over the threshold, at each series' chosen margin."""
    return _along(tuned, "threshold")


def along_margin(tuned: Sequence[Tuned]) -> Figure:
    """Gate figures over the tie margin, at each series' chosen threshold."""
    return _along(tuned, "tie_margin")


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
    title = "What each share of answers acted on can be worth at best"
    alt = (
        f"Step lines, one panel per series ({len(shown)}): coverage across, the best reachable share of each gate's figure "
        f"up, both 0 to 1, the targets dotted. n = {_items(shown)}. Acting on fewer answers raises the reachable share."
    )
    table = pd.concat(tables, ignore_index=True)
    return Figure(drawing, title=title, alt=alt, table=table[["series", *table.columns[:-1]]], name="safety-coverage")


def margin_price(tuned: Sequence[Tuned]) -> Figure:
    """What a tie margin buys and costs: misroutes of the gated classes against over-restriction, over the margin."""
    shown = tuned[:MOST_PANELS]
    names = [*_misroutes(shown[0]), "over-restriction"]
    tables = []
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, panel in zip(shown, axes, strict=True):
            draw_along(panel, one.along_margin, "tie_margin", names, chosen=one.tie_margin)
            panel.set_title(panel_name(one.series.name))
            rows = one.along_margin[one.along_margin["figure"].isin(names)]
            tables.append(rows.assign(series=one.series.name))
        _legend_below(drawing, axes)
        outer_labels_only(axes)
    title = sentence(margin_words(shown)).rstrip(".")
    alt = (
        f"Lines with 95 % interval bands, one panel per series ({len(shown)}): tie margin across from 0 to 1, share of items "
        f"up; {listed(names)}. n = {_items(shown)}. {title}."
    )
    table = pd.concat(tables, ignore_index=True)
    return Figure(drawing, title=title, alt=alt, table=table[["series", *table.columns[:-1]]], name="margin-price")


def margin_words(tuned: Sequence[Tuned]) -> str:
    """Say from which margin on anything changes at the chosen threshold."""
    first = [first_effective_margin(one) for one in tuned]
    known = [value for value in first if value is not None]
    if not known:
        return "no tie margin changes any decision: the answers name no runner-up that could tie"
    quiet = f"no margin under {min(known):g} changes any decision"
    return quiet + (f"; {len(first) - len(known)} series never change" if len(known) < len(first) else "")


def margin_table(tuned: Sequence[Tuned]) -> Table:
    """Misroutes of the gated classes and over-restriction, at the margins that change them."""
    rows = []
    for one in tuned:
        names = [*_misroutes(one), "over-restriction"]
        for margin in telling_margins(one):
            row: dict[str, object] = {"series": one.series.name, "tie margin": margin}
            rows.append(row | {name: _share_words(_at(one.along_margin, name, margin)) for name in names})
    caption = "What a tie margin buys and costs at each series' chosen threshold; counts, shares and 95 % intervals"
    return Table(pd.DataFrame(rows), caption=caption, name="margins", formats={"tie margin": ".3g"})


def telling_margins(one: Tuned) -> list[float]:
    """Return the margins at which a figure of `margin_table` changes, or a few round ones where it does so often."""
    names = [*_misroutes(one), "over-restriction"]
    shares = one.along_margin[one.along_margin["figure"].isin(names)].pivot(
        index="tie_margin", columns="figure", values="estimate"
    )
    changed = (shares.diff().fillna(0).abs() > 1e-12).any(axis=1)
    steps = [0.0, *(float(margin) for margin in shares.index[changed])]
    return steps if len(steps) <= FEW * 2 else [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]


def first_effective_margin(tuned: Tuned) -> float | None:
    """Return the smallest margin on the grid at which some counted outcome differs from margin 0, or None."""
    row = int(np.argmin(np.abs(tuned.counts.thresholds - tuned.threshold)))
    plane = tuned.counts.outcomes[:, :, row]
    changed = np.flatnonzero((plane != plane[:, :, :1]).any(axis=(0, 1)))
    return float(tuned.counts.margins[changed[0]]) if changed.size else None


def pooled_hides(tuned: Sequence[Tuned]) -> Words:
    """Say where a good pooled accuracy stands beside a gated class that falls short of its target."""
    paragraphs = []
    for one in tuned:
        pooled = one.figures.accepted_accuracy
        for gate in one.gates:
            interval = one.figures.gate(gate)
            if gate.classes and interval.known and interval.estimate < gate.target <= pooled.estimate:
                paragraphs.append(
                    f"{one.series.name}: {with_interval(pooled)} of the answers acted on are right, yet {gate_name(gate)} "
                    f"is only {with_interval(interval)}, below its target of {percent(gate.target, 0)}. The pooled figure "
                    "hides the class that matters."
                )
    return Words(*(paragraphs or ["No series has a pooled accuracy that hides a gated class here."]))


def headline(tuned: Sequence[Tuned]) -> str:
    """Return one sentence for the index of a report."""
    certified = [one for one in tuned if one.certificate.passed]
    if not certified:
        verdicts = [one.certificate.verdict for one in tuned]
        counted = ", ".join(f"{verdicts.count(word)} {word}" for word in ("fail", "undecided") if word in verdicts)
        return f"Nothing is certified in {count(len(tuned), 'series', 'series')}: {counted}"
    widest = max(certified, key=lambda one: one.figures.coverage.estimate)
    return (
        f"{len(certified)} of {len(tuned)} series have a certified policy; most coverage: {widest.series.name}, "
        f"{percent(widest.figures.coverage.estimate)}"
    )


def _along(tuned: Sequence[Tuned], by: str) -> Figure:
    shown = tuned[:MOST_PANELS]
    names = [*(gate_name(gate) for gate in shown[0].gates), "coverage"]
    targets = [gate.target for gate in shown[0].gates]
    chosen: Callable[[Tuned], float] = lambda one: getattr(one, by)  # noqa: E731
    tables = []
    with house_style():
        drawing, axes = panels(len(shown), across=4)
        for one, panel in zip(shown, axes, strict=True):
            rows = one.along_threshold if by == "threshold" else one.along_margin
            draw_along(panel, rows, by, names, targets=targets, chosen=chosen(one))
            panel.set_title(panel_name(one.series.name))
            tables.append(rows.assign(series=one.series.name))
        _legend_below(drawing, axes)
        outer_labels_only(axes)
    word = "threshold" if by == "threshold" else "tie margin"
    other = "tie margin" if by == "threshold" else "threshold"
    title = f"{listed(names)} over the {word}, at each series' chosen {other}"
    title = title[0].upper() + title[1:]
    alt = (
        f"Lines with 95 % interval bands, one panel per series ({len(shown)}): {word} across from 0 to 1, share up from 0 to "
        f"1; a vertical line at the chosen {word}, targets dotted. n = {_items(shown)}. {title}."
    )
    table = pd.concat(tables, ignore_index=True)
    return Figure(
        drawing,
        title=title,
        alt=alt,
        table=table[["series", *table.columns[:-1]]],
        name=f"along-{word.replace(' ', '-')}",
    )


def _one_answer(one: Tuned) -> str:
    """Return the class that nearly everything acted on is decided, though labels differ; empty where there is none."""
    t, m = one.counts.at(one.threshold, one.tie_margin)
    decided = one.counts.decided[:, t, m]
    if not decided.sum() or decided.max() < 0.99 * decided.sum() or len(np.unique(one.table.label)) < 2:
        return ""
    return one.counts.classes[int(decided.argmax())]


def _misroutes(one: Tuned) -> list[str]:
    return [f"dangerous misroutes of {gate.classes[0]}" for gate in one.gates if gate.classes]


def _at(along: pd.DataFrame, name: str, margin: float) -> pd.Series:
    rows = along[along["figure"] == name]
    return rows.iloc[(rows["tie_margin"] - margin).abs().argmin()]


def _share_words(row: pd.Series) -> str:
    if not row["answers"]:
        return "not defined"
    hits = round(row["estimate"] * row["answers"])
    return (
        f"{hits:,} of {row['answers']:,} ({percent(row['estimate'])}, 95 % interval {100 * row['low']:.1f} to "
        f"{100 * row['high']:.1f})"
    )


def _items(tuned: Sequence[Tuned]) -> str:
    sizes = {one.figures.items for one in tuned}
    return f"{min(sizes):,} items" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,} items a series"


def _legend_below(drawing: Drawing, axes: Sequence[Axes]) -> None:
    handles, labels = axes[0].get_legend_handles_labels()
    drawing.legend(
        handles, labels, loc="outside lower center", ncols=min(4 if len(axes) > 2 else len(axes), len(labels))
    )


def _span(shares: Sequence[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low} to {high}"
