"""What a routed system comes to on labels: hand-counted, and against the figures of the two systems it is made of."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.certificate import TOO_FEW
from assay.measure.routing import (
    CHEAP,
    EXPENSIVE,
    GAIN,
    ROUTED,
    along_floors,
    judge_routing,
    labelled_figures,
)
from assay.rules import Gate, LabelClass, Taxonomy
from assay.study.parts import CERTIFICATION, TUNING

GATED = Taxonomy(
    classes=(LabelClass("low", 0), LabelClass("high", 1)),
    abstain="unsure",
    gates=(Gate("class_accuracy", ("high",), 0.9, 0.05),),
)
OPEN = Taxonomy.of("low", "high", abstain="unsure")


def sides(**columns: object) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "item_id": list("123456"),
            "label": ["high", "high", "low", "low", "low", "high"],
            "cheap": ["high", "low", "low", "high", None, "low"],
            "expensive": ["high", "high", "low", "low", "low", None],
            "confidence": [0.9, 0.8, 0.7, 0.6, np.nan, 0.95],
            "margin": [0.8, 0.6, 0.4, 0.2, np.nan, 0.9],
        }
    )
    return frame.assign(**columns)


def served(frame: pd.DataFrame, cheap: list[bool]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item_id": frame["item_id"],
            "label": frame["label"],
            "predicted": frame["cheap"].where(cheap, frame["expensive"]),
            "model": np.where(cheap, "cheap-a", "dear-b"),
        }
    )


def judge(cheap: list[bool], frame: pd.DataFrame | None = None, taxonomy: Taxonomy = GATED, **settings: object):
    frame = sides() if frame is None else frame
    parts = pd.Series(CERTIFICATION, index=frame["item_id"])
    given = {"cheap": "cheap-a", "chosen_on": TUNING, "parts": parts, "seed": 1, **settings}
    return judge_routing(served(frame, cheap), frame, taxonomy, **given)


def many(items: int, right: float, agree_right: float = 1.0) -> pd.DataFrame:
    """All labelled high; the expensive one right on the first share of items, the cheap one sure of everything."""
    place = np.arange(items) / items
    return pd.DataFrame(
        {
            "item_id": [f"q{n:04d}" for n in range(items)],
            "label": "high",
            "cheap": np.where(place < agree_right, "high", "low"),
            "expensive": np.where(place < right, "high", "low"),
            "confidence": 0.9,
            "margin": 0.8,
        }
    )


def test_every_system_is_counted_on_the_same_items_with_unreadable_answers_not_right():
    judged = judge([True, True, False, False, False, True])
    right = {one.name: (round(6 * one.accuracy.estimate), one.figures.unreadable) for one in judged.systems}
    assert right == {CHEAP: (2, 1), EXPENSIVE: (5, 1), ROUTED: (4, 0)}
    figures = labelled_figures(judged.system(ROUTED), GATED)
    assert figures["class accuracy high"].estimate == pytest.approx(1 / 3)
    assert figures["caught high"].estimate == pytest.approx(1 / 3)
    assert labelled_figures(judged.system(EXPENSIVE), GATED)["caught high"].estimate == 1.0, (
        "unreadable is an abstention"
    )


def test_served_disagreeing_and_wrong_together_are_counted():
    judged = judge([True, True, False, False, False, True])
    assert judged.served_cheap.estimate == 0.5
    assert (judged.disagreed.n, judged.disagreed.estimate) == (3, pytest.approx(2 / 3))
    assert (judged.agreed_wrong.n, judged.agreed_wrong.estimate) == (2, 0.0)


def test_models_that_agree_may_both_be_wrong():
    frame = sides(cheap=["low"] * 6, expensive=["low"] * 6)
    judged = judge([True] * 6, frame)
    assert judged.disagreed.estimate == 0.0
    assert judged.agreed_wrong.estimate == 0.5


def test_accuracies_are_compared_in_pairs_and_a_router_that_serves_nothing_cheap_is_not_a_third():
    assert {(one.a, one.b) for one in judge([True] + [False] * 5).comparison.pairs} == {
        (CHEAP, EXPENSIVE),
        (CHEAP, ROUTED),
        (EXPENSIVE, ROUTED),
    }
    assert [(one.a, one.b) for one in judge([False] * 6).comparison.pairs] == [(CHEAP, EXPENSIVE)]


def test_a_policy_chosen_elsewhere_is_certified_on_all_items_here():
    frame = many(100, right=0.97)
    certificate = judge([False] * 100, frame).certificate
    assert (certificate.verdict, certificate.tested_items) == ("pass", 100)
    (finding,) = certificate.gates
    assert (finding.successes, finding.trials) == (97, 100)


def test_a_routed_system_that_misses_a_gate_is_not_certified_though_the_two_agree():
    frame = many(100, right=0.7, agree_right=0.7)
    judged = judge([True] * 100, frame)
    assert judged.disagreed.estimate == 0.0
    assert judged.certificate.verdict == "fail"


def test_too_few_labels_leave_it_undecided():
    assert judge([False] * 6).certificate.mode == TOO_FEW


def test_floors_chosen_on_all_items_get_no_certificate():
    judged = judge([False] * 100, many(100, right=0.99), chosen_on="all")
    assert judged.certificate is None
    assert "chosen on all items" in judged.refusal


def test_floors_chosen_on_the_certification_part_get_no_certificate():
    judged = judge([False] * 100, many(100, right=0.99), chosen_on=CERTIFICATION)
    assert judged.certificate is None
    assert "certification part" in judged.refusal


def test_a_study_without_gates_has_nothing_to_certify():
    judged = judge([False] * 6, taxonomy=OPEN)
    assert (judged.certificate, judged.refusal) == (None, "the study has no gate to certify against")


def test_frames_of_other_items_are_refused():
    frame = sides()
    with pytest.raises(ValueError, match="same items in the same order"):
        judge_routing(
            served(frame, [True] * 6).iloc[::-1], frame, GATED,
            cheap="cheap-a", chosen_on=TUNING, parts=pd.Series(dtype=str), seed=1,
        )  # fmt: skip


def test_along_the_floors_each_point_is_the_system_that_the_router_would_be():
    frame = sides()
    along = along_floors(frame, GATED, [0.0, 0.8, 1.0], 0.0, seed=1)
    accuracy = along[along["figure"] == "accuracy"].set_index("min_confidence")
    for floor, cheap in (
        (0.0, [True] * 4 + [False, True]),
        (0.8, [True, True, False, False, False, True]),
        (1.0, [False] * 6),
    ):
        judged = judge(cheap, frame)
        assert accuracy.loc[floor, "served_cheap"] == pytest.approx(np.mean(cheap))
        assert accuracy.loc[floor, "estimate"] == judged.system(ROUTED).accuracy.estimate
        gain = along[(along["figure"] == GAIN) & (along["min_confidence"] == floor)].iloc[0]
        alone = judged.system(EXPENSIVE).accuracy.estimate
        assert gain["estimate"] == pytest.approx(accuracy.loc[floor, "estimate"] - alone)
        assert gain["low"] <= gain["estimate"] <= gain["high"]
    assert set(along["figure"]) == {"accuracy", GAIN, "class accuracy high", "caught high"}


def test_a_margin_floor_holds_back_what_a_confidence_floor_lets_through():
    along = along_floors(sides(), OPEN, [0.0], 0.7, seed=1)
    assert along["served_cheap"].iloc[0] == pytest.approx(2 / 6)
