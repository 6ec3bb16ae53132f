"""Logistic regression of correctness on one or two features, for counted answers.

Shared by the calibration line and the recalibration maps. Answers enter as counts per distinct confidence, so the cost
does not grow with the number of answers, and the fit is Newton's method on a convex loss: there is one optimum or, when
a threshold on the confidence splits right from wrong, none.
"""

import numpy as np
import numpy.typing as npt

from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray

CLIP = 1e-6
"""Confidences are taken no closer to 0 and 1 than this before the logarithm of their odds."""

_ITERATIONS = 200


def log_odds(confidence: npt.ArrayLike) -> FloatArray:
    """Logarithm of the odds, with confidences clipped to [1e-6, 1 - 1e-6]."""
    clipped = np.clip(np.asarray(confidence, dtype=np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)


def separable(cells: Cells) -> bool:
    """Whether some confidence splits right from wrong answers, in either direction: no finite slope fits best."""
    right, wrong = cells.confidence[cells.right > 0], cells.confidence[cells.wrong > 0]
    if not len(right) or not len(wrong):
        return True
    return bool(right[0] >= wrong[-1] or wrong[0] >= right[-1])


def logistic_loss(log_odds: FloatArray, successes: npt.ArrayLike, trials: npt.ArrayLike) -> float:
    """Sum over the trials of the log loss at the given log odds, in nats."""
    return float((np.asarray(trials) * np.logaddexp(0.0, log_odds) - np.asarray(successes) * log_odds).sum())


def fit_logistic(
    features: FloatArray,
    successes: npt.ArrayLike,
    trials: npt.ArrayLike,
    offset: FloatArray | float = 0.0,
) -> FloatArray:
    """Find the coefficients that minimise the log loss, by damped Newton steps.

    Parameters
    ----------
    features : (k, f) float64
        Include a column of ones for an intercept. Columns must not be linearly dependent.
    successes, trials : array-like, shape (k,)
        Need not be whole numbers.
    offset : (k,) float64 or float
        Added to the log odds with a coefficient of 1.

    Returns
    -------
    (f,) float64

    Raises
    ------
    ValueError
        If no optimum is reached, which is so for separable data.
    """
    successes, trials = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    coefficients = np.zeros(features.shape[1])
    loss = logistic_loss(features @ coefficients + offset, successes, trials)
    for _ in range(_ITERATIONS):
        fitted = _sigmoid(features @ coefficients + offset)
        gradient = features.T @ (trials * fitted - successes)
        curvature = (features * (trials * fitted * (1 - fitted))[:, None]).T @ features
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            break
        if float(gradient @ step) <= 1e-20 * float(trials.sum()):
            return coefficients
        coefficients, loss, moved = _descend(coefficients, step, loss, features, successes, trials, offset)
        if not moved:
            # Rounding, not the data, keeps the loss from falling further.
            return coefficients
    raise ValueError("the logistic regression has no finite optimum")


def _descend(
    coefficients: FloatArray,
    step: FloatArray,
    loss: float,
    features: FloatArray,
    successes: FloatArray,
    trials: FloatArray,
    offset: FloatArray | float,
) -> tuple[FloatArray, float, bool]:
    """Take the largest of the halved steps that lowers the loss; say whether there was one."""
    for halvings in range(40):
        candidate = coefficients - step / 2**halvings
        there = logistic_loss(features @ candidate + offset, successes, trials)
        if there < loss:
            return candidate, there, True
    return coefficients, loss, False


def _sigmoid(log_odds: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)), dtype=np.float64)
