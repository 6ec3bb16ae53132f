import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules import Classification, LabelClass, Taxonomy, apply_safety_rules

NAMES = ("historical", "reference", "unclear", "procedural", "advisory")
hundredths = st.integers(0, 100).map(lambda value: value / 100)
classifications = st.builds(
    Classification,
    label=st.sampled_from(NAMES),
    confidence=hundredths,
    alternatives=st.dictionaries(st.sampled_from((*NAMES, "nonsense")), hundredths, max_size=5),
    missing_context=st.lists(st.sampled_from(["time_expression", "equipment"]), max_size=2).map(tuple),
)


def test_every_vector_gives_its_want(vectors, plant_taxonomy, record_tried):
    lines = vectors("safety_rules")
    wrong = []
    for line in lines:
        case = line["input"]
        answer = Classification(
            case["question_class"], case["confidence"], case["alternatives"], tuple(case["missing_context"])
        )
        decision = apply_safety_rules(
            answer, taxonomy=plant_taxonomy, threshold=case["threshold"], tie_margin=case["tie_margin"]
        )
        got = {
            "final_class": decision.label,
            "changed": decision.label != answer.label,
            "rules": ["no_time_window" if reason == "missing_context" else reason for reason in decision.reasons],
        }
        if got not in line["want"].get("any_of", [line["want"]]):
            wrong.append(line["id"])
    record_tried("vectors of the safety rules", len(lines), lost=len(wrong))
    assert not wrong
    assert len(lines) == 2000


def test_a_gap_of_exactly_the_margin_ties(plant_taxonomy):
    answer = Classification("historical", 0.40, {"procedural": 0.30})
    decision = apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.0, tie_margin=0.10)
    assert decision.label == "procedural"
    assert decision.reasons == ("tie",)


def test_a_confidence_of_exactly_the_threshold_does_not_abstain(plant_taxonomy):
    answer = Classification("reference", 0.1 + 0.2)
    assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.3).label == "reference"
    assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.300000002).reasons == ("threshold",)


def test_an_exempt_class_keeps_its_label_at_any_confidence(plant_taxonomy):
    answer = Classification("procedural", 0.0)
    assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=1.0).label == "procedural"


def test_every_reason_that_fires_is_kept_in_order(plant_taxonomy):
    answer = Classification("reference", 0.5, {"unclear": 0.45}, ("time_expression",))
    decision = apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.9)
    assert (decision.label, decision.reasons) == ("unclear", ("tie", "threshold"))


def test_missing_context_abstains_only_for_the_class_that_needs_it(plant_taxonomy):
    for label, expected in (("historical", "unclear"), ("reference", "reference")):
        answer = Classification(label, 1.0, missing_context=("time_expression",))
        assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.5).label == expected


def test_two_tied_classes_of_the_highest_rank_abstain():
    flat = Taxonomy.of("red", "green", "blue")
    tied = Classification("red", 0.5, {"green": 0.45, "blue": 0.1})
    decision = apply_safety_rules(tied, taxonomy=flat, threshold=0.0)
    assert (decision.label, decision.reasons) == ("abstain", ("tie",))
    led = Classification("red", 0.2, {"green": 0.7})
    assert apply_safety_rules(led, taxonomy=flat, threshold=0.0).label == "green"


def test_a_choice_listed_again_competes_with_the_larger_of_its_confidences(plant_taxonomy):
    answer = Classification("historical", 0.5, {"historical": 0.9, "advisory": 0.55})
    assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.5).label == "historical"


def test_an_abstaining_answer_of_no_class_stays_abstained_unless_an_alternative_is_known():
    flat = Taxonomy.of("red", "green")
    assert apply_safety_rules(Classification("abstain", 0.9), taxonomy=flat, threshold=0.5).label == "abstain"


@given(classifications, hundredths, hundredths)
def test_under_never_loosen_the_tie_rule_never_lowers_restrictiveness(answer, threshold, margin):
    taxonomy = Taxonomy(tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)), "unclear", never_loosen=True)
    decision = apply_safety_rules(answer, taxonomy=taxonomy, threshold=0.0, tie_margin=margin)
    assert taxonomy.rank(decision.label) >= taxonomy.rank(answer.label)


@given(classifications, hundredths, hundredths)
def test_a_wider_margin_is_never_less_restrictive_before_the_threshold(answer, one, other):
    taxonomy = Taxonomy(tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)), "unclear")
    narrow, wide = sorted((one, other))
    before = apply_safety_rules(answer, taxonomy=taxonomy, threshold=0.0, tie_margin=narrow)
    after = apply_safety_rules(answer, taxonomy=taxonomy, threshold=0.0, tie_margin=wide)
    assert taxonomy.rank(after.label) >= taxonomy.rank(before.label)


@given(classifications, hundredths, hundredths)
def test_deciding_does_not_change_the_answer_and_repeats_itself(answer, threshold, margin):
    taxonomy = Taxonomy(tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)), "unclear")
    copy = dataclasses.replace(answer, alternatives=dict(answer.alternatives))
    first = apply_safety_rules(answer, taxonomy=taxonomy, threshold=threshold, tie_margin=margin)
    assert first == apply_safety_rules(copy, taxonomy=taxonomy, threshold=threshold, tie_margin=margin)
    assert answer == copy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 1.2}, r"threshold must lie in \[0, 1\], got 1.2"),
        ({"tie_margin": -0.1}, r"tie_margin must lie in \[0, 1\], got -0.1"),
        ({"threshold": float("nan")}, "threshold must lie"),
    ],
)
def test_a_bound_outside_its_range_is_an_error_that_names_it(plant_taxonomy, change, message):
    with pytest.raises(ValueError, match=message):
        apply_safety_rules(Classification("reference", 0.5), **{"taxonomy": plant_taxonomy, "threshold": 0.5} | change)


def test_a_label_of_no_class_is_an_error_that_does_not_quote_it(plant_taxonomy):
    with pytest.raises(ValueError, match=r"classification\.label") as raised:
        apply_safety_rules(Classification("CANARY-7281", 0.5), taxonomy=plant_taxonomy, threshold=0.5)
    assert "CANARY" not in str(raised.value)


def test_an_unknown_alternative_is_logged_without_its_name_and_skipped(plant_taxonomy, caplog):
    answer = Classification("reference", 0.5, {"CANARY-7281": 0.9})
    assert apply_safety_rules(answer, taxonomy=plant_taxonomy, threshold=0.5).label == "reference"
    assert "1 alternative" in caplog.text
    assert "CANARY" not in caplog.text
