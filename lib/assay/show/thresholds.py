"""The tables and findings of notebook 20, beside its pictures: which threshold and which tie margin, and what they buy."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from assay.measure.operating import gate_name, named_figures
from assay.measure.tuning import Tuned
from assay.show.tables import Table
from assay.show.threshold_figures import (
    HOW,
    along_margin,
    along_threshold,
    first_effective_margin,
    margin_price,
    misroutes_of,
    planes,
    safety_for_coverage,
)
from assay.show.words import Words, count, listed, listed_series, percent, sentence, short_interval, span, with_interval

__all__ = [
    "HOW",
    "along_margin",
    "along_threshold",
    "findings",
    "first_effective_margin",
    "headline",
    "margin_price",
    "margin_table",
    "operating_table",
    "planes",
    "pooled_hides",
    "safety_for_coverage",
    "telling_margins",
]

FEW = 4


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
    # The opening counts items and answers in a table of its own.
    counted = ("items", "answers", "unreadable")
    return Table(pd.DataFrame(rows), caption=caption, name="operating-points", formats=formats, hidden=counted)


def findings(tuned: Sequence[Tuned]) -> Words:
    """Say what the operating points come to: each by itself if they are few, else what they have in common."""
    stuck = [one for one in tuned if _one_answer(one)]
    paragraphs = [_finding(one) for one in tuned] if len(tuned) <= FEW else [_together(tuned)]
    if stuck:
        classes = sorted({_one_answer(one) for one in stuck})
        paragraphs.append(
            f"{listed_series([one.series for one in stuck])}: the point decides {listed(classes)} "
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
        f"Operating points of {count(len(tuned), 'series', 'series')}: {counted}. They act on {span(shares)} "
        "of their answers; the table has each with its intervals."
    )


def margin_table(tuned: Sequence[Tuned]) -> Table:
    """Misroutes of the gated classes and over-restriction, at the margins that change them."""
    rows = []
    for one in tuned:
        names = [*misroutes_of(one), "over-restriction"]
        for margin in telling_margins(one):
            row: dict[str, object] = {"series": one.series.name, "tie margin": margin}
            rows.append(row | {name: _share_words(_at(one.along_margin, name, margin)) for name in names})
    caption = "What a tie margin buys and costs at each series' chosen threshold; counts, shares and 95 % intervals"
    return Table(pd.DataFrame(rows), caption=caption, name="margins", formats={"tie margin": ".3g"})


def telling_margins(one: Tuned) -> list[float]:
    """Return the margins at which a figure of `margin_table` changes, or a few round ones where it does so often."""
    names = [*misroutes_of(one), "over-restriction"]
    shares = one.along_margin[one.along_margin["figure"].isin(names)].pivot(
        index="tie_margin", columns="figure", values="estimate"
    )
    changed = (shares.diff().fillna(0).abs() > 1e-12).any(axis=1)
    steps = [0.0, *(float(margin) for margin in shares.index[changed])]
    return steps if len(steps) <= FEW * 2 else [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]


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


def _one_answer(one: Tuned) -> str:
    """Return the class that nearly everything acted on is decided, though labels differ; empty where there is none."""
    t, m = one.counts.at(one.threshold, one.tie_margin)
    decided = one.counts.decided[:, t, m]
    if not decided.sum() or decided.max() < 0.99 * decided.sum() or len(np.unique(one.table.label)) < 2:
        return ""
    return one.counts.classes[int(decided.argmax())]


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
