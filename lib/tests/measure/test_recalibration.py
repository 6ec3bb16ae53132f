"""Recalibration maps: parity of the fits, order, and refusals."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from assay.measure.judged import Judged
from assay.measure.logistic import log_odds
from assay.measure.recalibration import KINDS, fit_recalibration, recalibrate
from assay.rules.recalibration import RecalibrationMap

SOURCE = {"calibration": "language_model", "elicitation": "verbal"}


def sample(seed, n=600):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.05, 1, n), 2)
    return confidence, rng.random(n) < 0.25 + 0.5 * confidence


def judged(confidence, correct):
    return Judged.of(confidence, correct, **SOURCE)


@pytest.mark.parametrize("seed", range(3))
def test_temperature_is_that_of_scikit_learn(seed):
    confidence, correct = sample(seed)
    clipped = np.clip(confidence, 1e-6, 1 - 1e-6)
    model = _TemperatureScaling().fit(np.column_stack([1 - clipped, clipped]), correct.astype(float))
    fitted = fit_recalibration(judged(confidence, correct), "temperature").map
    assert fitted.parameters["temperature"] == pytest.approx(1 / model.beta_, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_platt_is_that_of_scikit_learn_on_log_odds(seed):
    confidence, correct = sample(seed)
    model = _SigmoidCalibration().fit(log_odds(confidence), correct.astype(float))
    fitted = fit_recalibration(judged(confidence, correct), "platt").map
    assert fitted.parameters["slope"] == pytest.approx(-model.a_, abs=1e-4)
    assert fitted.parameters["intercept"] == pytest.approx(-model.b_, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_beta_is_a_logistic_regression_on_the_two_logarithms(seed):
    confidence, correct = sample(seed)
    clipped = np.clip(confidence, 1e-6, 1 - 1e-6)
    features = np.column_stack([np.log(clipped), -np.log(1 - clipped)])
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(features, correct)
    fitted = fit_recalibration(judged(confidence, correct), "beta")
    found = [fitted.unconstrained[name] for name in "abc"]
    assert found == pytest.approx([*model.coef_[0], model.intercept_[0]], abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_a_constrained_beta_map_is_the_best_with_a_and_b_at_least_zero(seed):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.01, 0.99, 200), 2)
    correct = rng.random(200) < 0.7 - 0.4 * (confidence - 0.5) ** 2
    features = np.column_stack([np.log(confidence), -np.log(1 - confidence), np.ones(200)])

    def loss(parameters):
        odds = features @ parameters
        return (np.logaddexp(0, odds) - correct * odds).sum()

    best = optimize.minimize(loss, [0.5, 0.5, 0.0], bounds=[(0, None), (0, None), (None, None)], tol=1e-12)
    fitted = fit_recalibration(judged(confidence, correct), "beta").map
    assert loss([fitted.parameters[name] for name in "abc"]) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize(("last", "held"), [((0.2, 0.5), "a"), ((0.5, 0.2), "b")])
def test_a_beta_map_is_held_at_the_face_on_which_the_best_one_lies(last, held):
    confidence = np.repeat([0.05, 0.2, 0.5, 0.8, 0.95], 20)
    correct = np.concatenate([np.arange(20) < 20 * share for share in (0.2, 0.2, 0.2, *last)])
    fitted = fit_recalibration(judged(confidence, correct), "beta")
    other = "b" if held == "a" else "a"
    assert fitted.unconstrained[held] < 0
    assert fitted.map.parameters[held] == 0
    assert fitted.map.parameters[other] > 0.2
    assert f"{held} held at 0" in fitted.note


@pytest.mark.parametrize("seed", range(3))
def test_isotonic_is_that_of_scikit_learn(seed):
    confidence, correct = sample(seed)
    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(confidence, correct)
    fitted = fit_recalibration(judged(confidence, correct), "isotonic").map
    grid = np.linspace(0, 1, 501)
    np.testing.assert_allclose(recalibrate(fitted, grid), model.predict(grid), rtol=0, atol=1e-9)


rows = st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=4, max_size=60)


@settings(deadline=None)
@given(rows, st.sampled_from(KINDS))
def test_every_map_is_ordered_finite_in_bounds_and_the_same_without_numpy(answers, kind):
    try:
        fitted = fit_recalibration(judged([step / 100 for step, _ in answers], [right for _, right in answers]), kind)
    except ValueError as error:
        reasons = ("a map needs right and wrong answers", "no finite optimum", "0.5 splits right from wrong")
        assert any(reason in str(error) for reason in reasons)  # noqa: PT017
        return
    grid = np.linspace(0, 1, 301)
    with_numpy = recalibrate(fitted.map, grid)
    assert np.isfinite(with_numpy).all()
    assert (with_numpy >= 0).all()
    assert (with_numpy <= 1).all()
    assert (np.diff(with_numpy) >= -1e-15).all()
    restored = RecalibrationMap.from_dict(json.loads(json.dumps(fitted.map.to_dict())))
    assert restored == fitted.map
    np.testing.assert_allclose([restored.apply(float(p)) for p in grid], with_numpy, rtol=0, atol=1e-12)


def test_a_map_keeps_its_source_range_and_items():
    answers = Judged.of([0.3, 0.3, 0.9, 0.6], [0, 0, 1, 1], ["a", "a", "b", "c"], **SOURCE)
    fitted = fit_recalibration(answers, "platt").map
    assert (fitted.calibration, fitted.elicitation) == ("language_model", "verbal")
    assert (fitted.low, fitted.high, fitted.items) == (0.3, 0.9, 3)


def test_a_fit_against_the_order_is_held_to_a_constant_and_said():
    confidence = np.repeat([0.2, 0.5, 0.9], 40)
    correct = np.concatenate([np.arange(40) < 36, np.arange(40) < 24, np.arange(40) < 10])
    fitted = fit_recalibration(judged(confidence, correct), "platt")
    assert fitted.unconstrained["slope"] < 0
    assert fitted.map.parameters["slope"] == 0
    assert special.expit(fitted.map.parameters["intercept"]) == pytest.approx(70 / 120, abs=0.01)
    assert "against the order of confidences" in fitted.note
    beta = fit_recalibration(judged(confidence, correct), "beta")
    assert (beta.map.parameters["a"], beta.map.parameters["b"]) == (0, 0)
    assert "a and b held at 0" in beta.note
    assert "the map is a constant" in fit_recalibration(judged(confidence, correct), "isotonic").note


@pytest.mark.parametrize("kind", KINDS)
def test_one_distinct_confidence_gives_a_map_that_is_right_on_average_there(kind):
    fitted = fit_recalibration(judged([0.9] * 400, [1] * 260 + [0] * 140), kind)
    assert fitted.map.apply(0.9) == pytest.approx(0.65, abs=2e-3)


def test_two_distinct_confidences_make_one_number_of_the_two_of_beta():
    fitted = fit_recalibration(judged([0.4] * 10 + [0.8] * 10, [1] * 3 + [0] * 7 + [1] * 6 + [0] * 4), "beta")
    assert fitted.map.apply(0.4) == pytest.approx(0.3)
    assert fitted.map.apply(0.8) == pytest.approx(0.6)
    assert "two distinct confidences" in fitted.note


def test_a_temperature_at_the_bound_says_so():
    flat = fit_recalibration(judged([0.9, 0.8, 0.9, 0.8], [0, 0, 0, 1]), "temperature")
    assert "every confidence becomes 0.5" in flat.note
    nothing = fit_recalibration(judged([0.5, 0.5], [0, 1]), "temperature")
    assert nothing.map.parameters["temperature"] == 1
    assert nothing.note


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("outcome", "word"), [(1, "right"), (0, "wrong")])
def test_one_outcome_alone_is_refused(kind, outcome, word):
    with pytest.raises(ValueError, match=f"all 3 are {word}"):
        fit_recalibration(judged([0.2, 0.5, 0.9], [outcome] * 3), kind)


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        (Judged.of([0.5, 0.6], [0, 1]), "platt", "belongs to the calibration"),
        (judged([0.5, 0.6], [0, 1]), "spline", "kind must be one of temperature, platt, beta, isotonic"),
        (judged([], []), "platt", "no readable answer"),
        (judged([0.9, 0.8, 0.3, 0.2], [1, 1, 0, 0]), "beta", "no finite optimum"),
        (judged([0.9, 0.8, 0.3, 0.2], [1, 1, 0, 0]), "temperature", "0.5 splits right from wrong"),
    ],
)
def test_what_cannot_be_fitted_is_refused(answers, kind, message):
    with pytest.raises(ValueError, match=message):
        fit_recalibration(answers, kind)


@pytest.mark.parametrize("values", [[0.5, 1.1], [np.nan]])
def test_only_confidences_are_recalibrated(values):
    fitted = fit_recalibration(judged(*sample(0)), "platt").map
    with pytest.raises(ValueError, match=r"confidence must lie in \[0, 1\]"):
        recalibrate(fitted, values)
