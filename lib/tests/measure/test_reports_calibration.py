"""Calibration faults that users of other tools reported (`tests/reports/<id>/expected.json`)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.measure.corp import corp_curve
from assay.measure.ece import ece
from assay.measure.judged import Judged
from assay.measure.ranking import auroc
from assay.measure.recalibration import fit_recalibration, recalibrate
from assay.measure.reliability import binned_curve

REPORTS = Path(__file__).parents[1] / "reports"


def check_of(report):
    (check,) = json.loads((REPORTS / report / "expected.json").read_text(encoding="utf-8"))["checks"]
    return check


def answers_of(report, check):
    frame = pd.read_csv(REPORTS / report / check["file"])
    return Judged.of(frame["confidence"], frame["pred"] == frame["label"])


def test_c01_the_last_of_fifteen_bins_includes_one():
    check = check_of("C01")
    judged = answers_of("C01", check)
    found = ece(judged, 15, "width")
    assert found == pytest.approx(check["expect"]["ece_15_equal_width"], abs=check["tolerance"])
    assert len(judged) == check["expect"]["n_used"]
    # The report also lists the right value among the wrong ones; the other is what leaving out 1.0 gives.
    wrong = [
        value for value in check["must_not"]["ece_15_equal_width"] if value != check["expect"]["ece_15_equal_width"]
    ]
    assert wrong
    assert all(abs(found - value) > check["tolerance"] for value in wrong)


def test_c04_an_isotonic_map_is_level_outside_its_range_and_counts_it():
    check = check_of("C04")
    fit, apply = (pd.read_csv(REPORTS / "C04" / check[name]) for name in ("fit_file", "apply_file"))
    tuning = Judged.of(fit["confidence"], fit["correct"], calibration="language_model")
    fitted = fit_recalibration(tuning, "isotonic").map
    calibrated = recalibrate(fitted, apply["confidence"])
    expect = check["expect"]
    np.testing.assert_allclose(calibrated, expect["calibrated"], rtol=0, atol=check["tolerance"])
    np.testing.assert_allclose([fitted.apply(p) for p in apply["confidence"]], calibrated, rtol=0, atol=1e-12)
    assert sum(fitted.extrapolates(p) for p in apply["confidence"]) == expect["n_outside_fit_range"]
    assert np.isfinite(calibrated).all() == expect["all_finite"]
    assert (np.diff(calibrated) >= 0).all()


def test_c06_one_distinct_confidence_is_one_bin_and_carries_no_order():
    check = check_of("C06")
    expect, judged = check["expect"], answers_of("C06", check)
    assert ece(judged, 15, "width") == pytest.approx(expect["ece_15_equal_width"], abs=check["tolerance"])
    assert ece(judged, 10, "mass") == pytest.approx(expect["ece_10_equal_count"], abs=check["tolerance"])
    curve = binned_curve(judged, 10, "mass")
    assert len(curve) == expect["n_equal_count_bins"]
    assert "one distinct confidence" in curve.note
    ranking = auroc(judged)
    assert ranking.auroc.estimate == expect["roc_auc_confidence_vs_correct"]
    assert "no order" in ranking.note
    assert corp_curve(judged).frequency == pytest.approx([expect["isotonic_constant"]], abs=check["tolerance"])
