"""Binned reliability: parity with scikit-learn, edges, collapse, and intervals by item."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from assay.measure.intervals import clustered_proportion
from assay.measure.judged import Judged
from assay.measure.reliability import binned_curve, cut

hundredths = st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=120)


@pytest.mark.parametrize(("scheme", "strategy"), [("width", "uniform"), ("mass", "quantile")])
@pytest.mark.parametrize("bins", [5, 10, 15])
def test_the_curve_is_that_of_scikit_learn(scheme, strategy, bins):
    rng = np.random.default_rng(bins)
    confidence = rng.random(500)
    correct = rng.random(500) < confidence
    share, mean = calibration_curve(correct, confidence, n_bins=bins, strategy=strategy)
    curve = binned_curve(Judged.of(confidence, correct), bins, scheme)
    np.testing.assert_allclose(curve.accuracy, share, rtol=0, atol=1e-9)
    np.testing.assert_allclose(curve.confidence, mean, rtol=0, atol=1e-9)


@given(hundredths, st.integers(1, 20), st.sampled_from(["mass", "width"]))
def test_every_answer_is_in_one_bin_between_its_edges(rows, bins, scheme):
    confidence = np.array([step / 100 for step, _ in rows])
    judged = Judged.of(confidence, [right for _, right in rows])
    curve = binned_curve(judged, bins, scheme)
    assert curve.answers.sum() == len(rows)
    assert (curve.answers > 0).all()
    assert len(curve) <= bins
    assert (curve.confidence >= curve.low - 1e-9).all()
    assert (curve.confidence <= curve.high + 1e-9).all()
    layout = cut(judged.cells, bins, scheme)
    np.testing.assert_array_equal(layout.edges[[0, -1]], [0, 1])


@pytest.mark.parametrize("scheme", ["mass", "width"])
def test_the_last_bin_includes_one_and_the_first_zero(scheme):
    curve = binned_curve(Judged.of([0.0, 0.001, 0.999, 1.0], [0, 0, 1, 1]), 2, scheme)
    assert curve.answers.tolist() == [2, 2]


def test_a_confidence_at_an_inner_edge_is_in_the_bin_below_however_it_was_computed():
    third = [2 / 3, 1 - 1 / 3, 0.6666666666666666]
    assert len(set(third)) == 2
    curve = binned_curve(Judged.of([*third, 0.7], [1, 1, 1, 0]), 15, "width")
    assert curve.answers.tolist() == [3, 1]
    assert curve.high[0] == pytest.approx(2 / 3)


@given(hundredths)
def test_with_no_more_values_than_bins_each_value_is_a_bin(rows):
    judged = Judged.of([step / 100 for step, _ in rows], [right for _, right in rows])
    distinct = len(judged.cells)
    curve = binned_curve(judged, distinct)
    np.testing.assert_allclose(curve.confidence, judged.cells.confidence)
    np.testing.assert_array_equal(curve.answers, judged.cells.count)


def test_bins_of_equal_mass_that_cannot_be_filled_say_so():
    one = binned_curve(Judged.of([0.9] * 20, [1] * 13 + [0] * 7), 10)
    assert len(one) == 1
    assert one.note == "one distinct confidence: 1 of 10 bins, one per value"
    few = binned_curve(Judged.of([0.8, 0.9] * 5, [1, 0] * 5), 10)
    assert few.note == "2 distinct confidences: 2 of 10 bins, one per value"
    heaped = np.concatenate([np.full(90, 0.9), np.linspace(0.1, 0.5, 10)])
    assert "too often to fill 10 bins" in binned_curve(Judged.of(heaped, np.ones(100)), 10).note
    rng = np.random.default_rng(0)
    assert binned_curve(Judged.of(rng.random(100), np.ones(100)), 10).note == ""


def test_empty_bins_of_equal_width_are_left_out_and_counted():
    curve = binned_curve(Judged.of([0.05, 0.95], [0, 1]), 10, "width")
    assert len(curve) == 2
    assert curve.note == "8 of 10 bins hold no answer and are left out"


def test_each_interval_is_clustered_by_item():
    rng = np.random.default_rng(2)
    items = np.repeat(np.arange(30), 5)
    confidence = rng.choice([0.6, 0.8], 150)
    correct = np.repeat(rng.random(30) < 0.7, 5)
    curve = binned_curve(Judged.of(confidence, correct, items), 10)
    for number, value in enumerate([0.6, 0.8]):
        rows = confidence == value
        expected = clustered_proportion(correct[rows], np.ones(rows.sum()), items[rows])
        assert curve.accuracy_low[number] == pytest.approx(expected.low)
        assert curve.accuracy_high[number] == pytest.approx(expected.high)
        assert curve.items[number] == len(set(items[rows]))


def test_the_table_has_a_row_per_bin():
    table = binned_curve(Judged.of([0.2, 0.9], [0, 1])).table()
    assert list(table["answers"]) == [1, 1]
    assert table.notna().all().all()


@pytest.mark.parametrize(("bins", "scheme", "message"), [(0, "mass", "at least 1"), (5, "equal", "'mass' or 'width'")])
def test_unusable_input_is_named(bins, scheme, message):
    with pytest.raises(ValueError, match=message):
        binned_curve(Judged.of([0.5], [1]), bins, scheme)


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        binned_curve(Judged.of([np.nan], [1]))
