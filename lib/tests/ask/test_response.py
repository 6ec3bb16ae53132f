"""A provider's reply is read whatever its shape, and never raises."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ask import FAULTS, Completion, read_body, read_reply
from assay.rules.classifier import Usage

A08 = next(Path(__file__).parents[1].glob("reports/A08*"))

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def chat(**parts):
    """A chat completion some of whose fields hold anything."""
    keys = ("id", "model", "choices", "usage", "error", "message", "content", "refusal", "finish_reason", "logprobs")
    more = ("token", "logprob", "bytes", "top_logprobs", "parsed", "code", "prompt_tokens", "completion_tokens")
    return st.fixed_dictionaries({}, optional=dict.fromkeys((*keys, *more), parts["of"]))


replies = st.deferred(lambda: chat(of=json_values | replies | st.lists(replies, max_size=2)))


@given(replies | json_values)
def test_no_reply_raises_and_every_one_can_be_stored(body):
    got = read_reply(body)
    assert got.error is None or got.error in FAULTS
    assert got.error is not None or got.text.strip()
    stored = json.dumps(got.to_dict(), ensure_ascii=False).encode()
    again = Completion.from_dict(json.loads(stored))
    assert repr(again) == repr(got)


@given(st.binary(max_size=60))
def test_no_bytes_raise(raw):
    assert read_body(raw).error in FAULTS


@pytest.mark.parametrize(
    ("name", "kind"), [("filtered", "filtered"), ("refusal", "refused"), ("empty", "empty"), ("prose", None)]
)
def test_filtered_refused_and_empty_are_told_apart_from_prose(name, kind):
    got = read_body((A08 / f"{name}.json").read_bytes())
    assert got.error == kind
    assert got.usage == Usage(210, 16)
    assert got.served_model == "example-model-2026-05"


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": "3"}, {"prompt_tokens": True}, {"prompt_tokens": 1.5}, [1]],
)
def test_usage_that_is_none_is_unknown(usage):
    assert read_reply({"usage": usage, "choices": []}).usage is None


@pytest.mark.parametrize("name", ["a\nb", "", "x" * 201, 3, None, "\ud800"])
def test_a_served_model_that_is_no_name_is_unknown(name):
    assert read_reply({"model": name}).served_model is None


@pytest.mark.parametrize("logprob", [-9999.0, -1e30, float("-inf"), float("inf"), float("nan"), None, "-1", True])
def test_a_log_probability_that_is_none_is_unknown_and_never_0(logprob):
    listed = {"token": "a", "logprob": logprob}
    logprobs = {"content": [{**listed, "top_logprobs": [listed, 3]}]}
    got = read_reply({"choices": [{"message": {"content": "a"}, "logprobs": logprobs}]})
    (token,) = got.tokens
    assert token.logprob is None
    assert [other.logprob for other in token.top] == [None]


def test_text_with_half_a_surrogate_pair_is_no_text():
    got = read_body(rb'{"choices": [{"message": {"content": "{\"label\": \ud800}"}}]}')
    assert (got.error, got.text) == ("unreadable_reply", None)


def test_tokens_that_cannot_be_read_are_absent():
    for content in ([], None, [3], [{"logprob": -1}], {"token": "a"}):
        assert read_reply({"choices": [{"message": {"content": "a"}, "logprobs": {"content": content}}]}).tokens is None
