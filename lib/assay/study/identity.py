"""What an item is in a table of answers, and what tells the answers to one item apart.

Everything that counts items rests on this: rows of one item taken for items of their own would make every interval too
narrow. So an id is believed only where its rows agree, and where there is none, equal texts are one item.
"""

import pandas as pd

from assay.study.columns import ColumnSource
from assay.study.errors import StudyError, shown
from assay.study.likely import NAMES, identifies
from assay.study.roles import Roles

LONGEST_NAME = 80
"""Characters that the name of a class or of a prompt may have; what is longer is text."""

_MOST_PROMPTS = 20


def settle_prompt(roles: Roles) -> None:
    """Tell the name of a prompt from its text, which hardly ever repeats."""
    name = roles.columns.get("prompt")
    if name is None or "prompt" in roles.named:
        return
    distinct = roles.text("prompt").dropna()
    named = distinct.nunique() <= max(_MOST_PROMPTS, len(distinct) / 20)
    if distinct.empty or (named and distinct.str.len().max() <= LONGEST_NAME):
        return
    del roles.columns["prompt"]
    roles.columns.setdefault("text", name)


def settle_items(roles: Roles, labels: pd.Series) -> pd.Series:
    """Settle what an item is; returns the id of every row."""
    rows = pd.Series(range(1, len(roles.table) + 1)).astype("str")
    texts = roles.text("text") if "text" in roles else None
    if texts is not None:
        roles.say("text", f"column {shown(roles.columns['text'])}")
    why = f"no such column (looked for {', '.join(NAMES['item_id'][:6])}, …)"
    if "item_id" in roles:
        name = roles.columns["item_id"]
        ids = roles.text("item_id")
        if "item_id" in roles.named or identifies(ids, [labels] if texts is None else [labels, texts]):
            roles.say("item", f"column {shown(name)}, {ids.nunique():,} items in {len(ids):,} rows")
            return ids.fillna("")
        del roles.columns["item_id"]
        why = f"column {shown(name)} is empty in places, or its rows differ in label or text"
    if texts is not None and texts.nunique() < len(texts) and identifies(texts, [labels]):
        roles.columns["item_id"] = roles.columns["text"]
        roles.say("item", f"{why}: rows of one text are one item, {texts.nunique():,} in {len(texts):,} rows")
        return texts
    roles.say("item", f"{why}: each of the {len(rows):,} rows is an item of its own")
    return rows


def settle_runs(roles: Roles, ids: pd.Series) -> bool:
    """Tell whether the answers of a series to an item have to be numbered, for want of a column that tells them apart."""
    series = {role: roles.text(role).fillna("") for role in ("model", "prompt", "elicitation") if role in roles}
    frame = pd.DataFrame({"item": ids, **series})
    repeated = bool(frame.duplicated().any())
    if "run" in roles:
        run = roles.columns["run"]
        try:
            runs = roles.table.numbers(ColumnSource(run), "the run", whole=True)
        except StudyError:
            runs = pd.Series([pd.NA])
        if runs.notna().all() and not frame.assign(run=runs).duplicated().any():
            return False
        if "run" in roles.named:
            raise StudyError(
                f"{roles.table.name}, column {shown(run)}: runs must be whole numbers that tell the answers of a series to "
                "an item apart"
            )
        del roles.columns["run"]
    if repeated:
        roles.say("run", "no column tells them apart: answers to one item are numbered in the order of the rows")
    return repeated
