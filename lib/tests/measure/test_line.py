"""Calibration intercept and slope, and the logistic regression behind them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from assay.measure.judged import Judged
from assay.measure.line import calibration_line
from assay.measure.logistic import fit_logistic, log_odds, separable


def sample(seed, n=400, slope=1.0, intercept=0.0):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.2, 0.99, n)
    true = 1 / (1 + np.exp(-(intercept + slope * log_odds(confidence))))
    return confidence, rng.random(n) < true


@pytest.mark.parametrize("seed", range(3))
def test_the_slope_is_that_of_scikit_learn(seed):
    confidence, correct = sample(seed, slope=0.6)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds(confidence)[:, None], correct)
    line = calibration_line(Judged.of(confidence, correct))
    assert line.slope.estimate == pytest.approx(model.coef_[0, 0], abs=1e-4)


def test_the_intercept_makes_the_mean_of_the_shifted_confidences_the_accuracy():
    confidence, correct = sample(3, intercept=-0.5)
    line = calibration_line(Judged.of(confidence, correct))
    shifted = 1 / (1 + np.exp(-(log_odds(confidence) + line.intercept.estimate)))
    assert shifted.mean() == pytest.approx(correct.mean(), abs=1e-9)
    assert line.intercept.high < 0


def test_intervals_cover_zero_and_one_for_a_calibrated_model():
    covered = np.zeros(2)
    for seed in range(300):
        line = calibration_line(Judged.of(*sample(seed, n=200)))
        covered += [line.intercept.low <= 0 <= line.intercept.high, line.slope.low <= 1 <= line.slope.high]
    assert (covered >= 0.92 * 300).all()


def test_copies_of_every_answer_change_nothing():
    confidence, correct = sample(4, n=80)
    single = calibration_line(Judged.of(confidence, correct))
    repeated = calibration_line(Judged.of(np.repeat(confidence, 5), np.repeat(correct, 5), np.repeat(np.arange(80), 5)))
    for name in ("intercept", "slope"):
        ours, theirs = getattr(repeated, name), getattr(single, name)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_certain_answers_are_clipped_not_infinite():
    confidence, correct = sample(5)
    line = calibration_line(Judged.of(np.append(confidence, [0.0, 1.0]), np.append(correct, [True, False])))
    assert np.isfinite([line.slope.low, line.slope.high, line.intercept.estimate]).all()


@pytest.mark.parametrize(
    ("confidence", "correct", "intercept", "note"),
    [
        ([0.5, 0.6, 0.7], [1, 1, 1], False, "every answer is right"),
        ([0.5, 0.6, 0.7], [0, 0, 0], False, "every answer is wrong"),
        ([0.8, 0.8, 0.8], [1, 0, 1], True, "no slope: one distinct confidence"),
        ([0.9, 0.8, 0.3, 0.2], [1, 1, 0, 0], True, "one confidence splits right from wrong"),
        ([0.9, 0.8, 0.3, 0.2], [0, 0, 1, 1], True, "one confidence splits right from wrong"),
        ([0.9, 0.5, 0.5, 0.2], [1, 1, 0, 0], True, "one confidence splits right from wrong"),
        ([0.9, 0.3], [0, 1], False, "fewer than three items"),
        ([0.9], [1], False, "every answer is right"),
    ],
)
def test_what_the_answers_do_not_determine_is_left_out_with_a_reason(confidence, correct, intercept, note):
    line = calibration_line(Judged.of(confidence, correct))
    assert (line.intercept is not None) == intercept
    assert line.slope is None
    assert note in line.note


def test_separability_is_seen_exactly():
    assert separable(Judged.of([0.2, 0.5, 0.5, 0.9], [0, 0, 1, 1]).cells)
    assert not separable(Judged.of([0.2, 0.5, 0.6, 0.9], [0, 1, 0, 1]).cells)
    assert separable(Judged.of([0.2], [1]).cells)


def test_a_fit_without_an_optimum_is_an_error():
    features = np.column_stack([np.ones(4), [-2.0, -1.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="no finite optimum"):
        fit_logistic(features, [0, 0, 1, 1], np.ones(4))


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        calibration_line(Judged.of([], []))
