"""Scores of stated confidences: accuracy, Brier score and log loss, each with an interval over items.

Accuracy is a proportion and takes Wilson's interval at the effective number of items. Brier score and log loss are
means and take BCa bootstrap intervals over items. A sample without a single wrong answer (or a single right one) cannot
tell what the missing outcome would cost; the bound on that side then supposes as large a share of it as the Wilson
interval allows, and a note says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from assay.measure.intervals import FloatArray, Interval, clustered_proportion
from assay.measure.judged import Judged
from assay.measure.resample import DEFAULT_RESAMPLES, mean_intervals

Loss: TypeAlias = Callable[[FloatArray, npt.NDArray[np.bool_]], FloatArray]

EPSILON = float(np.finfo(np.float64).eps)
"""Log loss takes no outcome as less probable than this, as scikit-learn does for 64-bit floats."""


@dataclass(frozen=True)
class Score:
    """A mean score with its interval.

    Attributes
    ----------
    interval : Interval
    note : str
        Empty, or what a reader must know of the interval.
    """

    interval: Interval
    note: str = ""


@dataclass(frozen=True)
class LogLoss(Score):
    """A log loss, with the answers that dominate it.

    Attributes
    ----------
    certain_and_wrong : int
        Wrong answers stated at exactly 1, and right ones at exactly 0: each would cost an infinite loss and costs
        36.04 by the clip.
    """

    certain_and_wrong: int = 0


def accuracy(judged: Judged, confidence: float = 0.95) -> Interval:
    """Share of right answers among readable ones, clustered by item; unknown if there is none."""
    return clustered_proportion(judged.correct, np.ones(len(judged)), judged.item, confidence)


def brier(judged: Judged, confidence: float = 0.95, resamples: int = DEFAULT_RESAMPLES, seed: int = 0) -> Score:
    """Mean squared difference of confidence and outcome, in [0, 1]: 0 is best, and 0.25 is what 0.5 for all gives.

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Brier (1950), https://doi.org/10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
    """
    return _means_over_items(judged, (squared_errors,), confidence, resamples, seed)[0]


def log_loss(judged: Judged, confidence: float = 0.95, resamples: int = DEFAULT_RESAMPLES, seed: int = 0) -> LogLoss:
    """Mean of minus the natural logarithm of the probability given to what happened, in nats; 0 is best.

    Probabilities are clipped at the spacing of 64-bit floats, 2.2e-16, as scikit-learn does.

    Raises
    ------
    ValueError
        If no answer is readable.
    """
    return _with_certain(judged, _means_over_items(judged, (log_losses,), confidence, resamples, seed)[0])


def brier_and_log_loss(
    judged: Judged, confidence: float = 0.95, resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> tuple[Score, LogLoss]:
    """Both scores from the same resamples: what `brier` and `log_loss` give one by one, in about half the time."""
    losses = (squared_errors, log_losses)
    squared, logarithmic = _means_over_items(judged, losses, confidence, resamples, seed)
    return squared, _with_certain(judged, logarithmic)


def squared_errors(confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> FloatArray:
    """Squared difference of confidence and outcome, per answer."""
    return np.asarray((confidence - correct) ** 2, dtype=np.float64)


def log_losses(confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> FloatArray:
    """Minus the logarithm of the probability of the outcome, per answer."""
    given = np.where(correct, confidence, 1 - confidence)
    return np.asarray(-np.log(np.clip(given, EPSILON, 1 - EPSILON)), dtype=np.float64)


def _means_over_items(
    judged: Judged, losses: Sequence[Loss], confidence: float, resamples: int, seed: int
) -> list[Score]:
    judged.require_any()
    values = [loss(judged.confidence, judged.correct) for loss in losses]
    sums = np.column_stack([np.bincount(judged.item, weights=each, minlength=judged.items) for each in values])
    answers = np.bincount(judged.item, minlength=judged.items)
    intervals = mean_intervals(sums, answers, confidence, resamples, seed)
    if judged.correct.all() or not judged.correct.any():
        return [
            _widened(judged, interval, each, loss, confidence)
            for interval, each, loss in zip(intervals, values, losses, strict=True)
        ]
    return [_known(judged, interval) for interval in intervals]


def _known(judged: Judged, interval: Interval) -> Score:
    if interval.width > 0:
        return Score(interval)
    # Both outcomes occur, yet every item scores the same: nothing here can say how far another item would be off.
    unknown = Interval(interval.estimate, float("nan"), float("nan"), interval.n, interval.n_effective)
    return Score(unknown, "no interval: " + ("one item" if judged.items == 1 else "every item scores the same"))


def _widened(judged: Judged, interval: Interval, losses: FloatArray, loss: Loss, confidence: float) -> Score:
    """Let the interval reach what the unseen outcome would cost at the largest share that is still plausible."""
    unseen = "wrong" if judged.correct.all() else "right"
    hits = accuracy(judged, confidence)
    share = 1 - hits.low if unseen == "wrong" else hits.high
    bound = float(((1 - share) * losses + share * loss(judged.confidence, ~judged.correct)).mean())
    low, high = min(interval.low, bound), max(interval.high, bound)
    widened = Interval(interval.estimate, low, high, interval.n, interval.n_effective)
    return Score(widened, f"no {unseen} answer: the interval allows for a share of {share:.3f}")


def _with_certain(judged: Judged, score: Score) -> LogLoss:
    certain = (judged.confidence == 1) & ~judged.correct | (judged.confidence == 0) & judged.correct
    return LogLoss(score.interval, score.note, int(certain.sum()))
