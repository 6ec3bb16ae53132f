"""Calibration intercept and slope: the straight line, in log odds, between confidence and being right.

A calibrated model has intercept 0 and slope 1. A slope below 1 means confidences too extreme, above 1 too timid, below
0 reversed. A negative intercept means confidences too high on the whole.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from assay.measure.intervals import FloatArray, Interval
from assay.measure.judged import Judged
from assay.measure.logistic import fit_logistic, log_odds, separable


@dataclass(frozen=True)
class CalibrationLine:
    """Calibration intercept and slope, each None where the answers do not determine it, with the reason in the note.

    Attributes
    ----------
    intercept : Interval or None
        Log odds by which answers are more often right than stated, at slope 1 (calibration in the large).
    slope : Interval or None
        Coefficient of the log odds of the confidence, beside a free intercept.
    note : str
    """

    intercept: Interval | None
    slope: Interval | None
    note: str = ""


def calibration_line(judged: Judged, confidence: float = 0.95) -> CalibrationLine:
    """Fit calibration intercept and slope, with intervals clustered by item.

    Confidences are clipped to [1e-6, 1 - 1e-6] before their log odds are taken.

    Parameters
    ----------
    judged : Judged
    confidence : float
        Two-sided confidence of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Cox (1958), https://doi.org/10.1093/biomet/45.3-4.562; Van Calster et al. (2016),
    https://doi.org/10.1016/j.jclinepi.2015.12.005. Intervals are Wald's with the variance summed by item (Liang and
    Zeger 1986, https://doi.org/10.1093/biomet/73.1.13).
    """
    judged.require_any()
    if judged.correct.all() or not judged.correct.any():
        outcome = "right" if judged.correct.all() else "wrong"
        return CalibrationLine(None, None, f"no intercept and no slope: every answer is {outcome}")
    if judged.items < 3:
        return CalibrationLine(None, None, "no intercept and no slope: fewer than three items")
    cells = judged.cells
    odds = log_odds(cells.confidence)
    ones = np.ones_like(odds)
    single = ones[:, None]
    coefficients = fit_logistic(single, cells.right, cells.count, offset=odds)
    intercept = _intervals(judged, single, odds + coefficients[0], coefficients, confidence)[0]
    if np.ptp(odds) == 0:
        return CalibrationLine(intercept, None, "no slope: one distinct confidence")
    if separable(cells):
        return CalibrationLine(intercept, None, "no finite slope: one confidence splits right from wrong answers")
    features = np.column_stack([ones, odds])
    coefficients = fit_logistic(features, cells.right, cells.count)
    slope = _intervals(judged, features, features @ coefficients, coefficients, confidence)[1]
    return CalibrationLine(
        intercept, slope, "" if judged.items > 2 else "too few items for the intervals to be trusted"
    )


def _intervals(
    judged: Judged, features: FloatArray, log_odds: FloatArray, coefficients: FloatArray, confidence: float
) -> list[Interval]:
    """Wald intervals from the sandwich variance, with the residuals summed by item."""
    cells, code = judged.cells, judged.coded[1]
    fitted = special.expit(log_odds)
    curvature = (features * (cells.count * fitted * (1 - fitted))[:, None]).T @ features
    residual = judged.correct - fitted[code]
    scores = np.column_stack(
        [np.bincount(judged.item, weights=residual * column[code], minlength=judged.items) for column in features.T]
    )
    small_sample = judged.items / (judged.items - 1)
    bread = np.linalg.inv(curvature)
    variance = bread @ (scores.T @ scores) @ bread * small_sample
    half = special.ndtri(0.5 + confidence / 2) * np.sqrt(np.diag(variance))
    return [
        Interval(float(value), float(value - reach), float(value + reach), len(judged), float(judged.items))
        for value, reach in zip(coefficients, half, strict=True)
    ]
