"""The tables of a prompt comparison."""

import math

import pandas as pd

from assay.measure.certificate import TOO_FEW
from assay.measure.comparison import Comparison
from assay.measure.disagreement import disagreements
from assay.measure.equal_safety import EqualSafety
from assay.measure.metrics import LEFT_OUT, SHARE, UNREADABLE_RATE, Metric
from assay.measure.variant_summary import VariantSummary
from assay.show.prompts.findings import NO_SAFETY, NOTHING, primary_differences
from assay.show.prompts.gaps import amount, gap, gap_interval, of_metric, p_words, short_gap
from assay.show.tables import Table
from assay.show.words import Words, listed, percent, short_interval
from assay.study.study import Study

_ROWS = 10


def variants_table(comparison: Comparison) -> Table:
    """Each variant by itself, best first, with unreadable answers as not right and, where there are any, left out."""
    unreadable = any(one.unreadable for one in comparison.variants)
    shown = [one for one in comparison.metrics if one != UNREADABLE_RATE and (unreadable or not one.left_out)]
    rows = []
    for group in dict.fromkeys(one.group for one in comparison.variants):
        for one in comparison.ranking(group):
            row: dict[str, object] = {"variant": one.name, "group": one.group, "items": one.items}
            row |= {"answers": one.answers, "unreadable": one.unreadable}
            row |= {_column(metric): _figure(one, metric) for metric in shown if metric.name in one.estimates}
            rows.append(row)
    frame, same = _told_once(pd.DataFrame(rows), ("items", "answers", "unreadable"))
    caption = (
        f"The variants, best first by {comparison.primary[0].name}{same}; shares in percent with 95 % intervals over items; "
        "an unreadable answer is not right, unless said to be left out (readable)"
    )
    return Table(frame, caption=caption, name="variants")


def pairs_table(comparison: Comparison) -> Table | Words:
    """Every pair on the primary metrics, the smallest p first: difference, interval, p-values, verdict, what would show."""
    differences = sorted(primary_differences(comparison), key=lambda each: (each[1].adjusted, each[1].p_value))
    if not differences:
        return Words(NOTHING)
    rows = [
        {
            "pair": f"{pair.a} against {pair.b}",
            "group": pair.group,
            "metric": one.metric.name,
            "items": one.items,
            "difference": gap(one.metric, one.difference),
            "95 % interval": gap_interval(one),
            "items ahead": f"{one.a_ahead} and {one.b_ahead}",
            "p": one.p_value,
            "p, Holm": one.adjusted,
            "the first is": one.verdict + (f"; {one.note}" if one.note else ""),
            "would show": f"{gap(one.metric, one.smallest)} ({gap(one.metric, one.smallest_in_family)})",
        }
        for pair, one in differences
    ]
    one_metric = ("metric",) if len(comparison.primary) == 1 else ()
    frame, same = _told_once(pd.DataFrame(rows).drop(columns=list(one_metric)), ("items",))
    metrics = listed([of_metric(metric) for metric in comparison.primary])
    tests = listed(sorted({one.test for _, one in differences if one.test}))
    caption = (
        f"Pairs, the first less the second ({metrics}){same}; tested by {tests}, Holm's adjustment within a group; would show: "
        "the true difference found with probability 0.80 at the 5 % level, tested alone (and among all)"
    )
    formats = {"p": p_words, "p, Holm": p_words}
    return Table(frame, caption=caption, name="pairs", formats=formats, max_rows=_ROWS)


def unreadable_both_ways(comparison: Comparison) -> Table | Words:
    """Where leaving unreadable answers out changes a figure: both ways, those that change most first."""
    if not comparison.groups:
        return Words(NOTHING)
    changed = []
    for pair in comparison.pairs:
        for left_out in pair.differences:
            if left_out.metric.left_out:
                counted = pair.of(left_out.metric.name.removesuffix(LEFT_OUT))
                if short_gap(counted) != short_gap(left_out):
                    changed.append((pair, counted, left_out))
    if not changed:
        return Words("Leaving unreadable answers out changes no figure here.")
    estimates = {(one.group, one.name): one.estimates for one in comparison.variants}
    rows = []
    for pair, counted, left_out in sorted(changed, key=lambda each: -abs(each[1].difference - each[2].difference)):
        sides = [estimates[pair.group, name] for name in (pair.a, pair.b)]
        order = [[side[metric.name] for side in sides] for metric in (counted.metric, left_out.metric)]
        turns = (order[0][0] - order[0][1]) * (order[1][0] - order[1][1]) < 0
        rows.append(
            {
                "pair": f"{pair.a} against {pair.b}",
                "group": pair.group,
                "figure": counted.metric.name,
                "unreadable": f"{pair.unreadable_a} and {pair.unreadable_b}",
                "counted": " and ".join(amount(counted.metric, one) for one in order[0]),
                "left out": " and ".join(amount(left_out.metric, one) for one in order[1]),
                "order": "turns" if turns else "stays",
                "difference, counted": f"{short_gap(counted)} on {counted.items:,} items",
                "difference, left out": f"{short_gap(left_out)} on {left_out.items:,} items",
            }
        )
    frame, same = _told_once(pd.DataFrame(rows), ("figure",))
    caption = (
        f"Unreadable answers counted as abstentions, which are not right, and left out{same}: each variant's own figure, and "
        "the paired difference in points, left out on items that both could be read on; the ranking counts them"
    )
    return Table(frame, caption=caption, name="unreadable", max_rows=_ROWS)


