"""What a prompt comparison found, in words computed from its numbers."""

from collections.abc import Sequence

import numpy as np

from assay.measure.comparison import Comparison
from assay.measure.equal_safety import EqualSafety
from assay.measure.metrics import ACCURACY, SHARE, Metric
from assay.measure.pairing import BETTER, WORSE, Difference, Pair
from assay.show.prompts.gaps import amount, gap, said, with_unit
from assay.show.words import Words, count, listed, sentence

NOTHING = "There is nothing to compare: no two variants of the same kind answer the same items."

NO_SAFETY = "No safety to be equal: the study has no gate, or nothing is compared."

_MOST_PAIRS = 6


def what_is_compared(comparison: Comparison) -> Words:
    """Variants, groups, items, and what could not be paired."""
    by = " and ".join(name.removeprefix("tag_") for name in comparison.columns)
    paragraphs = [] if comparison.groups else [NOTHING]
    for group in comparison.groups:
        pairs = [pair for pair in comparison.pairs if pair.group == group and pair.items]
        names = [one.name for one in comparison.ranking(group)]
        paragraphs.append(
            f"{_of(group)}{count(len(names), 'variant')} by {by}, {listed(sorted(names), 12)}: {count(len(pairs), 'pair')} "
            f"on {_range([pair.items for pair in pairs])} shared items"
            f"{', answered more than once' if any(pair.repeated for pair in pairs) else ''}."
        )
        paragraphs += [_unpaired(pair) for pair in pairs if pair.only_in_a or pair.only_in_b]
    paragraphs.append(_alone(comparison))
    return Words(*paragraphs)


def findings(comparison: Comparison) -> Words:
    """What the primary metrics come to, group by group."""
    paragraphs = [_finding(comparison, group, metric) for group in comparison.groups for metric in comparison.primary]
    return Words(*(paragraphs or [NOTHING]))


def equal_safety_words(safety: EqualSafety) -> Words:
    """Which variants may act on anything at the safety asked for, and which of them on more."""
    if not safety.variants:
        return Words(NO_SAFETY)
    passed = [f"{one.name}{_in(one.group)}" for one in safety.variants if one.certificate.passed]
    if not passed:
        return Words("No variant has a certified policy, so none may act on anything at the safety asked for.")
    lines = [
        f"{len(passed)} of {count(len(safety.variants), 'variant')} may act at the safety asked for: {listed(passed, 10)}."
    ]
    for one in safety.differences:
        found = one.low > 0 or one.high < 0
        word = (
            f"acts on {'more' if one.difference > 0 else 'less'}" if found else "no detectable difference in coverage"
        )
        lines.append(
            f"{one.a} against {one.b}{_in(one.group)}: {word}, {gap(ACCURACY, one.difference)} points of coverage (95 % "
            f"interval {gap(ACCURACY, one.low)} to {gap(ACCURACY, one.high)}, exploratory) on {count(one.items, 'item')}."
        )
    return Words(*lines)


def headline(comparison: Comparison) -> str:
    """Return one sentence for the index of a report: how many pairs differ, and which is most apart."""
    parts = [tally(comparison, metric) for metric in comparison.primary if _tested(comparison, metric)]
    opened = "; ".join(parts)
    opened = opened[:1].upper() + opened[1:]
    for metric in comparison.primary:
        found = [(pair, one) for pair, one in _tested(comparison, metric) if one.verdict in (BETTER, WORSE)]
        if found:
            pair, one = max(found, key=lambda each: abs(each[1].difference))
            first, second = (pair.a, pair.b) if one.verdict == BETTER else (pair.b, pair.a)
            apart = with_unit(metric, gap(metric, abs(one.difference)))
            return f"{opened}; most apart: {first} is better than {second}{_in(pair.group)} by {apart}"
    return opened or NOTHING


def tally(comparison: Comparison, metric: Metric) -> str:
    """Say how many of the tested pairs differ on a primary metric."""
    tested = _tested(comparison, metric)
    found = sum(one.verdict in (BETTER, WORSE) for _, one in tested)
    pairs = f"{len(tested)} pairs" if len(tested) > 1 else "the one pair"
    if not found:
        return f"no detectable difference in {metric.name} at this size in {'any of ' * (len(tested) > 1)}{pairs}"
    if len(tested) == 1:
        return f"{pairs} differs in {metric.name}"
    return f"{found} of {pairs} {'differs' if found == 1 else 'differ'} in {metric.name}"


