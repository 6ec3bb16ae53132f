"""Recalibration: fitting a map from stated confidence to how often answers are right.

Four maps, all never decreasing: temperature (one number), Platt's (two), beta (three) and isotonic (a curve). A map is
fitted on the tuning part only. What is fitted here with numpy is applied by `assay.rules` without.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray
from assay.measure.judged import Judged
from assay.measure.logistic import CLIP, fit_logistic, log_odds, logistic_loss
from assay.rules.answers import Calibration, Elicitation
from assay.rules.recalibration import PARAMETERS, RecalibrationKind, RecalibrationMap

KINDS: tuple[RecalibrationKind, ...] = ("temperature", "platt", "beta", "isotonic")

LOG_BETA_BOUND = 10.0
"""The temperature is sought between exp(-10) and exp(10), as scikit-learn does."""


@dataclass(frozen=True)
class Recalibration:
    """A fitted map and how the fit went.

    Attributes
    ----------
    map : RecalibrationMap
    unconstrained : mapping of str to float
        The parameters that fit best when the map may reverse the order of confidences; as in the map where that was no
        issue. Empty for an isotonic map.
    note : str
        Empty, or what a reader must know of the map.
    """

    map: RecalibrationMap
    unconstrained: Mapping[str, float]
    note: str = ""


def fit_recalibration(tuning: Judged, kind: RecalibrationKind) -> Recalibration:
    """Fit a map on the tuning part.

    Parameters
    ----------
    tuning : Judged
        Of one calibration and elicitation, which the map keeps; the calibration must be known.
    kind : {"temperature", "platt", "beta", "isotonic"}

    Raises
    ------
    ValueError
        If the kind or the calibration of the answers is unknown, no answer is readable, all are right or all wrong, or
        a threshold splits right from wrong answers so that no temperature or beta map fits best.

    Notes
    -----
    Log odds and logarithms are taken of confidences clipped to [1e-6, 1 - 1e-6]. Temperature: Guo et al. (2017),
    https://arxiv.org/abs/1706.04599. Platt (1999) with the smoothed targets of its section 2.2, on log odds. Beta:
    Kull, Silva Filho and Flach (2017), https://doi.org/10.1214/17-EJS1338SI. A fit that would reverse the order of
    confidences is replaced by the best one that does not, and the note says so.
    """
    if kind not in PARAMETERS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    tuning.require_any()
    if not tuning.calibration:
        raise ValueError("a map belongs to the calibration it is fitted on; these answers name none")
    if tuning.correct.all() or not tuning.correct.any():
        outcome = "right" if tuning.correct.all() else "wrong"
        raise ValueError(f"a map needs right and wrong answers to be fitted; all {len(tuning)} are {outcome}")
    fit = {"temperature": _fit_temperature, "platt": _fit_platt, "beta": _fit_beta, "isotonic": _fit_isotonic}[kind]
    cells = tuning.cells
    parameters, unconstrained, note = fit(cells)
    fitted = RecalibrationMap(
        kind,
        parameters,
        Calibration(tuning.calibration),
        Elicitation(tuning.elicitation) if tuning.elicitation else None,
        low=float(cells.confidence[0]),
        high=float(cells.confidence[-1]),
        items=tuning.items,
    )
    return Recalibration(fitted, unconstrained, note)


def recalibrate(fitted: RecalibrationMap, confidence: npt.ArrayLike) -> FloatArray:
    """Apply a map to many confidences in [0, 1]; `RecalibrationMap.apply` does the same to one."""
    confidence = np.asarray(confidence, dtype=np.float64)
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError("confidence must lie in [0, 1] everywhere")
    number: Mapping[str, Any] = fitted.parameters
    if fitted.kind == "isotonic":
        return np.asarray(np.interp(confidence, number["confidence"], number["frequency"]), dtype=np.float64)
    if fitted.kind == "temperature":
        return _sigmoid(log_odds(confidence) / number["temperature"])
    if fitted.kind == "platt":
        return _sigmoid(log_odds(confidence) * number["slope"] + number["intercept"])
    sure, unsure = _logarithms(confidence)
    return _sigmoid(number["a"] * sure + number["b"] * unsure + number["c"])


_Fitted: TypeAlias = tuple[dict[str, float | tuple[float, ...]], dict[str, float], str]


def _fit_temperature(cells: Cells) -> _Fitted:
    odds = log_odds(cells.confidence)
    if not odds.any():
        return {"temperature": 1.0}, {"temperature": 1.0}, "every confidence is 0.5: no temperature changes it"

    if not cells.right[odds < 0].any() and not cells.wrong[odds > 0].any():
        raise ValueError("no temperature fits best: 0.5 splits right from wrong answers")

    def loss(log_beta: float) -> float:
        return logistic_loss(np.exp(log_beta) * odds, cells.right, cells.count)

    found = optimize.minimize_scalar(
        loss, bounds=(-LOG_BETA_BOUND, LOG_BETA_BOUND), method="bounded", options={"xatol": 1e-12, "maxiter": 1000}
    )
    temperature = float(np.exp(-found.x))
    # The loss is convex in 1 / temperature: it falls from 0 on, or no temperature is better than an infinite one.
    note = ""
    if float((odds * (cells.right - cells.count / 2)).sum()) <= 0:
        note = "at the bound of the search: every confidence becomes 0.5"
    return {"temperature": temperature}, {"temperature": temperature}, note


def _fit_platt(cells: Cells) -> _Fitted:
    right, wrong = float(cells.right.sum()), float(cells.wrong.sum())
    target = cells.right * (right + 1) / (right + 2) + cells.wrong / (wrong + 2)
    constant = {"slope": 0.0, "intercept": float(special.logit(target.sum() / cells.n))}
    odds = log_odds(cells.confidence)
    if np.ptp(odds) == 0:
        return {**constant}, constant, "one distinct confidence: the map is a constant"
    intercept, slope = fit_logistic(np.column_stack([np.ones_like(odds), odds]), target, cells.count)
    free = {"slope": float(slope), "intercept": float(intercept)}
    if slope < 0:
        return {**constant}, free, _reversal(f"slope {slope:.3g}", "the map is a constant")
    return {**free}, free, ""


def _fit_beta(cells: Cells) -> _Fitted:
    sure, unsure = _logarithms(cells.confidence)
    ones = np.ones_like(sure)
    distinct = len(np.unique(log_odds(cells.confidence)))
    # Each candidate holds a and b to a face of the quadrant a >= 0, b >= 0, on one of which the best map lies.
    candidates: list[tuple[FloatArray, tuple[int | None, int | None]]] = [(ones[:, None], (None, None))]
    if distinct > 2:
        features = np.column_stack([ones, sure, unsure])
        candidates += [(features, (1, 2)), (features[:, :2], (1, None)), (features[:, [0, 2]], (None, 1))]
    elif distinct == 2:
        candidates.append((np.column_stack([ones, sure + unsure]), (1, 1)))
    fits = []
    for features, places in candidates:
        coefficients = fit_logistic(features, cells.right, cells.count)
        a, b = (0.0 if place is None else float(coefficients[place]) for place in places)
        loss = logistic_loss(features @ coefficients, cells.right, cells.count)
        fits.append((loss, {"a": a, "b": b, "c": float(coefficients[0])}))
    free = min(fits, key=lambda fit: fit[0])[1]
    ordered = min((fit for fit in fits if fit[1]["a"] >= 0 and fit[1]["b"] >= 0), key=lambda fit: fit[0])[1]
    if distinct == 1:
        note = "one distinct confidence: the map is a constant"
    elif ordered != free:
        held = " and ".join(name for name in ("a", "b") if ordered[name] == 0)
        note = _reversal(f"a {free['a']:.3g}, b {free['b']:.3g}", f"{held} held at 0")
    else:
        note = "two distinct confidences: a and b are one number" if distinct == 2 else ""
    return {**ordered}, free, note


def _fit_isotonic(cells: Cells) -> _Fitted:
    # Loading it takes a second, which runs that fit no map should not spend.
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(cells.confidence, cells.right / cells.count, sample_weight=cells.count)
    knots = tuple(float(value) for value in model.X_thresholds_)
    values = tuple(float(value) for value in model.y_thresholds_)
    note = ""
    if len(set(values)) == 1:
        note = "the map is a constant: confidences carry no increasing order"
    return {"confidence": knots, "frequency": values}, {}, note


def _reversal(fitted: str, remedy: str) -> str:
    return f"the best fit runs against the order of confidences ({fitted}), which no map may: {remedy}"


def _logarithms(confidence: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithm of the clipped confidence, and minus that of its complement: the two features of a beta map."""
    clipped = np.clip(confidence, CLIP, 1 - CLIP)
    return np.log(clipped), -np.log1p(-clipped)


def _sigmoid(log_odds: FloatArray) -> FloatArray:
    return np.asarray(special.expit(log_odds), dtype=np.float64)
