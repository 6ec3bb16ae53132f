"""What is sent: the same bytes before every question, and a dialect that gives way to refusals."""

import asyncio
import json
from dataclasses import replace

import jsonschema
import pytest
from assay_test_server import ScriptedServer, completed, refused
from hypothesis import given
from hypothesis import strategies as st

from assay.ask import Ask, Dialect, Example, Patience, Sampling, Settings, ask_once, build_request, connect
from assay.ask.request import EVERYTHING, FORMATS, sent_format
from assay.ask.schema import reply_schema
from assay.rules import Taxonomy
from assay.rules.parsing import AnswerFields, parse_classification

ANSWER = '{"label": "advisory", "confidence": 0.8, "alternatives": {}}'


@pytest.fixture
def ask_all(taxonomy):
    """Put asks to a scripted server one after the other; return the completions and the requests."""

    def run(script, asks):
        async def all_of_them():
            async with ScriptedServer(script) as server, connect(base_url=server.url) as connection:
                got = [await ask_once(connection, ask, taxonomy) for ask in asks]
                return got, server.requests

        return asyncio.run(all_of_them())

    return run


def test_everything_before_the_question_is_the_same_bytes(ask_all, prompt):
    questions = ["What tripped?", 'quoted " and \\ and {braces} and é', "a much longer question " * 40]
    _, requests = ask_all([completed(ANSWER)], [Ask(f"i{n}", text, prompt, "m") for n, text in enumerate(questions)])
    cut = [
        request.raw.split(json.dumps(text, ensure_ascii=False).encode())
        for request, text in zip(requests, questions, strict=True)
    ]
    assert all(len(parts) == 2 for parts in cut), "the question stands in the request once"
    assert len({before for before, _ in cut}) == 1
    assert len({after for _, after in cut}) == 1


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_the_question_is_the_last_message_and_nowhere_else(text, prompt, taxonomy):
    body = build_request(Ask("i", text, prompt, "m"), taxonomy)
    *before, last = body["messages"]
    assert last == {"role": "user", "content": text}
    assert before[0] == {"role": "system", "content": prompt.system}
    assert [message["content"] for message in before[1:]] == [
        part for example in prompt.examples for part in (example.question, example.reply)
    ]
    assert {**body, "messages": before} == {**build_request(Ask("i", "", prompt, "m"), taxonomy), "messages": before}


