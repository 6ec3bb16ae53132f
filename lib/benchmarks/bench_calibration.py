"""Calibration figures resampled, against what a user would write instead.

Each row is measured in one run: ours from plain arrays to the resampled figures (checking and counting included), and
the other with the same statistic written as fast as rows allow.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats
from timing import Row, seconds

from assay.measure.corp import corp_curve
from assay.measure.ece import ece_test
from assay.measure.judged import Judged
from assay.measure.resample import resample_calibration
from assay.measure.smooth import smooth_ece

ANSWERS = 100_000
RESAMPLES = 2_000
BINS = 15


def rows(answers: int = ANSWERS, resamples: int = RESAMPLES) -> Iterator[Row]:
    """Time our resampling and the other's, kind by kind."""
    rng = np.random.default_rng(0)
    continuous = rng.uniform(0.5, 1, answers)
    hundredths = np.round(continuous, 2)
    correct = rng.random(answers) < continuous
    name = f"ECE, Brier, accuracy; {resamples:,} resamples of {answers:,}"
    for kind, confidence, bar in (("hundredths", hundredths, 100.0), ("continuous", continuous, 5.0)):
        ours = seconds(partial(ours_resampled, confidence, correct, None, resamples), 1)
        other = seconds(partial(scipy_bootstrap, confidence, correct, resamples), 1)
        yield Row(f"{name}, {kind}", ours, "scipy.stats.bootstrap", other, bar)
    items = np.repeat(np.arange(answers // 10), 10)
    for kind, confidence in (("hundredths", hundredths), ("continuous", continuous)):
        ours = seconds(partial(ours_resampled, confidence, correct, items, resamples), 1)
        other = seconds(partial(loop_over_items, confidence, correct, resamples), 1)
        yield Row(f"{name}, {kind}, ten per item", ours, "loop over resampled items", other, 10.0)


def growth(sizes: tuple[int, ...] = (10**4, 10**5, 10**6, 10**7)) -> Iterator[tuple[str, int, float]]:
    """Yield (work, answers, seconds) for continuous confidences, the dearest case."""
    rng = np.random.default_rng(1)
    for answers in sizes:
        confidence = rng.uniform(0.5, 1, answers)
        correct = rng.random(answers) < confidence
        judged = Judged.of(confidence, correct)
        # The counts are kept by the answers, so that only this first use pays for them.
        yield "count the answers", answers, seconds(partial(getattr, judged, "cells"), 1)
        for work, figure in WORKS.items():
            yield work, answers, seconds(partial(figure, judged), 1)


WORKS: dict[str, Callable[[Judged], object]] = {
    "calibration test, 999 simulations": ece_test,
    "isotonic curve with band": corp_curve,
    "smooth calibration error": smooth_ece,
}


def ours_resampled(
    confidence: npt.NDArray[np.float64],
    correct: npt.NDArray[np.bool_],
    items: npt.NDArray[np.intp] | None,
    resamples: int,
) -> None:
    resample_calibration(Judged.of(confidence, correct, items), BINS, "width", resamples)


def figures(confidence: npt.NDArray[np.float64], correct: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Calibration error, Brier score and accuracy from rows, in a few passes."""
    place = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    gaps = np.bincount(place, weights=correct - confidence, minlength=BINS)
    size = len(confidence)
    return np.array([np.abs(gaps).sum() / size, ((correct - confidence) ** 2).mean(), correct.mean()])


def scipy_bootstrap(confidence: npt.NDArray[np.float64], correct: npt.NDArray[np.bool_], resamples: int) -> None:
    stats.bootstrap(
        (confidence, correct.astype(float)),
        figures,
        paired=True,
        vectorized=False,
        n_resamples=resamples,
        method="percentile",  # BCa would recompute the rows once more for every answer
        batch=100,
        rng=np.random.default_rng(2),
    )


def loop_over_items(confidence: npt.NDArray[np.float64], correct: npt.NDArray[np.bool_], resamples: int) -> None:
    rng = np.random.default_rng(3)
    by_item = np.arange(len(confidence)).reshape(-1, 10)
    outcome = correct.astype(float)
    for _ in range(resamples):
        picked = by_item[rng.integers(len(by_item), size=len(by_item))].ravel()
        figures(confidence[picked], outcome[picked])