def exploratory(comparison: Comparison) -> Table | Words:
    """Every other metric: differences with their own intervals, neither tested nor adjusted."""
    rows = []
    for pair in comparison.pairs:
        others = [one for one in pair.differences if not one.primary and not one.metric.left_out]
        if others and pair.items:
            named = {_column(one.metric): short_gap(one) for one in others}
            rows.append({"pair": f"{pair.a} against {pair.b}", "group": pair.group, **named})
    if not rows:
        return Words("There is no other metric to compare by." if comparison.groups else NOTHING)
    caption = (
        "Exploratory: the first less the second on the other metrics, shares in points, with 95 % intervals over items that "
        "are not adjusted for their number; a word where the interval leaves 0 out"
    )
    frame, _ = _told_once(pd.DataFrame(rows), ())
    return Table(frame, caption=caption, name="exploratory", max_rows=_ROWS)


def differing_items(comparison: Comparison, study: Study) -> Table | Words:
    """The items to which the first and the last of each ranking most often give different answers."""
    if not comparison.groups:
        return Words(NOTHING)
    parts = []
    for group in comparison.groups:
        members = comparison.ranking(group)
        pair = comparison.pair(members[0].name, members[-1].name, group)
        found = disagreements(study.answers, comparison, pair, study.items)
        parts.append(found.assign(group=group, pair=f"{pair.a} against {pair.b}", place=range(len(found))))
    # The first few of every group before the next few of any.
    found = pd.concat(parts, ignore_index=True).sort_values("place", kind="stable", ignore_index=True)
    shown = found[["item_id", "pair", "group", "text", "label"]].rename(columns={"item_id": "item"})
    repeated = bool((found[["runs_a", "runs_b"]] > 1).to_numpy().any())
    for side, name in (("a", "first"), ("b", "second")):
        often = found[f"runs_{side}"].map("; {:,} times".format) if repeated else ""
        shown[f"the {name} says"] = found[f"said_{side}"] + often
        shown[f"right, {name}"] = [percent(one, 0) for one in found[f"right_{side}"]]
    shown, same = _told_once(shown, ("pair",))
    caption = (
        f"Items that the first and the last of a ranking most often answer differently, those most apart first{same}"
    )
    return Table(shown, caption=caption, name="differing-items", max_rows=_ROWS)


def equal_safety_table(safety: EqualSafety) -> Table | Words:
    """Each variant's certificate: what it may act on while the gates hold, and how its best candidate was tested."""
    if not safety.variants:
        return Words(NO_SAFETY)
    rows = []
    for one in safety.variants:
        kept = one.certificate
        row: dict[str, object] = {"variant": one.name, "group": one.group, "verdict": kept.verdict}
        if kept.mode == TOO_FEW:
            row["verdict"] = f"{kept.verdict}, too few labels"
        row["coverage, %"] = short_interval(kept.coverage) if kept.passed else "none"
        row["threshold"], row["tie margin"] = kept.shown_at
        for finding in kept.gates:
            counted = f"{finding.successes:,} of {finding.trials:,}"
            row[str(finding.gate)] = f"{counted}, lower bound {math.floor(1000 * finding.lower) / 1000:.3f}"
        rows.append(row)
    frame, same = _told_once(pd.DataFrame(rows), ("verdict",))
    caption = (
        f"Each variant at a policy of its own, or at the candidate nearest to one{same}; tested at delta over the number of "
        "variants compared, on the certification part where there are labels enough"
    )
    formats = {"threshold": ".3g", "tie margin": ".3g"}
    return Table(frame, caption=caption, name="equal-safety", formats=formats)


def _told_once(frame: pd.DataFrame, names: tuple[str, ...]) -> tuple[pd.DataFrame, str]:
    """Move what is the same in every row from its column to the caption, and drop columns that say nothing."""
    frame = without_empty(frame)
    same = [name for name in names if name in frame and len(frame) > 1 and len(frame[name].unique()) == 1]
    values = {name: frame[name].iloc[0] for name in same}
    told = [
        f"; {value:,} {name} each" if pd.api.types.is_number(value) else f"; {value}" for name, value in values.items()
    ]
    return frame.drop(columns=same), "".join(told)


def without_empty(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the columns that say nothing: the group where there is but one, the text where there is none."""
    empty = [name for name in ("group", "text") if name in frame and (frame[name].fillna("") == "").all()]
    return frame.drop(columns=empty)


def _figure(one: VariantSummary, metric: Metric) -> object:
    interval = one.intervals.get(metric.name)
    if interval is None:
        return one.estimates[metric.name]
    if metric.form == SHARE:
        return short_interval(interval)
    return f"{gap(metric, interval.estimate)} ({gap(metric, interval.low)}, {gap(metric, interval.high)})"


def _column(metric: Metric) -> str:
    if metric.form == SHARE:
        return f"{metric.name}, %"
    return f"{metric.name}, {metric.unit}" if metric.unit in ("nats", "US dollars") else metric.name