def test_a_request_asks_for_temperature_0_a_cap_json_and_log_probabilities(prompt, taxonomy):
    body = build_request(Ask("i", "t", prompt, "m"), taxonomy)
    assert (body["temperature"], body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (0, 300, True, 20)
    assert body["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == list(taxonomy.names)
    assert "n" not in body
    assert "stream" not in body
    plain = build_request(Ask("i", "t", prompt, "m", settings=Settings(top_logprobs=0, seed=7)), taxonomy)
    assert "logprobs" not in plain
    assert plain["seed"] == 7


def refusing(*, parameters=(), formats=(), most_top=20, key="param"):
    """A model that refuses `parameters` and `formats`, and names what it refused in the field or in its words."""

    def script(request):
        body = request.body
        named = next((name for name in parameters if name in body), None)
        if named is None and sent_format(body) in formats:
            named = "response_format"
        if named is None and body.get("top_logprobs", 0) > most_top:
            named = "top_logprobs"
        if named is None:
            return completed(ANSWER)
        if key == "param":
            return refused(400, "unsupported_parameter", param=named)
        return refused(422, 422, message=f"Extra inputs: '{named}' is not supported here")

    return script


@pytest.mark.parametrize("key", ["param", "message"])
def test_a_reasoning_model_is_asked_without_what_it_refuses(ask_all, prompt, key):
    script = refusing(parameters=("max_tokens", "temperature", "logprobs"), most_top=0, key=key)
    asks = [Ask(f"i{n}", "t", prompt, "thinker") for n in range(4)]
    got, requests = ask_all(script, asks)
    assert [one.error for one in got] == [None] * 4
    assert [one.tries for one in got] == [1] * 4, "a refused parameter is no failed try"
    last = requests[-1].body
    assert last["max_completion_tokens"] == 300
    assert not {"temperature", "max_tokens", "logprobs", "top_logprobs"} & set(last)
    assert got[-1].sent == {"max_completion_tokens": 300, "format": "json_schema"}
    assert len(requests) <= 4 + 4, "what was refused once is remembered"


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5-mini", "openai/o3"])
def test_a_known_reasoning_model_is_asked_so_from_the_start(ask_all, prompt, model):
    _, (request,) = ask_all([completed(ANSWER)], [Ask("i", "t", prompt, model)])
    assert "max_completion_tokens" in request.body
    assert not {"temperature", "max_tokens", "logprobs"} & set(request.body)


@pytest.mark.parametrize(
    "model", ["gpt-4o-mini", "gpt-5-chat-latest", "gpt-50", "mistral-small", "o", "olmo-1", "gpt-4.1"]
)
def test_any_other_model_is_asked_for_everything(model):
    assert Dialect.expected_of(model) == EVERYTHING


@pytest.mark.parametrize(
    ("unknown", "left"),
    [
        (("json_schema",), "json_object"),
        (("json_schema", "json_object"), "text"),
    ],
)
def test_the_firmest_form_that_is_offered_is_used(ask_all, prompt, unknown, left):
    got, requests = ask_all(refusing(formats=unknown), [Ask(f"i{n}", "t", prompt, "m") for n in range(3)])
    assert [sent_format(request.body) for request in requests][-3:] == [left] * 3
    assert len(requests) == 3 + len(unknown)
    assert {one.sent["format"] for one in got} == {left}


def test_fewer_alternatives_are_asked_for_before_none(ask_all, prompt):
    got, requests = ask_all(refusing(most_top=5), [Ask("i", "t", prompt, "m")])
    assert [request.body.get("top_logprobs") for request in requests] == [20, 5]
    assert got[0].error is None


def test_a_refusal_that_is_not_cured_is_not_remembered(ask_all, prompt):
    """A model that blames the temperature once and then fails anyway may have been right about something else."""
    steps = [refused(400, None, param="temperature"), refused(400, "invalid_prompt"), completed(ANSWER)]
    got, requests = ask_all(steps, [Ask("i1", "t", prompt, "m"), Ask("i2", "t", prompt, "m")])
    assert [one.error for one in got] == ["rejected", None]
    assert "temperature" in requests[-1].body


def test_a_model_that_refuses_everything_ends_in_a_rejection(ask_all, prompt):
    def script(request):
        names = [name for name in request.body if name not in ("model", "messages")]
        return refused(400, "unsupported_parameter", param=names[0] if names else "messages")

    (got,), requests = ask_all(script, [Ask("i", "t", prompt, "m", settings=Settings(seed=1))])
    assert got.error == "rejected"
    assert len(requests) < 12


def test_what_one_model_refuses_is_not_held_against_another(ask_all, prompt):
    def script(request):
        if request.body["model"] == "picky" and "temperature" in request.body:
            return refused(400, "unsupported_value", param="temperature")
        return completed(ANSWER)

    asks = [Ask("i1", "t", prompt, "picky"), Ask("i2", "t", prompt, "easy")]
    _, requests = ask_all(script, asks)
    assert ["temperature" in request.body for request in requests] == [True, False, True]


def test_a_name_in_the_item_is_not_taken_for_a_refused_parameter(ask_all, prompt):
    step = refused(400, "invalid_prompt", param="messages", message="temperature response_format logprobs")
    (got,), requests = ask_all([step], [Ask("i", "t", prompt, "m")])
    assert (got.error, len(requests)) == ("rejected", 1)


@pytest.mark.parametrize("form", FORMATS)
def test_a_settled_form_is_where_the_search_begins(form, prompt, taxonomy):
    body = build_request(Ask("i", "t", prompt, "m", settings=Settings(format=form)), taxonomy)
    assert sent_format(body) == ("json_schema" if form == "strict_schema" else form)


def test_the_schema_admits_the_examples_and_pins_the_labels(prompt, taxonomy):
    schema = reply_schema(prompt, taxonomy)
    validator = jsonschema.Draft202012Validator(schema)
    for example in prompt.examples:
        validator.validate(json.loads(example.reply))
    good = json.loads(ANSWER)
    for bad in (
        {**good, "label": "other"},
        {**good, "extra": 1},
        {"label": "advisory"},
        {**good, "alternatives": {"x": 1}},
    ):
        assert not validator.is_valid(bad)


def test_the_schema_lists_the_keys_in_the_order_that_the_examples_teach(prompt, taxonomy):
    turned = replace(
        prompt, examples=(Example("q", '{"missing_context": [], "confidence": 0.5, "label": "advisory"}'),)
    )
    assert list(reply_schema(turned, taxonomy)["properties"]) == ["missing_context", "confidence", "label"]


def test_the_schema_uses_the_fields_and_the_abstain_name_of_the_study(prompt):
    fields = AnswerFields(label="class", confidence="certainty", scale=100)
    schema = reply_schema(replace(prompt, examples=()), Taxonomy.of("a", "b", abstain="ask"), fields)
    assert schema["properties"]["class"]["enum"] == ["a", "b", "ask"]
    assert schema["required"] == ["class", "certainty"]
    reply = {"class": "ask", "certainty": 40, "alternatives": {"a": 10}, "missing_context": ["x"], "entities": {}}
    jsonschema.validate(reply, schema)
    assert parse_classification(json.dumps(reply), Taxonomy.of("a", "b", abstain="ask"), fields).label == "ask"


def test_a_distribution_prompt_sends_its_questions_with_every_item(distribution_prompt, taxonomy):
    body = build_request(Ask("i", "The text.", distribution_prompt, "m"), taxonomy)
    asked = body["messages"][-1]["content"]
    assert asked.endswith("\n\nText:\nThe text.")
    assert "what advisory means" in asked
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert set(schema["schema"]["properties"]["answers"]["properties"]) == {"class", "urgent"}


def test_two_asks_are_the_same_only_if_nothing_that_is_sent_differs(prompt):
    ask = Ask("i", "t", prompt, "m")
    patient = replace(ask, settings=Settings(patience=Patience(timeout=1)))
    assert patient.key == ask.key
    renamed = replace(ask, prompt=replace(prompt, name="other", source="elsewhere"))
    assert renamed.key == ask.key
    others = [
        replace(ask, item_id="j"),
        replace(ask, model="n"),
        replace(ask, run=1),
        replace(ask, settings=Settings(top_logprobs=5)),
        replace(ask, settings=Settings(format="text")),
        replace(ask, settings=Settings(seed=1)),
        replace(ask, prompt=replace(prompt, system="other")),
        replace(ask, prompt=replace(prompt, sampling=Sampling(temperature=0.5))),
        replace(ask, prompt=replace(prompt, examples=prompt.examples[:1])),
    ]
    assert len({one.key for one in [ask, *others]}) == len(others) + 1
    assert replace(ask, text="u").text_hash != ask.text_hash


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Patience(timeout=0), "timeout must be a number of seconds above 0, got 0"),
        (lambda: Patience(tries=0), "tries must be a whole number of at least 1, got 0"),
        (lambda: Patience(first_wait=float("nan")), "first_wait must be a number of seconds of at least 0, got nan"),
        (
            lambda: Settings(format="xml"),
            "format must be one of strict_schema, json_schema, json_object, text, got 'xml'",
        ),
        (lambda: Settings(top_logprobs=-1), "top_logprobs must be a whole number of at least 0, got -1"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
