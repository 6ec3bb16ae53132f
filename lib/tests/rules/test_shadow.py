import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping

import pytest

from assay.rules.answers import Answer, Question, QuestionError
from assay.rules.classifier import Profile, Reply, Transient, Transport, Usage
from assay.rules.evidence import AgreementLog, AgreementReport, KindAgreement, Side
from assay.rules.routing import RoutingClassifier
from assay.rules.routing_policy import RoutingPolicy, Thresholds
from assay.rules.shadow import ShadowClassifier

LANG = Question.choice("Which language?", {"en": "English", "fr": "French"})
EN = Answer("choice", "en", 0.9, {"en": 0.9, "fr": 0.1})
FR = Answer("choice", "fr", 0.8, {"en": 0.2, "fr": 0.8})
SERVED = Reply({"lang": EN}, Usage(100, 10))
LONG = 60.0
"""Seconds that no test waits for."""


class Scripted:
    """Stands for an adapter: waits, then returns or raises what it was given."""

    def __init__(self, model: str, outcome: object, seconds: float = 0.0, **profile: object) -> None:
        self._profile = Profile(model, **({"calibration": "language_model"} | profile))
        self._outcome = outcome
        self._seconds = seconds
        self.states: list[str] = []

    def profile(self) -> Profile:
        return self._profile

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        self.states.append(state)
        await asyncio.sleep(self._seconds)
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        if isinstance(self._outcome, Callable):
            return await self._outcome(questions)
        return self._outcome


class Abort(BaseException):
    """An exception that is no Exception, as a library may define it."""


class Hostile(Mapping):
    """Answers that cannot be looked into."""

    def __getitem__(self, key: str) -> Answer:
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")


def shadow(
    cheap: object, expensive: object = SERVED, *, cheap_timeout: float = 0.1, **more: object
) -> ShadowClassifier:
    cheap = cheap if isinstance(cheap, Scripted) else Scripted("cheap-a", cheap)
    expensive = expensive if isinstance(expensive, Scripted) else Scripted("dear-b", expensive)
    return ShadowClassifier(cheap, expensive, cheap_timeout=cheap_timeout, **more)


def ask(classifier: ShadowClassifier, *ids: str) -> Reply:
    """Ask, and see that no task is left over."""

    async def scene() -> Reply:
        try:
            return await classifier.ask("a state", dict.fromkeys(ids or ("lang",), LANG))
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(scene())


def calls(classifier: ShadowClassifier) -> set[tuple[str, str, bool]]:
    return {(call.model, call.role, call.answered) for call in classifier.ledger.calls}


def kind(classifier: ShadowClassifier, name: str = "lang") -> KindAgreement:
    return classifier.log.report().kinds[name]


def test_the_expensive_reply_is_served_as_it_is_and_compared():
    both = shadow(Reply({"lang": FR}))
    assert ask(both) is SERVED
    (one,) = kind(both).comparisons
    assert (one.agreed, one.cheap, one.expensive, one.confidence) == (False, "fr", "en", 0.8)
    assert calls(both) == {("dear-b", "served", True), ("cheap-a", "shadow", True)}


@pytest.mark.parametrize(
    "failure",
    [
        Transport("x"),
        Transient("x"),
        ValueError("x"),
        Abort(),
        SystemExit(1),
        asyncio.CancelledError(),
        GeneratorExit(),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_nothing_the_cheap_side_raises_touches_the_result(failure, seconds, caplog):
    both = shadow(Scripted("cheap-a", failure, seconds), Scripted("dear-b", SERVED, 0.01))
    assert ask(both) is SERVED
    assert kind(both) == KindAgreement((), errors=1)
    assert calls(both) == {("dear-b", "served", True), ("cheap-a", "shadow", False)}
    assert type(failure).__name__ in caplog.text


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "en",
        {"lang": EN},
        Reply(None),
        Reply([EN]),
        Reply({}),
        Reply({"lang": "en"}),
        Reply({"lang": Answer("noul", True, 0.9)}),
        Reply({"other": EN}),
        Reply({"lang": EN}, usage=17),
        Reply({"lang": EN}, text_chars="many"),
        Reply({"lang": Answer("choice", "en", 0.9, [0.9])}),
        Reply(Hostile(), Usage(1, 1)),
        Reply(Hostile()),
    ],
)
def test_a_cheap_reply_of_the_wrong_shape_is_an_error_and_nothing_more(reply):
    both = shadow(reply)
    assert ask(both) is SERVED
    assert kind(both) == KindAgreement((), errors=1)
    assert len(both.ledger.calls) == 2


