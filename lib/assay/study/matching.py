"""Matching answers to items by id, exactly: what does not match is counted, and never brought to match by guess."""

import re

import numpy as np
import pandas as pd

from assay.study.columns import positions
from assay.study.errors import StudyError, listed, shown
from assay.study.exclusions import ANSWER_TO_UNLABELLED, UNKNOWN_ITEM, Exclusions
from assay.study.items import Items

_SPREADSHEET_NUMBER = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+[0-9]+")


def match_items(item_ids: pd.Series, source: str, items: Items, exclusions: Exclusions) -> np.ndarray:
    """Find the item of each answer.

    Parameters
    ----------
    item_ids : Series of str
        One id for each row of the answers.
    source : str
        What messages call the place the answers come from.
    items : Items
    exclusions : Exclusions
        Counts the answers that are left out.

    Returns
    -------
    int array
        The position of each answer's item; -1 where there is none.

    Raises
    ------
    StudyError
        If no id matches, or some that do not look rewritten by a spreadsheet.
    """
    place = positions(item_ids, items.frame["item_id"])
    unmatched = item_ids[place < 0]
    if unmatched.empty:
        return place
    unlabelled = positions(unmatched, items.unlabelled) >= 0
    unknown = unmatched[~unlabelled]
    answered = np.zeros(len(items.frame), dtype=bool)
    answered[place[place >= 0]] = True
    missed = items.frame["item_id"][~answered]
    rewritten = _rewritten_by_a_spreadsheet(unknown, missed)
    if len(unknown) and (rewritten or not answered.any()):
        distinct = unknown.drop_duplicates()
        hint = (
            f"; {listed(rewritten, at_most=3)} look rewritten by a spreadsheet, which drops leading zeros and rounds "
            "long numbers: export the ids as text (nothing is matched by guess)"
            if rewritten
            else ""
        )
        raise StudyError(
            f"{source}: {answered.sum():,} of {answered.sum() + len(distinct):,} item ids are those of an item in "
            f"{items.source}; the first that is not is {shown(distinct.iloc[0])} (row {distinct.index[0] + 1}){hint}",
            kind="ids_do_not_match",
        )
    exclusions.add(source, UNKNOWN_ITEM, unknown)
    exclusions.add(source, ANSWER_TO_UNLABELLED, unmatched[unlabelled])
    return place


def _rewritten_by_a_spreadsheet(unknown: pd.Series, missed: pd.Series) -> list[str]:
    """Return the ids among `unknown` that a spreadsheet makes of numbers, or of one of the ids that were `missed`."""
    numbers = {one for one in missed if one.isascii() and one.isdigit()}
    shapes = {one.lstrip("0") for one in numbers if one.startswith("0")}
    # A spreadsheet keeps 15 digits of a number and writes zeros for the others.
    shapes |= {one[:15] + "0" * (len(one) - 15) for one in numbers if len(one) > 15}
    shapes |= {f"{one.lstrip('0') or '0'}.0" for one in numbers}
    return [one for one in unknown.drop_duplicates() if one in shapes or _SPREADSHEET_NUMBER.fullmatch(one)]
