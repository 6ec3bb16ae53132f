"""What an exact test counts: one series of answers, one answer per item.

A series is one model under one prompt with one kind of confidence. Confidences of different series do not compare, and
repeated answers to one item are not independent; both are settled here, before anything is counted.
"""

import numpy as np
import pandas as pd

from assay.study import UNNAMED

SERIES = ("calibration", "elicitation", "model", "prompt")
"""The columns that tell series apart; a frame may lack any of them."""


def require_one_series(frame: pd.DataFrame, purpose: str) -> dict[str, str]:
    """Return what the answers' series is called, column by column.

    Raises
    ------
    ValueError
        If the frame holds answers of more than one series; the message names them, and calibrations first of all.
    """
    series = {}
    for column in SERIES:
        if column not in frame or frame.empty:
            continue
        found = sorted({"" if pd.isna(value) else str(value) for value in frame[column].unique()})
        if len(found) > 1:
            named = ", ".join(value or "(none)" for value in found)
            why = "confidences of different origin do not compare" if column in SERIES[:2] else "each needs its own"
            raise ValueError(f"{purpose} takes one {column} at a time ({why}); the answers mix {named}")
        if found[0] and found[0] != UNNAMED:
            series[column] = found[0]
    return series


def first_answers(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep one answer per item: the one of the lowest run, whether it could be read or not.

    Parameters
    ----------
    frame : DataFrame
        Without ``item_id`` every row is an item; without ``run`` the earlier row is the first.

    Returns
    -------
    DataFrame
        The rows kept, in the order of `frame`.
    """
    if "item_id" not in frame:
        return frame
    missing = frame["item_id"].isna().to_numpy()
    if missing.any():
        raise ValueError(f"item_id is missing in row {int(missing.argmax()) + 1}")
    if not frame["item_id"].duplicated().any():
        return frame
    order = np.arange(len(frame))
    if "run" in frame:
        order = np.argsort(frame["run"].to_numpy(), kind="stable")
    first = order[~frame["item_id"].iloc[order].duplicated().to_numpy()]
    return frame.iloc[np.sort(first)]
