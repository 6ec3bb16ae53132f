import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Calibration, Elicitation
from assay.rules.documents import DocumentError
from assay.rules.evidence import Comparison, KindAgreement
from assay.rules.routing_policy import RouteReason, RoutingMode, RoutingPolicy, Thresholds

shares = st.floats(0, 1)
names = st.text(max_size=4)
thresholds = st.builds(
    Thresholds,
    calibration=st.sampled_from(Calibration),
    min_confidence=shares,
    min_margin=shares,
    elicitation=st.sampled_from([None, *Elicitation]),
    model=st.one_of(st.none(), names),
    prompt=st.one_of(st.none(), names),
)
policies = st.one_of(
    st.builds(
        RoutingPolicy,
        mode=st.sampled_from([RoutingMode.OFF, RoutingMode.MEASURED]),
        thresholds=st.dictionaries(names, thresholds, max_size=3),
        min_questions=st.integers(0, 10**6),
        max_disagreement_rate=shares,
        evidence=st.one_of(st.none(), names),
    ),
    st.builds(RoutingPolicy, mode=st.just("pinned"), pinned=names),
)
FLOORS = RoutingPolicy(mode="measured", thresholds={"cheap-a": Thresholds("language_model", 0.8, 0.3)})


def points(agreed: int, disagreed: int) -> KindAgreement:
    return KindAgreement((Comparison(0.8, 0.3, True),) * agreed + (Comparison(0.8, 0.3, False),) * disagreed)


@given(policies)
def test_a_policy_comes_back_from_json_as_it_was(policy):
    again = RoutingPolicy.from_json(policy.to_json())
    assert again == policy
    assert again.to_json() == policy.to_json()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "on"}, "policy.mode must be one of off, pinned, measured, got 'on'"),
        ({"mode": "pinned"}, "policy.pinned must name a model in mode pinned and only there, got None in pinned"),
        (
            {"pinned": "cheap-a"},
            "policy.pinned must name a model in mode pinned and only there, got 'cheap-a' in measured",
        ),
        ({"pinned": 3}, "policy.pinned must be a string, got 3"),
        ({"min_questions": -1}, "policy.min_questions must be a whole number of at least 0, got -1"),
        ({"min_questions": 20.0}, "policy.min_questions must be a whole number of at least 0, got 20.0"),
        ({"max_disagreement_rate": 5}, "policy.max_disagreement_rate must be a number in [0, 1], got 5"),
        ({"max_disagreement_rate": None}, "policy.max_disagreement_rate must be a number in [0, 1], got null"),
        ({"min_question": 20}, "policy: unknown field 'min_question' (did you mean 'min_questions'?)"),
        ({"thresholds": []}, "policy.thresholds must be an object of objects, got an array"),
        ({"thresholds": {"a": {}}}, "policy.thresholds.a.calibration is missing"),
        ({"format": "assay-agreement"}, "policy.format must be 'assay-routing-policy', got 'assay-agreement'"),
        ({"version": 2}, "policy.version must be 1, got 2"),
    ],
)
def test_a_broken_policy_is_refused_by_field(changes, message):
    with pytest.raises(DocumentError) as refused:
        RoutingPolicy.from_json(json.dumps(json.loads(FLOORS.to_json()) | changes))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"calibration": "guess"}, "policy.thresholds.cheap-a.calibration must be one of classifier, language_model"),
        (
            {"elicitation": "spoken"},
            "policy.thresholds.cheap-a.elicitation must be one of verbal, token, vote or nothing",
        ),
        ({"min_confidence": 80}, "policy.thresholds.cheap-a.min_confidence must be a number in [0, 1], got 80"),
        ({"min_margin": "0.3"}, "policy.thresholds.cheap-a.min_margin must be a number in [0, 1], got '0.3'"),
        ({"threshold": 0.8}, "policy.thresholds.cheap-a: unknown field 'threshold'"),
    ],
)
def test_broken_thresholds_are_refused_by_field(changes, message):
    document = json.loads(FLOORS.to_json())
    document["thresholds"]["cheap-a"] |= changes
    with pytest.raises(DocumentError) as refused:
        RoutingPolicy.from_json(json.dumps(document))
    assert message in str(refused.value)