def primary_differences(comparison: Comparison) -> list[tuple[Pair, Difference]]:
    """Return the differences on primary metrics, each with its pair."""
    return [(pair, one) for pair in comparison.pairs for one in pair.differences if one.primary and pair.items]


def _tested(comparison: Comparison, metric: Metric) -> list[tuple[Pair, Difference]]:
    return [(pair, one) for pair, one in primary_differences(comparison) if one.metric == metric and one.test]


def _finding(comparison: Comparison, group: str, metric: Metric) -> str:
    tested = [(p, one) for p, one in primary_differences(comparison) if p.group == group and one.metric == metric]
    ranked = [
        f"{one.name} {amount(metric, one.estimates.get(metric.name, float('nan')))}"
        for one in comparison.ranking(group, metric)
    ]
    parts = [f"{group}, by {metric.name}: {listed(ranked, 12)}" if group else f"By {metric.name}: {listed(ranked, 12)}"]
    found = [(pair, one) for pair, one in tested if one.verdict in (BETTER, WORSE)]
    pairs = count(len(tested), "pair")
    if found:
        lines = [_better(pair, one) for pair, one in found[:_MOST_PAIRS]]
        more = f", and {len(found) - _MOST_PAIRS} more" if len(found) > _MOST_PAIRS else ""
        parts.append(f"{len(found)} of {pairs} differ: {'; '.join(lines)}{more}")
    elif not any(one.a_ahead or one.b_ahead for _, one in tested) and metric.form == SHARE:
        parts.append(f"No pairs differ on any item, {pairs} in all, which shows nothing to be equal")
    elif tested:
        pair, one = min(tested, key=lambda each: (each[1].p_value, -abs(each[1].difference)))
        which = f"in any of {pairs}; nearest to one is" if len(tested) > 1 else "for"
        parts.append(f"No detectable difference at this size {which} {pair.a} against {pair.b}, {said(one)}")
    alone, among = ([getattr(one, name) for _, one in tested] for name in ("smallest", "smallest_in_family"))
    tests = comparison.tests[group]
    family = f" and {_gaps(metric, among)} among the {tests} tests of this group" if tests > 1 else ""
    parts.append(
        f"As many items, as discordant, would show a true difference of {_gaps(metric, alone)} tested alone{family}, with "
        "probability 0.80 at the 5 % level"
    )
    return " ".join(sentence(part) if place else f"{part}." for place, part in enumerate(parts))


def _better(pair: Pair, one: Difference) -> str:
    """Say which of a pair is better, and by how much."""
    if one.verdict == WORSE:
        pair = pair.turned()
    return f"{pair.a} is better than {pair.b} by {said(pair.of(one.metric))}"


def _alone(comparison: Comparison) -> str:
    """Name the variants that have nothing to be compared with; empty where there are none."""
    alone = [one for one in comparison.variants if one.group not in comparison.groups]
    if not alone:
        return ""
    names = [f"{one.group} ({one.name})" if one.group else one.name for one in alone]
    hint = " Give the parameter prompt one that they share, and models are compared." * (
        comparison.columns == ("prompt",)
    )
    return f"With nothing to be compared with: {listed(names, 12)}.{hint}"


def _unpaired(pair: Pair) -> str:
    parts = [
        f"{count(len(ids), 'item')} only in {name} ({listed(ids, 5)})"
        for name, ids in ((pair.a, pair.only_in_a), (pair.b, pair.only_in_b))
        if ids
    ]
    return f"{pair.name}: left out of this pair are {' and '.join(parts)}."


def _of(group: str) -> str:
    return f"{group}: " if group else ""


def _in(group: str) -> str:
    return f" ({group})" if group else ""


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _gaps(metric: Metric, values: Sequence[float]) -> str:
    known = [one for one in values if not np.isnan(one)]
    if not known:
        return "an unknown size"
    low, high = gap(metric, min(known)), gap(metric, max(known))
    return with_unit(metric, low if low == high else f"{low} to {high}")
