"""Hygiene of confidences: what was written, before anyone asks whether it is true.

Confidences can be missing, off the scale, nearly always the same number, copied from the examples of the prompt, or
contradicted by the alternatives beside them. None of that shows in a calibration error. Here it is counted, for each
model, prompt and elicitation, and said in words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from assay.measure.bands import Bands, compare_bands
from assay.measure.intervals import FloatArray
from assay.measure.phrases import counted, kinds_in_words, percent
from assay.measure.repeats import Repeats, compare_repeats
from assay.measure.summary import SERIES, groups
from assay.measure.table import to_nano
from assay.study import Series

SUM_TOLERANCE = 0.01
"""Scores may sum to this much over 1 before it counts: numbers written in hundredths do."""

SUSPICIOUS_SCALE = "suspicious_scale"
"""The flag of a value that looks written on another scale than the declared one."""


@dataclass(frozen=True)
class Hygiene:
    """What the confidences of one series look like. Shares are of readable answers, and None if there are none.

    Attributes
    ----------
    name : str
        The shortest text that tells the series from the others it was looked at with, such as its model.
    series : dict of str to str
        The columns that name the series and their values.
    answers, readable : int
    unreadable : dict of str to int
        Unreadable answers by kind, most frequent first.
    missing, outside_scale : int
        Those of them without a confidence, and with one outside the declared scale.
    flags : dict of str to int
        Readable answers by what had to be normalised to read them; an answer may have several flags.
    suspicious_scale : int
        Readable answers that look written on another scale; they were not rescaled.
    distinct : int
        Distinct confidences.
    commonest : float or None
        The confidence stated most often (of equally frequent ones the largest).
    commonest_share, saturated_share, zero_share : float or None
        Share that states it; that states exactly 1; that states exactly 0.
    constants : tuple of float
        The confidences in the examples of the prompt, if they were given.
    constant_share : float or None
        Share that states one of them; None also if none were given.
    with_alternatives_share : float or None
        Share with at least one alternative.
    over_one : int
        Answers whose scores sum to more than 1.01.
    inverted : int
        Answers with an alternative above the class they chose.
    repeats : Repeats
        Agreement between repeated runs.
    bands : Bands or None
        The two ends of the scale; None if nothing is readable.
    """

    name: str
    series: dict[str, str]
    answers: int
    readable: int
    unreadable: dict[str, int]
    missing: int
    outside_scale: int
    flags: dict[str, int]
    suspicious_scale: int
    distinct: int
    commonest: float | None
    commonest_share: float | None
    saturated_share: float | None
    zero_share: float | None
    constants: tuple[float, ...]
    constant_share: float | None
    with_alternatives_share: float | None
    over_one: int
    inverted: int
    repeats: Repeats
    bands: Bands | None

    def row(self) -> dict[str, object]:
        """Return the counts and shares as one row of a table."""
        return {
            **self.series,
            "answers": self.answers,
            "unreadable": self.answers - self.readable,
            "unreadable_kinds": kinds_in_words(self.unreadable),
            "missing": self.missing,
            "outside_scale": self.outside_scale,
            "suspicious_scale": self.suspicious_scale,
            "distinct": self.distinct,
            "commonest": self.commonest,
            "commonest_share": self.commonest_share,
            "saturated_share": self.saturated_share,
            "zero_share": self.zero_share,
            "constant_share": self.constant_share,
            "with_alternatives_share": self.with_alternatives_share,
            "over_one": self.over_one,
            "inverted": self.inverted,
            "repeated_items": self.repeats.items,
            "same_label_share": self.repeats.same_label,
            "same_confidence_share": self.repeats.same_confidence,
            "note": self._note(),
        }

    def findings(self, scale: int = 1) -> tuple[str, ...]:
        """State in words what a reader should know before reading a curve, most basic first.

        Parameters
        ----------
        scale : {1, 100}
            On which the confidences were written.
        """
        if not self.readable:
            return (
                f"{self.name}: none of {counted(self.answers, 'answer')} can be read ({kinds_in_words(self.unreadable)}).",
            )
        found = [self._reading(), self._values(scale), self._scale(scale), self._examples(), self._alternatives()]
        found += self.repeats.findings(self.name)
        if self.bands is not None:
            found += self.bands.findings(self.name, scale)
        return tuple(text for text in found if text)

    def _reading(self) -> str:
        lost = self.answers - self.readable
        if not lost:
            return f"{self.name}: all {counted(self.answers, 'answer')} can be read."
        return f"{self.name}: {lost:,} of {counted(self.answers, 'answer')} cannot be read ({kinds_in_words(self.unreadable)})."

    def _values(self, scale: int) -> str:
        if self.commonest is None or self.commonest_share is None:
            return ""
        commonest = f"{self.commonest * scale:.6g}"
        if self.distinct == 1:
            return f"{self.name} states {commonest} every time, so its confidence tells no answers apart."
        text = f"{self.name} states {self.distinct:,} distinct confidences"
        if self.commonest_share >= 0.05:
            text += f", most often {commonest} ({percent(self.commonest_share)} of answers)"
        if self.saturated_share and self.commonest != 1:
            text += f"; {percent(self.saturated_share)} state {scale}"
        return text + "."

    def _scale(self, scale: int) -> str:
        if not self.suspicious_scale:
            return ""
        one = self.suspicious_scale == 1
        return (
            f"{counted(self.suspicious_scale, 'answer')} of {self.name} {'states' if one else 'state'} a value above 0 and "
            f"not above 1 on a scale of {scale}, as if on a scale of 1; {'it is' if one else 'they are'} read as written."
        )

    def _examples(self) -> str:
        # A probability read off tokens, or of a classifier, is not copied from an example.
        if self.constant_share is None or self.series.get("elicitation", "verbal") != "verbal":
            return ""
        return (
            f"{percent(self.constant_share)} of the answers of {self.name} state a confidence that stands in the "
            f"examples of the prompt."
        )

    def _alternatives(self) -> str:
        if not self.with_alternatives_share:
            return f"{self.name} names no alternatives, so no tie margin can change a decision."
        share = "All" if self.with_alternatives_share == 1 else f"{percent(self.with_alternatives_share)} of the"
        text = f"{share} answers of {self.name} name alternatives"
        if self.inverted:
            text += f"; in {self.inverted:,} an alternative outscores the class chosen"
        if self.over_one:
            text += f"; in {self.over_one:,} the scores sum to more than 1"
        return text + "."

    def _note(self) -> str:
        notes = [] if self.readable else ["no readable answer"]
        if not self.repeats.items:
            notes.append("no item is answered twice")
        if not self.constants:
            notes.append("no prompt examples given")
        return "; ".join(notes)


def hygiene(
    frame: pd.DataFrame,
    constants: Mapping[str, Sequence[float]] | None = None,
    by: Sequence[str] = SERIES,
) -> list[Hygiene]:
    """Look at the confidences of every series of a tidy frame.

    Parameters
    ----------
    frame : DataFrame
        A tidy frame of answers: ``confidence``, and ``predicted`` with ``label`` (or ``correct``); uses ``item_id``,
        ``run``, ``error``, ``flags`` and ``alternatives`` where present.
    constants : mapping of prompt to confidences in [0, 1], optional
        The confidences that the examples of each prompt show.
    by : column names
        The columns that name a series; those that the frame lacks are passed over.

    Returns
    -------
    list of Hygiene
        One per series, in sorted order.

    Raises
    ------
    ValueError
        If a column is missing or a series mixes calibrations or elicitations.
    """
    present = [column for column in by if column in frame]
    parts = [
        ({column: "" if pd.isna(value) else str(value) for column, value in names.items()}, part)
        for names, part in groups(frame, present)
    ]
    names = _short_names([series for series, _ in parts])
    return [
        _look_at(part, name, series, tuple((constants or {}).get(series.get("prompt", ""), ())))
        for name, (series, part) in zip(names, parts, strict=True)
    ]


def hygiene_of(series: Sequence[Series], constants: Mapping[str, Sequence[float]] | None = None) -> list[Hygiene]:
    """Look at the confidences of each of some series of a study, under the names that the study gives them.

    Parameters
    ----------
    series : sequence of Series
    constants : mapping of prompt to confidences in [0, 1], optional
        As for `hygiene`.
    """
    return [replace(look, name=one.name) for one in series for look in hygiene(one.answers, constants)]


def hygiene_table(reports: Sequence[Hygiene]) -> pd.DataFrame:
    """Put reports in a table of one row per series."""
    return pd.DataFrame([report.row() for report in reports])


def _short_names(series: Sequence[dict[str, str]]) -> list[str]:
    """Join the values of as few leading columns as tell the series apart."""
    names = [""] * len(series)
    for used in range(1, len(series[0]) + 1 if series else 0):
        names = [", ".join(value for value in list(each.values())[:used] if value) for each in series]
        if len(set(names)) == len(names):
            break
    return [name or "this series" for name in names]


def _look_at(frame: pd.DataFrame, name: str, series: dict[str, str], constants: tuple[float, ...]) -> Hygiene:
    confidence = frame["confidence"].to_numpy(dtype=np.float64, na_value=np.nan)
    readable = ~np.isnan(confidence)
    if "predicted" in frame:
        readable &= frame["predicted"].notna().to_numpy()
    stated = to_nano(confidence[readable])
    unreadable = _unreadable_kinds(frame[~readable])
    flags = Counter(flag for flags in frame["flags"][readable] for flag in flags) if "flags" in frame else Counter()
    given, over_one, inverted = _alternative_counts(frame[readable])
    count = len(stated)
    distinct, numbers = np.unique(stated, return_counts=True)
    most = len(numbers) - 1 - int(np.argmax(numbers[::-1])) if count else 0

    def share(number: int) -> float | None:
        return number / count if count else None

    return Hygiene(
        name=name,
        series=series,
        answers=len(frame),
        readable=count,
        unreadable=unreadable,
        missing=unreadable.get("missing_confidence", 0),
        outside_scale=unreadable.get("out_of_scale", 0),
        flags=dict(flags.most_common()),
        suspicious_scale=flags[SUSPICIOUS_SCALE],
        distinct=len(distinct),
        commonest=float(distinct[most]) / 1e9 if count else None,
        commonest_share=share(int(numbers[most])) if count else None,
        saturated_share=share(int((stated == to_nano(1.0)).sum())),
        zero_share=share(int((stated == 0).sum())),
        constants=constants,
        constant_share=share(int(np.isin(stated, to_nano(constants)).sum())) if constants else None,
        with_alternatives_share=share(given),
        over_one=over_one,
        inverted=inverted,
        repeats=compare_repeats(frame[readable]),
        bands=compare_bands(frame) if count else None,
    )


def _unreadable_kinds(frame: pd.DataFrame) -> dict[str, int]:
    if frame.empty:
        return {}
    if "error" not in frame:
        return {"unknown": len(frame)}
    return dict(Counter(frame["error"].astype("object").fillna("unknown").astype(str)).most_common())


def _alternative_counts(frame: pd.DataFrame) -> tuple[int, int, int]:
    """Answers with alternatives, with scores that sum to over 1, and with an alternative above the class chosen.

    A class that is chosen and an alternative as well counts once, with the larger of its numbers, as for the tie rule.
    """
    if "alternatives" not in frame:
        return 0, 0, 0
    named = [each if isinstance(each, dict) else {} for each in frame["alternatives"]]
    own = frame["confidence"].to_numpy(dtype=np.float64)
    chosen = frame["predicted"].tolist()
    own = np.maximum(own, [each.get(label, 0.0) for each, label in zip(named, chosen, strict=True)])
    runners_up = [
        tuple(share for name, share in each.items() if name != label) for each, label in zip(named, chosen, strict=True)
    ]
    given = np.array([bool(each) for each in named], dtype=bool)
    largest: FloatArray = np.array([max(each, default=0.0) for each in runners_up], dtype=np.float64)
    total = own + np.array([sum(each) for each in runners_up], dtype=np.float64)
    over_one = given & (to_nano(total) > to_nano(1 + SUM_TOLERANCE))
    inverted = given & (to_nano(largest) > to_nano(own))
    return int(given.sum()), int(over_one.sum()), int(inverted.sum())
