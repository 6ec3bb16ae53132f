"""Calibration errors over bins, their debiased versions, and the test against calibrated models."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.calibrated import simulate_right, simulation_cells
from assay.measure.ece import debiased_ece, ece, ece_test, squared_error
from assay.measure.judged import Judged


def reference_ece(confidence, correct, bins):
    edges = np.linspace(0, 1, bins + 1)
    error = 0.0
    for low, high in pairwise(edges):
        held = (confidence > low) & (confidence <= high) | (low == 0) & (confidence == 0)
        if held.any():
            error += held.mean() * abs(correct[held].mean() - confidence[held].mean())
    return error


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_equal_width_is_the_ten_line_reference(seed, bins):
    rng = np.random.default_rng(seed)
    confidence = rng.random(50)
    correct = rng.random(50) < 0.6
    expected = reference_ece(confidence, correct, bins)
    assert ece(Judged.of(confidence, correct), bins, "width") == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=60))
def test_with_a_bin_per_value_it_is_the_mean_gap_of_the_values(rows):
    confidence = np.array([step / 10 for step, _ in rows])
    correct = np.array([right for _, right in rows])
    gaps = [abs((correct[confidence == value] - value).sum()) for value in set(confidence)]
    assert ece(Judged.of(confidence, correct)) == pytest.approx(sum(gaps) / len(rows), abs=1e-12)


def test_copies_of_the_answers_change_no_error():
    rng = np.random.default_rng(3)
    confidence, correct = rng.integers(1, 10, 40) / 10, rng.random(40) < 0.5
    single = Judged.of(confidence, correct)
    tripled = Judged.of(np.tile(confidence, 3), np.tile(correct, 3), np.tile(np.arange(40), 3))
    assert ece(tripled) == pytest.approx(ece(single))
    assert debiased_ece(tripled) == pytest.approx(debiased_ece(single))
    assert squared_error(tripled) == pytest.approx(squared_error(single))
    assert ece_test(tripled).ece == pytest.approx(ece_test(single).ece)


def test_debiasing_takes_chance_off_and_leaves_a_large_error():
    rng = np.random.default_rng(4)
    errors, debiased, squared = [], [], []
    for _ in range(300):
        confidence = rng.uniform(0.5, 1, 200)
        judged = Judged.of(confidence, rng.random(200) < confidence)
        errors.append(ece(judged, 10))
        debiased.append(debiased_ece(judged, 10))
        squared.append(squared_error(judged, 10))
    assert np.mean(debiased) < 0.75 * np.mean(errors)
    # The squared error is unbiased: its mean is 0 within three standard errors.
    assert abs(np.mean(squared)) < 3 * np.std(squared) / np.sqrt(300)
    wrong = Judged.of(np.full(400, 0.9), np.arange(400) < 200)
    assert debiased_ece(wrong) == pytest.approx(0.4, abs=1e-3)
    assert squared_error(wrong) == pytest.approx(0.16, abs=1e-3)


def test_the_squared_error_needs_two_items_in_a_bin():
    with pytest.raises(ValueError, match="at least two items"):
        squared_error(Judged.of([0.3, 0.8], [0, 1]))


def test_a_calibrated_model_is_the_yardstick():
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.5, 1, 2000)
    calibrated = ece_test(Judged.of(confidence, rng.random(2000) < confidence))
    assert calibrated.p_value > 0.05
    assert 0 < calibrated.calibrated_mean < calibrated.calibrated_high
    overconfident = ece_test(Judged.of(confidence, rng.random(2000) < confidence - 0.1))
    assert overconfident.p_value == 1 / 1000
    assert overconfident.ece > overconfident.calibrated_high


def test_where_items_repeat_the_first_answers_are_tested():
    confidence = [0.9, 0.6, 0.8, 0.7]
    judged = Judged.of(confidence, [1, 0, 1, 0], ["a", "a", "b", "b"], runs=[1, 2, 2, 1])
    test = ece_test(judged)
    assert test.answers == 2
    assert test.ece == pytest.approx((0.1 + 0.7) / 2)
    assert "items repeat: tested on the first answer of each, 2 of 4" in test.note


def test_certain_answers_say_that_chance_plays_no_part():
    test = ece_test(Judged.of([1.0, 1.0, 0.0], [1, 1, 0]))
    assert test.ece == 0
    assert test.p_value == 1
    assert "every confidence is 0 or 1" in test.note


def test_the_same_seed_gives_the_same_test_and_another_does_not():
    judged = Judged.of(np.linspace(0.5, 1, 50), np.arange(50) % 3 > 0)
    assert ece_test(judged, seed=1) == ece_test(judged, seed=1)
    assert ece_test(judged, seed=1) != ece_test(judged, seed=2)


def test_simulated_counts_have_the_mean_and_spread_of_calibrated_answers():
    cells = Judged.of([0.3] * 20 + [0.9] * 50 + [1.0], [0] * 71).cells
    right = np.concatenate(list(simulate_right(cells, 4000, seed=6)))
    np.testing.assert_allclose(right.mean(axis=0), cells.count * cells.confidence, rtol=0.02)
    np.testing.assert_allclose(right.var(axis=0), [4.2, 4.5, 0.0], rtol=0.1)


def test_very_many_continuous_answers_are_simulated_in_groups_of_the_same_spread():
    rng = np.random.default_rng(7)
    confidence = rng.uniform(0.5, 1, 30_000)
    cells = Judged.of(confidence, np.ones(30_000)).cells
    grouped = simulation_cells(cells)
    assert len(grouped) < 5000
    variance = (grouped.count * grouped.confidence * (1 - grouped.confidence)).sum()
    assert variance == pytest.approx((confidence * (1 - confidence)).sum(), rel=1e-6)


@pytest.mark.parametrize("figure", [ece, debiased_ece, squared_error, ece_test])
def test_nothing_readable_is_an_error(figure):
    with pytest.raises(ValueError, match="no readable answer"):
        figure(Judged.of([], []))


def test_no_simulation_is_refused():
    with pytest.raises(ValueError, match="simulations must be at least 1, got 0"):
        ece_test(Judged.of([0.5], [1]), simulations=0)
