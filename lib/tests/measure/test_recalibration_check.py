"""Maps judged on other items, and chosen on the tuning part alone."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.judged import Judged
from assay.measure.recalibration import fit_recalibration, recalibrate
from assay.measure.recalibration_check import choose_recalibration, judge_recalibration

SOURCE = {"calibration": "language_model", "elicitation": "verbal"}


def overconfident(seed, n=1500):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.5, 1, n), 2)
    return Judged.of(confidence, rng.random(n) < confidence - 0.25, **SOURCE)


def test_a_map_that_helps_lowers_both_scores_beyond_chance():
    fitted = fit_recalibration(overconfident(1), "platt").map
    other = overconfident(2)
    verdict = judge_recalibration(fitted, other)
    assert verdict.brier_change.high < 0
    assert verdict.log_loss_change.high < 0
    assert verdict.ece_after < verdict.ece_before
    after = recalibrate(fitted, other.confidence)
    assert verdict.brier_after == pytest.approx(((after - other.correct) ** 2).mean())
    assert verdict.brier_change.estimate == pytest.approx(verdict.brier_after - verdict.brier_before)


def test_answers_outside_the_fitted_range_are_counted():
    fitted = fit_recalibration(overconfident(1), "isotonic").map
    verdict = judge_recalibration(fitted, Judged.of([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1], **SOURCE))
    assert verdict.extrapolated == 2


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (
            {"calibration": "classifier", "elicitation": ""},
            "language_model verbal confidences does not apply to classifier",
        ),
        ({"calibration": "language_model", "elicitation": "vote"}, "does not apply to language_model vote"),
    ],
)
def test_a_map_is_refused_across_calibrations_and_elicitations(source, named):
    fitted = fit_recalibration(overconfident(1), "platt").map
    with pytest.raises(ValueError, match=named):
        judge_recalibration(fitted, Judged.of([0.5, 0.6], [0, 1], **source))


def test_a_mixed_tuning_part_is_refused_and_both_are_named():
    frame = pd.DataFrame(
        {
            "confidence": [0.5, 0.6],
            "correct": [True, False],
            "calibration": ["classifier", "language_model"],
            "elicitation": ["", "verbal"],
        }
    )
    with pytest.raises(ValueError, match="mix classifier, language_model"):
        fit_recalibration(Judged.from_frame(frame), "platt")


def test_a_map_is_chosen_where_it_helps_and_none_where_it_does_not():
    assert choose_recalibration(overconfident(3)).kind is not None
    rng = np.random.default_rng(4)
    confidence = np.round(rng.uniform(0.5, 1, 400), 2)
    calibrated = Judged.of(confidence, rng.random(400) < confidence, **SOURCE)
    choice = choose_recalibration(calibrated)
    assert choice.table["kind"].tolist() == ["none", "temperature", "platt", "beta", "isotonic"]
    assert choice.table["brier"].min() == choice.table["brier"][choice.table["kind"] == (choice.kind or "none")].item()


def test_answers_of_one_item_stay_in_one_fold():
    # Every item is its own confidence, and its outcome cannot be told from the others': only a fold that splits an
    # item could predict it.
    rng = np.random.default_rng(5)
    items = np.repeat(np.arange(60), 10)
    judged = Judged.of(np.repeat(rng.permutation(60) / 60, 10), np.repeat(rng.random(60) < 0.5, 10), items, **SOURCE)
    table = choose_recalibration(judged, ["isotonic"]).table
    assert table["brier"].iloc[1] > 0.24


def test_a_map_that_cannot_be_fitted_in_every_fold_is_left_out_with_the_reason():
    judged = Judged.of([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [1, 1, 1, 1, 1, 0], **SOURCE)
    choice = choose_recalibration(judged, ["platt"], folds=3)
    assert choice.kind is None
    assert "not fitted: a map needs right and wrong answers" in choice.table["note"].iloc[1]


@pytest.mark.parametrize("folds", [1, 7])
def test_folds_must_fit_the_items(folds):
    with pytest.raises(ValueError, match=rf"between 2 and the number of items \(6\), got {folds}"):
        choose_recalibration(Judged.of(np.linspace(0.4, 0.9, 6), [0, 1] * 3, **SOURCE), folds=folds)
