import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Calibration, Elicitation
from assay.rules.classifier import (
    AskError,
    Profile,
    Rejected,
    Transient,
    Transport,
    Usage,
    origin_difference,
    prepare_state,
)


@given(st.text(max_size=30), st.integers(1, 30))
def test_a_state_is_cut_to_the_same_prefix_every_time(state, ceiling):
    sent = prepare_state(state, ceiling)
    assert sent == prepare_state(state, ceiling)
    assert state.startswith(sent)
    assert len(sent) == min(len(state), ceiling)
    # Cutting again changes nothing, so an adapter may cut what a router has cut before.
    assert prepare_state(sent, ceiling) == sent


@pytest.mark.parametrize(("length", "warnings"), [(96_000, 0), (96_001, 1)])
def test_a_cut_is_warned_of_without_quoting_the_state(length, warnings, caplog):
    caplog.set_level(logging.WARNING)
    assert len(prepare_state("é" * length)) == 96_000
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert "é" not in caplog.text


@pytest.mark.parametrize("ceiling", [0, -1, 1.5, True, None])
def test_a_ceiling_that_is_no_length_is_refused(ceiling):
    with pytest.raises(ValueError, match="max_state_chars must be a whole number of at least 1"):
        prepare_state("state", ceiling)
    with pytest.raises(ValueError, match=r"profile\.max_state_chars must be a whole number"):
        Profile("m", Calibration.CLASSIFIER, max_state_chars=ceiling)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": " "}, r"profile\.model must be a name that is not blank, got ' '"),
        ({"calibration": "guess"}, r"profile\.calibration must be one of classifier, language_model, got 'guess'"),
        (
            {"elicitation": "spoken"},
            r"profile\.elicitation must be one of verbal, token, vote or nothing, got 'spoken'",
        ),
    ],
)
def test_a_profile_out_of_range_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Profile(**({"model": "m", "calibration": "classifier"} | arguments))


def test_a_profile_may_be_written_in_words():
    profile = Profile("m", "language_model", "vote")
    assert profile.calibration is Calibration.LANGUAGE_MODEL
    assert profile.elicitation is Elicitation.VOTE


def test_the_first_difference_that_both_sides_name_is_found():
    profile = Profile("m", "language_model", "verbal", prompt="L1")
    assert origin_difference(profile, profile) is None
    assert origin_difference(Profile("m", "classifier", "vote"), profile) == (
        "calibration",
        "classifier",
        "language_model",
    )
    assert origin_difference(Profile("m", "language_model", "vote"), profile) == ("elicitation", "vote", "verbal")
    assert origin_difference(Profile("m", "language_model", None, prompt="L5"), profile) == ("prompt", "L5", "L1")


def test_every_failure_is_an_ask_error_and_may_say_what_it_cost():
    for kind in (Rejected, Transient, Transport):
        assert isinstance(kind("why", usage=Usage(5, 0)), AskError)
        assert kind("why", usage=Usage(5, 0)).usage == Usage(5, 0)
    assert Transient("why", retry_after=2.5).retry_after == 2.5
