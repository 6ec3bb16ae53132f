"""The area under the ROC curve: parity with scikit-learn, ties, clustering and degenerate cases."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special
from sklearn.metrics import roc_auc_score

from assay.measure.judged import Judged
from assay.measure.ranking import auroc


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=60))
def test_it_is_the_area_of_scikit_learn_with_ties(rows):
    confidence, correct = map(np.array, zip(*rows, strict=True))
    assume(0 < correct.sum() < len(correct))
    found = auroc(Judged.of(confidence / 10, correct)).auroc
    assert found.estimate == pytest.approx(roc_auc_score(correct, confidence), abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.width > 0


def test_the_variance_is_that_of_delong():
    rng = np.random.default_rng(21)
    confidence = rng.uniform(0.3, 1, 400)
    correct = rng.random(400) < confidence
    right, wrong = confidence[correct], confidence[~correct]
    wins = (right[:, None] > wrong) + (right[:, None] == wrong) / 2
    area = wins.mean()
    # Biased variances of the placements, as the sum over items has it.
    variance = wins.mean(axis=1).var() / len(right) + wins.mean(axis=0).var() / len(wrong)
    found = auroc(Judged.of(confidence, correct)).auroc
    assert found.estimate == pytest.approx(area)
    rarer = min(len(right), len(wrong))
    assert found.n_effective == pytest.approx(min(400, area * (1 - area) / variance * (rarer - 1) / rarer))


def test_copies_of_every_answer_change_nothing():
    rng = np.random.default_rng(22)
    confidence, correct = rng.random(50), rng.random(50) < 0.5
    single = auroc(Judged.of(confidence, correct)).auroc
    repeated = auroc(Judged.of(np.repeat(confidence, 4), np.repeat(correct, 4), np.repeat(np.arange(50), 4))).auroc
    assert (repeated.low, repeated.high) == pytest.approx((single.low, single.high))


def test_the_interval_covers_the_truth():
    rng = np.random.default_rng(23)
    # Confidences uniform on (0, 1) and calibrated: the area is 5/6.
    covered = 0
    for _ in range(400):
        confidence = rng.random(80)
        found = auroc(Judged.of(confidence, rng.random(80) < confidence)).auroc
        covered += found.low <= 5 / 6 <= found.high
    assert covered >= 0.92 * 400


@pytest.mark.parametrize(("right", "area"), [([1, 1, 0, 0], 1.0), ([0, 0, 1, 1], 0.0)])
def test_a_perfect_order_has_an_interval_all_the_same(right, area):
    found = auroc(Judged.of([0.9, 0.8, 0.2, 0.1], right)).auroc
    assert found.estimate == area
    assert found.n_effective == 2
    assert found.width > 0.5


@pytest.mark.parametrize(("outcome", "missing"), [(1, "wrong"), (0, "right")])
def test_with_one_outcome_there_is_nothing_to_rank(outcome, missing):
    found = auroc(Judged.of([0.5, 0.6], [outcome, outcome]))
    assert not found.auroc.known
    assert found.note == f"no {missing} answer: there is nothing to rank"


def test_one_distinct_confidence_carries_no_order():
    found = auroc(Judged.of([0.9] * 4, [1, 0, 1, 1]))
    assert found.auroc.estimate == 0.5
    assert found.note == "one distinct confidence: it carries no order"


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        auroc(Judged.of([], []))


@pytest.mark.parametrize("area", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("wrong", [1, 2, 3, 5, 10])
def test_the_interval_covers_the_area_where_few_answers_are_wrong(area, wrong):
    rng = np.random.default_rng(wrong)
    apart = special.ndtri(area) * 2**0.5
    correct = np.arange(100) >= wrong
    covered = 0
    for _ in range(300):
        confidence = special.ndtr(rng.normal(apart * correct, 1.0))
        found = auroc(Judged.of(confidence, correct)).auroc
        covered += found.low <= area <= found.high
    assert covered >= 0.92 * 300


def test_an_order_that_is_nearly_perfect_promises_hardly_more_than_a_perfect_one():
    correct = np.arange(100) > 0
    others = np.linspace(0.505, 0.99, 99)
    perfect, nearly = (auroc(Judged.of(np.r_[wrong, others], correct)).auroc for wrong in (0.50, 0.51))
    assert (perfect.n_effective, nearly.n_effective) == (1, 1)
