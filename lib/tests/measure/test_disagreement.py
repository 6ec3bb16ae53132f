import pandas as pd
import pytest

from assay.measure.comparison import compare
from assay.measure.disagreement import UNREADABLE, disagreements

ROWS = [
    ("q1", 1, "x", "x", "x"),
    ("q2", 1, "x", "x", "y"),
    ("q3", 1, "x", "z", "y"),
    ("q4", 1, "x", "x", None),
    ("q5", 1, "x", "y", "x"),
    ("q5", 2, "x", "y", "x"),
    ("q5", 3, "x", "x", "x"),
]


@pytest.fixture
def answers() -> pd.DataFrame:
    wide = pd.DataFrame(ROWS, columns=["item_id", "run", "label", "a", "b"])
    return wide.melt(["item_id", "run", "label"], ["a", "b"], "prompt", "predicted")


@pytest.fixture
def found(answers) -> pd.DataFrame:
    comparison = compare(answers)
    items = pd.DataFrame({"item_id": ["q1", "q2", "q3", "q4", "q5"], "text": ["1?", "2?", "3?", "4?", "5?"]})
    return disagreements(answers, comparison, comparison.pairs[0], items).set_index("item_id")


def test_items_answered_alike_are_left_out(found):
    assert set(found.index) == {"q2", "q3", "q4", "q5"}


def test_those_most_apart_come_first_then_by_id(found):
    assert list(found.index) == ["q2", "q4", "q5", "q3"]


def test_an_unreadable_answer_is_an_answer_of_its_own(found):
    assert found.loc["q4", "said_b"] == UNREADABLE


def test_the_answer_given_most_often_is_shown_with_how_often(found):
    assert tuple(found.loc["q5", ["said_a", "runs_a", "said_b", "runs_b"]]) == ("y", 2, "x", 3)
    assert found.loc["q5", "right_a"] == pytest.approx(1 / 3)


def test_text_and_label_are_shown(found):
    assert tuple(found.loc["q2", ["text", "label"]]) == ("2?", "x")


def test_without_predictions_there_is_nothing_to_read(answers):
    frame = answers.assign(correct=True)
    comparison = compare(frame)
    with pytest.raises(ValueError, match="no column 'predicted'"):
        disagreements(frame.drop(columns="predicted"), comparison, comparison.pairs[0])
