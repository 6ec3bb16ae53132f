import numpy as np
import pandas as pd
import pytest

from assay.measure.item_means import item_means
from assay.measure.metrics import metrics_of
from assay.rules import Gate, LabelClass, Taxonomy

TAXONOMY = Taxonomy(
    (LabelClass("low", 0), LabelClass("high", 1)), "ask", gates=(Gate("class_accuracy", ("low", "high")),)
)
METRICS = metrics_of(TAXONOMY)


def means(rows, **columns):
    frame = pd.DataFrame(rows, columns=["item_id", "label", "predicted", "confidence"]).assign(**columns)
    item, items = pd.factorize(frame["item_id"])
    return item_means(frame, item, len(items), METRICS, TAXONOMY)


ROWS = [
    ("q1", "low", "low", 0.9),
    ("q1", "low", "high", 0.5),
    ("q1", "low", None, np.nan),
    ("q2", "high", "low", 0.8),
    ("q3", "high", None, np.nan),
]


def test_an_unreadable_answer_is_not_right_or_is_left_out():
    found = means(ROWS)
    assert found.values["accuracy"] == pytest.approx([1 / 3, 0, 0])
    assert found.values["accuracy (readable)"] == pytest.approx([1 / 2, 0, np.nan], nan_ok=True)
    assert found.values["unreadable"] == pytest.approx([1 / 3, 0, 1])
    assert list(found.answers) == [3, 1, 1]
    assert list(found.readable) == [2, 1, 0]


def test_an_unreadable_answer_abstains_and_is_so_caught():
    found = means(ROWS)
    assert found.values["caught high"] == pytest.approx([np.nan, 0, 1], nan_ok=True)
    assert found.values["caught high (readable)"] == pytest.approx([np.nan, 0, np.nan], nan_ok=True)
    # The wrong answer to q1 is of a safer class, the unreadable one abstains.
    assert found.values["caught low"] == pytest.approx([1, np.nan, np.nan], nan_ok=True)
    assert found.values["class accuracy low"] == pytest.approx([1 / 3, np.nan, np.nan], nan_ok=True)


def test_scores_average_the_readable_answers():
    found = means(ROWS)
    assert found.values["Brier score"] == pytest.approx([(0.1**2 + 0.5**2) / 2, 0.8**2, np.nan], nan_ok=True)
    assert found.values["log loss"][:2] == pytest.approx([-(np.log(0.9) + np.log(0.5)) / 2, -np.log(0.2)])
    assert found.confidences is not None
    assert list(found.confidences.weight) == [0.5, 0.5, 1.0]


def test_an_answer_without_a_confidence_is_unreadable_where_there_are_confidences():
    found = means([("q1", "low", "low", np.nan)])
    assert list(found.values["accuracy"]) == [0]


def test_tokens_and_cost_of_an_item_are_unknown_if_any_of_its_answers_lacks_them():
    tokens = pd.array([100, None, 100, 50, 50], dtype="Int64")
    cost = pd.array([0.001, 0.003, 0.002, 0.004, None], dtype="Float64")
    found = means(ROWS, prompt_tokens=tokens, completion_tokens=10, cost_usd=cost)
    assert found.values["tokens per answer"] == pytest.approx([np.nan, 60, 60], nan_ok=True)
    assert found.values["cost per 1,000 answers"] == pytest.approx([2, 4, np.nan], nan_ok=True)


def test_a_column_without_a_value_is_no_metric():
    assert "cost per 1,000 answers" not in means(ROWS, cost_usd=pd.array([None] * 5, dtype="Float64")).values
    assert "tokens per answer" not in means(ROWS).values


def test_outcomes_may_be_given_instead_of_predictions():
    frame = pd.DataFrame({"item_id": ["q1", "q2", "q3"], "correct": pd.array([True, None, False], dtype="boolean")})
    found = item_means(frame, np.arange(3), 3, metrics_of(None))
    assert list(found.values["accuracy"]) == [1, 0, 0]
    assert list(found.readable) == [1, 0, 1]
    assert found.confidences is None


@pytest.mark.parametrize(("column", "left"), [("predicted", "label"), ("label", "predicted")])
def test_a_frame_without_outcomes_is_refused(column, left):
    frame = pd.DataFrame({"item_id": ["q1"], left: ["low"]})
    with pytest.raises(ValueError, match=f"no '{column}'"):
        item_means(frame, np.zeros(1, int), 1, METRICS)


def test_a_confidence_outside_the_unit_interval_is_refused_by_item():
    with pytest.raises(ValueError, match="that of an answer to item 'q1' does not"):
        means([("q1", "low", "low", 90.0)])
