"""The isotonic curve, the decomposition of the Brier score, and the consistency band."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from assay.measure.corp import consistency_band, corp_curve, decompose_brier, isotonic_frequency
from assay.measure.judged import Judged

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)
# scikit-learn takes confidences for equal that differ by less than 1e-10 or so.
thousandths = st.lists(st.tuples(st.integers(0, 1000).map(lambda k: k / 1000), st.booleans()), min_size=1, max_size=60)


@given(thousandths)
def test_the_curve_is_the_isotonic_regression_of_scikit_learn(rows):
    confidence, correct = map(np.array, zip(*rows, strict=True))
    cells = Judged.of(confidence, correct).cells
    expected = IsotonicRegression().fit(cells.confidence, cells.right / cells.count, sample_weight=cells.count)
    np.testing.assert_allclose(isotonic_frequency(cells), expected.predict(cells.confidence), rtol=0, atol=1e-9)


@given(answers)
def test_the_parts_add_up_to_the_brier_score(rows):
    confidence, correct = map(np.array, zip(*rows, strict=True))
    parts = decompose_brier(Judged.of(confidence, correct).cells)
    assert parts.brier == pytest.approx(((confidence - correct) ** 2).mean(), abs=1e-12)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(parts.brier, abs=1e-12)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0


def test_the_curve_takes_one_answer_per_item_and_says_so():
    judged = Judged.of([0.9, 0.1, 0.6, 0.7], [1, 0, 0, 1], ["a", "a", "b", "b"])
    curve = corp_curve(judged)
    assert curve.confidence.tolist() == [0.6, 0.9]
    assert curve.answers.tolist() == [1, 1]
    assert curve.note == "items repeat: the first answer of each, 2 of 4"
    assert curve.decomposition.brier == pytest.approx((0.36 + 0.01) / 2)


def test_a_calibrated_model_stays_inside_and_an_overconfident_one_does_not():
    rng = np.random.default_rng(31)
    confidence = rng.choice([0.6, 0.75, 0.9, 0.95], 600)
    calibrated = corp_curve(Judged.of(confidence, rng.random(600) < confidence))
    assert calibrated.consistent
    overconfident = corp_curve(Judged.of(confidence, rng.random(600) < confidence - 0.15))
    assert not overconfident.consistent
    assert overconfident.outside == 4


def test_the_envelope_holds_the_band_and_both_hold_the_diagonal_away_from_its_ends():
    rng = np.random.default_rng(32)
    confidence = rng.uniform(0.5, 1, 400)
    band = consistency_band(Judged.of(confidence, np.ones(400)).cells)
    assert len(band.confidence) <= 256
    for low, high in ((band.low, band.high), (band.envelope_low, band.envelope_high)):
        # At the ends the isotonic curve of a calibrated model mostly lies outside: at its largest confidence at 1.
        assert (low <= band.confidence)[10:-10].all()
        assert (band.confidence <= high)[10:-10].all()
        assert (low >= 0).all()
        assert (high <= 1).all()
    assert (band.envelope_low <= band.low + 1e-12).all()
    assert (band.envelope_high >= band.high - 1e-12).all()


def test_certain_confidences_have_a_band_of_no_width():
    band = consistency_band(Judged.of([0.0, 1.0, 1.0], [0, 1, 1]).cells)
    assert band.low.tolist() == band.high.tolist() == [0.0, 1.0]
    curve = corp_curve(Judged.of([0.0, 1.0, 1.0], [0, 1, 0]))
    assert not curve.consistent


def test_one_distinct_confidence_is_one_point_and_says_so():
    curve = corp_curve(Judged.of([0.9] * 20, [1] * 13 + [0] * 7))
    assert curve.frequency.tolist() == [0.65]
    assert curve.note == "one distinct confidence: the curve is one point"
    assert len(curve.table()) == 1


def test_very_many_answers_keep_a_band_at_few_points():
    rng = np.random.default_rng(33)
    confidence = rng.uniform(0.5, 1, 30_000)
    curve = corp_curve(Judged.of(confidence, rng.random(30_000) < confidence), simulations=79)
    assert len(curve.band.confidence) <= 256
    assert np.abs(curve.band.high - curve.band.confidence).max() < 0.1
    assert len(curve.table()) == len(curve.band.confidence)


def test_the_same_seed_gives_the_same_band():
    cells = Judged.of(np.linspace(0.5, 1, 30), np.ones(30)).cells
    np.testing.assert_array_equal(consistency_band(cells, seed=1).low, consistency_band(cells, seed=1).low)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"level": 1.0}, r"level must lie in \(0, 1\)"), ({"simulations": 20}, "simulations must be at least 39")],
)
def test_unusable_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        corp_curve(Judged.of([0.5], [1]), **arguments)


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        corp_curve(Judged.of([], []))
