"""What taking runs for samples would have claimed, beside what the items support."""

from collections.abc import Sequence

import pandas as pd

from assay.measure.comparison import Comparison
from assay.measure.metrics import ACCURACY
from assay.measure.over_runs import OverRuns
from assay.measure.pairing import NOT_DETECTED, Pair
from assay.show.prompts.gaps import amount, gap, p_words, said
from assay.show.prompts.tables import without_empty
from assay.show.tables import Format, Table
from assay.show.words import Words, count, percent
from assay.study.study import Study

PUBLISHED = {
    ("ci_claims", "claude-haiku-4-5-20251001", "L1", "L5"): (
        "The authors of these answers compared prompts by Wilcoxon's test over the ten runs. For this model and pair they "
        "report p = 0.002, and an effect that they call large for every pair."
    )
}
"""What a shipped study's authors claimed of a pair, by study, model and variants."""


def runs_table(over: Sequence[OverRuns], comparison: Comparison) -> Table | Words:
    """The test over runs beside the test by item, the smallest p over runs first."""
    if not over:
        return Words("No item was answered more than once, so there are no runs that could be taken for samples.")
    rows = []
    for one in sorted(over, key=lambda each: each.p_value):
        by_item = comparison.pair(one.a, one.b, one.group).of(ACCURACY)
        rows.append(
            {
                "pair": f"{one.a} against {one.b}",
                "group": one.group,
                "runs ahead": f"{one.a_ahead} and {one.b_ahead} of {one.runs}",
                "effect over runs": one.effect,
                "p over runs": one.p_value,
                "items ahead": f"{by_item.a_ahead} and {by_item.b_ahead} of {by_item.items}",
                "p by item": by_item.p_value,
                "p by item, Holm": by_item.adjusted,
                "items alike in all runs": percent(one.steady),
            }
        )
    caption = (
        "Accuracy: Wilcoxon's test over runs, as if they were samples (effect: the matched-pairs rank-biserial correlation), "
        "beside the test by item"
    )
    formats: dict[str, Format] = {"effect over runs": ".2f"}
    formats |= dict.fromkeys(("p over runs", "p by item", "p by item, Holm"), p_words)
    return Table(without_empty(pd.DataFrame(rows)), caption=caption, name="over-runs", formats=formats, max_rows=10)


def runs_words(over: Sequence[OverRuns], comparison: Comparison, study: Study) -> Words:
    """What the two tests disagree on and, where the study's authors made a claim, what the data support of it."""
    if not over:
        return Words()
    pairs = {(one.group, one.a, one.b): comparison.pair(one.a, one.b, one.group) for one in over}
    loud = [one for one in over if one.p_value <= 0.05]
    quiet = [one for one in loud if pairs[one.group, one.a, one.b].of(ACCURACY).verdict == NOT_DETECTED]
    paragraphs = [
        f"Over runs, {len(loud)} of {count(len(over), 'pair')} would be called different at the 5 % level; by item, no "
        f"difference is detected in {len(quiet)} of those {len(loud)}."
    ]
    for one in over:
        # A group is named only where there are several; else all answers are of the one model.
        model = one.group or str(study.answers["model"].iloc[0])
        claim = PUBLISHED.get((study.name, model, one.a, one.b))
        if claim:
            paragraphs += [claim, _what_the_data_support(one, pairs[one.group, one.a, one.b])]
    return Words(*paragraphs)


def _what_the_data_support(one: OverRuns, pair: Pair) -> str:
    by_item = pair.of(ACCURACY)
    beyond = "do not support is" if by_item.verdict == NOT_DETECTED else "support besides is"
    return (
        f"What the data support: on these {by_item.items} items {one.a} is right on {amount(ACCURACY, by_item.a)} and {one.b} "
        f"on {amount(ACCURACY, by_item.b)} of the answers, and asking again about the same items would very likely put "
        f"{one.a if by_item.difference > 0 else one.b} ahead again, as it is in {max(one.a_ahead, one.b_ahead)} of {one.runs} "
        f"runs (p = {p_words(one.p_value)} over runs, effect {one.effect:.2f}). What they {beyond} that it would be ahead on "
        f"other items. {percent(one.steady)} of the items come out alike in every run, so ten runs count the same items ten "
        f"times: {one.a} is right more often on {by_item.a_ahead} of them and {one.b} on {by_item.b_ahead}. By item the "
        f"difference is {said(by_item)}: {by_item.verdict}. As many items, as discordant, would show a true difference of "
        f"{gap(ACCURACY, by_item.smallest)} points with probability 0.80; an effect large over runs says nothing of that size."
    )
