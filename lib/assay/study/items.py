"""The items of a study: what was asked about, and the label that people gave it.

An item without a label is left out and counted. An id given twice, rows that disagree about one item, and a label that
is no class are errors, since there the labels themselves are in doubt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.rules import Taxonomy
from assay.study.columns import ColumnSource, Table
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.exclusions import UNLABELLED_ITEM, Exclusions

TAG_PREFIX = "tag_"
"""Tag columns are called so in the frames, lest a tag named `model` hides the model."""


@dataclass(frozen=True)
class Items:
    """The items of a study.

    Parameters
    ----------
    frame : DataFrame
        One row for each labelled item: `item_id`, `text` (may be empty), `label`, and a column for each tag.
    unlabelled : Series of str
        Ids of the items that were left out for want of a label.
    source : str
        What messages call the place they come from.
    """

    frame: pd.DataFrame
    unlabelled: pd.Series
    source: str


def items_of_file(
    table: Table,
    columns: Mapping[str, ColumnSource],
    tags: Mapping[str, ColumnSource],
    exclusions: Exclusions,
    leave_out: Sequence[str] = (),
    *,
    number_rows: bool = False,
) -> Items:
    """Take the items from a table of their own; the id of each is that in its column or, if so wanted, its row's number.

    Raises
    ------
    StudyError
        If a column is missing, or an id is missing or given twice.
    """
    if number_rows:
        ids = row_numbers(table)
    else:
        id_column = column_source(columns, "item_id")
        ids = table.identifiers(id_column, "the item id")
        _refuse_repeated(ids, table, id_column.column)
    rows = _rows(table, ids, table.labels(column_source(columns, "label"), "the label"), columns, tags, leave_out)
    return _labelled(rows, table.name, exclusions)


def items_of_answers(
    tables: Sequence[Table],
    ids: Sequence[pd.Series],
    label: ColumnSource,
    columns: Mapping[str, ColumnSource],
    tags: Mapping[str, ColumnSource],
    exclusions: Exclusions,
    leave_out: Sequence[str] = (),
) -> Items:
    """Take the items from the answers, which then carry the labels and tags themselves.

    Parameters
    ----------
    tables, ids
        The tables of answers and the item id of each of their rows.
    label : ColumnSource
    columns, tags
        Where else to look: `text`, and the tags by name.
    leave_out
        What not to look for under its own name.

    Raises
    ------
    StudyError
        If two rows of one item do not agree on its label or on a tag.
    """
    every = pd.concat(
        [
            _rows(table, own, table.labels(label, "the label"), columns, tags, leave_out)
            for table, own in zip(tables, ids, strict=True)
        ],
        ignore_index=True,
    )
    codes, distinct = pd.factorize(every["item_id"])
    rows = every
    if len(distinct) < len(every):
        rows = every.groupby(codes, sort=False).first().reset_index(drop=True)
        for name in every.columns.drop(["item_id", "text"]):
            disagree = every[name].notna() & (every[name] != rows[name].take(codes).reset_index(drop=True))
            if disagree.any():
                row = int(disagree.to_numpy().argmax())
                raise StudyError(
                    f"{locate(tables, row)}: item {shown(every['item_id'][row])} has the "
                    f"{name.removeprefix(TAG_PREFIX)} {shown(every[name][row])} here and "
                    f"{shown(rows[name][codes[row]])} in another row",
                    kind="duplicate_ids",
                )
    return _labelled(rows, tables[0].name, exclusions)


def column_source(columns: Mapping[str, ColumnSource], name: str) -> ColumnSource:
    """Return where `name` is to be found: where the mapping says, else in the column of that name."""
    return columns.get(name) or ColumnSource(name)


def row_numbers(table: Table) -> pd.Series:
    """Return the number of each row, counted from 1, as ids."""
    return pd.Series(range(1, len(table) + 1)).astype("str")


def locate(tables: Iterable[Table], row: int) -> str:
    """Return what messages call a row of several tables laid end to end."""
    for table in tables:
        if row < len(table):
            return table.at(row)
        row -= len(table)
    raise IndexError(row)


def refuse_unknown_labels(labels: pd.Series, ids: pd.Series, taxonomy: Taxonomy, where: str) -> None:
    """Raise `StudyError` where a label is no class of the taxonomy, naming the first such item."""
    distinct = labels.drop_duplicates()
    unknown = np.flatnonzero([label not in taxonomy for label in distinct])
    if len(unknown):
        row = distinct.index[unknown[0]]
        label = str(labels[row])
        more = f"; so are {len(unknown) - 1:,} other labels" if len(unknown) > 1 else ""
        hint = nearest(label, taxonomy.names) or f" (the classes are {listed(taxonomy.names)})"
        raise StudyError(
            f"{where}, item {shown(ids[row])}, label column: {shown(label)} is not a class of the taxonomy{hint}{more}",
            kind="unknown_label",
        )


def _rows(
    table: Table,
    ids: pd.Series,
    labels: pd.Series,
    columns: Mapping[str, ColumnSource],
    tags: Mapping[str, ColumnSource],
    leave_out: Sequence[str],
) -> pd.DataFrame:
    text = column_source(columns, "text")
    known = "text" in columns or ("text" not in leave_out and table.has(text))
    texts = table.text(text, "the text").fillna("") if known else pd.Series("", ids.index)
    found = {"item_id": ids, "text": texts.astype("str"), "label": labels}
    for name, source in tags.items():
        found[TAG_PREFIX + name] = table.text(source, f"the tag {name}").fillna("")
    return pd.DataFrame(found)


def _labelled(rows: pd.DataFrame, source: str, exclusions: Exclusions) -> Items:
    unlabelled = rows["label"].isna()
    exclusions.add(source, UNLABELLED_ITEM, rows.loc[unlabelled, "item_id"])
    kept = rows[~unlabelled].reset_index(drop=True) if unlabelled.any() else rows
    if kept.empty:
        raise StudyError(f"{source}: no item has a label", kind="empty_file")
    return Items(kept, rows.loc[unlabelled, "item_id"], source)


def _refuse_repeated(ids: pd.Series, table: Table, column: str) -> None:
    again = np.flatnonzero(ids.duplicated().to_numpy())
    if not len(again):
        return
    row = int(again[0])
    first = int((ids == ids.iloc[row]).to_numpy().argmax())
    others = list(dict.fromkeys(ids.iloc[again]))[1:]
    more = f"; given twice, too: {listed(others)}" if others else ""
    raise StudyError(
        f"{table.at(row)}, column {shown(column)}: the item id {shown(ids.iloc[row])} was given already in row "
        f"{first + 1}{more}",
        kind="duplicate_ids",
    )
