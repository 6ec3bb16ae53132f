"""Hygiene of confidences: every count, and the words."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.hygiene import hygiene, hygiene_table
from assay.measure.repeats import compare_repeats


def frame(**columns):
    base = {
        "item_id": ["a", "a", "b", "b", "c", "d", "e", "f"],
        "model": "m",
        "prompt": "p",
        "run": [1, 2, 1, 2, 1, 1, 1, 1],
        "calibration": "language_model",
        "elicitation": "verbal",
        "label": ["x", "x", "y", "y", "x", "y", "x", "x"],
        "predicted": ["x", "x", "y", "x", "x", None, None, None],
        "confidence": [0.9, 0.9, 0.8, 0.7, 1.0, np.nan, np.nan, np.nan],
        "alternatives": [{"y": 0.05}, None, {"x": 0.9}, {"y": 0.32}, None, None, None, None],
        "error": [None, None, None, None, None, "out_of_scale", "missing_confidence", "missing_confidence"],
        "flags": [(), ("percent",), ("percent", "suspicious_scale"), (), (), (), (), ()],
    }
    return pd.DataFrame({**base, **columns})


def only(reports):
    (report,) = reports
    return report


def test_every_count_of_a_small_series():
    report = only(hygiene(frame(), {"p": [0.9, 0.55]}))
    assert (report.answers, report.readable) == (8, 5)
    assert report.unreadable == {"missing_confidence": 2, "out_of_scale": 1}
    assert (report.missing, report.outside_scale) == (2, 1)
    assert report.flags == {"percent": 2, "suspicious_scale": 1}
    assert report.suspicious_scale == 1
    assert report.distinct == 4
    assert (report.commonest, report.commonest_share) == (0.9, 0.4)
    assert report.saturated_share == 0.2
    assert report.zero_share == 0
    assert report.constant_share == 0.4
    assert report.with_alternatives_share == 0.6
    assert report.over_one == 2
    assert report.inverted == 1


def test_scores_of_hundredths_that_round_over_one_are_not_counted():
    report = only(hygiene(frame(alternatives=[{"y": 0.11}, None, {"x": 0.2}, None, None, None, None, None])))
    assert report.over_one == 0


def test_an_alternative_as_high_as_the_choice_is_not_inverted():
    tied = [{"y": 0.9}, None, {"x": 0.1 + 0.7}, None, None, None, None, None]
    assert only(hygiene(frame(alternatives=tied))).inverted == 0


def test_agreement_is_over_pairs_of_runs():
    repeats = only(hygiene(frame())).repeats
    assert (repeats.items, repeats.answers) == (2, 4)
    assert (repeats.same_label, repeats.same_confidence, repeats.unanimous) == (0.5, 0.5, 0.5)


def test_three_runs_make_three_pairs():
    runs = pd.DataFrame({"item_id": ["a"] * 3, "predicted": ["x", "x", "y"], "confidence": [0.5, 0.6, 0.6]})
    repeats = compare_repeats(runs)
    assert repeats.same_label == repeats.same_confidence == pytest.approx(1 / 3)
    assert repeats.unanimous == 0


def test_without_repeats_there_is_no_agreement_to_state():
    report = only(hygiene(frame(item_id=list("abcdefgh"))))
    assert report.repeats.items == 0
    assert report.repeats.same_label is None
    assert "no item is answered twice" in report.row()["note"]
    assert not any("Two runs" in text for text in report.findings())


def test_the_words_hold_the_numbers():
    text = "\n".join(only(hygiene(frame(), {"p": [0.9]})).findings(scale=100))
    assert "m: 3 of 8 answers cannot be read (missing confidence 2, out of scale 1)." in text
    assert "states 4 distinct confidences, most often 90 (40 % of answers); 20 % state 100." in text
    assert "1 answer of m states a value above 0 and not above 1 on a scale of 100" in text
    assert "40 % of the answers of m state a confidence that stands in the examples of the prompt." in text
    assert "60 % of the answers of m name alternatives; in 1 an alternative outscores the class chosen" in text
    assert "in 2 the scores sum to more than 1" in text
    assert "choose the same class in 50.0 % of pairs" in text


def test_a_constant_confidence_is_said_to_tell_nothing_apart():
    confidence = [0.95] * 5 + [np.nan] * 3
    text = " ".join(only(hygiene(frame(confidence=confidence))).findings())
    assert "states 0.95 every time, so its confidence tells no answers apart" in text


def test_a_series_that_cannot_be_read_at_all_has_counts_and_one_sentence():
    report = only(hygiene(frame(confidence=np.nan, error="not_json")))
    assert report.findings() == ("m: none of 8 answers can be read (not json 8).",)
    assert report.bands is None
    assert report.commonest is None
    row = report.row()
    assert row["note"].startswith("no readable answer")


def test_series_are_named_by_what_tells_them_apart():
    two = pd.concat([frame(), frame(prompt="q"), frame(model="n")], ignore_index=True)
    assert [report.name for report in hygiene(two)] == ["m, p", "m, q", "n, p"]
    assert [report.name for report in hygiene(frame())] == ["m"]
    bare = frame().drop(columns=["model", "prompt", "calibration", "elicitation"])
    assert only(hygiene(bare)).name == "this series"


def test_the_table_has_a_row_per_series_and_no_empty_cell_without_a_note():
    table = hygiene_table(hygiene(pd.concat([frame(), frame(model="n", confidence=np.nan)], ignore_index=True)))
    assert table["model"].tolist() == ["m", "n"]
    assert (table["note"][table.isna().any(axis=1)] != "").all()


def test_a_bare_frame_will_do():
    bare = pd.DataFrame({"label": ["x", "y"], "predicted": ["x", "x"], "confidence": [0.9, 0.8]})
    report = only(hygiene(bare))
    assert report.readable == 2
    assert report.flags == {}
    assert report.with_alternatives_share == 0


def test_a_class_that_is_chosen_and_an_alternative_as_well_counts_once():
    frame = pd.DataFrame(
        {
            "item_id": ["a", "b", "c"],
            "label": ["x", "y", "x"],
            "predicted": ["x", "x", "x"],
            "confidence": [0.6, 0.5, 0.3],
            "alternatives": [{"x": 0.6, "y": 0.4}, {"x": 0.7, "y": 0.2}, {"x": 0.4, "y": 0.7}],
        }
    )
    found = hygiene(frame)[0]
    assert (found.over_one, found.inverted) == (1, 1)
