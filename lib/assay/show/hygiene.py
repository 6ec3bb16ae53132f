"""What the confidences look like before anyone asks whether they are true, in a table and in words."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from assay.measure.hygiene import Hygiene
from assay.measure.phrases import kinds_in_words, only_kind
from assay.show.tables import Table, blank_columns
from assay.show.words import Words, count, listed, span

FEW = 5
"""Up to so many series are told one by one; of more it is said what they have in common."""


_HEADS = {
    "answers": "answers",
    "unreadable": "unreadable",
    "unreadable_kinds": "why unreadable",
    "missing": "no confidence",
    "outside_scale": "off the scale",
    "suspicious_scale": "as if on another scale",
    "distinct": "distinct values",
    "commonest": "commonest",
    "commonest_share": "its share",
    "saturated_share": "share at certainty",
    "zero_share": "share at 0",
    "constant_share": "share as in the examples",
    "with_alternatives_share": "share with alternatives",
    "over_one": "scores sum to over 1",
    "inverted": "alternative on top",
    "repeated_items": "items repeated",
    "same_label_share": "same class again",
    "same_confidence_share": "same confidence again",
}
"""What the table calls the fields of a hygiene report."""

_NONE_IS = {
    "unreadable": "unreadable",
    "missing": "without a confidence",
    "outside_scale": "off the scale",
    "suspicious_scale": "written as if on another scale",
    "saturated_share": "stated as certain",
    "zero_share": "stated at 0",
    "with_alternatives_share": "with alternatives",
    "over_one": "with scores that sum to over 1",
    "inverted": "topped by one of its alternatives",
}
"""What no answer is where the column of the field is left out."""


def hygiene_table(looks: Sequence[Hygiene]) -> Table:
    """One row per series of what its confidences look like; what is nought everywhere is said below and not shown."""
    rows = [{"series": one.name, **{head: one.row()[field] for field, head in _HEADS.items()}} for one in looks]
    frame = pd.DataFrame(rows)
    blank = blank_columns(frame, [_HEADS[field] for field in _HEADS if field not in ("answers", "distinct")])
    only = only_kind(one.unreadable for one in looks)
    shares = [head for field, head in _HEADS.items() if field.endswith("share")]
    return Table(
        frame,
        caption="Hygiene of the stated confidences; shares are of readable answers",
        name="hygiene",
        formats=dict.fromkeys(shares, ".3f"),
        hidden=[*dict.fromkeys([*blank, *([_HEADS["unreadable_kinds"]] if only else []), _HEADS["repeated_items"]])]
        if rows
        else (),
        note=" ".join([*([f"Every unreadable answer has one reason: {only}."] if only else []), *_left_out(blank)]),
    )


def _left_out(blank: Sequence[str]) -> list[str]:
    """Say what the columns that are not shown would say."""
    none_is = [words for field, words in _NONE_IS.items() if _HEADS[field] in blank]
    notes = (
        [f"No answer is {', '.join(none_is[:-1])}{' or ' if len(none_is) > 1 else ''}{none_is[-1]}."] if none_is else []
    )
    if _HEADS["constant_share"] in blank:
        notes.append("No answer is known to state a confidence from the examples of its prompt.")
    if _HEADS["repeated_items"] in blank:
        notes.append("No item is answered twice.")
    return notes


def hygiene_findings(looks: Sequence[Hygiene], scale: int = 1) -> Words:
    """Say what a reader should know before any curve: series by series if they are few, else in common.

    Parameters
    ----------
    looks : sequence of Hygiene
    scale : {1, 100}
        On which the confidences were written.
    """
    if len(looks) <= FEW:
        return Words(*(_told(one, scale) for one in looks))
    parts = (_reading(looks), _values(looks, scale), _examples(looks), _alternatives(looks), _repeats(looks))
    return Words(*parts)


def _told(one: Hygiene, scale: int) -> str:
    """Name the series once: its name may be as long as a sentence."""
    found = replace(one, name="this series").findings(scale)
    return " ".join(text[:1].upper() + text[1:] for text in found).replace("This series: ", f"{one.name}: ", 1)


def _reading(looks: Sequence[Hygiene]) -> str:
    losing = [one for one in looks if one.readable < one.answers]
    if not losing:
        return f"All answers of all {len(looks)} series can be read."
    worst = max(losing, key=lambda one: 1 - one.readable / one.answers)
    return (
        f"Some answers of {len(losing)} of {len(looks)} series cannot be read; most of {worst.name}: "
        f"{worst.answers - worst.readable:,} of {worst.answers:,} ({kinds_in_words(worst.unreadable)})."
    )


def _values(looks: Sequence[Hygiene], scale: int) -> str:
    shown = [one for one in looks if one.commonest_share is not None]
    if not shown:
        return ""
    constant = [one.name for one in shown if one.distinct == 1]
    low, high = min(one.distinct for one in shown), max(one.distinct for one in shown)
    text = (
        f"A series states {f'{low:,}' if low == high else f'{low:,} to {high:,}'} distinct confidences; the commonest is "
        f"stated by {_spread(shown, lambda one: one.commonest_share)} of the answers."
    )
    if constant:
        text += f" {listed(constant)}: the same number every time, which tells no answers apart."
    saturated = [one for one in shown if one.saturated_share]
    if saturated:
        share = _spread(saturated, lambda one: one.saturated_share)
        text += f" In {len(saturated)} series {share} of the answers state {scale}."
    odd = [one for one in shown if one.suspicious_scale]
    if odd:
        total = sum(one.suspicious_scale for one in odd)
        text += (
            f" {count(total, 'answer')} of {count(len(odd), 'series', 'series')} look written on another scale than "
            f"{scale}; they are read as written."
        )
    return text


def _examples(looks: Sequence[Hygiene]) -> str:
    # Of what was written: a probability read off tokens is not copied from an example.
    known = [one for one in looks if one.constant_share is not None and one.series.get("elicitation") == "verbal"]
    if not known:
        return ""
    share = _spread(known, lambda one: one.constant_share)
    return f"A confidence that stands in the examples of the prompt is stated by {share} of the answers."


def _alternatives(looks: Sequence[Hygiene]) -> str:
    naming = [one for one in looks if one.with_alternatives_share]
    if not naming:
        return "No series names alternatives, so no tie margin can change a decision."
    text = (
        f"{len(naming)} of {len(looks)} series name alternatives, in "
        f"{_spread(naming, lambda one: one.with_alternatives_share)} of their answers"
    )
    inverted, over = sum(one.inverted for one in naming), sum(one.over_one for one in naming)
    if inverted:
        text += f"; in {inverted:,} answers an alternative outscores the class chosen"
    if over:
        text += f"; in {over:,} the scores sum to more than 1"
    return text + "."


def _repeats(looks: Sequence[Hygiene]) -> str:
    repeated = [one for one in looks if one.repeats.same_label is not None]
    if not repeated:
        return ""
    return (
        f"Two runs on one item choose the same class in {_spread(repeated, lambda one: one.repeats.same_label)} of the pairs "
        f"of a series and state the same confidence in {_spread(repeated, lambda one: one.repeats.same_confidence)}."
    )


def _spread(looks: Sequence[Hygiene], share: Callable[[Hygiene], float | None]) -> str:
    return span([value for one in looks if (value := share(one)) is not None])
