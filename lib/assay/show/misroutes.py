"""The dangerous misroutes of one point as rows that people read, on the review page and in the explorer."""

import pandas as pd


def misroute_frame(found: pd.DataFrame, texts: pd.Series, longest: int | None = None) -> pd.DataFrame:
    """Put misrouted answers as a person wants to see them.

    Parameters
    ----------
    found : DataFrame
        Rows of answers with ``decision`` and ``reasons``, as `assay.measure.figures.with_decisions` gives them.
    texts : Series of str by item id
    longest : int, optional
        Characters after which a text is cut; none by default.

    Returns
    -------
    DataFrame
        ``item``, ``text``, ``label``, ``model said``, ``decision``, ``confidence`` and ``reasons``, one row for each.
    """
    text = found["item_id"].map(texts).fillna("")
    if longest is not None:
        text = text.where(text.str.len() <= longest, text.str.slice(0, longest - 1) + "…")
    return pd.DataFrame(
        {
            "item": found["item_id"].to_numpy(),
            "text": text.where(text != "", "(the data hold no text)").to_numpy(),
            "label": found["label"].to_numpy(),
            "model said": found["predicted"].to_numpy(),
            "decision": found["decision"].to_numpy(),
            "confidence": found["confidence"].to_numpy(),
            "reasons": [", ".join(reasons) or "none" for reasons in found["reasons"]],
        }
    )
