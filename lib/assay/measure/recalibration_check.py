"""Recalibration judged on items that the map has not seen, and a map chosen without looking at them.

A map is judged on the other part by proper scores before and after, paired on the answer. Choosing between maps uses
the tuning part alone, by cross-validation over its items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.ece import ece
from assay.measure.intervals import FloatArray, Interval
from assay.measure.judged import Judged
from assay.measure.recalibration import KINDS, fit_recalibration, recalibrate
from assay.measure.resample import mean_interval
from assay.measure.scores import log_losses, squared_errors
from assay.rules.recalibration import RecalibrationKind, RecalibrationMap


@dataclass(frozen=True)
class RecalibrationVerdict:
    """A map on items that it was not fitted on. Differences are after less before: below 0 is better.

    Attributes
    ----------
    answers, items : int
    extrapolated : int
        Answers whose confidence lies outside the range the map was fitted on.
    brier_before, brier_after, log_loss_before, log_loss_after, ece_before, ece_after : float
        The calibration error in 15 bins of equal mass.
    brier_change, log_loss_change : Interval
        Paired on the answer, BCa over items.
    """

    answers: int
    items: int
    extrapolated: int
    brier_before: float
    brier_after: float
    brier_change: Interval
    log_loss_before: float
    log_loss_after: float
    log_loss_change: Interval
    ece_before: float
    ece_after: float


@dataclass(frozen=True)
class RecalibrationChoice:
    """The kind of map that cross-validation over the tuning items favours.

    Attributes
    ----------
    kind : str or None
        None: the stated confidences do best as they are.
    table : DataFrame
        One row per candidate: ``kind`` ("none" first), cross-validated ``brier`` and ``log_loss`` (NaN where the map
        could not be fitted in every fold), ``note`` with the reason.
    """

    kind: RecalibrationKind | None
    table: pd.DataFrame


def judge_recalibration(fitted: RecalibrationMap, other: Judged, seed: int = 0) -> RecalibrationVerdict:
    """Compare confidences before and after a map, on items that it was not fitted on.

    Parameters
    ----------
    fitted : RecalibrationMap
    other : Judged
        Of the map's calibration and elicitation, where they are known.
    seed : int

    Raises
    ------
    ValueError
        If no answer is readable or the answers come from another calibration or elicitation; both are named.
    """
    other.require_any()
    if other.calibration:
        fitted.require_source(other.calibration, other.elicitation)
    before, after = other.confidence, recalibrate(fitted, other.confidence)
    losses = {
        name: (loss(before, other.correct), loss(after, other.correct))
        for name, loss in (("brier", squared_errors), ("log_loss", log_losses))
    }
    answers = np.bincount(other.item, minlength=other.items)
    changes = {
        name: mean_interval(np.bincount(other.item, weights=new - old, minlength=other.items), answers, seed=seed)
        for name, (old, new) in losses.items()
    }
    outside = (before < fitted.low) | (before > fitted.high)
    return RecalibrationVerdict(
        answers=len(other),
        items=other.items,
        extrapolated=int(outside.sum()),
        brier_before=float(losses["brier"][0].mean()),
        brier_after=float(losses["brier"][1].mean()),
        brier_change=changes["brier"],
        log_loss_before=float(losses["log_loss"][0].mean()),
        log_loss_after=float(losses["log_loss"][1].mean()),
        log_loss_change=changes["log_loss"],
        ece_before=ece(other),
        ece_after=ece(replace(other, confidence=after)),
    )


def choose_recalibration(
    tuning: Judged, kinds: Sequence[RecalibrationKind] = KINDS, folds: int = 5, seed: int = 0
) -> RecalibrationChoice:
    """Choose a map, or none, by the Brier score in cross-validation over the items of the tuning part.

    All answers of an item are in one fold. A map that cannot be fitted in some fold is not chosen. Of equal scores the
    earlier candidate wins, and no map comes first.

    Raises
    ------
    ValueError
        If there are fewer items than folds, or fewer than two folds.
    """
    if not 2 <= folds <= tuning.items:
        raise ValueError(f"folds must be between 2 and the number of items ({tuning.items}), got {folds}")
    fold = np.random.default_rng(seed).permutation(tuning.items) % folds
    place = fold[tuning.item]
    rows = [("none", *_mean_losses(tuning.confidence, tuning.correct), "")]
    for kind in kinds:
        held_out = np.empty(len(tuning))
        try:
            for number in range(folds):
                fitted = fit_recalibration(tuning.take(place != number), kind).map
                held_out[place == number] = recalibrate(fitted, tuning.confidence[place == number])
        except ValueError as error:
            rows.append((kind, float("nan"), float("nan"), f"not fitted: {error}"))
        else:
            rows.append((kind, *_mean_losses(held_out, tuning.correct), ""))
    table = pd.DataFrame(rows, columns=["kind", "brier", "log_loss", "note"])
    best = table["kind"].iloc[int(table["brier"].argmin())]
    return RecalibrationChoice(None if best == "none" else best, table)


def _mean_losses(confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> tuple[float, float]:
    return float(squared_errors(confidence, correct).mean()), float(log_losses(confidence, correct).mean())
