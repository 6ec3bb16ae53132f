"""Judged answers: what is left out, what comes first, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.judged import Judged


def frame(**columns):
    base = {
        "item_id": ["a", "a", "b", "b", "c"],
        "label": ["x", "x", "y", "y", "x"],
        "predicted": ["x", "y", "y", None, None],
        "confidence": [0.9, 0.8, 0.7, np.nan, np.nan],
        "run": [2, 1, 1, 2, 1],
        "calibration": "language_model",
        "elicitation": "verbal",
    }
    return pd.DataFrame({**base, **columns})


def test_unreadable_answers_are_left_out_and_counted():
    judged = Judged.from_frame(frame())
    assert len(judged) == 3
    assert judged.unreadable == 2
    assert judged.items == 2
    assert judged.correct.tolist() == [True, False, True]
    assert (judged.calibration, judged.elicitation) == ("language_model", "verbal")


def test_the_first_answer_of_an_item_is_its_lowest_run():
    judged = Judged.from_frame(frame())
    assert judged.first.tolist() == [False, True, True]
    single = judged.one_per_item()
    assert single.confidence.tolist() == [0.8, 0.7]
    assert not single.repeated


def test_no_other_run_takes_the_place_of_an_unreadable_first_one():
    judged = Judged.from_frame(frame(confidence=[0.9, np.nan, 0.7, np.nan, np.nan]))
    assert len(judged) == 2
    assert judged.one_per_item().confidence.tolist() == [0.7]


def test_a_given_outcome_counts_before_the_labels():
    judged = Judged.from_frame(frame(correct=pd.array([False, True, None, None, None], dtype="boolean")))
    assert judged.correct.tolist() == [False, True]
    assert judged.unreadable == 3


@pytest.mark.parametrize(
    ("column", "values"),
    [("calibration", ["classifier", *["language_model"] * 4]), ("elicitation", ["vote", *["verbal"] * 4])],
)
def test_answers_of_different_sources_are_refused_together(column, values):
    with pytest.raises(ValueError, match=f"different {column}s are not comparable; the answers mix {min(values)}"):
        Judged.from_frame(frame(**{column: values}))


@pytest.mark.parametrize("predicted", [["1", 0, 1], [1.0, 0.0, 1.0], [True, False, True]])
def test_labels_and_predictions_of_different_types_are_refused(predicted):
    answers = pd.DataFrame(
        {"label": [1, 0, 1], "confidence": [0.8] * 3, "predicted": pd.Series(predicted, dtype=object)}
    )
    with pytest.raises(ValueError, match=r"mixed label types: label and predicted hold .*int"):
        Judged.from_frame(answers)


def test_whole_numbers_will_do_as_labels():
    answers = pd.DataFrame({"label": [1, 0, 1], "confidence": [0.8] * 3, "predicted": [1, 1, 1]})
    assert Judged.from_frame(answers).correct.tolist() == [True, False, True]


def test_the_cells_count_every_distinct_confidence_by_outcome():
    cells = Judged.of([0.9, 0.5, 0.9, 0.9], [1, 1, 0, 1]).cells
    assert cells.confidence.tolist() == [0.5, 0.9]
    assert cells.right.tolist() == [1, 2]
    assert cells.wrong.tolist() == [0, 1]


def test_negative_zero_is_zero():
    judged = Judged.of([-0.0, 0.0], [0, 0])
    assert len(judged.cells) == 1
    assert not np.signbit(judged.confidence).any()


def test_no_answer_to_compute_from_is_an_error_that_counts():
    with pytest.raises(ValueError, match="no readable answer with a confidence, 2 unreadable"):
        Judged.of([np.nan, np.nan], [0, 0]).require_any()
    with pytest.raises(ValueError, match="no readable answer"):
        Judged.of([], []).require_any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Judged.of([0.5, 1.2], [1, 1]), r"\[0, 1\]; that of answer 2 does not"),
        (lambda: Judged.of([0.5, -0.1], [1, 1]), "answer 2"),
        (lambda: Judged.of([0.5, np.inf], [1, 1]), "answer 2"),
        (lambda: Judged.of([0.5, 0.5], [1, 2]), "correct must be 0 or 1; that of answer 2"),
        (lambda: Judged.of([0.5, 0.5], [1]), "equally long"),
        (lambda: Judged.of([0.5, 0.5], [1, 1], items=["a"]), "items must be as long"),
        (lambda: Judged.of([0.5, 0.5], [1, 1], ["a", "a"], runs=[1]), "runs must be as long"),
        (lambda: Judged.from_frame(frame().drop(columns="predicted")), "no column 'predicted'"),
        (lambda: Judged.from_frame(frame().drop(columns="confidence")), "no column 'confidence'"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
