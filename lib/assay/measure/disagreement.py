"""The items on which two variants say different things, for reading: numbers tell how often, these tell where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.measure.item_means import outcomes_of
from assay.measure.variants import split_variants

if TYPE_CHECKING:
    from assay.measure.comparison import Comparison
    from assay.measure.pairing import Pair

UNREADABLE = "(unreadable)"


def disagreements(
    answers: pd.DataFrame, comparison: Comparison, pair: Pair, items: pd.DataFrame | None = None
) -> pd.DataFrame:
    """List the shared items to which two variants most often give different answers.

    Parameters
    ----------
    answers : DataFrame
        Those that were compared, with ``predicted``.
    comparison : Comparison
    pair : Pair
    items : DataFrame, optional
        As `Study.items`: its texts are shown.

    Returns
    -------
    DataFrame
        ``item_id``, ``text`` (with `items`), ``label``, ``said_a`` and ``said_b`` (the answer given most often; equally
        often, the first by name), ``runs_a`` and ``runs_b`` (of how many), ``right_a`` and ``right_b`` (shares of right
        answers). Those on which the variants differ most in being right come first.

    Raises
    ------
    ValueError
        If the answers do not say what was predicted.
    """
    if "predicted" not in answers:
        raise ValueError("the frame has no column 'predicted', so what the variants said is not known")
    variants, _ = split_variants(answers, comparison.columns, comparison.within)
    by_name = {one.name: one.answers for one in variants if one.group == pair.group}
    sides = [_said(by_name[name]).add_suffix(suffix) for name, suffix in ((pair.a, "_a"), (pair.b, "_b"))]
    both = sides[0].join(sides[1], how="inner")
    both = both[both["said_a"] != both["said_b"]]
    if "label" in answers:
        both.insert(0, "label", answers.drop_duplicates("item_id").set_index("item_id")["label"].reindex(both.index))
    if items is not None and "text" in items:
        both.insert(0, "text", items.set_index("item_id")["text"].reindex(both.index))
    gap = (both["right_a"] - both["right_b"]).abs().to_numpy()
    order = np.lexsort((both.index.astype(str), -gap))
    return both.iloc[order].rename_axis("item_id").reset_index()


def _said(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the commonest answer to each item, how often it was given, of how many, and the share of right answers."""
    right, readable = outcomes_of(answers)
    said = answers["predicted"].astype(object).where(readable, UNREADABLE)
    frame = pd.DataFrame({"item_id": answers["item_id"].to_numpy(), "said": said.to_numpy(), "right": right})
    count = frame.groupby(["item_id", "said"], sort=True).size().rename("runs").reset_index()
    commonest = count.sort_values(["item_id", "runs"], ascending=[True, False], kind="stable").drop_duplicates(
        "item_id"
    )
    by_item = frame.groupby("item_id")["right"].mean()
    return commonest.set_index("item_id").assign(right=by_item)
