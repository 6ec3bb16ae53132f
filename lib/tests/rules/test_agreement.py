import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.rules.agreement import answer_margin, clears, matches_truth, values_agree
from assay.rules.answers import Answer

NAN = math.nan

shares = st.integers(0, 100).map(lambda hundredths: hundredths / 100)
# Whatever a broken adapter may put where a probability belongs.
numbers = st.one_of(shares, st.floats(), st.just(NAN), st.integers(-3, 120))
values = {
    "choice": st.sampled_from(["en", "fr", "EN", "true", "1"]),
    "noul": st.booleans(),
    "score": st.one_of(st.integers(0, 12).map(lambda halves: halves / 2), st.floats()),
}
answers = st.sampled_from(["choice", "noul", "score"]).flatmap(
    lambda kind: st.builds(
        Answer,
        kind=st.just(kind),
        value=values[kind],
        confidence=numbers,
        probabilities=st.dictionaries(st.sampled_from("abcd"), numbers, max_size=4),
    )
)


def choice(**probabilities: float) -> Answer:
    return Answer("choice", "a", max(probabilities.values()), probabilities)


@given(answers, answers)
def test_agreement_is_symmetric(first, second):
    assert values_agree(first, second) is values_agree(second, first)


@given(answers, answers)
def test_answers_of_different_kinds_never_agree(first, second):
    assume(first.kind != second.kind)
    assert not values_agree(first, second)


@given(answers)
def test_an_answer_agrees_with_itself_unless_its_score_is_not_finite(answer):
    finite = answer.kind != "score" or math.isfinite(answer.value)
    assert values_agree(answer, answer) is finite


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (3.2, 2.9, True),
        (3.4, 3.6, False),
        (2.5, 3.0, True),
        (1.5, 2.0, True),
        (-2.5, -3.0, True),
        (0.49999999999999994, 0.0, True),
        (1e300, 1e300, True),
        (3, 3.0, True),
        (math.inf, math.inf, False),
        (NAN, NAN, False),
        (NAN, 3.0, False),
        (True, 1.0, False),
    ],
)
def test_scores_agree_on_the_same_whole_level_halves_away_from_zero(first, second, agree):
    assert values_agree(Answer("score", first, 0.5), Answer("score", second, 0.9)) is agree


def test_labels_agree_only_when_equal():
    assert values_agree(Answer("choice", "en", 0.9), Answer("choice", "en", 0.1))
    assert not values_agree(Answer("choice", "en", 0.9), Answer("choice", "EN", 0.9))


def test_a_verdict_does_not_agree_with_its_name():
    assert not values_agree(Answer("noul", True, 0.9), Answer("noul", "true", 0.9))
    assert not values_agree(Answer("choice", "true", 0.9), Answer("noul", "true", 0.9))


def test_truth_is_matched_by_the_rule_of_agreement():
    assert matches_truth(Answer("score", 3.2, 0.9), 3)
    assert matches_truth(Answer("noul", False, 0.9), False)
    assert not matches_truth(Answer("choice", "en", 0.9), "fr")


@given(answers)
def test_a_margin_is_in_the_unit_interval_or_not_a_number(answer):
    margin = answer_margin(answer)
    assert math.isnan(margin) or 0.0 <= margin <= 1.0


@given(answers, shares, shares)
def test_an_answer_that_clears_has_probabilities_and_nothing_else(answer, min_confidence, min_margin):
    margin = answer_margin(answer)
    if clears(answer.confidence, margin, min_confidence=min_confidence, min_margin=min_margin):
        inputs = [answer.confidence, *answer.probabilities.values()]
        assert all(-1e-9 <= one <= 1 + 1e-9 for one in inputs)


@given(numbers, numbers, shares, shares, shares, shares)
def test_raising_a_floor_never_lets_more_through(confidence, margin, low, high, other_low, other_high):
    low, high = sorted((low, high))
    other_low, other_high = sorted((other_low, other_high))
    if clears(confidence, margin, min_confidence=high, min_margin=other_high):
        assert clears(confidence, margin, min_confidence=low, min_margin=other_low)


@given(st.dictionaries(st.sampled_from("abcd"), shares, min_size=1))
def test_the_order_of_the_labels_does_not_move_the_margin(probabilities):
    backwards = dict(reversed(probabilities.items()))
    assert answer_margin(choice(**probabilities)) == answer_margin(choice(**backwards))


@pytest.mark.parametrize(
    ("answer", "margin"),
    [
        (Answer("noul", True, 0.55, {"true": 0.55}), 0.10),
        (choice(a=0.60), 0.20),
        (choice(a=0.60, b=0.10), 0.30),
        (choice(a=0.91, b=0.91), 0.0),
        (choice(a=0.40), 0.0),
        (Answer("choice", "b", 0.1, {"a": 0.9, "b": 0.1}), 0.80),
        (Answer("choice", "a", 0.8), 0.60),
        (Answer("choice", "a", 0.3), 0.0),
    ],
)
def test_unreported_mass_counts_as_a_rival(answer, margin):
    assert answer_margin(answer) == pytest.approx(margin, abs=1e-12)


@pytest.mark.parametrize("broken", [NAN, math.inf, -0.01, 1.01, 85])
def test_a_number_that_is_no_probability_leaves_no_margin(broken):
    assert math.isnan(answer_margin(choice(a=0.9, b=broken)))
    assert math.isnan(answer_margin(Answer("choice", "a", broken)))


def test_every_pair_of_hundredths_exactly_the_floor_apart_clears():
    for high in range(10, 101):
        answer = Answer("choice", "a", high / 100, {"a": high / 100, "b": (high - 10) / 100})
        reported = high + high - 10
        expected = high - max(high - 10, 100 - reported) >= 10
        assert clears(1.0, answer_margin(answer), min_confidence=0.0, min_margin=0.10) is expected, high


@pytest.mark.parametrize("confidence", [NAN, 85.0, math.inf, -0.5, 1e308, True, "0.9", None])
def test_a_confidence_on_no_known_scale_clears_no_floor(confidence):
    assert not clears(confidence, 1.0, min_confidence=0.0, min_margin=0.0)
    assert not clears(1.0, confidence, min_confidence=0.0, min_margin=0.0)
