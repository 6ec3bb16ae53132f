"""Ranking: whether a higher confidence goes with a right answer.

The area under the ROC curve (AUROC) of confidence against correctness is the chance that a right answer, drawn at
random, states a higher confidence than a wrong one; equal confidences count half. 0.5 means that the confidence carries
no order.
"""

from dataclasses import dataclass

import numpy as np

from assay.measure.cells import Cells
from assay.measure.intervals import UNKNOWN, FloatArray, Interval, wilson
from assay.measure.judged import Judged


@dataclass(frozen=True)
class Ranking:
    """An area under the ROC curve with its interval.

    Attributes
    ----------
    auroc : Interval
        Unknown (NaN, ``n = 0``) if there are no right or no wrong answers to rank.
    note : str
        Empty, or what a reader must know.
    """

    auroc: Interval
    note: str = ""


def auroc(judged: Judged, confidence: float = 0.95) -> Ranking:
    """Compute the area under the ROC curve of confidence against correctness, clustered by item.

    Parameters
    ----------
    judged : Judged
    confidence : float
        Two-sided confidence of the interval, in (0, 1).

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    The variance is that of DeLong et al. (1988), https://doi.org/10.2307/2531595, summed by item as in Obuchowski
    (1997), https://doi.org/10.2307/2533958. The interval is Wilson's at the number of answers that would give a
    proportion this variance, at most the number of items, so that it never leaves [0, 1]. A perfect order has no
    variance and is given as many as there are items with the rarer outcome.
    """
    judged.require_any()
    cells = judged.cells
    right, wrong = float(cells.right.sum()), float(cells.wrong.sum())
    if right == 0 or wrong == 0:
        return Ranking(UNKNOWN, f"no {'right' if right == 0 else 'wrong'} answer: there is nothing to rank")
    # For each distinct confidence: the share of wrong answers that a right one there beats, and of right ones that
    # beat a wrong one there.
    beaten = _beaten(cells)
    beating = 1 - (np.cumsum(cells.right) - cells.right / 2) / right
    area = area_of(cells)
    code = judged.coded[1]
    placement = np.where(judged.correct, (beaten[code] - area) / right, (beating[code] - area) / wrong)
    by_item = np.bincount(judged.item, weights=placement, minlength=judged.items)
    variance = float((by_item**2).sum())
    effective = float(judged.items)
    if variance > 0:
        effective = min(effective, area * (1 - area) / variance)
    if area in (0.0, 1.0):
        effective = float(min(_items_with(judged, True), _items_with(judged, False)))
    low, high = wilson(min(area * effective, effective), effective, confidence)
    interval = Interval(area, float(low), float(high), len(judged), effective)
    return Ranking(interval, "one distinct confidence: it carries no order" if len(cells) == 1 else "")


def area_of(cells: Cells) -> float:
    """Compute the area under the ROC curve from counts; NaN if there is no right or no wrong answer to rank."""
    right = float(cells.right.sum())
    return float((_beaten(cells) * cells.right).sum() / right) if right and cells.wrong.any() else float("nan")


def _beaten(cells: Cells) -> FloatArray:
    """Share of wrong answers that a right one at each distinct confidence beats; equal ones count half."""
    return np.asarray((np.cumsum(cells.wrong) - cells.wrong / 2) / float(cells.wrong.sum()), dtype=np.float64)


def _items_with(judged: Judged, outcome: bool) -> int:
    return len(np.unique(judged.item[judged.correct == outcome]))
