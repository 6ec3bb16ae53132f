"""One ask of a real server that misbehaves in every way that providers do."""

import asyncio
import json
import time

import pytest
from assay_test_server import ScriptedServer, Step, completed, refused, reply

from assay.ask import Ask, Completion, Patience, Settings, ask_once, connect
from assay.rules.classifier import NotConfigured

ANSWER = '{"label": "advisory", "confidence": 0.8, "alternatives": {}}'
QUICK = Patience(timeout=2.0, tries=3, first_wait=0.01, longest_wait=1.5)


@pytest.fixture
def asked(prompt, taxonomy):
    """Ask a server that follows a script once, and return the completion and what the server received."""

    def run(script, *, patience=QUICK, settings=None, model="m", item="Is it safe?"):
        async def once():
            async with ScriptedServer(script) as server, connect(base_url=server.url) as connection:
                wanted = settings or Settings(patience=patience)
                got = await ask_once(connection, Ask("i1", item, prompt, model, 0, wanted), taxonomy)
                return got, server.requests

        return asyncio.run(once())

    return run


def test_an_answer_comes_back_whole(asked):
    got, requests = asked([completed(ANSWER)])
    assert (got.text, got.error, got.finish_reason, got.served_model, got.tries) == (
        ANSWER,
        None,
        "stop",
        "served-1",
        1,
    )
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (210, 16)
    assert 0 < got.latency_s < 2
    assert len(requests) == 1


def test_a_wait_that_the_provider_names_is_waited_for(asked):
    started = time.monotonic()
    got, requests = asked([refused(429, headers={"retry-after": "1"}), completed(ANSWER)])
    assert time.monotonic() - started >= 1.0
    assert (got.error, got.tries, len(requests)) == (None, 2, 2)
    assert got.latency_s < 0.9, "waiting is not latency"


def test_a_wait_longer_than_patience_ends_the_ask_and_is_passed_on(asked):
    started = time.monotonic()
    got, requests = asked([refused(429, headers={"retry-after": "30"})])
    assert time.monotonic() - started < 5
    assert (got.error, got.retry_after, len(requests)) == ("rate_limited", 30.0, 1)


def test_two_server_errors_are_forgotten_once_an_answer_comes(asked):
    got, requests = asked([refused(500), refused(500), completed(ANSWER)])
    assert (got.error, got.text, got.tries, len(requests)) == (None, ANSWER, 3, 3)


def test_a_server_that_never_recovers_is_asked_no_more_than_patience_allows(asked):
    got, requests = asked([refused(503)])
    assert (got.error, got.tries, len(requests)) == ("server_error", 3, 3)


def test_a_server_that_hangs_is_given_up_after_the_time_out(asked):
    started = time.monotonic()
    got, _ = asked([Step(hang=True)], patience=Patience(timeout=0.2, tries=2, first_wait=0.01))
    assert (got.error, got.tries) == ("timed_out", 2)
    assert time.monotonic() - started < 2


def test_a_server_that_drips_is_given_up_after_the_time_out(asked):
    """Each byte restarts a read time-out; the time-out of a try is of the whole of it."""
    dripping = Step(body=b" " * 100, pace=0.05)
    got, _ = asked([dripping], patience=Patience(timeout=0.3, tries=1))
    assert got.error == "timed_out"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Step(cut=True), "connection_failed"),
        (Step(body=b'{"id": "c-1", "choi', promised=500, cut=True), "connection_failed"),
        (Step(body=b'{"id": "c-1", "choi'), "unreadable_reply"),
        (Step(body=b"<html>busy</html>", headers={"content-type": "text/html"}), "unreadable_reply"),
        (Step(body=b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'), "unreadable_reply"),
        (Step(body=b"[" * 100_000), "unreadable_reply"),
        (Step(body=b""), "unreadable_reply"),
        (Step(body=b'{"error": {"code": 429, "message": "slow down"}}'), "rate_limited"),
        (Step(body=b'{"error": {"code": 502}}'), "server_error"),
    ],
)
def test_a_reply_that_is_none_is_tried_again(asked, fault, kind):
    got, requests = asked([fault, completed(ANSWER)])
    assert (got.error, got.text, len(requests)) == (None, ANSWER, 2)
    got, requests = asked([fault], patience=Patience(timeout=5, tries=2, first_wait=0.0))
    assert (got.error, got.text, len(requests)) == (kind, None, 2)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (
            refused(400, "content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}, param="prompt"),
            "filtered",
        ),
        (refused(404, "model_not_found"), "unknown_model"),
        (refused(404, "DeploymentNotFound"), "unknown_model"),
        (refused(400, None, param="model"), "unknown_model"),
        (refused(401, "invalid_api_key"), "unauthorised"),
        (refused(403), "unauthorised"),
        (refused(429, "insufficient_quota"), "quota_exhausted"),
        (refused(400, "context_length_exceeded"), "too_long"),
        (refused(400, 400, type="exceed_context_size_error"), "too_long"),
        (refused(413), "too_long"),
        (refused(400, "invalid_prompt"), "rejected"),
        (Step(400, b"no JSON here"), "rejected"),
        (Step(418, b"null"), "rejected"),
    ],
)
def test_a_refusal_by_the_provider_is_not_tried_again(asked, fault, kind):
    got, requests = asked([fault, completed(ANSWER)])
    assert (got.error, got.text, len(requests)) == (kind, None, 1)


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (completed(None, refusal="I would rather not."), "refused", None),
        (completed("I would rather not.", refusal="I would rather not."), "refused", "I would rather not."),
        (completed('{"label": "adv', finish_reason="length"), "truncated", '{"label": "adv'),
        (completed(None, finish_reason="content_filter"), "filtered", None),
        (completed("", finish_reason="stop"), "empty", ""),
        (completed(None), "empty", None),
        (completed(" \n "), "empty", " \n "),
        (completed(None, finish_reason="tool_calls", tool_calls=[]), "empty", None),
    ],
)
def test_why_a_reply_holds_no_usable_text_is_told_apart(asked, step, kind, text):
    got, requests = asked([step])
    assert (got.error, got.text, len(requests)) == (kind, text, 1)
    assert got.usage is not None, "it was paid for all the same"


