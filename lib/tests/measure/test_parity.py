"""Every shipped study: the figures are those of scikit-learn, or of a few plain lines where it has none."""

from functools import cache

import numpy as np
import pytest
from scipy import optimize
from sklearn import metrics
from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling, calibration_curve
from sklearn.isotonic import IsotonicRegression

from assay.measure.corp import decompose_brier, isotonic_frequency
from assay.measure.ece import ece
from assay.measure.hygiene import hygiene
from assay.measure.judged import Judged
from assay.measure.logistic import log_odds
from assay.measure.ranking import auroc
from assay.measure.recalibration import fit_recalibration
from assay.measure.scores import log_losses, squared_errors
from assay.measure.smooth import smooth_ece
from assay.measure.summary import SERIES
from assay.study import find_studies, load_study


@cache
def series(study):
    """Judged answers of every series of a study with both outcomes."""
    judged = [Judged.from_frame(part) for _, part in load_study(study).answers.groupby(list(SERIES))]
    return [each for each in judged if len(each) and 0 < each.correct.mean() < 1]


def studies():
    return sorted(find_studies())


pytestmark = pytest.mark.parametrize("study", studies())


def test_there_are_series_to_compare(study):
    assert series(study)


def test_scores_are_those_of_scikit_learn(study):
    for judged in series(study):
        stated, right = judged.confidence, judged.correct
        assert squared_errors(stated, right).mean() == pytest.approx(metrics.brier_score_loss(right, stated), abs=1e-9)
        assert log_losses(stated, right).mean() == pytest.approx(metrics.log_loss(right, stated), abs=1e-9)
        assert auroc(judged).auroc.estimate == pytest.approx(metrics.roc_auc_score(right, stated), abs=1e-9)


def test_the_calibration_error_of_equal_width_is_that_of_the_curve_of_scikit_learn(study):
    for judged in series(study):
        share, mean = calibration_curve(judged.correct, judged.confidence, n_bins=15, strategy="uniform")
        place = np.searchsorted(np.linspace(0, 1, 16)[1:-1], judged.confidence)
        weights = np.bincount(place)[np.bincount(place) > 0] / len(judged)
        assert ece(judged, 15, "width") == pytest.approx(float((weights * abs(share - mean)).sum()), abs=1e-9)


def test_the_calibration_error_of_equal_mass_is_that_of_a_few_plain_lines(study):
    for judged in series(study):
        stated = judged.confidence
        if len(set(stated)) <= 15:
            groups = [stated == value for value in set(stated)]
        else:
            edges = np.unique(np.percentile(stated, np.linspace(0, 100, 16)[1:-1]))
            place = np.searchsorted(edges, stated)
            groups = [place == number for number in set(place)]
        expected = sum(abs((judged.correct[group] - stated[group]).sum()) for group in groups) / len(judged)
        assert ece(judged, 15, "mass") == pytest.approx(expected, abs=1e-9)


def test_the_isotonic_curve_is_that_of_scikit_learn_and_the_parts_add_up(study):
    for judged in series(study):
        expected = IsotonicRegression().fit(judged.confidence, judged.correct)
        found = isotonic_frequency(judged.cells)
        np.testing.assert_allclose(found, expected.predict(judged.cells.confidence), rtol=0, atol=1e-9)
        parts = decompose_brier(judged.cells)
        whole = ((judged.confidence - judged.correct) ** 2).mean()
        assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(whole, abs=1e-12)


def test_fitted_maps_are_those_of_scikit_learn(study):
    for judged in series(study):
        outcome = judged.correct.astype(float)
        platt = _SigmoidCalibration().fit(log_odds(judged.confidence), outcome)
        found = fit_recalibration(judged, "platt").unconstrained
        assert (found["slope"], found["intercept"]) == pytest.approx((-platt.a_, -platt.b_), abs=1e-4)
        isotonic = IsotonicRegression(y_min=0, y_max=1).fit(judged.confidence, outcome)
        fitted = fit_recalibration(judged, "isotonic").map.parameters
        np.testing.assert_allclose(fitted["confidence"], isotonic.X_thresholds_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(fitted["frequency"], isotonic.y_thresholds_, rtol=0, atol=1e-9)


def test_the_temperature_is_that_of_scikit_learn(study):
    for judged in series(study):
        clipped = np.clip(judged.confidence, 1e-6, 1 - 1e-6)
        model = _TemperatureScaling().fit(np.column_stack([1 - clipped, clipped]), judged.correct.astype(float))
        found = fit_recalibration(judged, "temperature")
        if not found.note:  # at the bound of the search both are as good as infinite
            assert 1 / found.map.parameters["temperature"] == pytest.approx(float(model.beta_), abs=1e-4)


def test_the_beta_map_minimises_the_log_loss(study):
    for judged in series(study)[:4]:
        clipped = np.clip(judged.confidence, 1e-6, 1 - 1e-6)
        features = np.column_stack([np.log(clipped), -np.log1p(-clipped), np.ones(len(judged))])

        def loss(parameters, features=features, right=judged.correct):
            odds = features @ parameters
            return (np.logaddexp(0, odds) - right * odds).mean()

        bounds = [(0, None), (0, None), (None, None)]
        best = optimize.minimize(loss, [1.0, 1.0, 0.0], bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-10})
        fitted = fit_recalibration(judged, "beta").map.parameters
        assert loss([fitted[name] for name in "abc"]) <= best.fun + 1e-9


def test_the_smooth_error_is_that_of_the_direct_sum_at_its_width(study):
    judged = series(study)[0]
    found, points = smooth_ece(judged), (np.arange(2000) + 0.5) / 2000
    total = np.zeros(2000)
    for stated, right, wrong in zip(judged.cells.confidence, judged.cells.right, judged.cells.wrong, strict=True):
        for image in (stated, -stated, 2 - stated, 2 + stated, stated - 2):
            total += (right - stated * (right + wrong)) * np.exp(-(((points - image) / found.width) ** 2) / 2)
    direct = np.abs(total / (found.width * np.sqrt(2 * np.pi)) / len(judged)).mean()
    assert found.error == pytest.approx(direct, rel=1e-4)


def test_hygiene_reads_every_series(study):
    answers = load_study(study).answers
    reports = hygiene(answers)
    assert sum(report.answers for report in reports) == len(answers)
    assert all(report.findings() for report in reports)
