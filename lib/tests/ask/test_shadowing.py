"""Measuring agreement between two live models: real clients, a real server on loopback, and models that misbehave."""

import asyncio
import json
import math
import time
from dataclasses import replace

import pytest
from assay_test_server import ScriptedServer, completed, refused

from assay.ask import LanguageModelClassifier, Patience, Settings, connect
from assay.ask.shadowing import Asked, measure_agreement
from assay.rules import (
    AgreementReport,
    Answer,
    CostLedger,
    NotConfigured,
    Profile,
    Question,
    Reply,
    Role,
    ShadowClassifier,
    Transport,
)

LANG = {"lang": Question.choice("Which language?", {"en": "English", "fr": "French"})}
QUICK = Settings(patience=Patience(timeout=5, tries=1))
ITEMS = [Asked(f"q{number}", f"text {number}", {"lang": "en"}) for number in range(6)]


class Model:
    """Stands for an adapter: answers by the state, after a while, or does something else altogether."""

    def __init__(self, name, answer):
        self.name, self.answer, self.under_way, self.most = name, answer, 0, 0

    def profile(self):
        return Profile(self.name, "language_model", "verbal")

    async def ask(self, state, questions):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            given = self.answer(state)
            return await given if asyncio.iscoroutine(given) else given
        finally:
            self.under_way -= 1


def says(label, confidence=0.9):
    return Reply({"lang": Answer("choice", label, confidence, {label: confidence})})


def measure(cheap, expensive, items=ITEMS, **more):
    settings = {"cheap_timeout": 0.2, **more}
    return asyncio.run(measure_agreement(Model("cheap-a", cheap), Model("dear-b", expensive), items, LANG, **settings))


def test_disagreements_are_graded_by_the_truth_and_say_where_they_came_from():
    report = measure(lambda state: says("fr" if state.endswith(("1", "4")) else "en"), lambda state: says("en"))
    kind = report.kinds["lang"]
    assert (kind.overall.measured, kind.overall.agreed, kind.errors) == (6, 4, 0)
    assert kind.graded == {"cheap": 0, "expensive": 2, "neither": 0}
    assert [one.item for one in kind.disagreements] == ["q1", "q4"]
    assert AgreementReport.from_json(report.to_json()).digest() == report.digest()


def test_the_report_is_in_the_order_of_the_items_whatever_the_order_of_the_replies():
    async def late(state):
        await asyncio.sleep(0.06 - 0.01 * int(state[-1]))
        return says("fr")

    together = measure(late, lambda state: says("en"), at_once=6)
    assert [one.item for one in together.kinds["lang"].comparisons] == [one.item for one in ITEMS]
    assert together.digest() == measure(late, lambda state: says("en"), at_once=1).digest()


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_calls_are_under_way_than_allowed(at_once):
    async def slow(state):
        await asyncio.sleep(0.01)
        return says("en")

    dear = Model("dear-b", slow)
    asyncio.run(measure_agreement(Model("cheap-a", slow), dear, ITEMS, LANG, cheap_timeout=1.0, at_once=at_once))
    assert dear.most == at_once


def fails(state):
    raise Transport("no readable answer")


async def hangs(state):
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    "cheap",
    [
        fails,
        hangs,
        lambda state: Reply({}),
        lambda state: Reply({"other": says("en").answers["lang"]}),
        lambda state: None,
    ],
    ids=["raises", "hangs", "no answers", "another id", "nothing"],
)
def test_a_cheap_model_that_gives_no_answer_is_an_error_and_in_no_rate(cheap):
    ledger = CostLedger()
    report = measure(cheap, lambda state: says("en"), ITEMS[:2], ledger=ledger, cheap_timeout=0.05)
    assert (report.kinds["lang"].overall.measured, report.kinds["lang"].errors) == (0, 2)
    served = [call for call in ledger.calls if call.role is Role.SERVED]
    assert [call.answered for call in served] == [True, True]


def test_a_cheap_confidence_that_is_no_number_is_compared_and_reaches_no_floor():
    report = measure(lambda state: says("en", math.nan), lambda state: says("en"))
    assert report.kinds["lang"].overall.agreed == 6
    assert report.kinds["lang"].agreement_at(0.0, 0.0).measured == 0


