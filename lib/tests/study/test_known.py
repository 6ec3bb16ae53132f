"""Columns with a known name that hold something else: decided on when a study is made, said, and kept to when it is loaded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.rules.answers import Calibration, Elicitation
from assay.study import StudyError, load_study
from assay.study.guess import Asked
from assay.study.new import NewStudy, new_study

ROWS = 12
FAILED = "a call that failed is told by a cell that is not empty"


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NewStudy]:
    """Return a function that makes a study of sound answers and of further columns, each given by its first values."""
    monkeypatch.chdir(tmp_path)

    def made(further: dict[str, list[object]], asked: Asked | None = None) -> NewStudy:
        rows = []
        for place in range(ROWS):
            row: dict[str, object] = {
                "label": "ab"[place % 2],
                "predicted": "ab"[place // 2 % 2],
                "confidence": 0.5 + place / 50,
            }
            rows.append(row | {name: values[place % len(values)] for name, values in further.items()})
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return new_study("mine", path, asked, data=tmp_path)

    return made


def said_of(made: NewStudy, column: str) -> list[str]:
    return [words for _, words in made.said if repr(column) in words]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("error", ["0", "1"], FAILED),
        ("error", [0, 1], FAILED),
        ("error", [False, True], FAILED),
        ("error", ["False", "True"], FAILED),
        ("error", ["none"], FAILED),
        ("error", ["ok", "n/a"], FAILED),
        ("error", ["rate_limited"], "here none is empty"),
        ("latency_s", ["1.2s", "3s"], "must be a finite number"),
        ("latency_s", ["n/a", "3"], "must be a finite number"),
        ("cost_usd", ["$0.01"], "must be a finite number"),
        ("prompt_tokens", ["-"], "must be a whole number"),
        ("completion_tokens", [12.5], "must be a whole number"),
        ("asked_at", [["no", "time"]], "must be text, a number, a date or true/false"),
        ("requested_model", [{"name": "m"}], "must be text, a number, a date or true/false"),
        ("elicitation", ["chat"], "cannot be that"),
        ("elicitation", ["Verbal"], "cannot be that"),
        ("elicitation", [""], "cannot be that"),
        ("model", [1, "m"], "cannot be that"),
        ("text", [["a", "list"]], "cannot be that"),
    ],
)
def test_a_column_that_cannot_be_what_its_name_says_is_left_out_and_said(make, column, values, words):
    made = make({column: values})
    assert len(said_of(made, column)) == 1
    assert words in said_of(made, column)[0]
    assert made.study.answers["error"].isna().all()
    assert "leave_out" in (made.folder / "study.toml").read_text()
    assert load_study(made.folder).answers.equals(made.study.answers)


def test_a_column_that_is_what_its_name_says_is_read_and_said(make):
    further = {"error": ["", "", "", "rate_limited"], "latency_s": ["1.5"], "prompt_tokens": [12], "asked_at": ["noon"]}
    made = make(further)
    answers = made.study.answers
    assert answers["error"].dropna().unique().tolist() == ["rate_limited"]
    assert len(answers["error"].dropna()) == ROWS / 4
    assert set(answers["latency_s"]) == {1.5}
    assert "leave_out" not in (made.folder / "study.toml").read_text()
    assert said_of(made, "error") == ["columns 'error', 'asked_at', 'prompt_tokens', 'latency_s'"]


def test_a_column_that_serves_another_purpose_serves_no_second_one(make):
    made = make({"error": ["a", "b"], "text": ["a"]}, Asked(columns={"predicted": "error", "label": "text"}))
    assert made.study.answers["error"].isna().all()
    assert set(made.study.items["text"]) == {""}


@pytest.mark.parametrize("asked", [Asked(elicitation=Elicitation.TOKEN), Asked(calibration=Calibration.CLASSIFIER)])
def test_what_a_person_says_of_the_confidence_goes_before_a_column(make, asked):
    made = make({"elicitation": ["verbal", "vote"], "id": [1, 1, 2, 2, 3, 3]} | {"label": ["a"]}, asked)
    assert made.study.answers["elicitation"].unique().tolist() == [str(asked.elicitation or "")]
    option = "--elicitation" if asked.elicitation else "--calibration"
    assert said_of(made, "elicitation") == [f"column 'elicitation': {option} says it (leave_out in study.toml)"]


def test_where_the_kind_of_confidence_is_not_stated_the_usual_one_is_supposed(make):
    made = make({"elicitation": ["vote", ""]})
    assert made.study.answers["elicitation"].tolist() == ["vote", "verbal"] * (ROWS // 2)
    assert "6 rows" in said_of(made, "elicitation")[0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('leave_out = "error"', "leave_out must be a list of names"),
        ('leave_out = ["eror"]', "unknown name 'eror' .did you mean 'error'"),
        ('leave_out = ["model"]', "'model' is named as a column, too"),
        ('leave_out = ["item_id"]', "unknown name 'item_id'"),
    ],
)
def test_what_is_left_out_is_read_strictly(make, written, message):
    made = make({"model": ["m"], "error": [0]})
    path = made.folder / "study.toml"
    text = path.read_text()
    assert 'leave_out = ["error"]' in text
    path.write_text(text.replace('leave_out = ["error"]', written))
    with pytest.raises(StudyError, match=message):
        load_study(made.folder)
