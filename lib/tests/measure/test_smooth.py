"""The smooth calibration error against a direct double loop."""

import numpy as np
import pytest

from assay.measure.judged import Judged
from assay.measure.smooth import smooth_ece

POINTS = 4000


def direct(confidence, correct):
    """Spread every residual by a reflected normal kernel, one by one, and bisect for the fixed point."""
    points = (np.arange(POINTS) + 0.5) / POINTS

    def error(width):
        total = np.zeros(POINTS)
        for stated, right in zip(confidence, correct, strict=True):
            for turn in range(-2, 3):
                for image in (2 * turn + stated, 2 * turn - stated):
                    total += (right - stated) * np.exp(-(((points - image) / width) ** 2) / 2)
        return np.abs(total / (width * np.sqrt(2 * np.pi)) / len(confidence)).mean()

    low, high = 0.0, 1.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (low, middle) if error(middle) < middle else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_direct_double_loop_within_the_discretisation(seed):
    rng = np.random.default_rng(seed)
    confidence = rng.random(60)
    # Too sure at both ends, so that residuals of either sign meet and the width matters.
    correct = rng.random(60) < 0.5 + 0.2 * (confidence - 0.5)
    found = smooth_ece(Judged.of(confidence, correct))
    assert found.error == pytest.approx(direct(confidence, correct), rel=1e-5, abs=1e-6)
    assert found.width == pytest.approx(found.error, abs=1e-9)


def test_a_constant_confidence_is_off_by_its_gap():
    assert smooth_ece(Judged.of([0.9] * 20, [1] * 13 + [0] * 7)).error == pytest.approx(0.25, abs=1e-9)


def test_certain_and_right_is_no_error():
    assert smooth_ece(Judged.of([1.0, 1.0, 0.0], [1, 1, 0])).error < 1e-6


def test_copies_of_the_answers_change_nothing():
    rng = np.random.default_rng(9)
    confidence, correct = rng.random(100), rng.random(100) < 0.5
    single = smooth_ece(Judged.of(confidence, correct))
    assert smooth_ece(Judged.of(np.tile(confidence, 3), np.tile(correct, 3))).error == pytest.approx(single.error)


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        smooth_ece(Judged.of([], []))
