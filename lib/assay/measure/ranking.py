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

_ROUNDING = 1e-12


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
    proportion this variance, so that it never leaves [0, 1]; see `effective_of_area` for what that number is at most.
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
    rarer = min(_items_with(judged, True), _items_with(judged, False))
    effective = effective_of_area(area, variance, judged.items, rarer)
    low, high = wilson(min(area * effective, effective), effective, confidence)
    interval = Interval(area, float(low), float(high), len(judged), effective)
    return Ranking(interval, "one distinct confidence: it carries no order" if len(cells) == 1 else "")


def effective_of_area(area: float, variance: float, items: int, rarer: int) -> float:
    """Return the number of items at which a proportion would be as uncertain as an area under the ROC curve.

    Parameters
    ----------
    area : float in [0, 1]
    variance : float
        Of the area, as the placements of the items show it.
    items, rarer : int
        Items in all, and those with the rarer outcome, at least 1.

    Returns
    -------
    float
        At most three times `rarer`: that is what an order without content gives with many of the other outcome (Mann and
        Whitney 1947, https://doi.org/10.1214/aoms/1177730491), and a few wrong answers that happen to lie close together
        do not show that the next would. `rarer` itself where one item has the outcome, so that its placement shows no
        scatter, and for a perfect order, which shows none either.
    """
    # Weights such as thirds make a perfect order differ from 1 in the last bits.
    if rarer == 1 or min(area, 1 - area) < _ROUNDING:
        return float(rarer)
    # Few deviations from their own mean are too small by this.
    variance *= rarer / (rarer - 1)
    shown = area * (1 - area) / variance if variance > _ROUNDING**2 else float("inf")
    return min(float(items), 3.0 * rarer, shown)


def area_of(cells: Cells) -> float:
    """Compute the area under the ROC curve from counts; NaN if there is no right or no wrong answer to rank."""
    right = float(cells.right.sum())
    return float((_beaten(cells) * cells.right).sum() / right) if right and cells.wrong.any() else float("nan")


def _beaten(cells: Cells) -> FloatArray:
    """Share of wrong answers that a right one at each distinct confidence beats; equal ones count half."""
    return np.asarray((np.cumsum(cells.wrong) - cells.wrong / 2) / float(cells.wrong.sum()), dtype=np.float64)


def _items_with(judged: Judged, outcome: bool) -> int:
    return len(np.unique(judged.item[judged.correct == outcome]))
