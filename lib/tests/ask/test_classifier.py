"""A language model behind the classifier protocol, and the two single requests."""

import asyncio
import json
import logging

import jsonschema
import pytest
from assay_test_server import ScriptedServer, completed, refused

from assay.ask import (
    Ask,
    Example,
    LanguageModelClassifier,
    Patience,
    PromptFile,
    Settings,
    Trace,
    classify,
    connect,
    review,
)
from assay.rules.answers import Calibration, Elicitation, Question, QuestionError
from assay.rules.classifier import Classifier, NotConfigured, Profile, Rejected, Transient, Transport, Usage
from assay.rules.parsing import Verdict

QUESTIONS = {
    "topic": Question.choice("Which topic?", {"pump": "a pump", "valve": "a valve"}),
    "urgent": Question.noul("Is it urgent?"),
    "severity": Question.score("How severe?", [("1", "little"), ("2", "much")]),
}
GOOD = {
    "topic": {"value": "pump", "probabilities": {"pump": 3, "valve": 1}},
    "urgent": {"value": "false", "probabilities": {"true": 0.2, "false": 0.8}},
    "severity": {"value": "2", "probabilities": {"1": 0.4, "2": 0.6}},
}
QUICK = Settings(patience=Patience(timeout=5, tries=1))


def answering(**changed):
    return completed(json.dumps({"answers": {**GOOD, **changed}}))


def ask(script, questions=QUESTIONS, state="The pump rattles.", **more):
    """Ask a scripted server; return the reply and the requests."""

    async def run():
        async with ScriptedServer(script) as server, connect(base_url=server.url) as connection:
            classifier: Classifier = LanguageModelClassifier(connection, "m", settings=QUICK, **more)
            return await classifier.ask(state, questions), server.requests

    return asyncio.run(run())


def test_all_questions_go_in_one_call_and_come_back_typed():
    reply, requests = ask([answering()])
    assert len(requests) == 1
    assert {name: answer.value for name, answer in reply.answers.items()} == {
        "topic": "pump",
        "urgent": False,
        "severity": 2.0,
    }
    assert reply.answers["topic"].probabilities == {"pump": 0.75, "valve": 0.25}
    assert (reply.usage, reply.model) == (Usage(210, 16), "served-1")
    assert reply.text_chars == len(json.dumps({"answers": GOOD}))


def test_the_schema_is_pinned_to_the_call():
    _, (request,) = ask([answering()])
    schema = request.body["response_format"]["json_schema"]["schema"]
    jsonschema.validate({"answers": GOOD}, schema)
    for broken in ({"topic": GOOD["topic"]}, {**GOOD, "more": GOOD["topic"]}, {**GOOD, "topic": GOOD["urgent"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"answers": broken}, schema)
    _, (request,) = ask(
        [completed(json.dumps({"answers": {"urgent": GOOD["urgent"]}}))], {"urgent": QUESTIONS["urgent"]}
    )
    schema = request.body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]["answers"]["properties"]) == ["urgent"]


def test_the_order_of_the_questions_does_not_change_the_request():
    _, (one,) = ask([answering()])
    _, (other,) = ask([answering()], dict(reversed(QUESTIONS.items())))
    assert one.raw == other.raw


def test_the_state_comes_last_so_that_the_questions_are_cached():
    _, (one,) = ask([answering()], state="AAA")
    _, (other,) = ask([answering()], state="BBB")
    assert one.raw.split(b"AAA") == other.raw.split(b"BBB")
    assert one.body["messages"][-1]["content"].endswith("AAA")


def test_a_state_over_the_ceiling_is_cut_with_a_warning_that_quotes_nothing(caplog):
    _, (request,) = ask([answering()], state="é" * 99 + "CANARY", max_state_chars=99)
    assert request.body["messages"][-1]["content"].endswith("é" * 99)
    assert "105 characters" in caplog.text
    assert "CANARY" not in caplog.text


