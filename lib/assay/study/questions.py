"""Guessing how a table of labelled questions is to be read, which no model has answered yet."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from assay.rules import Taxonomy
from assay.study.classes import say_look_alikes, settle_abstain, settle_gates, settle_labels
from assay.study.columns import Table
from assay.study.errors import StudyError, listed, shown
from assay.study.frames import inferred_taxonomy
from assay.study.guess import Asked, settle_tags
from assay.study.identity import settle_prompt
from assay.study.roles import Roles

_ROLES = ("item_id", "label", "text")


@dataclass(frozen=True)
class Questions:
    """How the table is to be read.

    Attributes
    ----------
    columns : dict of str to str
        Those of the label and the text and, where there is one, of the item id.
    number_rows : bool
        As in `assay.study.settings.ItemsFile`.
    tags : dict of str to str
        Columns by the name of the tag.
    taxonomy : Taxonomy
        With its gates.
    said : tuple of (str, str)
        What was guessed, and how, in words.
    """

    columns: dict[str, str]
    number_rows: bool
    tags: dict[str, str]
    taxonomy: Taxonomy
    said: tuple[tuple[str, str], ...]


def guess_questions(table: Table, asked: Asked) -> Questions:
    """Guess how a table of one row per question is to be read.

    Raises
    ------
    StudyError
        If something was asked for that only answers have, the label or the text cannot be found, a column that was asked
        for is not there, the ids do not tell the questions apart, or the labels are no classes.
    """
    for option in _of_answers(asked):
        raise StudyError(f"{option} is of answers, and with --questions there are none yet; leave it out")
    roles = Roles(table, asked.columns)
    settle_prompt(roles)
    roles.refuse_missing(("label", "text"))
    labels = settle_labels(roles)
    known = labels.dropna()
    abstain = settle_abstain(roles, [], known, asked.abstain)
    taxonomy = inferred_taxonomy(known, pd.Series(dtype=object), table.name, abstain)
    say_look_alikes(roles, taxonomy)
    ids = _ids(roles, labels)
    tags = settle_tags(roles, ids, asked.tags)
    gates = settle_gates(roles, taxonomy, asked.gates, asked.dangerous)
    unused = [name for role, name in roles.columns.items() if role not in _ROLES]
    if unused:
        roles.say("not read", f"columns {listed(map(shown, unused))}: the study is of questions without answers")
    return Questions(
        columns={role: roles.columns[role] for role in _ROLES if role in roles},
        number_rows="item_id" not in roles,
        tags=tags,
        taxonomy=replace(taxonomy, gates=gates),
        said=tuple(roles.said),
    )


def _of_answers(asked: Asked) -> Iterator[str]:
    """Name the options that were given and mean something for answers alone."""
    yield from (f"--{role.replace('_id', '')}-column" for role in asked.columns if role not in _ROLES)
    yield from (f"--{name}" for name in asked.constants)
    values = {"scale": asked.scale, "calibration": asked.calibration, "elicitation": asked.elicitation}
    yield from (f"--{name}" for name, value in values.items() if value is not None)


def _ids(roles: Roles, labels: pd.Series) -> pd.Series:
    """Settle what tells the questions apart; returns the id of every row."""
    texts = roles.text("text")
    blank = texts.fillna("").str.strip() == ""
    absent = int(blank.sum())
    if (blank | labels.isna()).all():
        raise StudyError(
            f"{roles.table.name}, column {shown(roles.columns['text'])}: no row with a label has a text to ask about; name "
            "its column with --text-column",
            kind="empty_file",
        )
    roles.say("text", f"column {shown(roles.columns['text'])}" + (f"; {absent:,} rows have none" if absent else ""))
    again = int(texts.dropna().duplicated().sum())
    if again:
        roles.say("repeated", f"{again:,} rows have the text of an earlier one: each counts as an item of its own")
    rows = pd.Series(range(1, len(texts) + 1)).astype("str")
    if "item_id" not in roles:
        roles.say("item", "no column of ids: each row is an item, and known by its number")
        return rows
    name, ids = roles.columns["item_id"], roles.text("item_id")
    if ids.notna().all() and ids.is_unique:
        roles.say("item", f"column {shown(name)}")
        return ids
    if "item_id" in roles.named:
        raise StudyError(
            f"{roles.table.name}, column {shown(name)}: the id of a question must be there and occur once",
            kind="duplicate_ids",
        )
    del roles.columns["item_id"]
    roles.say(
        "item", f"column {shown(name)} is empty in places or repeats: each row is an item, and known by its number"
    )
    return rows
