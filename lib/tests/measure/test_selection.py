import numpy as np
import pandas as pd
import pytest

from assay.measure.selection import items_for_choosing
from assay.rules import Gate, LabelClass, Taxonomy
from assay.study import Study, load_study


def study(gate: Gate | None, right: float = 1.0, items: int = 300) -> Study:
    rng = np.random.default_rng(0)
    label = np.where(np.arange(items) % 3 == 0, "em", "sc")
    other = np.where(label == "em", "sc", "em")
    hit = rng.random(items) < right
    frame = pd.DataFrame({"item_id": [f"q{i}" for i in range(items)], "label": label, "confidence": 0.9})
    frame["predicted"] = np.where(hit, label, other)
    taxonomy = Taxonomy((LabelClass("sc", 0), LabelClass("em", 1)), "ask", gates=(gate,) if gate else ())
    return Study.from_frame(frame, taxonomy=taxonomy)


CAUGHT = Gate("caught", ("em",), 0.90)


def test_a_choice_sees_the_tuning_part_where_a_certificate_is_within_reach():
    assert items_for_choosing(study(CAUGHT)).part == "tuning"


def test_without_a_gate_all_items_are_used():
    found = items_for_choosing(study(None))
    assert (found.part, "no gate" in found.reason) == ("all", True)


def test_too_few_labels_for_a_gate_leave_nothing_to_spoil():
    found = items_for_choosing(study(Gate("caught", ("em",), 0.99)))
    assert found.part == "all"
    assert "caught of em at least 0.99 needs 299 labels of em to certify on, and 50 are held" in found.reason


def test_a_gate_that_no_policy_meets_on_the_tuning_part_is_out_of_reach():
    found = items_for_choosing(study(Gate("accepted_accuracy", (), 0.90), right=0.5))
    assert (found.part, "even on the tuning part" in found.reason) == ("all", True)


def test_a_policy_that_acts_on_nothing_is_not_within_reach():
    # Abstaining throughout would catch every item of the gated class.
    assert items_for_choosing(study(CAUGHT, right=0.0)).part == "all"


@pytest.mark.parametrize("part", ["all", "certification"])
def test_what_was_asked_for_is_kept_and_its_price_said(part):
    found = items_for_choosing(study(CAUGHT), part)
    assert found.part == part
    assert "certificate" in found.reason


def test_the_certification_part_is_not_looked_at():
    plain = study(CAUGHT)
    certifying = plain.parts()[lambda parts: parts == "certification"].index
    answers = plain.answers.copy()
    wrong = np.where(answers["label"] == "em", "sc", "em")
    answers["predicted"] = np.where(answers["item_id"].isin(certifying), wrong, answers["predicted"])
    changed = Study.from_frame(answers[["item_id", "label", "predicted", "confidence"]], taxonomy=plain.taxonomy)
    assert items_for_choosing(changed) == items_for_choosing(plain)


@pytest.mark.parametrize(("name", "part"), [("ci_claims", "all"), ("triage", "all"), ("banking77", "tuning")])
def test_shipped_studies(name, part):
    assert items_for_choosing(load_study(name)).part == part