def test_an_item_that_is_no_text_is_not_sent(asked):
    got, requests = asked([completed(ANSWER)], item="half a pair: \ud800")
    assert (got.error, requests) == ("unsendable", [])


def test_neither_the_items_nor_the_providers_words_reach_an_error(asked):
    words = "the key sk-secret-1234567890 may not ask CANARY"
    for step in (
        refused(401, message=words),
        refused(400, message=words),
        refused(400, words),
        refused(500, message=words),
    ):
        got, _ = asked([step], item="CANARY")
        assert "CANARY" not in repr(got)
        assert "sk-secret" not in repr(got)


def test_without_a_model_nothing_is_sent(asked, prompt, taxonomy):
    with pytest.raises(NotConfigured, match="no model is named"):
        asked([completed(ANSWER)], model=" ")
    with pytest.raises(NotConfigured, match="no connection"):
        asyncio.run(ask_once(None, Ask("i", "t", prompt, "m"), taxonomy))


def test_a_cancelled_ask_stops_at_once(prompt, taxonomy):
    async def run():
        async with ScriptedServer([Step(hang=True)]) as server, connect(base_url=server.url) as connection:
            task = asyncio.create_task(ask_once(connection, Ask("i", "t", prompt, "m"), taxonomy))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_one_failing_ask_among_many_loses_nothing_else(prompt, taxonomy):
    """Half of the items meet a fault that does not pass; the others are answered all the same."""
    faults = [refused(400, "content_filter"), Step(cut=True), Step(body=b"<html>"), refused(404), completed(None)]

    def script(request):
        number = int(request.body["messages"][-1]["content"].split()[-1])
        return faults[number // 2 % len(faults)] if number % 2 else completed(ANSWER)

    async def run():
        settings = Settings(patience=Patience(timeout=5, tries=2, first_wait=0.0))
        async with ScriptedServer(script) as server, connect(base_url=server.url) as connection:
            asks = [Ask(f"i{number}", f"question {number}", prompt, "m", 0, settings) for number in range(40)]
            return await asyncio.gather(*(ask_once(connection, ask, taxonomy) for ask in asks))

    got = asyncio.run(run())
    assert [one.error for one in got[::2]] == [None] * 20
    kinds = ["filtered", "connection_failed", "unreadable_reply", "unknown_model", "empty"]
    assert [one.error for one in got[1::2]] == [kinds[number % 5] for number in range(20)]


def test_a_completion_survives_the_store(asked):
    odd = "a\u2028b\x00é"
    logprobs = [
        {"token": "é"[:1], "logprob": -0.5, "bytes": [0xC3], "top_logprobs": [{"token": "x", "logprob": -9999.0}]},
        {"token": odd, "logprob": -0.1, "bytes": None, "top_logprobs": []},
    ]
    got, _ = asked([completed(ANSWER, logprobs=logprobs)])
    assert got.tokens[0].raw == b"\xc3"
    assert got.tokens[0].top[0].logprob is None
    assert Completion.from_dict(json.loads(json.dumps(got.to_dict()))) == got
    failed, _ = asked([refused(429, headers={"retry-after": "30"})])
    assert Completion.from_dict(json.loads(json.dumps(failed.to_dict()))) == failed


def test_a_structured_payload_goes_before_the_text(asked):
    got, _ = asked([completed("not this", parsed={"label": "advisory"})])
    assert json.loads(got.text) == {"label": "advisory"}


def test_content_in_parts_is_joined(asked):
    parts = [{"type": "text", "text": '{"label": '}, {"type": "text", "text": '"advisory"}'}]
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": parts}}
    got, _ = asked([Step(body=json.dumps(reply(choice)).encode())])
    assert got.text == '{"label": "advisory"}'
