"""All figures in one summary and in tables: nothing is empty without a word."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.judged import Judged
from assay.measure.summary import calibration_table, groups, summarise_calibration


def frame(seed=0, n=120, runs=1):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.5, 1, n * runs), 2)
    return pd.DataFrame(
        {
            "item_id": np.repeat(np.arange(n), runs),
            "run": np.tile(np.arange(runs), n),
            "model": np.where(np.arange(n * runs) % 2, "m", "n"),
            "prompt": "p",
            "calibration": "language_model",
            "elicitation": "verbal",
            "tag_set": rng.choice(["easy", "hard"], n * runs),
            "confidence": confidence,
            "correct": rng.random(n * runs) < confidence,
        }
    )


def test_a_summary_states_every_figure_and_its_words():
    summary = summarise_calibration(Judged.from_frame(frame(runs=3)))
    row = summary.row()
    assert row["answers"] == 360
    assert row["items"] == 120
    assert row["brier"] == pytest.approx(row["miscalibration"] - row["discrimination"] + row["uncertainty"], abs=1e-12)
    assert all(value is not None for value in row.values())
    assert "items repeat" in row["note"]
    text = " ".join(summary.findings())
    assert "360 answers to 120 items are right" in text
    assert "AUROC" in text
    assert "calibrated model with these confidences shows" in text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.5, "overconfident by 30.0 points"), (0.78, "does not tell apart"), (0.95, "underconfident by 15.0 points")],
)
def test_the_level_is_said_only_beyond_the_interval(share, words):
    summary = summarise_calibration(Judged.of(np.full(100, 0.8), np.arange(100) < 100 * share))
    assert words in summary.findings()[0]


DEGENERATE = {
    "one value": Judged.of([0.9] * 20, [1] * 13 + [0] * 7),
    "all right": Judged.of(np.linspace(0.5, 1, 20), np.ones(20)),
    "all wrong": Judged.of(np.linspace(0.5, 1, 20), np.zeros(20)),
    "one answer": Judged.of([0.7], [1]),
    "one item": Judged.of([0.7, 0.8], [1, 0], ["a", "a"]),
    "certain": Judged.of([0.0, 1.0, 1.0], [0, 1, 0]),
    "two distinct": Judged.of([0.3, 0.8], [0, 1]),
    "first unreadable": Judged.of([np.nan, 0.8], [1, 1], ["a", "a"]),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_answers_leave_no_empty_figure_without_a_word(case):
    row = summarise_calibration(DEGENERATE[case]).row()
    empty = [name for name, value in row.items() if value is None or (isinstance(value, float) and np.isnan(value))]
    words = {
        "slope": "calibration line",
        "intercept": "calibration line",
        "auroc": "AUROC",
        "brier": "Brier score",
        "log_loss": "log loss",
        "squared_error": "squared error",
        "ece_tested": "calibration test",
        "ece_calibrated": "calibration test",
        "p_value": "calibration test",
    }
    for name in empty:
        word = next(word for start, word in words.items() if name.startswith(start))
        assert word in row["note"], (name, row["note"])


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_answers_have_findings(case):
    assert all(text.endswith(".") for text in summarise_calibration(DEGENERATE[case]).findings())


def test_a_table_has_a_row_per_series_or_subgroup():
    table = calibration_table(frame())
    assert table["model"].tolist() == ["m", "n"]
    by_tag = calibration_table(frame(), by=["model", "tag_set"])
    assert by_tag[["model", "tag_set"]].to_numpy().tolist() == [
        ["m", "easy"],
        ["m", "hard"],
        ["n", "easy"],
        ["n", "hard"],
    ]
    assert by_tag["answers"].sum() == 120
    assert list(table.columns)[-1] == "note"


def test_a_subgroup_that_cannot_be_read_is_a_row_with_a_note():
    answers = frame()
    answers.loc[answers["tag_set"] == "hard", "confidence"] = np.nan
    table = calibration_table(answers, by=["tag_set"])
    hard = table[table["tag_set"] == "hard"].iloc[0]
    assert hard["answers"] == 0
    assert hard["unreadable"] == (answers["tag_set"] == "hard").sum()
    assert hard["note"] == "no readable answer"


def test_groups_that_mix_calibrations_are_refused():
    answers = frame()
    answers["calibration"] = np.where(np.arange(120) % 3, "classifier", "language_model")
    with pytest.raises(ValueError, match="mix classifier, language_model"):
        calibration_table(answers, by=["tag_set"])


def test_missing_values_make_a_group_of_their_own():
    answers = pd.DataFrame({"tag_set": ["a", None, None], "confidence": [0.5, 0.6, 0.7]})
    assert [len(part) for _, part in groups(answers, ["tag_set"])] == [1, 2]


def test_an_unknown_column_is_named():
    with pytest.raises(ValueError, match="no column 'tag_colour'"):
        calibration_table(frame(), by=["tag_colour"])
