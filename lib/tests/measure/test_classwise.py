"""Calibration class by class, on scores or on the answers that chose the class."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.classwise import CHOSEN, SCORED, _holm, class_calibration
from assay.measure.ece import ece
from assay.measure.judged import Judged

CLASSES = ("x", "y", "z")


def scored(seed=0, n=300):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet([2, 2, 0.4], n)
    labels = [CLASSES[rng.choice(3, p=row)] for row in scores]
    predicted = [CLASSES[row.argmax()] for row in scores]
    return pd.DataFrame(
        {
            "item_id": np.arange(n),
            "label": labels,
            "predicted": predicted,
            "confidence": scores.max(axis=1),
            "alternatives": [
                {name: score for name, score in zip(CLASSES, row, strict=True) if name != chosen}
                for row, chosen in zip(scores, predicted, strict=True)
            ],
        }
    ), scores


def test_full_scores_are_judged_over_all_answers():
    frame, scores = scored()
    table = class_calibration(frame, CLASSES, min_items=10).set_index("class")
    assert (table["basis"] == SCORED).all()
    for place, name in enumerate(CLASSES):
        judged = Judged.of(scores[:, place], frame["label"] == name)
        assert table.loc[name, "answers"] == 300
        assert table.loc[name, "ece"] == pytest.approx(ece(judged))
        assert table.loc[name, "frequency"] == pytest.approx((frame["label"] == name).mean())
    assert (table["p_holm"] > 0.05).all()


@pytest.mark.parametrize("given", ["none", "some"])
def test_without_full_scores_the_answers_that_chose_the_class_are_judged(given):
    frame, _ = scored()
    alternatives = list(frame["alternatives"])
    alternatives[5] = None if given == "none" else dict(list(alternatives[5].items())[:1])
    frame["alternatives"] = alternatives
    table = class_calibration(frame, CLASSES, min_items=10).set_index("class")
    assert (table["basis"] == CHOSEN).all()
    chosen = frame[frame["predicted"] == "y"]
    assert table.loc["y", "answers"] == len(chosen)
    assert table.loc["y", "frequency"] == pytest.approx((chosen["label"] == "y").mean())


def test_a_class_with_few_items_is_listed_without_figures():
    frame, _ = scored()
    held = int((frame["label"] == "z").sum())
    assert held < 50
    row = class_calibration(frame, CLASSES).set_index("class").loc["z"]
    assert row["labelled"] == held
    assert row["note"] == f"{held} items, under 50: not computed"
    assert np.isnan(row["ece"])


def test_a_class_that_no_answer_chose_says_so():
    frame, _ = scored()
    frame["alternatives"] = None
    frame = frame[frame["predicted"] != "x"]
    row = class_calibration(frame, CLASSES, min_items=1).set_index("class").loc["x"]
    assert row["note"] == "no readable answer chose the class"


def test_an_item_is_tested_once_and_by_its_lowest_run():
    frame, _ = scored(n=200)
    frame["alternatives"] = None
    again = frame.assign(run=2, confidence=0.5)
    table = class_calibration(pd.concat([frame.assign(run=1), again]), CLASSES, min_items=10).set_index("class")
    assert table.loc["x", "items"] == (frame["predicted"] == "x").sum()
    assert table.loc["x", "answers"] == 2 * table.loc["x", "items"]
    assert "tested on the first answer of each" in table.loc["x", "note"]


def test_adjusted_p_values_are_those_of_holm():
    adjusted = _holm(np.array([0.01, 0.04, np.nan, 0.03, 0.9]))
    np.testing.assert_allclose(adjusted, [0.04, 0.09, np.nan, 0.09, 0.9])


def test_adjusted_p_values_are_never_smaller_and_keep_their_order():
    frame, _ = scored(seed=2)
    frame["confidence"] = np.minimum(1, frame["confidence"] + 0.1)
    table = class_calibration(frame, CLASSES, min_items=10)
    assert (table["p_holm"] >= table["p_value"]).all()
    assert table.sort_values("p_value")["p_holm"].is_monotonic_increasing


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="no column 'predicted'"):
        class_calibration(pd.DataFrame({"label": ["x"], "confidence": [0.5]}), CLASSES)
