"""Recorded answers behind the protocol of a classifier, alone and in the real router and shadow."""

import asyncio

import pandas as pd
import pytest

from assay.ask.replay import DEFAULT_QUESTION, ReplayedClassifier, class_question, recorded_states
from assay.rules import (
    Question,
    QuestionError,
    Rejected,
    RoutingClassifier,
    RoutingPolicy,
    ShadowClassifier,
    Taxonomy,
    Transport,
)
from assay.rules.classifier import NotConfigured, Usage
from assay.study import Study, StudyError

CLASSES = Taxonomy.of("a", "b", abstain="unsure")
ASKED = class_question(CLASSES)


def study(**columns):
    frame = pd.DataFrame(
        {
            "item_id": ["1", "2", "3"],
            "text": ["first text", "second text", ""],
            "label": ["a", "b", "a"],
            "predicted": ["a", "unsure", "?"],
            "confidence": [0.7, 0.6, 0.5],
            "alternatives": [{"b": 0.25}, None, None],
            "model": "m",
            "prompt": "p",
            "prompt_tokens": [10, 11, 12],
            "completion_tokens": [3, 4, 5],
            **columns,
        }
    )
    return Study.from_frame(frame, taxonomy=CLASSES, alternatives="alternatives")


def ask(classifier, state, questions=ASKED):
    return asyncio.run(classifier.ask(state, questions))


def test_a_text_gets_the_answer_that_was_recorded():
    reply = ask(ReplayedClassifier(study()), "first text")
    answer = reply.answers[DEFAULT_QUESTION]
    assert (answer.value, answer.confidence, answer.probabilities) == ("a", 0.7, {"a": 0.7, "b": 0.25})
    assert (reply.usage, reply.model) == (Usage(10, 3), "m")


def test_the_abstain_name_is_an_answer():
    assert ask(ReplayedClassifier(study()), "second text").answers[DEFAULT_QUESTION].value == "unsure"


def test_an_item_without_text_is_asked_by_its_id_and_an_unreadable_answer_is_none():
    with pytest.raises(Transport, match="could not be read: unknown_class") as raised:
        ask(ReplayedClassifier(study()), "3")
    assert raised.value.usage == Usage(12, 5)


def test_a_text_that_was_not_recorded_is_rejected_and_not_quoted():
    with pytest.raises(Rejected, match="no answer to this text") as raised:
        ask(ReplayedClassifier(study()), "a secret text")
    assert "secret" not in str(raised.value)


def test_another_question_than_the_recorded_one_is_not_configured():
    replayed = ReplayedClassifier(study())
    for questions in ({"other": ASKED[DEFAULT_QUESTION]}, {**ASKED, "more": Question.noul("?")}):
        with pytest.raises(NotConfigured):
            ask(replayed, "first text", questions)
    with pytest.raises(QuestionError):
        ask(replayed, "first text", {})
    with pytest.raises(Rejected, match="not among the labels asked"):
        ask(replayed, "first text", {DEFAULT_QUESTION: Question.choice("?", {"b": "", "c": ""})})


def test_the_profile_says_where_the_numbers_come_from():
    profile = ReplayedClassifier(study()).profile()
    assert (profile.model, profile.prompt, profile.calibration, profile.elicitation) == (
        "m",
        "p",
        "language_model",
        "verbal",
    )


def test_one_series_has_to_be_named_where_there_are_several():
    several = study(model=["m", "n", "m"])
    with pytest.raises(NotConfigured, match=r"name one of: m, p, language_model, verbal; n, p,"):
        ReplayedClassifier(several)
    assert ReplayedClassifier(several, model="n").profile().model == "n"
    with pytest.raises(StudyError):
        ReplayedClassifier(several, model="o")


def test_the_lowest_run_answers():
    thrice = pd.DataFrame(
        {"item_id": "1", "text": "t", "label": "a", "predicted": ["b", "a", "b"], "confidence": 0.5, "run": [2, 1, 3]}
    )
    replayed = ReplayedClassifier(Study.from_frame(thrice, taxonomy=CLASSES))
    assert ask(replayed, "t").answers[DEFAULT_QUESTION].value == "a"


def test_items_that_share_a_text_are_asked_about_by_their_ids():
    several = study(text=["same", "same", "other"])
    replayed = ReplayedClassifier(several)
    assert recorded_states(several.items) == {"1": "1", "2": "2", "3": "other"}
    assert ask(replayed, "1").answers[DEFAULT_QUESTION].value == "a"
    assert ask(replayed, "2").answers[DEFAULT_QUESTION].value == "unsure"
    with pytest.raises(Rejected, match="several items have this text"):
        ask(replayed, "same")


def test_an_item_without_a_text_is_asked_about_by_its_id():
    assert recorded_states(study().items) == {"1": "first text", "2": "second text", "3": "3"}


def test_a_text_that_is_the_id_of_another_item_is_refused():
    with pytest.raises(NotConfigured, match="the text of item '1' is the id of another, '2'"):
        ReplayedClassifier(study(text=["2", "second text", "other"]))


def test_a_recorded_answer_is_what_the_reply_holds_and_none_where_unreadable():
    replayed = ReplayedClassifier(study())
    assert replayed.recorded("1") == ask(replayed, "first text").answers[DEFAULT_QUESTION]
    assert replayed.recorded("3") is None


def test_the_router_and_the_shadow_take_recorded_answers():
    cheap, dear = ReplayedClassifier(study()), ReplayedClassifier(study(model="dear", predicted=["b", "a", "a"]))
    shadow = ShadowClassifier(cheap=cheap, expensive=dear, cheap_timeout=1.0)
    assert ask(shadow, "first text").answers[DEFAULT_QUESTION].value == "b"
    (disagreement,) = shadow.log.report().kinds[DEFAULT_QUESTION].disagreements
    assert disagreement is not None
    router = RoutingClassifier(cheap, dear, RoutingPolicy())
    assert ask(router, "first text").answers[DEFAULT_QUESTION].value == "b"
