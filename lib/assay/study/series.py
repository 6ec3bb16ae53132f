"""Series: the answers of one model under one prompt with one kind of confidence, judged and tuned apart from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from assay.study.errors import StudyError, nearest

if TYPE_CHECKING:
    from assay.study.study import Study

KEYS = ("model", "prompt", "calibration", "elicitation")


@dataclass(frozen=True)
class Series:
    """The answers of one model, prompt, calibration and elicitation.

    Attributes
    ----------
    name : str
        What tells it from the others of its study, such as ``gpt-4o-mini, L1``.
    model, prompt, calibration, elicitation : str
        `elicitation` is empty for a trained classifier.
    answers : DataFrame
        Its rows of ``Study.answers``.
    """

    name: str
    model: str
    prompt: str
    calibration: str
    elicitation: str
    answers: pd.DataFrame

    @property
    def items(self) -> int:
        """Number of distinct items answered."""
        return int(self.answers["item_id"].nunique())

    @property
    def repeated(self) -> bool:
        """Whether some item was answered more than once."""
        return self.items < len(self.answers)


def each_series(study: Study) -> list[Series]:
    """Split a study's answers into its series, in order of model, prompt, calibration and elicitation.

    Raises
    ------
    ValueError
        If the study has no answers.
    """
    if study.answers.empty:
        raise ValueError(f"study {study.name} has no answers to look at")
    grouped: list[tuple[Any, pd.DataFrame]] = list(
        study.answers.groupby(list(KEYS), sort=True, observed=True, dropna=False)
    )
    # A name holds only what differs between the series, and the model where nothing does.
    differs = [len({key[position] for key, _ in grouped}) > 1 for position in range(len(KEYS))]
    if not any(differs):
        differs[0] = True
    series = []
    for key, rows in grouped:
        named = dict(zip(KEYS, ("" if pd.isna(value) else str(value) for value in key), strict=True))
        shown = [value for value, kept in zip(named.values(), differs, strict=True) if kept and value]
        if named["elicitation"] in shown and named["calibration"] in shown:
            # The elicitation says it already: only a language model's confidence has one.
            shown.remove(named["calibration"])
        series.append(Series(name=", ".join(shown), answers=rows.reset_index(drop=True), **named))
    return series


def find_series(study: Study, name: str) -> Series:
    """Find the one series that a person means by a name.

    Parameters
    ----------
    study : Study
    name : str
        Its name, or as many of its model, prompt, calibration and elicitation, between commas, as tell it apart:
        ``llama3.2:3b`` where the model has one prompt, ``gpt-4o-mini, L1`` where it has several.

    Raises
    ------
    StudyError
        If no series, or more than one, is meant; the message names those there are.
    """
    known = each_series(study)
    wanted = [part.strip() for part in name.split(",")]
    found = [one for one in known if name.strip() in (one.name, one.model)] or [
        one
        for one in known
        if all(part in (one.model, one.prompt, one.calibration, one.elicitation) for part in wanted)
    ]
    if len(found) == 1:
        return found[0]
    names = [one.name for one in found or known]
    if found:
        message = f"{study.name} has {len(found)} series that are meant by {name!r}: {'; '.join(names[:8])}; say which"
    else:
        message = f"{study.name} has no series {name!r}{nearest(name, names)}; there are: {'; '.join(names[:8])}"
    raise StudyError(message, kind="unknown_value")