def test_an_expensive_failure_is_counted_and_the_rest_is_measured():
    report = measure(lambda state: says("en"), lambda state: fails(state) if state.endswith("2") else says("en"))
    assert (report.kinds["lang"].overall.measured, report.kinds["lang"].errors) == (5, 1)


def test_an_expensive_model_that_is_not_configured_stops_the_measurement():
    def lacking(state):
        raise NotConfigured("no model is wired")

    with pytest.raises(NotConfigured, match="no model is wired"):
        measure(lambda state: says("en"), lacking, at_once=3)


def test_a_measurement_that_stops_waits_for_no_call_that_is_under_way():
    def lacking_or_slow(state):
        if state.endswith("0"):
            raise NotConfigured("no model is wired")
        return hangs(state)

    async def scene():
        began = time.perf_counter()
        with pytest.raises(NotConfigured):
            await asyncio.wait_for(
                measure_agreement(
                    Model("cheap-a", lambda state: says("en")), Model("dear-b", lacking_or_slow), ITEMS, LANG,
                    cheap_timeout=0.05, at_once=3,
                ), 5,
            )  # fmt: skip
        assert time.perf_counter() - began < 3
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scene())


def test_a_caller_that_gives_up_leaves_no_call_behind():
    async def scene():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                measure_agreement(Model("cheap-a", hangs), Model("dear-b", hangs), ITEMS, LANG, cheap_timeout=60), 0.05
            )
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scene())


def test_an_item_given_twice_is_refused():
    with pytest.raises(ValueError, match="item 'q0' is asked about twice"):
        measure(fails, fails, [ITEMS[0], ITEMS[1], ITEMS[0]])


@pytest.mark.parametrize("at_once", [0, True, 1.5])
def test_a_number_of_calls_that_is_none_is_refused(at_once):
    with pytest.raises(ValueError, match="at_once must be a whole number of at least 1"):
        measure(fails, fails, at_once=at_once)


def completion(label, confidence, **more):
    other = "fr" if label == "en" else "en"
    answers = {"lang": {"value": label, "probabilities": {label: confidence, other: 1 - confidence}}}
    return completed(json.dumps({"answers": answers}), **more)


async def over_http(cheap_script, expensive_script, use):
    """Give `use` two language models behind real clients of two real servers."""
    async with (
        ScriptedServer(cheap_script) as cheap_server,
        ScriptedServer(expensive_script) as dear_server,
        connect(base_url=cheap_server.url) as cheap,
        connect(base_url=dear_server.url) as dear,
    ):
        return await use(
            LanguageModelClassifier(cheap, "cheap-a", settings=QUICK),
            LanguageModelClassifier(dear, "dear-b", settings=QUICK),
        )


def test_two_models_over_http_are_measured_with_the_tokens_that_they_report():
    ledger = CostLedger()

    async def use(cheap, dear):
        return await measure_agreement(cheap, dear, ITEMS, LANG, cheap_timeout=5.0, ledger=ledger)

    report = asyncio.run(over_http([completion("en", 0.8)], [completion("fr", 0.9)], use))
    assert report.kinds["lang"].graded == {"cheap": 6, "expensive": 0, "neither": 0}
    assert report.cheap.model == "cheap-a"
    assert report.cheap.elicitation is not None
    assert {call.role for call in ledger.calls} == {Role.SERVED, Role.SHADOW}
    assert not any(call.usage.estimated for call in ledger.calls)


def test_a_server_that_refuses_the_cheap_model_costs_the_expensive_one_nothing():
    async def use(cheap, dear):
        return await measure_agreement(cheap, dear, ITEMS, LANG, cheap_timeout=5.0)

    report = asyncio.run(over_http([refused(500)], [completion("en", 0.9)], use))
    assert report.kinds["lang"].errors == 6


@pytest.mark.parametrize("delays", [(0.6, 0.5), (0.5, 0.6)])
def test_over_http_a_shadowed_call_takes_as_long_as_the_slower_side(delays):
    async def use(cheap, dear):
        shadow = ShadowClassifier(cheap, dear, cheap_timeout=5.0)
        began = time.perf_counter()
        await shadow.ask("text", LANG)
        return time.perf_counter() - began, shadow.log.report()

    cheap, dear = ([replace(completion("en", 0.9), delay=one)] for one in delays)
    seconds, report = asyncio.run(over_http(cheap, dear, use))
    assert 0.6 <= seconds < 1.0, "the sum would be 1.1"
    assert report.kinds["lang"].overall.agreed == 1
