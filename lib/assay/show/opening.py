"""Opening a study for a notebook: what was asked for, what that leaves, and what a reader must know of it."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from assay.rules import DocumentError, PriceSheet, load_prices
from assay.settings import Settings
from assay.show.tables import NOTEBOOK_STYLE, html_table
from assay.show.words import confidence_words, count, listed
from assay.study import Study, load_study
from assay.study.series import Series, each_series


@dataclass(frozen=True)
class Opened:
    """A study restricted to what a notebook's settings ask for; shows itself as a paragraph and a table.

    Attributes
    ----------
    whole : Study
        As loaded.
    study : Study
        Restricted.
    series : list of Series
    remarks : tuple of str
        What was restricted and why, a sentence each.
    unsplit : Study, optional
        Restricted in all but the part of the split; None where that makes no difference.
    """

    whole: Study
    study: Study
    series: list[Series]
    remarks: tuple[str, ...]
    unsplit: Study | None = None

    def _repr_html_(self) -> str:
        study = self.study
        answers = study.answers
        lines = [
            f"{study.title}. {count(len(study.items), 'item')}, {count(len(answers), 'answer')} in {len(self.series)} series; "
            f"{int(answers['error'].notna().sum()):,} of the answers are unreadable.",
            f"Source: {study.source}. Licence: {study.licence}.",
            *self.remarks,
        ]
        paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
        frame = study.series()
        kinds = map(confidence_words, frame.pop("calibration"), frame.pop("elicitation"))
        frame.insert(2, "confidence", list(kinds))
        return (
            NOTEBOOK_STYLE
            + paragraphs
            + html_table(frame, caption="The series: answers of one model and prompt with one kind of confidence")
        )

    def __repr__(self) -> str:
        return f"{self.study.title}: {count(len(self.study.answers), 'answer')} in {len(self.series)} series"


def open_study(settings: Settings, whole: Study | None = None) -> Opened:
    """Load the study that settings name and restrict it to their model, prompt, confidence, tags and part.

    A study that is loaded already may be given as `whole`.

    A study that says its items compare only within a tag (``compare_within``) is restricted to one group of that tag
    unless the settings choose one: the group with the most items of a gated class, then the most items.
    """
    whole = load_study(settings.study) if whole is None else whole
    if settings.seed is not None and settings.seed != whole.seed:
        remarks = [f"The items are split by seed {settings.seed}, not by the study's own, {whole.seed}."]
        whole = whole.with_seed(settings.seed)
    else:
        remarks = []
    tags = settings.selection
    within = whole.compare_within
    if within and within not in tags:
        sizes = _groups(whole, within)
        tags = {**tags, within: str(sizes.index[0])}
        others = [f"{name} ({count(int(size), 'item')})" for name, size in sizes.iloc[1:].items()]
        remarks.append(
            f"Items compare only within a {within}: this looks at {sizes.index[0]} ({count(int(sizes.iloc[0]), 'item')}); "
            f"left for a run of their own: {listed(others)}."
        )
    unsplit = whole.select(
        model=settings.model,
        prompt=settings.prompt,
        elicitation=settings.elicitation,
        calibration=settings.calibration,
        tags=tags or None,
    )
    study = unsplit if settings.part == "all" else unsplit.select(part=settings.part)
    if settings.part != "all":
        remarks.append(f"Only the {settings.part} part of the study's split: {count(len(study.items), 'item')}.")
    asked_about = _items_with(whole, tags)
    unanswered = asked_about - len(unsplit.items)
    if unanswered:
        remarks.append(f"{unanswered:,} of the {count(asked_about, 'item')} have no answer here and are not counted.")
    for row in whole.excluded.itertuples():
        remarks.append(f"Left out of {row.source}: {row.count:,} ({row.reason}).")
    return Opened(whole, study, each_series(study), tuple(remarks), None if study is unsplit else unsplit)


def _items_with(study: Study, tags: Mapping[str, str]) -> int:
    """Count the items of a study that have these tags, answered or not."""
    kept = pd.Series(True, study.items.index)
    for tag, value in tags.items():
        kept &= study.items[f"tag_{tag}"] == value
    return int(kept.sum())


def _groups(study: Study, tag: str) -> pd.Series:
    """Count the items of each group of a tag, the group that says most about the gates first."""
    items = study.items.assign(gated=study.items["label"].isin(study.taxonomy.gated))
    counted = items.groupby(f"tag_{tag}", observed=True).agg(gated=("gated", "sum"), items=("gated", "size"))
    return counted.sort_values(["gated", "items"], ascending=False, kind="stable")["items"]


def read_prices(path: str) -> PriceSheet | None:
    """Read the price file that settings name; None where they name none.

    Raises
    ------
    DocumentError
        If it cannot be read; the message names the field.
    """
    if not path:
        return None
    try:
        return load_prices(Path(path).expanduser())
    except DocumentError as error:
        raise DocumentError(f"prices must be the path of a price file: {error}") from None