def test_cheap_ids_that_are_missing_are_errors_of_their_kinds_alone():
    both = shadow(Reply({"lang": EN}), Reply({"lang": EN, "tone": EN}))
    ask(both, "lang", "tone")
    assert kind(both, "lang").overall.agreed == 1
    assert kind(both, "tone") == KindAgreement((), errors=1)


@pytest.mark.parametrize(
    "answer",
    [Answer("choice", "en", math.nan), Answer("choice", "en", math.inf), Answer("choice", "en", 85.0)],
)
def test_a_cheap_confidence_that_is_no_probability_is_compared_and_clears_nothing(answer):
    both = shadow(Reply({"lang": answer}))
    assert ask(both) is SERVED
    assert kind(both).overall.agreed == 1
    assert kind(both).agreement_at(0.0, 0.0).measured == 0


def test_a_cheap_side_that_changes_its_questions_changes_only_its_own():
    async def clear(questions: dict) -> Reply:
        questions.clear()
        return Reply({"lang": EN})

    both = shadow(clear, Scripted("dear-b", SERVED, 0.02))
    assert ask(both) is SERVED
    assert kind(both).overall.agreed == 1


def test_a_cheap_side_that_cancels_its_own_task_touches_nothing():
    async def stop(questions: dict) -> Reply:
        asyncio.current_task().cancel()
        await asyncio.sleep(LONG)
        raise AssertionError

    both = shadow(stop, Scripted("dear-b", SERVED, 0.02))
    assert ask(both) is SERVED
    assert calls(both) == {("dear-b", "served", True), ("cheap-a", "shadow", False)}


def test_both_are_asked_at_once():
    async def scene() -> None:
        both_there = asyncio.Barrier(2)

        async def meet(questions: Mapping) -> Reply:
            await both_there.wait()
            return SERVED

        both = shadow(meet, Scripted("dear-b", meet), cheap_timeout=LONG)
        async with asyncio.timeout(LONG / 10):
            assert await both.ask("a state", {"lang": LANG}) is SERVED
        assert kind(both).overall.agreed == 1

    asyncio.run(scene())


@pytest.mark.parametrize(("cheap_seconds", "expensive_seconds"), [(0.25, 0.2), (0.2, 0.25)])
def test_a_call_takes_as_long_as_the_slower_and_not_the_sum(cheap_seconds, expensive_seconds):
    both = shadow(
        Scripted("cheap-a", SERVED, cheap_seconds), Scripted("dear-b", SERVED, expensive_seconds), cheap_timeout=LONG
    )
    start = time.perf_counter()
    ask(both)
    assert 0.24 <= time.perf_counter() - start < 0.42
    assert kind(both).overall.measured == 1


@pytest.mark.parametrize("expensive_seconds", [0.0, 0.1])
def test_a_cheap_call_that_hangs_is_dropped_at_its_deadline(expensive_seconds, caplog):
    both = shadow(Scripted("cheap-a", SERVED, LONG), Scripted("dear-b", SERVED, expensive_seconds), cheap_timeout=0.05)
    start = time.perf_counter()
    assert ask(both) is SERVED
    assert time.perf_counter() - start < LONG / 10
    assert kind(both) == KindAgreement((), errors=1)
    assert calls(both) == {("dear-b", "served", True), ("cheap-a", "shadow", False)}
    assert "TimeoutError" in caplog.text


def test_a_cheap_call_that_ignores_its_cancellation_does_not_hold_the_result(caplog):
    async def scene() -> None:
        release = asyncio.Event()

        async def stubborn(questions: Mapping) -> Reply:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return Reply({"lang": FR})

        both = shadow(stubborn, cheap_timeout=0.05)
        assert await both.ask("a state", {"lang": LANG}) is SERVED
        assert "ignores its cancellation" in caplog.text
        release.set()
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        # What it says after its deadline counts as nothing.
        assert kind(both) == KindAgreement((), errors=1)
        assert calls(both) == {("dear-b", "served", True), ("cheap-a", "shadow", False)}

    asyncio.run(scene())


def test_an_expensive_failure_is_the_calls_error_and_the_cheap_call_is_still_recorded():
    failure = Transient("later", retry_after=2.0)
    both = shadow(Scripted("cheap-a", Reply({"lang": EN}), 0.05), failure, cheap_timeout=1.0)
    with pytest.raises(Transient) as raised:
        ask(both)
    assert raised.value is failure
    assert calls(both) == {("dear-b", "served", False), ("cheap-a", "shadow", True)}
    assert kind(both) == KindAgreement((), errors=1)


def test_when_both_fail_the_expensive_error_is_the_calls():
    both = shadow(Transport("cheap"), Transient("expensive"))
    with pytest.raises(Transient, match="expensive"):
        ask(both)
    assert calls(both) == {("dear-b", "served", False), ("cheap-a", "shadow", False)}