def test_the_cap_grows_with_the_questions():
    _, (request,) = ask([answering()])
    assert request.body["max_tokens"] == 300
    labels = {f"label-{n}": "meaning" for n in range(60)}
    shares = dict.fromkeys(labels, 1 / 60)
    answers = {"answers": {"q": {"value": "label-1", "probabilities": shares}}}
    _, (request,) = ask([completed(json.dumps(answers))], {"q": Question.choice("Which?", labels)})
    assert request.body["max_tokens"] > 60 * len('"label-59": 0.01')


@pytest.mark.parametrize("questions", [{}, {" ": QUESTIONS["urgent"]}, {"q": Question.choice("Which?", {"one": ""})}])
def test_a_set_that_must_not_be_asked_is_not_sent(questions):
    async def run():
        async with ScriptedServer([answering()]) as server, connect(base_url=server.url) as connection:
            with pytest.raises(QuestionError):
                await LanguageModelClassifier(connection, "m").ask("state", questions)
            assert server.requests == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("step", "error", "kind"),
    [
        (refused(429, headers={"retry-after": "9"}), Transient, "rate_limited"),
        (refused(500), Transient, "server_error"),
        (refused(401), Rejected, "unauthorised"),
        (refused(400, "content_filter"), Rejected, "filtered"),
        (completed(None, refusal="no"), Rejected, "refused"),
        (completed('{"answ', finish_reason="length"), Transport, "truncated"),
        (completed(None), Transport, "empty"),
        (completed("I cannot say."), Transport, "not_json"),
        (
            answering(topic={"value": "CANARY", "probabilities": {"pump": 1, "valve": 0}}),
            Rejected,
            "chosen_not_offered",
        ),
        (answering(extra=GOOD["topic"]), Rejected, "question_not_asked"),
        (completed("{}"), Rejected, "no_answers_object"),
    ],
)
def test_a_failure_is_one_of_the_four_kinds_and_quotes_nothing(step, error, kind):
    with pytest.raises(error) as caught:
        ask([step], state="CANARY")
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{kind}: ")
    assert "CANARY" not in str(caught.value)
    if kind == "rate_limited":
        assert caught.value.retry_after == 9.0
    if kind in ("not_json", "refused", "truncated", "chosen_not_offered"):
        assert caught.value.usage == Usage(210, 16), "a reply that breaks the rules is paid for"


def test_its_profile_names_calibration_elicitation_and_prompt(distribution_prompt):
    async def run():
        async with connect(base_url="http://127.0.0.1:9/v1") as connection:
            return LanguageModelClassifier(connection, "m", distribution_prompt, max_state_chars=7).profile()

    expected = Profile("m", Calibration.LANGUAGE_MODEL, Elicitation.VERBAL, 7, prompt=distribution_prompt.hash)
    assert asyncio.run(run()) == expected


def test_without_a_connection_a_model_or_a_fitting_prompt_it_is_not_configured(prompt):
    async def run():
        async with connect(base_url="http://127.0.0.1:9/v1") as connection:
            for arguments in ((None, "m"), (connection, " "), (connection, "m", prompt)):
                with pytest.raises(NotConfigured):
                    LanguageModelClassifier(*arguments)

    asyncio.run(run())


def test_examples_are_shown_cut_down_to_the_questions_of_the_call():
    examples = (
        Example("Leak!", json.dumps({"answers": GOOD})),
        Example("Dry.", json.dumps({"answers": {"topic": GOOD["topic"]}})),
        Example("Broken.", "{"),
    )
    typed = PromptFile("t", "distribution", "Answer as JSON.", examples)
    _, (request,) = ask([answering()], prompt=typed)
    shown = request.body["messages"]
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "user"]
    assert shown[2]["content"] == examples[0].reply
    topic = {"topic": QUESTIONS["topic"]}
    _, (request,) = ask([completed(json.dumps({"answers": {"topic": GOOD["topic"]}}))], topic, prompt=typed)
    replies = [json.loads(message["content"]) for message in request.body["messages"][2:-1:2]]
    assert replies == [{"answers": {"topic": GOOD["topic"]}}] * 2


