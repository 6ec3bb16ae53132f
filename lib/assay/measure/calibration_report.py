"""What notebook 10 says of one series' confidence: its summary and its two curves, computed once."""

from dataclasses import dataclass

import pandas as pd

from assay.measure.corp import CorpCurve, corp_curve
from assay.measure.judged import Judged
from assay.measure.reliability import BinnedCurve, Scheme, binned_curve
from assay.measure.scores import accuracy
from assay.measure.summary import CalibrationSummary, summarise_calibration
from assay.study import Series


@dataclass(frozen=True)
class CalibrationReport:
    """The calibration of one series that has something to read.

    Attributes
    ----------
    series : Series
    judged : Judged
    summary : CalibrationSummary
    curve : BinnedCurve
    corp : CorpCurve
    """

    series: Series
    judged: Judged
    summary: CalibrationSummary
    curve: BinnedCurve
    corp: CorpCurve

    @property
    def gap(self) -> float:
        """Mean stated confidence less accuracy, in [-1, 1]: above 0 is overconfident."""
        return self.summary.confidence - self.summary.accuracy.estimate

    @property
    def rejected(self) -> bool:
        """Whether a calibrated model would show so large an error in at most one study of twenty."""
        return self.summary.test is not None and self.summary.test.p_value <= 0.05


def calibration_report(
    series: Series, *, bins: int = 10, binning: Scheme = "mass", resamples: int = 2000, seed: int = 0
) -> CalibrationReport | None:
    """Compute the report of one series; None if none of its items has a readable first answer.

    Parameters
    ----------
    series : Series
    bins : int
    binning : {"mass", "width"}
        Of the curve; the summary has both.
    resamples : int
        Simulations of the consistency band.
    seed : int
    """
    judged = Judged.from_frame(series.answers)
    if not judged.first.any():
        return None
    return CalibrationReport(
        series,
        judged,
        summarise_calibration(judged, bins, seed=seed),
        binned_curve(judged, bins, binning),
        corp_curve(judged, simulations=resamples, seed=seed),
    )


def by_tag(series: Series) -> pd.DataFrame:
    """Compute accuracy against mean confidence for every value of every tag of the items.

    Returns
    -------
    DataFrame
        ``series``, ``tag``, ``value``, ``items``, ``answers`` (readable), ``unreadable``, ``accuracy`` (an `Interval`
        over items), ``confidence`` (mean) and ``gap``, both None where nothing is readable.
    """
    rows = []
    for tag in [name for name in series.answers.columns if name.startswith("tag_")]:
        carrying = series.answers[series.answers[tag].fillna("") != ""]
        for value, group in carrying.groupby(tag, sort=True, observed=True):
            judged = Judged.from_frame(group)
            share = accuracy(judged)
            stated = float(judged.confidence.mean()) if len(judged) else None
            rows.append(
                {
                    "series": series.name,
                    "tag": tag.removeprefix("tag_"),
                    "value": str(value),
                    "items": int(group["item_id"].nunique()),
                    "answers": len(judged),
                    "unreadable": judged.unreadable,
                    "accuracy": share,
                    "confidence": stated,
                    "gap": None if stated is None else stated - share.estimate,
                }
            )
    return pd.DataFrame(rows)