def test_an_expensive_reply_that_is_none_is_the_calls_error():
    with pytest.raises(TypeError, match="a classifier must return a Reply, got NoneType"):
        ask(shadow(Reply({"lang": EN}), Scripted("dear-b", None)))


def test_an_expensive_answer_left_out_is_an_error_of_its_kind():
    both = shadow(Reply({"lang": EN}), Reply({}))
    assert ask(both).answers == {}
    assert kind(both) == KindAgreement((), errors=1)


@pytest.mark.parametrize(
    ("cheap_seconds", "expensive_seconds", "recorded"),
    [
        (0.0, LONG, {("cheap-a", "shadow", True)}),
        (LONG, 0.0, {("dear-b", "served", True)}),
        (LONG, LONG, set()),
    ],
)
def test_a_caller_that_cancels_stops_both_and_finds_what_returned(cheap_seconds, expensive_seconds, recorded):
    both = shadow(
        Scripted("cheap-a", Reply({"lang": EN}), cheap_seconds),
        Scripted("dear-b", SERVED, expensive_seconds),
        cheap_timeout=LONG,
    )

    async def scene() -> None:
        call = asyncio.create_task(both.ask("a state", {"lang": LANG}))
        await asyncio.sleep(0.03)
        assert calls(both) == recorded, "recorded as soon as it returned"
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scene())
    assert calls(both) == recorded


def test_a_callers_deadline_stops_both():
    both = shadow(Scripted("cheap-a", SERVED, LONG), Scripted("dear-b", SERVED, LONG), cheap_timeout=LONG)

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(both.ask("a state", {"lang": LANG}), 0.03)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scene())


def test_each_model_gets_the_state_up_to_its_own_ceiling():
    cheap = Scripted("cheap-a", Reply({"lang": EN}), max_state_chars=3)
    dear = Scripted("dear-b", SERVED, max_state_chars=5)
    asyncio.run(shadow(cheap, dear).ask("abcdefgh", {"lang": LANG}))
    assert (cheap.states, dear.states) == (["abc"], ["abcde"])


def test_the_profile_is_the_expensive_models():
    dear = Scripted("dear-b", SERVED, calibration="classifier", max_state_chars=5)
    assert shadow(Reply({})).profile().model == "dear-b"
    assert shadow(Reply({}), dear).profile() == dear.profile()


def test_a_bad_set_of_questions_calls_nobody():
    both = shadow(Reply({"lang": EN}))
    with pytest.raises(QuestionError):
        asyncio.run(both.ask("a state", {}))
    assert not both.ledger.calls


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan, math.inf, None, True, "1"])
def test_a_deadline_that_is_none_is_refused(seconds):
    with pytest.raises(ValueError, match="cheap_timeout must be a number of seconds above 0"):
        shadow(Reply({}), cheap_timeout=seconds)


def test_a_log_of_another_pair_is_refused():
    log = AgreementLog(Side("cheap-a"), Side("someone"))
    with pytest.raises(ValueError, match=r"someone.*dear-b"):
        shadow(Reply({}), log=log)


def test_no_log_line_quotes_an_error_message_or_the_state(caplog):
    caplog.set_level(logging.DEBUG)
    both = shadow(Scripted("cheap-a", ValueError("the model wrote CANARY"), max_state_chars=3))
    asyncio.run(both.ask("a CANARY state", {"lang": LANG}))
    assert "CANARY" not in "".join(record.getMessage() for record in caplog.records if record.name != "asyncio")
    assert caplog.records


def test_known_truths_grade_disagreements_and_no_model_sees_them():
    cheap = Scripted("cheap-a", Reply({"lang": FR, "tone": FR}))
    both = shadow(cheap, Reply({"lang": EN, "tone": EN}))
    asked = {"lang": LANG, "tone": LANG}
    asyncio.run(both.ask("a state", asked, truths={"lang": "fr"}, item="q1"))
    (graded,), (open_,) = kind(both).disagreements, kind(both, "tone").disagreements
    assert (graded.right, graded.item, open_.right) == ("cheap", "q1", None)
    assert cheap.states == ["a state"]


def test_evidence_gathered_by_the_shadow_earns_the_router_its_cheap_model():
    cheap, dear = Scripted("cheap-a", Reply({"lang": EN})), Scripted("dear-b", SERVED)
    both = shadow(cheap, dear)
    for _ in range(20):
        ask(both)
    evidence = AgreementReport.from_json(both.log.report().to_json())
    policy = RoutingPolicy("measured", thresholds={"cheap-a": Thresholds("language_model", 0.9, 0.8)})
    router = RoutingClassifier(cheap, dear, policy, evidence=evidence)
    reply = asyncio.run(router.ask("a state", {"lang": LANG}))
    assert reply.sources["lang"].model == "cheap-a"