def test_each_answer_is_traced():
    traced = []
    ask([answering()], trace=traced.append)
    assert traced[0] == Trace("pump", "pump", 0.75, question="topic")
    assert [record.question for record in traced] == list(QUESTIONS)


def test_a_trace_that_fails_is_logged_and_changes_nothing(caplog):
    def fail(record):
        raise KeyError("CANARY")

    reply, _ = ask([answering()], trace=fail)
    assert set(reply.answers) == set(QUESTIONS)
    assert "trace callback failed (KeyError)" in caplog.text
    assert "CANARY" not in caplog.text


def classified(step, taxonomy, prompt, **more):
    async def run():
        async with ScriptedServer([step]) as server, connect(base_url=server.url) as connection:
            return await classify(
                connection, Ask("i", "CANARY", prompt, "m", settings=QUICK), taxonomy, threshold=0.7, **more
            )

    return asyncio.run(run())


def test_a_classification_is_read_and_decided_and_traced(prompt, taxonomy):
    traced = []
    text = '{"label": "reference", "confidence": 0.5, "alternatives": {"advisory": 0.45}, "entities": {"equipment": ["P-1"]}}'
    got = classified(completed(text), taxonomy, prompt, trace=traced.append)
    assert (got.classification.label, got.decision.label) == ("reference", "unclear")
    assert got.decision.reasons == ("tie", "threshold")
    assert got.completion.text == text
    assert traced == [Trace("reference", "unclear", 0.5, ("tie", "threshold"), {"equipment": ["P-1"]})]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (completed('{"label": "CANARY", "confidence": 0.5}'), Rejected),
        (completed('{"label": "advisory"}'), Rejected),
        (completed("CANARY"), Transport),
        (completed('{"label"', finish_reason="length"), Transport),
        (refused(503), Transient),
    ],
)
def test_a_classification_that_cannot_be_read_raises_and_quotes_nothing(step, error, prompt, taxonomy):
    with pytest.raises(error) as caught:
        classified(step, taxonomy, prompt)
    assert "CANARY" not in str(caught.value)


def test_a_request_under_a_prompt_of_another_contract_is_not_sent(prompt, distribution_prompt, taxonomy):
    async def run():
        async with ScriptedServer([completed("{}")]) as server, connect(base_url=server.url) as connection:
            with pytest.raises(NotConfigured, match=r"contract must be verdict, got classification"):
                await review(connection, Ask("i", "t", prompt, "m"))
            with pytest.raises(NotConfigured, match=r"contract must be classification, got distribution"):
                await classify(connection, Ask("i", "t", distribution_prompt, "m"), taxonomy, threshold=0.5)
            assert server.requests == []

    asyncio.run(run())


def test_a_verdict_is_asked_for_and_read():
    prompt = PromptFile("v", "verdict", "Judge it as JSON.")

    async def run():
        script = [completed('{"verdict": "no-match", "certainty": 80, "reason": "Other pump."}')]
        async with ScriptedServer(script) as server, connect(base_url=server.url) as connection:
            got = await review(connection, Ask("i", "t", prompt, "m", settings=QUICK))
            return got, server.requests[0].body

    got, body = asyncio.run(run())
    assert got == Verdict("no-match", 80, "Other pump.")
    asked = body["response_format"]["json_schema"]
    assert asked["strict"] is True
    jsonschema.validate({"verdict": "match", "certainty": 1, "reason": ""}, asked["schema"])


def test_no_key_or_item_is_logged(prompt, taxonomy, caplog):
    caplog.set_level(logging.DEBUG)
    classified(completed('{"label": "advisory", "confidence": 0.8}'), taxonomy, prompt)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("assay")]
    assert not any("CANARY" in message for message in ours)
