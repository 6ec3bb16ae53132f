"""Accuracy, Brier score and log loss: parity with scikit-learn and the stated edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from assay.measure.judged import Judged
from assay.measure.scores import accuracy, brier, brier_and_log_loss, log_loss

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(answers)
def test_scores_are_those_of_scikit_learn(rows):
    confidence, correct = map(np.array, zip(*rows, strict=True))
    judged = Judged.of(confidence, correct)
    expected = metrics.brier_score_loss(correct, confidence, labels=[False, True])
    assert brier(judged, resamples=20).interval.estimate == pytest.approx(expected, abs=1e-9)
    expected = metrics.log_loss(correct, confidence, labels=[False, True])
    assert log_loss(judged, resamples=20).interval.estimate == pytest.approx(expected, abs=1e-9)


@given(answers, st.sampled_from([brier, log_loss]))
def test_every_interval_holds_its_estimate(rows, score):
    confidence, correct = zip(*rows, strict=True)
    found = score(Judged.of(confidence, correct), resamples=50)
    interval = found.interval
    if math.isnan(interval.low):
        assert found.note.startswith("no interval")
    else:
        assert interval.low <= interval.estimate <= interval.high


@pytest.mark.parametrize("right", [True, False])
def test_without_one_of_the_outcomes_the_interval_allows_for_it_and_says_so(right):
    judged = Judged.of(np.full(20, 0.9), np.full(20, right))
    found = brier(judged)
    assert found.interval.width > 0.05
    assert f"no {'wrong' if right else 'right'} answer" in found.note
    share = 1 - accuracy(judged).low if right else accuracy(judged).high
    expected = share * 0.81 + (1 - share) * 0.01 if right else share * 0.01 + (1 - share) * 0.81
    assert (found.interval.high if right else found.interval.low) == pytest.approx(expected)


def test_both_scores_together_are_what_each_is_alone():
    rng = np.random.default_rng(61)
    judged = Judged.of(rng.random(80), rng.random(80) < 0.5, rng.integers(0, 30, 80))
    for together, alone in zip(
        brier_and_log_loss(judged, seed=2), (brier(judged, seed=2), log_loss(judged, seed=2)), strict=True
    ):
        ours, theirs = together.interval, alone.interval
        assert (ours.estimate, ours.low, ours.high) == pytest.approx((theirs.estimate, theirs.low, theirs.high))


def test_one_answer_gives_a_stated_interval():
    found = brier(Judged.of([0.8], [1]))
    assert found.interval.estimate == pytest.approx(0.04)
    assert found.interval.high > 0.4
    assert found.note


def test_one_item_answered_both_ways_has_no_interval_and_says_why():
    found = log_loss(Judged.of([0.8, 0.6], [1, 0], ["a", "a"]))
    assert math.isnan(found.interval.low)
    assert found.note == "no interval: one item"


def test_items_that_score_alike_have_no_interval_and_say_why():
    found = brier(Judged.of([0.5, 0.5], [1, 0]))
    assert found.interval.estimate == 0.25
    assert found.note == "no interval: every item scores the same"


def test_certain_and_wrong_answers_are_counted_at_both_ends():
    found = log_loss(Judged.of([1.0, 1.0, 0.0, 0.0, 0.999], [0, 1, 1, 0, 0]))
    assert found.certain_and_wrong == 2
    assert found.interval.estimate == pytest.approx((2 * 36.0436533891 - math.log(0.001)) / 5)


@pytest.mark.parametrize("score", [brier, log_loss])
def test_nothing_readable_is_an_error(score):
    with pytest.raises(ValueError, match="no readable answer"):
        score(Judged.of([], []))


def test_the_accuracy_of_nothing_is_unknown():
    assert not accuracy(Judged.of([], [])).known
