"""A pair of variants: the items they share, how far apart they are on each metric, and what can be said of it."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.differences import (
    NOTHING,
    Bounds,
    ItemDraws,
    calibration_bounds,
    calibration_error,
    mean_bounds,
    ranking_bounds,
    share_bounds,
)
from assay.measure.intervals import FloatArray
from assay.measure.metrics import AUROC, CALIBRATION, CALIBRATION_ERROR, RANKING, SHARE, Metric
from assay.measure.permutation import mcnemar, swap_test, swap_test_of
from assay.measure.placements import area_by_item, area_difference
from assay.measure.power import LEVEL, fewest_differing, smallest_difference
from assay.measure.side import Side

BETTER, WORSE, NOT_DETECTED, UNDEFINED = "better", "worse", "no detectable difference at this size", "not defined"

MCNEMAR, SWAPS = "exact McNemar", "swaps within items"


@dataclass(frozen=True)
class Difference:
    """How far variant a is from variant b on one metric, over the items that both have.

    Attributes
    ----------
    metric : Metric
    primary : bool
        Whether it was named beforehand. Only then is it tested; else the interval is exploratory.
    a, b, difference : float
        In the unit of the metric; ``a - b``. NaN where there is nothing to count.
    low, high : float
        Paired interval of the difference over items, for this pair and metric alone.
    items : int
        Items counted.
    a_ahead, b_ahead : int
        Items on which only one is right, or does better; 0 for metrics that single items do not have.
    standard_error : float
    test : {"", "exact McNemar", "swaps within items"}
    p_value, adjusted : float
        Raw, and after Holm's adjustment over the group; NaN where not tested.
    smallest, smallest_in_family : float
        The true difference that as many items, as discordant, would show with probability 0.80 at the 5 % level: tested
        alone, and among all tests of the group.
    note : str
    """

    metric: Metric
    primary: bool
    a: float
    b: float
    difference: float
    low: float
    high: float
    items: int
    a_ahead: int
    b_ahead: int
    standard_error: float
    test: str = ""
    p_value: float = float("nan")
    adjusted: float = float("nan")
    smallest: float = float("nan")
    smallest_in_family: float = float("nan")
    note: str = ""

    @property
    def verdict(self) -> str:
        """What is said of variant a: better, worse, no detectable difference at this size, or not defined."""
        if np.isnan(self.difference):
            return UNDEFINED
        found = self.adjusted <= LEVEL if self.primary else self.low > 0 or self.high < 0
        if not found:
            return NOT_DETECTED
        return BETTER if (self.difference > 0) == self.metric.higher_is_better else WORSE

    def least(self, tests: int) -> float:
        """Return the smallest difference that could be shown as one of `tests` tests; NaN where unknown."""
        level = LEVEL / tests
        shown = smallest_difference(self.standard_error, level)
        # However steady the answers, an exact test wants some items that differ.
        return max(shown, fewest_differing(level) / self.items) if self.test == MCNEMAR else shown


@dataclass(frozen=True)
class Pair:
    """Two variants of a group.

    Attributes
    ----------
    group, a, b : str
    items : int
        Items that both answer; everything is computed on these.
    only_in_a, only_in_b : tuple of str
        Items that only one of them answers, which are left out.
    unreadable_a, unreadable_b : int
        Answers to shared items that could not be read.
    repeated : bool
        Whether either answers some item more than once.
    differences : tuple of Difference
        In the order of the metrics; those that need readable answers only where some are not.
    """

    group: str
    a: str
    b: str
    items: int
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    unreadable_a: int
    unreadable_b: int
    repeated: bool
    differences: tuple[Difference, ...]

    @property
    def name(self) -> str:
        """The two names and the group."""
        return f"{self.a} against {self.b}" + (f" ({self.group})" if self.group else "")

    def of(self, metric: Metric | str) -> Difference:
        """Return the difference on a metric; KeyError where this pair has none."""
        name = metric if isinstance(metric, str) else metric.name
        for one in self.differences:
            if one.metric.name == name:
                return one
        raise KeyError(f"{self.name} has no {name}")

    def turned(self) -> "Pair":
        """Return the pair as b against a."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            only_in_a=self.only_in_b,
            only_in_b=self.only_in_a,
            unreadable_a=self.unreadable_b,
            unreadable_b=self.unreadable_a,
            differences=tuple(
                replace(
                    one,
                    a=one.b,
                    b=one.a,
                    difference=-one.difference,
                    low=-one.high,
                    high=-one.low,
                    a_ahead=one.b_ahead,
                    b_ahead=one.a_ahead,
                )
                for one in self.differences
            ),
        )


@dataclass(frozen=True)
class PairSettings:
    """What every pair of a comparison is computed with."""

    metrics: tuple[Metric, ...]
    primary: tuple[Metric, ...]
    confidence: float
    permutations: int
    seed: int
    draws: ItemDraws


