"""What a study's models answered and whether it is fit to use (notebook 00)."""

from collections.abc import Sequence

import pandas as pd

from assay.measure.intervals import Interval
from assay.measure.judged import Judged
from assay.measure.phrases import kinds_in_words, only_kind
from assay.measure.ranking import auroc
from assay.show.collection import Collection, plan_words
from assay.show.tables import Format, Table
from assay.show.words import NO_DATE, Words, bounds, count, dates, listed
from assay.study import Series

FEW = 6

_SOURCES = {
    "verbal": "the number it wrote",
    "token": "the probability of its tokens",
    "vote": "its vote share",
    "": "its probability",
}
"""What a confidence is, by its elicitation; a classifier has none."""


def collected(series: Sequence[Series]) -> Table:
    """One row per series: how many answers, of what, when, and what they took where that is known."""
    rows = []
    for one in series:
        answers = one.answers
        kinds = answers["error"].value_counts()
        rows.append(
            {
                "series": one.name,
                "items": one.items,
                "answers": len(answers),
                "runs": int(answers["run"].nunique()),
                "unreadable": int(kinds.sum()),
                "why": kinds_in_words(kinds.to_dict()),
                "asked": dates(answers["asked_at"].dropna()),
                "tokens in, mean": _mean(answers["prompt_tokens"]),
                "tokens out, mean": _mean(answers["completion_tokens"]),
                "cost, US$": _total(answers["cost_usd"]),
                "no cost known": int(answers["cost_usd"].isna().sum()),
                "seconds, median": _median(answers["latency_s"]),
            }
        )
    frame = pd.DataFrame(rows)
    formats: dict[str, Format] = {
        "tokens in, mean": ",.0f",
        "tokens out, mean": ",.0f",
        "cost, US$": _cost,
        "seconds, median": ".2f",
    }
    hidden, note = _nothing_told(frame, only_kind(one.answers["error"].dropna() for one in series))
    caption = "What was collected; a cost or time that is not recorded is not known, never nothing"
    return Table(frame, caption=caption, name="collected", formats=formats, hidden=hidden, note=note)


def information_table(series: Sequence[Series]) -> Table:
    """One row per series: how well its confidence tells right from wrong answers."""
    rows = [
        {
            "series": one.name,
            "answers": int(one.answers["error"].isna().sum()),
            "AUROC": bounds(area, 2),
            "tells right from wrong": _tells(area),
        }
        for one in series
        for area in [_area(one)]
    ]
    caption = "How much the confidence knows: AUROC of confidence against correctness, 95 % intervals over items"
    return Table(pd.DataFrame(rows), caption=caption, name="information")


def information(series: Sequence[Series]) -> Words:
    """Say how much each confidence knows; of one model and prompt, the kinds of confidence side by side."""
    together: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        together.setdefault((one.model, one.prompt), []).append(one)
    pairs = [own for own in together.values() if len(own) > 1]
    paragraphs = [_side_by_side(own) for own in pairs[:FEW]]
    alone = [own[0] for own in together.values() if len(own) == 1]
    if len(alone) == 1:
        paragraphs.append(_side_by_side(alone))
    elif alone:
        telling = [one for one in alone if _tells(_area(one)) == "yes"]
        known = [area for one in alone if (area := _area(one)) is not None]
        if known:
            paragraphs.append(
                f"{len(telling)} of {count(len(alone), 'series', 'series')} with one kind of confidence: it tells right from "
                f"wrong answers beyond chance (AUROC from {min(area.estimate for area in known):.2f} to "
                f"{max(area.estimate for area in known):.2f}, each with its interval in the table)."
            )
    if not series:
        return Words("There are no answers to rank.")
    return Words(*(paragraphs or ["No series has both right and wrong answers, so nothing can be ranked."]))


def headline(answers: Collection) -> str:
    """Return one sentence for the index of a report."""
    if answers.plan is not None:
        return plan_words(answers.plan)
    total = sum(len(one.answers) for one in answers.series)
    lost = sum(int(one.answers["error"].notna().sum()) for one in answers.series)
    telling = [_tells(_area(one)) for one in answers.series].count("yes")
    return (
        f"{count(total, 'answer')} in {count(len(answers.series), 'series', 'series')}, {lost:,} unreadable; in "
        f"{telling} of them the confidence tells right from wrong beyond chance"
    )


def _side_by_side(own: Sequence[Series]) -> str:
    """Say it of the kinds of confidence of one model and prompt, what was written first."""
    said = []
    for one in sorted(own, key=lambda each: list(_SOURCES).index(each.elicitation)):
        area, source = _area(one), _SOURCES[one.elicitation]
        if area is None:
            said.append(f"{source} cannot be ranked, since its answers are all right or all wrong")
            continue
        tells = {
            "yes": "tells right from wrong",
            "not shown": "is not shown to tell right from wrong",
            "inverted": "misleads",
        }
        said.append(
            f"{source} {tells[_tells(area)]} (AUROC {area.estimate:.2f}, 95 % interval {area.low:.2f} to {area.high:.2f})"
        )
    return f"{own[0].model}, {own[0].prompt}: {'; '.join(said)}."


def _nothing_told(frame: pd.DataFrame, only: str | None) -> tuple[list[str], str]:
    """Name the columns that tell no series apart, and say what they would tell; the opening counts items and runs."""
    if frame.empty:
        return [], ""
    hidden, notes = ["items", "runs"], []
    if not frame["unreadable"].any():
        hidden += ["unreadable", "why"]
        notes.append("Every answer can be read.")
    elif only:
        hidden.append("why")
        notes.append(f"Every unreadable answer has one reason: {only}.")
    measured = ("tokens in, mean", "tokens out, mean", "cost, US$", "seconds, median")
    unknown = [name for name in measured if frame[name].isna().all()]
    if unknown:
        hidden += unknown
        notes.append(f"Not recorded for any answer: {listed([name.partition(',')[0] for name in unknown])}.")
    # A series without any cost shows that by the dash in its place.
    if frame["no cost known"].isin([0]).where(frame["cost, US$"].notna(), other=True).all():
        hidden.append("no cost known")
    if (frame["asked"] == frame["asked"].iloc[0]).all():
        hidden.append("asked")
        when = frame["asked"].iloc[0]
        notes.append("When it was asked is not recorded." if when == NO_DATE else f"Asked: {when}.")
    return hidden, " ".join(notes)


def _area(one: Series) -> Interval | None:
    judged = Judged.from_frame(one.answers)
    if not len(judged):
        return None
    area = auroc(judged).auroc
    return area if area.known else None


def _tells(area: Interval | None) -> str:
    if area is None:
        return "not defined"
    return "yes" if area.low > 0.5 else "inverted" if area.high < 0.5 else "not shown"


def _cost(amount: float) -> str:
    return f"{amount:.4f}" if amount else "0"


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if values.notna().any() else None


def _total(values: pd.Series) -> float | None:
    return float(values.sum()) if values.notna().any() else None


def _median(values: pd.Series) -> float | None:
    return float(values.median()) if values.notna().any() else None
