"""The map of agreement by floors, and the floors that a cheap model earns, held to the rules of `assay.rules`."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.floors import earn, floor_map, reaches_floors
from assay.rules import (
    AgreementReport,
    Comparison,
    KindAgreement,
    RouteReason,
    RoutingMode,
    RoutingPolicy,
    Side,
    Thresholds,
    clears,
)

FLOORS = (0.0, 0.3, 0.5, 0.7, 0.9)
shares = st.one_of(st.just(math.nan), st.integers(0, 100).map(lambda value: value / 100), st.floats(0, 1))
comparisons = st.one_of(
    st.builds(Comparison, confidence=shares, margin=shares, agreed=st.just(True)),
    st.builds(
        Comparison,
        confidence=shares,
        margin=shares,
        agreed=st.just(False),
        right=st.sampled_from([None, "cheap", "expensive", "neither"]),
    ),
)
kinds = st.lists(comparisons, max_size=30).map(lambda ones: KindAgreement(tuple(ones)))


def kind(*cells: tuple[float, int, int]) -> KindAgreement:
    """Build evidence of (confidence, agreed, disagreed), the margin always 1."""
    ones = [Comparison(c, 1.0, n < yes) for c, yes, no in cells for n in range(yes + no)]
    return KindAgreement(tuple(ones))


def policy_at(confidence: float, margin: float, **bounds: object) -> RoutingPolicy:
    thresholds = {"cheap-a": Thresholds("classifier", confidence, margin)}
    return RoutingPolicy("measured", thresholds=thresholds, **bounds)


@given(kinds)
def test_every_cell_counts_what_the_evidence_counts_at_its_floors(measured):
    counted = floor_map(measured, FLOORS, FLOORS)
    for c, confidence in enumerate(FLOORS):
        for m, margin in enumerate(FLOORS):
            agreement = measured.agreement_at(confidence, margin)
            assert (counted.measured[c, m], counted.agreed[c, m]) == (agreement.measured, agreement.agreed)
            assert counted.rate((c, m)) == agreement.disagreement_rate


@given(kinds)
def test_graded_disagreements_are_counted_by_the_same_floors(measured):
    counted = floor_map(measured, FLOORS, FLOORS)
    for grade, counts in counted.graded.items():
        wanted = [
            one
            for one in measured.comparisons
            if one.right == grade and clears(one.confidence, one.margin, min_confidence=0.5, min_margin=0.3)
        ]
        assert counts[2, 1] == len(wanted)


@given(kinds, st.integers(1, 12), st.sampled_from([0.0, 0.05, 0.25, 1 / 3, 0.5, 1.0]))
def test_a_cell_is_trusted_exactly_where_the_routing_policy_trusts_it(measured, min_questions, rate):
    bounds = {"min_questions": min_questions, "max_disagreement_rate": rate}
    earned = earn(floor_map(measured, FLOORS, FLOORS), **bounds)
    trusted = {
        (c, m): policy_at(confidence, margin, **bounds).standing("cheap-a", measured).trusted
        for c, confidence in enumerate(FLOORS)
        for m, margin in enumerate(FLOORS)
    }
    assert {at: bool(earned.trusted[at]) for at in trusted} == trusted
    assert (earned.at is not None) == any(trusted.values())
    if earned.at is not None:
        most = max(earned.map.measured[at] for at, good in trusted.items() if good)
        assert trusted[earned.at]
        assert earned.map.measured[earned.at] == most
    else:
        standing = policy_at(*earned.map.floors(earned.nearest), **bounds).standing("cheap-a", measured)
        assert standing.reason == earned.reason


def test_of_floors_that_serve_equally_many_the_highest_are_taken():
    assert earn(floor_map(kind((0.8, 30, 0)), FLOORS, FLOORS)).floors == (0.7, 0.9)


def test_the_floors_that_serve_the_most_win_over_those_that_agree_the_most():
    measured = kind((0.95, 40, 0), (0.6, 40, 4))
    assert earn(floor_map(measured, FLOORS, [0.0])).floors == (0.5, 0.0)


def test_a_rate_of_exactly_the_bound_is_earned():
    assert earn(floor_map(kind((0.8, 19, 1)), FLOORS, [0.0])).at is not None
    assert earn(floor_map(kind((0.8, 18, 1)), FLOORS, [0.0]), min_questions=1).at is None


def test_too_few_questions_are_said_with_the_floors_that_have_the_most():
    earned = earn(floor_map(kind((0.8, 12, 0)), FLOORS, [0.0]), min_questions=20)
    assert earned.reason is RouteReason.NOT_MEASURED_ENOUGH
    assert earned.map.measured[earned.nearest] == 12
    assert earned.too_few == earned.nearest


def test_too_much_disagreement_is_said_with_the_floors_of_the_lowest_rate():
    measured = kind((0.95, 9, 0), (0.8, 20, 4), (0.4, 20, 16))
    earned = earn(floor_map(measured, FLOORS, [0.0]), min_questions=20)
    assert earned.reason is RouteReason.DISAGREEMENT_TOO_HIGH
    assert earned.map.floors(earned.nearest) == (0.7, 0.0)
    assert earned.map.rate(earned.nearest) == 4 / 33
    assert earned.map.floors(earned.too_few) == (0.9, 0.0)


def test_no_evidence_earns_nothing():
    earned = earn(floor_map(KindAgreement()), min_questions=1)
    assert (earned.at, earned.too_few, earned.reason) == (None, None, RouteReason.NOT_MEASURED_ENOUGH)
    assert earned.map.rate(earned.nearest) is None


def test_the_policy_carries_the_origin_of_the_numbers_and_names_its_evidence():
    evidence = AgreementReport(
        Side("cheap-a", "language_model", "verbal", "L1"), Side("dear-b", "classifier"), {"label": kind((0.8, 30, 0))}
    )
    policy = earn(floor_map(evidence.kinds["label"], [0.8], [0.5]), min_questions=25).policy(evidence)
    thresholds = Thresholds("language_model", 0.8, 0.5, "verbal", "cheap-a", "L1")
    assert policy.mode is RoutingMode.MEASURED
    assert policy.thresholds == {"cheap-a": thresholds}
    assert (policy.evidence, policy.min_questions) == (evidence.digest(), 25)
    assert RoutingPolicy.from_json(policy.to_json()) == policy


def test_where_nothing_is_earned_the_policy_is_off():
    evidence = AgreementReport(Side("cheap-a", "classifier"), Side("dear-b"), {"label": kind((0.8, 1, 30))})
    policy = earn(floor_map(evidence.kinds["label"])).policy(evidence)
    assert (policy.mode, policy.thresholds) == (RoutingMode.OFF, {})


def test_evidence_that_does_not_say_where_its_numbers_come_from_gives_no_thresholds():
    evidence = AgreementReport(Side("cheap-a"), Side("dear-b"), {"label": kind((0.8, 30, 0))})
    with pytest.raises(ValueError, match="which calibration the confidences of 'cheap-a' have"):
        earn(floor_map(evidence.kinds["label"])).policy(evidence)


@given(st.lists(st.tuples(shares, shares), max_size=20), st.sampled_from(FLOORS), st.sampled_from(FLOORS))
def test_what_reaches_the_floors_is_what_the_rules_let_through(pairs, confidence, margin):
    frame = pd.DataFrame(pairs, columns=["confidence", "margin"], dtype=float)
    wanted = [clears(c, m, min_confidence=confidence, min_margin=margin) for c, m in pairs]
    assert reaches_floors(frame, (confidence, margin)).tolist() == wanted
    assert not reaches_floors(frame, None).any()


@pytest.mark.parametrize("floors", [[], [0.5, 0.5], [1.2], [-0.1], [math.nan]])
def test_floors_that_are_none_are_refused(floors):
    with pytest.raises(ValueError, match=r"confidences must be distinct numbers in \[0, 1\]"):
        floor_map(KindAgreement(), floors)
