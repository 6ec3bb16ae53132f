"""AUROC as a sum over items: how well one variant's confidences order its right answers above its wrong ones."""

from collections.abc import Callable

import numpy as np

from assay.measure.intervals import UNKNOWN, FloatArray, Interval, wilson
from assay.measure.item_means import Confidences
from assay.measure.ranking import effective_of_area


def area_by_item(stated: Confidences, items: int) -> tuple[float, FloatArray]:
    """Return the area under the ROC curve and what each item adds to its deviation from the truth.

    Parameters
    ----------
    stated : Confidences
        Each answer counts by its weight; equal confidences count half.
    items : int

    Returns
    -------
    area : float in [0, 1]
        NaN without both right and wrong answers.
    influence : (items,) float64
        Sums to 0; the sum of its squares is the variance of the area, clustered by item.
    """
    right = stated.weight * stated.correct
    wrong = stated.weight - right
    if not right.any() or not wrong.any():
        return float("nan"), np.full(items, np.nan)
    code = np.unique(stated.confidence, return_inverse=True)[1]
    right_at, wrong_at = np.bincount(code, weights=right), np.bincount(code, weights=wrong)
    # Per distinct confidence: the share of wrong answers that a right one there beats, and of right ones that beat a
    # wrong one there.
    beaten = (np.cumsum(wrong_at) - wrong_at / 2) / wrong.sum()
    beating = 1 - (np.cumsum(right_at) - right_at / 2) / right.sum()
    area = float(beaten @ right_at / right.sum())
    added = right * (beaten[code] - area) / right.sum() + wrong * (beating[code] - area) / wrong.sum()
    return area, np.asarray(np.bincount(stated.item, weights=added, minlength=items), dtype=np.float64)


def area_interval(stated: Confidences, items: int, confidence: float) -> Interval:
    """Bound an area with Wilson's interval at the number of items that would give a proportion its variance.

    As `assay.measure.ranking.auroc`, for items that all weigh the same. Unknown without both right and wrong answers.
    """
    area, influence = area_by_item(stated, items)
    if np.isnan(area):
        return UNKNOWN
    answered = len(np.unique(stated.item))
    variance = float((influence**2).sum())
    effective = effective_of_area(area, variance, answered, _rarer(stated))
    low, high = wilson(min(max(area, 0.0) * effective, effective), effective, confidence)
    return Interval(area, float(low), float(high), len(stated.item), float(effective))


def area_difference(a: Confidences, b: Confidences) -> Callable[[FloatArray], FloatArray]:
    """Return the statistic for `swap_test_of`: the difference of areas when the items marked 1 change hands.

    Parameters
    ----------
    a, b : Confidences
        Of the same items.
    """
    item = np.concatenate([a.item, b.item])
    own = np.concatenate([np.ones(len(a.item)), np.zeros(len(b.item))])
    weight = np.concatenate([a.weight, b.weight])
    correct = np.concatenate([a.correct, b.correct])
    confidence = np.concatenate([a.confidence, b.confidence])
    order = np.argsort(confidence, kind="stable")
    item, own, weight, correct = item[order], own[order], weight[order], correct[order]
    start = np.flatnonzero(np.diff(confidence[order], prepend=-1.0))

    def areas(member: FloatArray) -> FloatArray:
        right = np.add.reduceat(member * (weight * correct), start, axis=1)
        wrong = np.add.reduceat(member * (weight * ~correct), start, axis=1)
        beaten = np.cumsum(wrong, axis=1) - wrong / 2
        pairs = right.sum(axis=1) * wrong.sum(axis=1)
        # A side without right or without wrong answers orders nothing: as good as a coin.
        return np.divide((beaten * right).sum(axis=1), pairs, out=np.full(len(member), 0.5), where=pairs > 0)

    def difference(swapped: FloatArray) -> FloatArray:
        member = np.abs(own - swapped[:, item])
        return areas(member) - areas(1 - member)

    return difference


def _rarer(stated: Confidences) -> int:
    """Count the items with the rarer outcome."""
    return min(len(np.unique(stated.item[stated.correct == outcome])) for outcome in (True, False))
