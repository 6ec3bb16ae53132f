"""Paired comparison of two variants: 5,000 resamples of 100,000 pairs, against resampling the pairs in a numpy loop."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from timing import Row, seconds

from assay.measure.differences import ItemDraws, mean_bounds, share_bounds
from assay.measure.scores import log_losses, squared_errors

PAIRS, RESAMPLES, CLASSES = 100_000, 5_000, 5
CONFIDENCE, SEED = 0.95, 0
TWENTIETH = RESAMPLES // 20

Array = npt.NDArray[np.float64]


def rows() -> Iterator[Row]:
    """Time every metric both ways; `bar` is the least ratio wanted."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, CLASSES, PAIRS)
    right = [rng.random(PAIRS) < accuracy for accuracy in (0.80, 0.78)]
    stated = [np.clip(rng.normal(0.8, 0.1, PAIRS), 0, 1) for _ in right]
    hundredths = [one.round(2) for one in stated]

    def scored(loss: Callable[..., Array], confidence: list[Array]) -> Array:
        return loss(confidence[0], right[0]) - loss(confidence[1], right[1])

    accuracy = right[0].astype(float) - right[1]
    work: list[tuple[str, Array, bool, float]] = [
        ("accuracy", accuracy, True, 50),
        ("class accuracy", accuracy[label == 0], True, 50),
        ("Brier score, hundredths", scored(squared_errors, hundredths), False, 1),
        ("Brier score, continuous", scored(squared_errors, stated), False, 1),
        ("log loss, hundredths", scored(log_losses, hundredths), False, 1),
        ("log loss, continuous", scored(log_losses, stated), False, 1),
    ]
    for one in work:
        yield _row(*one)


def _row(name: str, differences: Array, share: bool, bar: float) -> Row:
    ours = seconds(lambda: _interval(differences, share))
    # A twentieth of the loop tells its time: every turn costs the same.
    other = 20 * seconds(lambda: _loop(differences, TWENTIETH))
    work = f"paired {name}, {len(differences):,} pairs, {RESAMPLES:,} resamples"
    return Row(
        work,
        ours,
        "numpy loop over resampled pairs",
        other,
        bar,
    )


def _interval(differences: Array, share: bool) -> object:
    if share:
        return share_bounds(differences, CONFIDENCE, RESAMPLES, SEED)
    return mean_bounds(differences, CONFIDENCE, ItemDraws(RESAMPLES, SEED))


def _loop(differences: Array, resamples: int) -> Array:
    rng = np.random.default_rng(SEED)
    means = np.empty(resamples)
    for turn in range(resamples):
        means[turn] = differences[rng.integers(0, len(differences), len(differences))].mean()
    return np.quantile(means, [0.025, 0.975])
