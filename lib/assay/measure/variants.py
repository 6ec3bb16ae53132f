"""Variants: sets of answers to the same items that differ in one respect, such as the prompt.

Only answers that have everything else in common are set against each other: prompts are compared within a model and a
kind of confidence, and within a tag whose values are data sets of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.study.series import KEYS


@dataclass(frozen=True)
class Variant:
    """The answers of one variant.

    Attributes
    ----------
    name : str
        What tells it from the other variants, such as ``L1``.
    group : str
        What it shares with those it is compared with, such as a model; empty where all variants are compared.
    answers : DataFrame
    item : (answers,) int
        Position of each answer's item among the items of all variants.
    """

    name: str
    group: str
    answers: pd.DataFrame
    item: npt.NDArray[np.intp]

    @property
    def repeated(self) -> bool:
        """Whether some item was answered more than once."""
        return bool(np.bincount(self.item).max() > 1)


def variant_columns(answers: pd.DataFrame) -> tuple[str, ...]:
    """Choose what to compare: prompts where one model has several, else whole series, which are models as a rule.

    Raises
    ------
    ValueError
        If the frame has none of the columns model, prompt, calibration and elicitation.
    """
    present = [name for name in KEYS if name in answers]
    if not present:
        raise ValueError(
            f"no column tells variants apart: the frame has none of {', '.join(KEYS)}; name one in variants"
        )
    shared = [name for name in present if name != "prompt"]
    if "prompt" in present:
        prompts = answers.groupby(shared, observed=True, dropna=False)["prompt"] if shared else answers["prompt"]
        if np.max(prompts.nunique()) > 1:
            return ("prompt",)
    return tuple(name for name in present if len(answers[name].unique()) > 1) or (present[0],)


def split_variants(
    answers: pd.DataFrame, variants: Sequence[str], within: Sequence[str]
) -> tuple[list[Variant], pd.Index]:
    """Split answers into variants, in the order of their groups and then of their own values.

    Parameters
    ----------
    answers : DataFrame
        With ``item_id`` and the columns named.
    variants, within : sequence of str
        The columns whose values tell variants apart, and those that compared variants must share.

    Returns
    -------
    variants : list of Variant
    items : Index
        The item ids, in the order of the answers.

    Raises
    ------
    ValueError
        If a column or an item id is missing, or a variant answers an item twice in one run (in a frame without ``run``: twice).
    """
    for column in ("item_id", *variants, *within):
        if column not in answers:
            raise ValueError(f"the frame has no column {column!r}; it has: {', '.join(map(str, answers.columns))}")
    if not variants:
        raise ValueError("variants must name at least one column")
    keys = [*within, *variants]
    shown = [name for name in keys if len(answers[name].unique()) > 1]
    named = _telling(answers, [name for name in variants if name in shown], within) or list(variants[-1:])
    item, items = pd.factorize(answers["item_id"])
    if (item < 0).any():
        raise ValueError(f"item_id is missing in row {int((item < 0).argmax()) + 1}")
    grouped: list[tuple[Any, npt.NDArray[np.intp]]] = [((), np.arange(len(answers)))]
    if shown:
        # Columns of one value tell nothing apart, and grouping by them would cost as much as by the others.
        places: dict[Any, Any] = answers.groupby(shown, sort=True, observed=True, dropna=False).indices
        grouped = sorted(places.items(), key=lambda one: _texts(one[0]))
    found = []
    for key, rows in grouped:
        values = dict(zip(shown, _texts(key), strict=True))
        values |= {name: _texts(answers[name].iloc[0])[0] for name in keys if name not in shown}
        name = ", ".join(values[one] for one in named if values[one]) or "(none)"
        telling = [one for one in within if one in shown and values[one]]
        if "elicitation" in telling and "calibration" in telling:
            # The elicitation says it already: only a language model's confidence has one.
            telling.remove("calibration")
        group = ", ".join(values[one] for one in telling)
        variant = Variant(name, group, answers.iloc[rows], item[rows])
        _refuse_repeats(variant)
        found.append(variant)
    return found, pd.Index(items)


def _telling(answers: pd.DataFrame, names: list[str], within: Sequence[str]) -> list[str]:
    """Keep the first columns that tell the variants of a group apart: a model is not named with the prompt it alone has."""
    distinct = answers[[*within, *names]].drop_duplicates()
    for end in range(1, len(names)):
        if not distinct.duplicated([*within, *names[:end]]).any():
            return names[:end]
    return names


def _texts(key: object) -> tuple[str, ...]:
    return tuple("" if pd.isna(one) else str(one) for one in (key if isinstance(key, tuple) else (key,)))


def _refuse_repeats(variant: Variant) -> None:
    """Without this a repeated id would be counted as evidence twice, or silently pair with the wrong row."""
    if not variant.repeated:
        return
    rows = variant.answers
    again = rows.duplicated(["item_id", "run"] if "run" in rows else ["item_id"]).to_numpy()
    if again.any():
        first = rows.iloc[int(again.argmax())]
        where = f" in run {first['run']}" if "run" in rows else ""
        hint = "" if "run" in rows else "; a column run tells repeated answers apart"
        raise ValueError(f"variant {variant.name!r} answers item {first['item_id']!r} twice{where}{hint}")
