"""Counts of distinct confidences: they add up, keep quantiles, and group without losing an answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.cells import Cells
from assay.measure.ece import ece
from assay.measure.judged import Judged
from assay.measure.smooth import smooth_ece

answers = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=80)


def cells_of(rows):
    return Judged.of([step / 20 for step, _ in rows], [right for _, right in rows]).cells


@given(answers, answers)
def test_counts_of_two_parts_add_up_to_those_of_the_whole(first, second):
    together, apart = cells_of(first + second), cells_of(first) + cells_of(second)
    for name in ("confidence", "right", "wrong"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))


@given(answers, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_quantiles_are_those_of_the_single_answers(rows, shares):
    expected = np.quantile([step / 20 for step, _ in rows], shares)
    np.testing.assert_allclose(cells_of(rows).quantiles(shares), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", ["even", "saturated", "tailed"])
def test_grouping_keeps_counts_means_and_edges(shape):
    rng = np.random.default_rng(1)
    confidence = {
        "even": rng.random(5000),
        "saturated": 1 - rng.random(5000) * 1e-6,
        "tailed": np.exp(-rng.exponential(3, 5000)),
    }[shape]
    cells = Judged.of(confidence, rng.random(5000) < confidence).cells
    edges = np.quantile(confidence, [0.3037, 0.6012])
    grouped = cells.grouped(200, edges)
    assert len(grouped) <= 203
    assert grouped.n == cells.n
    assert grouped.right.sum() == cells.right.sum()
    assert (np.diff(grouped.confidence) > 0).all()
    assert (grouped.confidence * grouped.count).sum() == pytest.approx(confidence.sum())
    for edge in edges:
        assert grouped.count[grouped.confidence <= edge].sum() == (confidence <= edge).sum()
    # What the groups hide is a vanishing share of the scatter.
    hidden = 1 - np.cov(grouped.confidence, fweights=grouped.count) / np.var(confidence, ddof=1)
    assert 0 <= hidden < 1e-3


def test_few_values_are_left_as_they_are():
    cells = cells_of([(1, True), (5, False)])
    assert cells.grouped(10) is cells


def test_counts_are_found_alike_for_few_values_and_for_many():
    rng = np.random.default_rng(3)
    for confidence in (rng.integers(0, 5, 2000) / 5, rng.random(2000)):
        correct = rng.random(2000) < 0.5
        cells = Cells.of(confidence, correct)
        np.testing.assert_array_equal(cells.confidence, np.unique(confidence))
        assert cells.right.sum() == correct.sum()
        place = np.searchsorted(cells.confidence, confidence)
        np.testing.assert_array_equal(cells.count, np.bincount(place))


def test_errors_of_counted_parts_are_those_of_the_whole():
    rng = np.random.default_rng(4)
    confidence, correct = rng.integers(50, 100, 900) / 100, rng.random(900) < 0.7
    parts = sum(
        (Cells.of(confidence[start::3], correct[start::3]) for start in range(1, 3)),
        Cells.of(confidence[::3], correct[::3]),
    )
    whole = Judged.of(confidence, correct)
    assert ece(parts) == pytest.approx(ece(whole))
    assert smooth_ece(parts) == smooth_ece(whole)


def test_no_counted_answer_is_an_error():
    with pytest.raises(ValueError, match="no answer is counted"):
        ece(Cells.of(np.array([]), np.array([], dtype=bool)))
