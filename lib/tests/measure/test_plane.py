"""The plane that sliders read, against the slow way of counting; and what a policy picked by hand may be called."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.by_hand import BY_HAND, certify_by_hand
from assay.measure.certificate import FIXED, TOO_FEW, certify
from assay.measure.figures import decision_figures, misroutes
from assay.measure.gates import judge
from assay.measure.operating import named_figures, single_gates
from assay.measure.plane import Plane
from assay.measure.units import first_answers
from assay.rules import Gate, LabelClass, Taxonomy
from assay.study import split_items

TAXONOMY = Taxonomy(
    (LabelClass("low", 0), LabelClass("mid", 1), LabelClass("high", 2)),
    "ask",
    gates=(Gate("caught", ("high",), 0.9), Gate("accepted_accuracy", (), 0.8)),
)
share = st.integers(0, 20).map(lambda number: number / 20)
name = st.sampled_from(TAXONOMY.names)


@st.composite
def answers(draw):
    rows = []
    for item in range(draw(st.integers(1, 12))):
        label = draw(name)
        for run in range(1, draw(st.integers(1, 2)) + 1):
            readable = draw(st.integers(0, 5)) > 0
            said = draw(name) if readable else None
            others = draw(st.dictionaries(name, share, max_size=2)) if readable else None
            others = {key: value for key, value in others.items() if key != said} if others else None
            rows.append((f"i{item}", run, label, said, draw(share) if readable else np.nan, others))
    columns = ["item_id", "run", "label", "predicted", "confidence", "alternatives"]
    return pd.DataFrame(rows, columns=columns)


@given(frame=answers(), threshold=share, margin=share)
def test_a_spot_counts_what_the_rules_decide_for_one_answer_per_item(frame, threshold, margin):
    plane = Plane.of(frame, TAXONOMY, grid=21)
    spot = plane.spot(threshold, margin)
    first = first_answers(frame)
    figures = named_figures(decision_figures(first, TAXONOMY, threshold, margin), TAXONOMY.gates)
    assert list(spot.figures["figure"]) == list(figures)
    for row in spot.figures.to_dict("records"):
        slow = figures[row["figure"]]
        assert row["answers"] == slow.n
        if slow.known:
            assert [row["estimate"], row["low"], row["high"]] == pytest.approx([slow.estimate, slow.low, slow.high])
    wrong = misroutes(first, TAXONOMY, threshold, margin)
    listed = plane.rows(spot, 100)
    assert sorted(listed["item_id"]) == sorted(wrong["item_id"])
    assert listed["confidence"].is_monotonic_decreasing
    by_item = wrong.set_index("item_id")
    assert [(one["decision"], one["reasons"]) for one in listed.to_dict("records")] == [
        (by_item.loc[item, "decision"], by_item.loc[item, "reasons"]) for item in listed["item_id"]
    ]


@given(frame=answers(), threshold=share, margin=share)
def test_the_gates_of_a_spot_are_judged_by_their_exact_bounds(frame, threshold, margin):
    plane = Plane.of(frame, TAXONOMY, grid=21)
    figures = decision_figures(first_answers(frame), TAXONOMY, threshold, margin)
    for finding, gate in zip(plane.spot(threshold, margin).gates, single_gates(TAXONOMY.gates), strict=True):
        interval = figures.gate(gate)
        hits = round(interval.estimate * interval.n) if interval.known else 0
        assert finding == judge(gate, hits, interval.n)


def test_a_point_off_the_grid_is_read_at_the_nearest_one_and_one_that_was_held_at_itself():
    frame = pd.DataFrame({"item_id": ["a"], "label": ["low"], "predicted": ["low"], "confidence": [0.5]})
    spot = Plane.of(frame, TAXONOMY, grid=11).spot(0.333, 0.96)
    assert (spot.threshold, spot.tie_margin) == (0.3, 1.0)
    spot = Plane.of(frame, TAXONOMY, grid=11, holding=[(0.333, 0.96)]).spot(0.333, 0.96)
    assert (spot.threshold, spot.tie_margin) == (0.333, 0.96)


def safe_answers(items=400, wrong=0):
    """Answers that are right but for some confident misses, spread over both parts."""
    labels = ["high" if place % 2 else "low" for place in range(items)]
    said = ["low" if label == "high" and place // 2 < wrong else label for place, label in enumerate(labels)]
    return pd.DataFrame(
        {
            "item_id": [f"i{place}" for place in range(items)],
            "label": labels,
            "predicted": said,
            "confidence": 0.9,
            "calibration": "language_model",
            "elicitation": "verbal",
        }
    )


def by_hand(frame, shown, **changes):
    parts = split_items(frame["item_id"], frame["label"], seed=1)
    given = {"seen": shown(parts), "parts": parts, "seed": 1} | changes
    return certify_by_hand(frame, TAXONOMY, (0.5, 0.1), **given), parts


def tuning(parts):
    return parts.index[parts == "tuning"]


def everything(parts):
    return parts.index


def test_a_point_picked_on_all_items_never_passes_however_good_it_looks():
    certificate, _ = by_hand(safe_answers(), everything)
    assert certificate.verdict == "undecided"
    assert certificate.mode == BY_HAND
    assert certificate.threshold is None
    assert {finding.verdict for finding in certificate.gates} == {"undecided"}
    assert certificate.gates[0].successes == certificate.gates[0].trials == 200
    assert "picked by hand on 400 items" in certificate.reason


def test_one_certification_item_on_show_is_one_too_many():
    certificate, _ = by_hand(safe_answers(), lambda parts: [*tuning(parts), parts.index[parts == "certification"][0]])
    assert certificate.mode == BY_HAND
    assert certificate.verdict == "undecided"


def test_a_point_picked_on_the_tuning_part_is_tested_on_the_certification_part():
    frame = safe_answers()
    certificate, parts = by_hand(frame, tuning)
    assert certificate == certify(
        frame, TAXONOMY, seed=1, parts=parts, fixed=(0.5, 0.1), selected_on="tuning", certification_share=0.5
    )
    assert certificate.mode == FIXED
    assert certificate.verdict == "pass"
    assert certificate.tested_items == 200
    failing, _ = by_hand(safe_answers(wrong=60), tuning)
    assert failing.verdict == "fail"


def test_the_certification_part_answers_once():
    certificate, _ = by_hand(safe_answers(), tuning, earlier="threshold 0.4 in a.json")
    assert certificate.verdict == "undecided"
    assert "have answered already, for threshold 0.4 in a.json" in certificate.reason
    # What is counted is what was seen, not the part that stays closed.
    assert certificate.gates[0].trials == 100


def test_too_few_labels_are_undecided_in_either_way():
    assert by_hand(safe_answers(items=40), tuning)[0].mode == TOO_FEW
    assert by_hand(safe_answers(items=40), everything)[0].verdict == "undecided"


def test_the_same_point_picked_at_random_on_the_tuning_part_passes_falsely_at_most_as_often_as_delta():
    rng = np.random.default_rng(11)
    taxonomy = Taxonomy.of("yes", "no", abstain="ask")
    taxonomy = Taxonomy(taxonomy.classes, "ask", gates=(Gate("accepted_accuracy", (), 0.9, 0.1),))
    passes = 0
    for _ in range(150):
        label = rng.choice(["yes", "no"], 160)
        right = rng.random(160) < 0.9
        frame = pd.DataFrame(
            {
                "item_id": np.arange(160).astype(str),
                "label": label,
                "predicted": np.where(right, label, np.where(label == "yes", "no", "yes")),
                "confidence": rng.uniform(0, 1, 160).round(2),
            }
        )
        parts = split_items(frame["item_id"], frame["label"], seed=1)
        shown = frame[frame["item_id"].map(parts) == "tuning"]
        best = Plane.of(shown, taxonomy, grid=21).best()
        seen = shown["item_id"].tolist()
        passes += certify_by_hand(frame, taxonomy, best, seen=seen, parts=parts, seed=1).passed
    # 0.1 of 150 is 15; more than 24 would happen once in a hundred times by chance.
    assert passes <= 24