def test_a_policy_with_a_field_left_out_is_refused():
    document = json.loads(FLOORS.to_json())
    del document["min_questions"]
    with pytest.raises(DocumentError, match=r"policy\.min_questions is missing"):
        RoutingPolicy.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "on"}, "mode must be one of off, pinned, measured, got 'on'"),
        ({"mode": "pinned"}, "pinned must name a model"),
        ({"min_questions": True}, "min_questions must be a whole number"),
        ({"max_disagreement_rate": float("nan")}, r"max_disagreement_rate must lie in \[0, 1\], got nan"),
    ],
)
def test_a_policy_out_of_range_cannot_be_built(arguments, message):
    with pytest.raises(ValueError, match=message):
        RoutingPolicy(**arguments)


@pytest.mark.parametrize("floor", [float("nan"), -0.1, 80, "0.8"])
def test_a_floor_outside_the_unit_interval_cannot_be_set(floor):
    with pytest.raises(ValueError, match="min_confidence must lie in"):
        Thresholds("language_model", floor)
    with pytest.raises(ValueError, match="min_margin must lie in"):
        Thresholds("language_model", 0.8, floor)


def test_a_kind_is_trusted_with_just_enough_agreement():
    standing = FLOORS.standing("cheap-a", points(19, 1))
    assert standing.trusted
    assert standing.agreement.disagreement_rate == 0.05


def test_a_disagreement_rate_is_compared_as_a_decimal():
    written = {"mode": "measured", "thresholds": FLOORS.thresholds, "min_questions": 3}
    assert RoutingPolicy(**written, max_disagreement_rate=0.3333333333).standing("cheap-a", points(2, 1)).trusted
    assert not RoutingPolicy(**written, max_disagreement_rate=0.333333332).standing("cheap-a", points(2, 1)).trusted


@pytest.mark.parametrize(
    ("measured", "reason", "counts"),
    [
        (None, RouteReason.NO_MEASUREMENT, None),
        (points(19, 0), RouteReason.NOT_MEASURED_ENOUGH, (19, 19)),
        (points(18, 2), RouteReason.DISAGREEMENT_TOO_HIGH, (20, 18)),
    ],
)
def test_a_kind_that_is_not_trusted_says_which_bound_failed_and_on_what_counts(measured, reason, counts):
    standing = FLOORS.standing("cheap-a", measured)
    assert standing.reason is reason
    assert (standing.agreement and (standing.agreement.measured, standing.agreement.agreed)) == counts


def test_without_thresholds_for_the_cheap_model_nothing_is_trusted():
    assert FLOORS.standing("another", points(20, 0)).reason is RouteReason.NO_CALIBRATION


def test_no_evidence_earns_nothing_even_where_none_is_asked_for():
    lenient = RoutingPolicy(mode="measured", thresholds=FLOORS.thresholds, min_questions=0, max_disagreement_rate=1.0)
    assert lenient.standing("cheap-a", points(0, 0)).reason is RouteReason.DISAGREEMENT_TOO_HIGH


@given(st.integers(0, 40), st.integers(0, 5), st.integers(0, 100), st.integers(0, 100))
def test_what_a_strict_policy_trusts_a_lenient_one_trusts_too(agreed, disagreed, one, other):
    strict, lenient = (
        RoutingPolicy(mode="measured", thresholds=FLOORS.thresholds, max_disagreement_rate=rate / 100)
        for rate in sorted((one, other))
    )
    kind = points(agreed, disagreed)
    assert lenient.standing("cheap-a", kind).trusted or not strict.standing("cheap-a", kind).trusted
