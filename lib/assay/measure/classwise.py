"""Calibration class by class.

A model can be calibrated on the whole and overconfident in one class. Where answers score every class, a class's own
score is held against whether the item has that label, over all answers. Where they only name a class and a confidence,
what can be held against the label is the confidence of the answers that chose the class. The table says which it is.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from assay.measure.calibrated import DEFAULT_SIMULATIONS
from assay.measure.ece import ece, ece_test
from assay.measure.intervals import clustered_proportion
from assay.measure.judged import Judged
from assay.measure.reliability import DEFAULT_BINS
from assay.measure.scores import squared_errors

MIN_ITEMS = 50

SCORED = "score of the class, all answers"
CHOSEN = "confidence of the answers that chose the class"


def class_calibration(
    frame: pd.DataFrame,
    classes: Sequence[str],
    min_items: int = MIN_ITEMS,
    bins: int = DEFAULT_BINS,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute calibration for each class that labels enough items.

    Parameters
    ----------
    frame : DataFrame
        One series of a tidy frame of answers; ``alternatives`` holds the scores of the other classes, where given.
    classes : names
        The classes of the taxonomy.
    min_items : int
        A class that labels fewer items has a row without figures, whose note says so.
    bins, seed
        As `assay.measure.ece.ece_test`.

    Returns
    -------
    DataFrame
        One row per class: ``class``, ``labelled`` (items with that label), ``basis`` (what is held against the label),
        ``answers`` and ``items`` judged, ``confidence`` (mean), ``frequency`` with ``frequency_low`` and
        ``frequency_high``, ``brier``, ``ece`` (equal mass), ``ece_calibrated_mean``, ``ece_calibrated_high``,
        ``p_value`` (each class alone), ``p_holm`` (adjusted for the number of classes tested), ``note``.

    Raises
    ------
    ValueError
        If a column is missing or the rows mix calibrations or elicitations.

    Notes
    -----
    Of the two bases the first is class-wise calibration (Kull et al. 2019, https://arxiv.org/abs/1910.12656), the
    second top-label calibration (Gupta and Ramdas 2022, https://arxiv.org/abs/2107.08353).
    """
    for column in ("label", "predicted"):
        if column not in frame:
            raise ValueError(f"the frame has no column {column!r}; it has: {', '.join(map(str, frame.columns))}")
    items = frame["item_id"] if "item_id" in frame else pd.Series(np.arange(len(frame)), index=frame.index)
    labelled = items.groupby(frame["label"].astype(str)).nunique()
    scores = _class_scores(frame, classes)
    tested = sum(int(labelled.get(name, 0)) >= min_items for name in classes)
    # Enough that the smallest p-value there can be stays below 0.05 after Holm's factor.
    simulations = max(DEFAULT_SIMULATIONS, 40 * tested - 1)
    rows = []
    for name in classes:
        held = int(labelled.get(name, 0))
        row: dict[str, object] = {"class": name, "labelled": held}
        if held < min_items:
            rows.append({**row, "note": f"{held} items, under {min_items}: not computed"})
            continue
        if scores is None:
            # Rows are blanked rather than dropped, so that an item's first answer stays its lowest run of all.
            chosen = (frame["predicted"] == name).fillna(False).to_numpy(dtype=bool)
            score = frame["confidence"].where(chosen).to_numpy(dtype=float, na_value=np.nan)
        else:
            score = scores[name]
        judged = Judged.from_frame(frame.assign(confidence=score, correct=(frame["label"] == name).to_numpy()))
        row["basis"] = CHOSEN if scores is None else SCORED
        if not len(judged):
            rows.append({**row, "answers": 0, "items": 0, "note": "no readable answer chose the class"})
            continue
        rows.append({**row, **_figures(judged, bins, simulations, seed)})
    columns = ["class", "labelled", "basis", "answers", "items", "confidence"]
    columns += ["frequency", "frequency_low", "frequency_high", "brier", "ece"]
    columns += ["ece_calibrated_mean", "ece_calibrated_high", "p_value", "note"]
    table = pd.DataFrame(rows, columns=columns)
    table.insert(columns.index("note"), "p_holm", _holm(table["p_value"].to_numpy(dtype=float)))
    return table


def _figures(judged: Judged, bins: int, simulations: int, seed: int) -> dict[str, object]:
    frequency = clustered_proportion(judged.correct, np.ones(len(judged)), judged.item)
    figures: dict[str, object] = {
        "answers": len(judged),
        "items": judged.items,
        "confidence": float(judged.confidence.mean()),
        "frequency": frequency.estimate,
        "frequency_low": frequency.low,
        "frequency_high": frequency.high,
        "brier": float(squared_errors(judged.confidence, judged.correct).mean()),
        "ece": ece(judged, bins),
    }
    if not judged.first.any():
        return {**figures, "note": "not tested: no item's first answer is among them"}
    test = ece_test(judged, bins, simulations=simulations, seed=seed)
    return {
        **figures,
        "ece_calibrated_mean": test.calibrated_mean,
        "ece_calibrated_high": test.calibrated_high,
        "p_value": test.p_value,
        "note": test.note,
    }


def _class_scores(frame: pd.DataFrame, classes: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Score of each class in every answer, NaN where unreadable; None unless all readable answers score every class."""
    if "alternatives" not in frame:
        return None
    place = {name: position for position, name in enumerate(classes)}
    scores = np.full((len(frame), len(classes)), np.nan)
    rows = zip(frame["predicted"], frame["confidence"], frame["alternatives"], strict=True)
    for row, (predicted, confidence, alternatives) in enumerate(rows):
        if pd.isna(predicted) or pd.isna(confidence):
            continue
        if not isinstance(alternatives, dict):
            return None
        stated = {**alternatives, predicted: confidence}
        if any(name not in stated for name in classes):
            return None
        for name, score in stated.items():
            if name in place:
                scores[row, place[name]] = score
    return {name: scores[:, position] for name, position in place.items()}


def _holm(p_values: np.ndarray) -> np.ndarray:
    """p-values adjusted by Holm's step-down rule; NaN stays and counts for no test."""
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors)) if len(order) else []
    return adjusted