def compare_pair(group: str, items: pd.Index, a: Side, b: Side, settings: PairSettings) -> Pair:
    """Compare two sides over the items that both answer; p-values are raw."""
    shared = a.answered & b.answered
    unreadable = [int((side.means.answers - side.means.readable)[shared].sum()) for side in (a, b)]
    differences = []
    for metric in settings.metrics:
        if metric.left_out and not any(unreadable):
            continue
        if metric.form == CALIBRATION:
            found = _calibration(a, b, metric, settings)
        elif metric.form == RANKING:
            found = _ranking(a, b, metric, settings)
        else:
            found = _average(a, b, metric, settings)
        if found is not None:
            differences.append(found)
    return Pair(
        group=group,
        a=a.name,
        b=b.name,
        items=int(shared.sum()),
        only_in_a=tuple(map(str, items[a.answered & ~b.answered])),
        only_in_b=tuple(map(str, items[b.answered & ~a.answered])),
        unreadable_a=unreadable[0],
        unreadable_b=unreadable[1],
        repeated=a.repeated or b.repeated,
        differences=tuple(differences),
    )


def _average(a: Side, b: Side, metric: Metric, settings: PairSettings) -> Difference | None:
    """Compare what is an average over items; None where either side has no such column."""
    if metric.name not in a.means.values or metric.name not in b.means.values:
        return None
    values_a, values_b = a.means.values[metric.name], b.means.values[metric.name]
    both = ~(np.isnan(values_a) | np.isnan(values_b))
    values_a, values_b = values_a[both], values_b[both]
    difference = values_a - values_b
    # Averages of tenths that are equal must not differ by rounding.
    difference[np.abs(difference) < 1e-12] = 0.0
    if metric.form == SHARE:
        bounds = share_bounds(difference, settings.confidence, settings.draws.resamples, settings.seed)
    else:
        bounds = mean_bounds(difference, settings.confidence, settings.draws)
    ahead = difference if metric.higher_is_better else -difference
    counts = int((ahead > 0).sum()), int((ahead < 0).sum())
    single = metric.form == SHARE and not (a.repeated or b.repeated)
    test, p_value = "", float("nan")
    if metric in settings.primary and len(difference):
        test = MCNEMAR if single else SWAPS
        p_value = mcnemar(*counts) if single else swap_test(difference, settings.permutations, settings.seed)
    return _difference(
        metric, settings, (_mean(values_a), _mean(values_b)), bounds, len(difference), counts, test, p_value
    )


def _calibration(a: Side, b: Side, metric: Metric, settings: PairSettings) -> Difference | None:
    assert metric == CALIBRATION_ERROR
    if a.gaps is None or b.gaps is None:
        return None
    both = a.readable & b.readable
    gaps_a, gaps_b = a.gaps[both], b.gaps[both]
    bounds = calibration_bounds(gaps_a, gaps_b, settings.confidence, settings.draws)
    test, p_value = "", float("nan")
    if metric in settings.primary and len(gaps_a):
        total_a, total_b, swing = gaps_a.sum(axis=0), gaps_b.sum(axis=0), gaps_b - gaps_a

        def statistic(swapped: FloatArray) -> FloatArray:
            moved = swapped @ swing
            return np.asarray(np.abs(total_a + moved).sum(axis=1) - np.abs(total_b - moved).sum(axis=1))

        test, p_value = SWAPS, swap_test_of(statistic, len(gaps_a), settings.permutations, settings.seed)
    values = calibration_error(gaps_a), calibration_error(gaps_b)
    return _difference(metric, settings, values, bounds, len(gaps_a), (0, 0), test, p_value)


def _ranking(a: Side, b: Side, metric: Metric, settings: PairSettings) -> Difference | None:
    assert metric == AUROC
    if a.means.confidences is None or b.means.confidences is None:
        return None
    both = a.readable & b.readable
    stated = [side.means.confidences.of_items(both) for side in (a, b) if side.means.confidences is not None]
    (area_a, influence_a), (area_b, influence_b) = (area_by_item(one, len(both)) for one in stated)
    estimate = area_a - area_b
    bounds = (
        NOTHING
        if np.isnan(estimate)
        else ranking_bounds(estimate, (influence_a - influence_b)[both], settings.confidence)
    )
    test, p_value = "", float("nan")
    if metric in settings.primary and not np.isnan(estimate):
        statistic = area_difference(stated[0], stated[1])
        test, p_value = SWAPS, swap_test_of(statistic, len(both), settings.permutations, settings.seed)
    return _difference(metric, settings, (area_a, area_b), bounds, int(both.sum()), (0, 0), test, p_value)


def _difference(
    metric: Metric,
    settings: PairSettings,
    values: tuple[float, float],
    bounds: Bounds,
    items: int,
    ahead: tuple[int, int],
    test: str,
    p_value: float,
) -> Difference:
    return Difference(
        metric=metric,
        primary=metric in settings.primary,
        a=values[0],
        b=values[1],
        difference=values[0] - values[1],
        low=bounds.low,
        high=bounds.high,
        items=items,
        a_ahead=ahead[0],
        b_ahead=ahead[1],
        standard_error=bounds.standard_error,
        test=test,
        p_value=p_value,
        note=bounds.note,
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
