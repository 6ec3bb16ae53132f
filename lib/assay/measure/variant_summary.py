"""One variant by itself: what the ranking goes by."""

from dataclasses import dataclass

import numpy as np

from assay.measure.intervals import UNKNOWN, FloatArray, Interval, clustered_proportion
from assay.measure.metrics import MEAN, RANKING, SHARE, Metric
from assay.measure.pairing import PairSettings
from assay.measure.placements import area_interval
from assay.measure.resample import mean_interval
from assay.measure.side import Side


@dataclass(frozen=True)
class VariantSummary:
    """One variant by itself, over all its items and answers.

    Attributes
    ----------
    name, group : str
    items, answers, unreadable : int
    estimates : dict of str to float
        By metric name; NaN where there is nothing to count.
    intervals : dict of str to Interval
        Of the shares, Wilson at the effective number of items, and of primary means and AUROCs: BCa over items, and
        Wilson at the number of items that gives the area its variance.
    """

    name: str
    group: str
    items: int
    answers: int
    unreadable: int
    estimates: dict[str, float]
    intervals: dict[str, Interval]


def summarise(group: str, side: Side, settings: PairSettings) -> VariantSummary:
    """Compute one variant's figures, over all its items."""
    found = {metric.name: _interval(side, metric, settings) for metric in settings.metrics}
    return VariantSummary(
        name=side.name,
        group=group,
        items=int(side.answered.sum()),
        answers=int(side.means.answers.sum()),
        unreadable=side.unreadable,
        estimates=side.estimates(),
        intervals={name: interval for name, interval in found.items() if interval is not None},
    )


def _interval(side: Side, metric: Metric, settings: PairSettings) -> Interval | None:
    """Bound one variant's figure: all shares, and the primary metrics that have an interval."""
    if metric.form == SHARE and metric.name in side.means.values:
        values = _defined(side.means.values[metric.name])
        return clustered_proportion(values, np.ones_like(values), None, settings.confidence)
    if metric not in settings.primary:
        return None
    if metric.form == MEAN and metric.name in side.means.values:
        values = _defined(side.means.values[metric.name])
        draws = settings.draws
        return mean_interval(values, None, settings.confidence, draws.resamples, draws.seed) if len(values) else UNKNOWN
    if metric.form == RANKING and side.means.confidences is not None:
        return area_interval(side.means.confidences, len(side.means.answers), settings.confidence)
    return None


def _defined(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]
