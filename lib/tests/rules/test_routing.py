import asyncio
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Answer, Calibration, Question, QuestionError
from assay.rules.calls import Role
from assay.rules.classifier import Profile, Rejected, Reply, Transient, Transport, Usage
from assay.rules.costs import CostLedger
from assay.rules.evidence import AgreementReport, Comparison, KindAgreement, Side
from assay.rules.routing import RoutingClassifier, Source
from assay.rules.routing_policy import RouteReason, RoutingMode, RoutingPolicy, RoutingRefused, Thresholds

LANGUAGE_MODEL = Calibration.LANGUAGE_MODEL
SURE = Answer("choice", "en", 0.9, {"en": 0.9, "fr": 0.1})
UNSURE = Answer("choice", "en", 0.5, {"en": 0.5, "fr": 0.5})
LANG = Question.choice("Which language?", {"en": "English", "fr": "French"})


class Scripted:
    """Stands for an adapter: gives the answers it was given, asked for or not, raises or waits."""

    def __init__(self, profile: Profile, script: object = "all") -> None:
        self._profile = profile
        self.script = script
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def profile(self) -> Profile:
        return self._profile

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        self.asked.append((state, tuple(questions)))
        await asyncio.sleep(0)
        if isinstance(self.script, BaseException):
            raise self.script
        if callable(self.script):
            return await self.script()
        if self.script == "all":
            return Reply({name: Answer(one.kind, "en", 0.9) for name, one in questions.items()})
        return Reply(self.script)


def scripted(model: str, script: object = "all", **profile: object) -> Scripted:
    return Scripted(Profile(model, **({"calibration": LANGUAGE_MODEL} | profile)), script)


def trusted(*kinds: str) -> AgreementReport:
    agreed = KindAgreement((Comparison(0.9, 0.8, True),) * 20)
    return AgreementReport(Side("cheap-a"), Side("dear-b"), dict.fromkeys(kinds, agreed))


def measured(**changes: object) -> RoutingPolicy:
    thresholds = {"cheap-a": Thresholds(LANGUAGE_MODEL, 0.8, 0.3)}
    return RoutingPolicy(**({"mode": RoutingMode.MEASURED, "thresholds": thresholds} | changes))


def ask(router: RoutingClassifier, *ids: str, state: str = "a state") -> Reply:
    return asyncio.run(router.ask(state, dict.fromkeys(ids, LANG)))


def roles(ledger: CostLedger) -> list[tuple[str, str]]:
    return [(call.model, call.role) for call in ledger.calls]


# The vectors


def number(value: float | None) -> float:
    return math.nan if value is None else value


def vector_answer(given: dict) -> Answer:
    probabilities = {label: number(value) for label, value in given["probabilities"].items()}
    return Answer(given["type"], given["value"], number(given["confidence"]), probabilities)


def vector_adapter(side: dict) -> Scripted:
    script: object = side["answers"]
    if script == "fail":
        script = Transport("no readable answer")
    elif script != "all":
        script = {name: vector_answer(one) for name, one in script.items()}
    return Scripted(Profile(side["id"], side["calibration"]), script)


def vector_policy(given: dict) -> RoutingPolicy:
    thresholds = {name: Thresholds(**one) for name, one in given["thresholds"].items()}
    return RoutingPolicy(**(given | {"thresholds": thresholds}))


def vector_evidence(given: dict) -> AgreementReport:
    kinds = {
        name: KindAgreement(
            tuple(Comparison(number(one["confidence"]), number(one["margin"]), one["agreed"]) for one in points)
        )
        for name, points in given["kinds"].items()
    }
    return AgreementReport(Side(given["cheap"]), Side(given["expensive"]), kinds)


def vector_questions(case: dict) -> dict[str, Question]:
    """Ask each id as its cheap answer needs it: the vectors name ids only."""
    forms = {"choice": LANG, "noul": Question.noul("Is it?"), "score": Question.score("How?", [("1", ""), ("2", "")])}
    cheap = case["cheap"]["answers"]
    kinds = {name: one["type"] for name, one in cheap.items()} if isinstance(cheap, dict) else {}
    return {name: forms[kinds.get(name, "choice")] for name in case["questions"]}


def outcome(case: dict, ledger: CostLedger) -> dict:
    """Run one vector through the real router, its policy and evidence read back from JSON first."""
    policy = RoutingPolicy.from_json(vector_policy(case["policy"]).to_json())
    evidence = AgreementReport.from_json(vector_evidence(case["evidence"]).to_json())
    try:
        router = RoutingClassifier(
            vector_adapter(case["cheap"]), vector_adapter(case["expensive"]), policy, evidence=evidence, ledger=ledger
        )
    except RoutingRefused as refused:
        return {"refused": refused.kind, **refused.names}
    try:
        reply = asyncio.run(router.ask("a state", vector_questions(case)))
    except QuestionError:
        return {"call_error": "bad_question_set"}
    except Transport:
        return {"call_error": "serving_adapter_failed"}
    assert reply.answers.keys() == reply.sources.keys()
    return {"routed": {name: {"adapter": one.model, "reason": one.reason} for name, one in reply.sources.items()}}


def calls_wanted(line: dict) -> list[dict]:
    """Say who must have been asked what: as the line has it, or where `want` departs from it, as `want` implies."""
    if line["want"] == line["expected"]:
        return line["calls"]
    case, routed = line["input"], line["want"]["routed"]
    cheap = next(call for call in line["calls"] if call["adapter"] == case["cheap"]["id"])
    accepted = {name for name, one in routed.items() if one["adapter"] == case["cheap"]["id"]}
    calls = [cheap | {"role": "served" if accepted else "discarded"}]
    rest = [name for name in case["questions"] if name not in accepted]
    if rest:
        calls.append({"adapter": case["expensive"]["id"], "answered": True, "ids": rest, "role": "served"})
    return calls


def test_every_vector_gives_its_want_and_its_calls(vectors, record_tried):
    lines = vectors("routing")
    wrong = []
    for line in lines:
        ledger = CostLedger()
        got = outcome(line["input"], ledger)
        calls = [
            {"adapter": call.model, "answered": call.answered, "ids": list(call.questions), "role": call.role}
            for call in ledger.calls
        ]
        # A router that was refused has called nobody, and its line lists no calls.
        if got != line["want"] or calls != (calls_wanted(line) if "refused" not in line["want"] else []):
            wrong.append(line["id"])
    record_tried("vectors of routing", len(lines), lost=len(wrong))
    assert not wrong
    assert len(lines) == 220


def test_the_vectors_cover_every_reason(vectors):
    seen = {one["reason"] for line in vectors("routing") for one in line["want"].get("routed", {}).values()}
    assert seen == set(RouteReason)


# Construction


@pytest.mark.parametrize(
    ("policy", "evidence", "kind", "names"),
    [
        (RoutingPolicy(mode="pinned", pinned="ghost"), None, "unknown_adapter", ["'ghost'", "'cheap-a'", "'dear-b'"]),
        (
            measured(thresholds={"ghost": Thresholds("classifier", 0.5)}),
            None,
            "unknown_adapter",
            ["'ghost'", "'dear-b'"],
        ),
        (
            measured(thresholds={"cheap-a": Thresholds("classifier", 0.5)}),
            None,
            "calibration_mismatch",
            ["classifier", "language_model", "'cheap-a'"],
        ),
        (
            measured(thresholds={"cheap-a": Thresholds("language_model", 0.5, elicitation="token")}),
            None,
            "elicitation_mismatch",
            ["token", "verbal"],
        ),
        (
            measured(thresholds={"cheap-a": Thresholds("language_model", 0.5, prompt="L5")}),
            None,
            "prompt_mismatch",
            ["L5", "L1"],
        ),
        (
            measured(thresholds={"cheap-a": Thresholds("language_model", 0.5, model="cheap-a-2")}),
            None,
            "model_mismatch",
            ["cheap-a-2", "'cheap-a'"],
        ),
        (
            measured(),
            AgreementReport(Side("dear-b"), Side("cheap-a")),
            "evidence_for_other_adapters",
            ["'dear-b' (cheap)", "'cheap-a' (cheap)"],
        ),
        (
            measured(),
            AgreementReport(Side("cheap-a", elicitation="vote"), Side("dear-b")),
            "elicitation_mismatch",
            ["vote", "verbal"],
        ),
        (
            measured(),
            AgreementReport(Side("cheap-a"), Side("dear-b", "classifier")),
            "calibration_mismatch",
            ["classifier", "language_model", "'dear-b'"],
        ),
        (measured(evidence="abc"), trusted("lang"), "evidence_changed", ["abc", trusted("lang").digest()]),
        (measured(evidence="abc"), None, "evidence_changed", ["abc", "none"]),
    ],
)
def test_what_does_not_belong_together_is_refused_and_both_are_named(policy, evidence, kind, names):
    cheap = scripted("cheap-a", elicitation="verbal", prompt="L1")
    with pytest.raises(RoutingRefused) as refused:
        RoutingClassifier(cheap, scripted("dear-b"), policy, evidence=evidence)
    assert refused.value.kind == kind
    for name in names:
        assert name in str(refused.value)


def test_thresholds_are_checked_in_the_order_of_their_names():
    policy = measured(thresholds={"ghost": Thresholds("classifier", 0.5), "cheap-a": Thresholds("classifier", 0.5)})
    with pytest.raises(RoutingRefused) as refused:
        RoutingClassifier(scripted("cheap-a"), scripted("dear-b"), policy)
    assert refused.value.names == {"adapter": "cheap-a", "declared": "classifier", "reported": "language_model"}


def test_two_models_of_one_name_are_refused():
    with pytest.raises(RoutingRefused, match="both called 'cheap-a'") as refused:
        RoutingClassifier(scripted("cheap-a"), scripted("cheap-a"))
    assert refused.value.kind == "same_adapter"


def test_what_one_side_leaves_open_is_not_compared():
    cheap = scripted("cheap-a", elicitation=None)
    policy = measured(thresholds={"cheap-a": Thresholds("language_model", 0.8, 0.3, elicitation="verbal")})
    assert ask(RoutingClassifier(cheap, scripted("dear-b"), policy, evidence=trusted("lang")), "lang").sources


def test_the_evidence_that_a_policy_names_is_accepted():
    evidence = trusted("lang")
    policy = RoutingPolicy.from_json(measured(evidence=evidence.digest()).to_json())
    reply = ask(RoutingClassifier(scripted("cheap-a"), scripted("dear-b"), policy, evidence=evidence), "lang")
    assert reply.sources["lang"] == Source("cheap-a", RouteReason.CHEAP_ACCEPTED)


def test_routing_is_off_unless_asked_for():
    reply = ask(RoutingClassifier(scripted("cheap-a"), scripted("dear-b")), "lang")
    assert reply.sources["lang"] == Source("dear-b", RouteReason.ROUTING_OFF)


def test_without_evidence_nothing_is_trusted():
    cheap = scripted("cheap-a")
    reply = ask(RoutingClassifier(cheap, scripted("dear-b"), measured()), "lang")
    assert reply.sources["lang"].reason == RouteReason.NO_MEASUREMENT
    assert not cheap.asked


# Profiles and states


def test_the_profile_is_that_of_the_model_in_charge():
    cheap, dear = (
        scripted("cheap-a", max_state_chars=10),
        scripted("dear-b", calibration="classifier", max_state_chars=20),
    )
    assert RoutingClassifier(cheap, dear).profile() == dear.profile()
    pinned = RoutingPolicy(mode="pinned", pinned="cheap-a")
    assert RoutingClassifier(cheap, dear, pinned).profile() == cheap.profile()


@pytest.mark.parametrize(("cheap_chars", "dear_chars"), [(10, 20), (20, 10)])
def test_a_measured_profile_is_the_expensive_one_with_the_smaller_ceiling(cheap_chars, dear_chars):
    cheap = scripted("cheap-a", max_state_chars=cheap_chars)
    dear = scripted("dear-b", calibration="classifier", max_state_chars=dear_chars)
    profile = RoutingClassifier(cheap, dear, measured()).profile()
    assert (profile.model, profile.calibration, profile.max_state_chars) == ("dear-b", Calibration.CLASSIFIER, 10)


def test_both_models_see_the_same_prefix_of_the_state(caplog):
    cheap, dear = scripted("cheap-a", {"lang": UNSURE}, max_state_chars=4), scripted("dear-b")
    ask(RoutingClassifier(cheap, dear, measured(), evidence=trusted("lang")), "lang", state="äöü😀secret")
    assert cheap.asked[0][0] == dear.asked[0][0] == "äöü😀"
    assert "10 characters" in caplog.text
    assert "secret" not in caplog.text


# Calls


def test_untrusted_and_unclear_kinds_go_to_the_expensive_model_in_one_batch():
    cheap = scripted("cheap-a", {"a": SURE, "b": UNSURE})
    dear = scripted("dear-b")
    router = RoutingClassifier(cheap, dear, measured(), evidence=trusted("a", "b"))
    reply = ask(router, "new", "b", "a")
    assert cheap.asked == [("a state", ("b", "a"))]
    assert dear.asked == [("a state", ("new", "b"))]
    assert list(reply.answers) == ["new", "b", "a"]
    assert reply.sources["b"] == Source("dear-b", RouteReason.ESCALATED_LOW_CONFIDENCE)
    assert reply.answers["a"] is SURE


@pytest.mark.parametrize(
    "failure",
    [Rejected("refused"), Transient("later", retry_after=3.0), RuntimeError("a bug"), asyncio.CancelledError()],
)
def test_a_cheap_failure_is_escalated_whatever_it_is(failure):
    router = RoutingClassifier(scripted("cheap-a", failure), scripted("dear-b"), measured(), evidence=trusted("lang"))
    reply = ask(router, "lang")
    assert reply.sources["lang"] == Source("dear-b", RouteReason.ESCALATED_CHEAP_FAILED)
    assert router.ledger.totals().failed_calls == 1
    assert router.ledger.calls[0].error == type(failure).__name__


@pytest.mark.parametrize(
    "answers",
    [{}, {"lang": None}, {"lang": "en"}, {"lang": Answer("noul", True, 1.0)}, None, 7],
    ids=["missing", "none", "text", "another kind", "no answers", "a number"],
)
def test_a_cheap_reply_without_a_usable_answer_is_escalated(answers):
    router = RoutingClassifier(scripted("cheap-a", answers), scripted("dear-b"), measured(), evidence=trusted("lang"))
    assert ask(router, "lang").sources["lang"].reason == RouteReason.ESCALATED_CHEAP_FAILED


def test_a_cheap_confidence_on_another_scale_is_not_served():
    cheap = scripted("cheap-a", {"lang": Answer("choice", "en", 85.0, {"en": 1.0, "fr": 0.0})})
    reply = ask(RoutingClassifier(cheap, scripted("dear-b"), measured(), evidence=trusted("lang")), "lang")
    assert reply.sources["lang"].reason == RouteReason.ESCALATED_LOW_CONFIDENCE


def test_an_expensive_failure_is_the_calls_error():
    failure = Transient("later", retry_after=3.0)
    router = RoutingClassifier(
        scripted("cheap-a", {}), scripted("dear-b", failure), measured(), evidence=trusted("lang")
    )
    with pytest.raises(Transient) as raised:
        ask(router, "lang")
    assert raised.value is failure


def test_an_escalation_pays_twice_and_that_shows():
    cheap, dear = scripted("cheap-a", {"lang": UNSURE}), scripted("dear-b")
    router = RoutingClassifier(cheap, dear, measured(), evidence=trusted("lang"))
    ask(router, "lang")
    assert roles(router.ledger) == [("cheap-a", "discarded"), ("dear-b", "served")]
    assert router.ledger.totals(role="discarded").calls == 1


def test_a_cheap_call_whose_answers_were_lost_with_the_escalation_counts_as_discarded():
    cheap, dear = scripted("cheap-a", {"a": SURE, "b": UNSURE}), scripted("dear-b", Transport("unreadable"))
    router = RoutingClassifier(cheap, dear, measured(), evidence=trusted("a", "b"))
    with pytest.raises(Transport):
        ask(router, "a", "b")
    assert roles(router.ledger) == [("cheap-a", "discarded"), ("dear-b", "served")]


def test_a_caller_that_cancels_during_the_escalation_finds_the_cheap_call_in_the_ledger():
    async def scene() -> CostLedger:
        escalating = asyncio.Event()

        async def hang() -> Reply:
            escalating.set()
            await asyncio.sleep(60)
            raise AssertionError

        cheap, dear = scripted("cheap-a", {"a": SURE, "b": UNSURE}), scripted("dear-b", hang)
        router = RoutingClassifier(cheap, dear, measured(), evidence=trusted("a", "b"))
        call = asyncio.create_task(router.ask("a state", {"a": LANG, "b": LANG}))
        await escalating.wait()
        assert roles(router.ledger) == [("cheap-a", "served")], "recorded as soon as it returned"
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return router.ledger

    ledger = asyncio.run(scene())
    assert roles(ledger) == [("cheap-a", Role.DISCARDED)]
    assert ledger.calls[0].answered


def test_a_caller_that_cancels_during_the_cheap_call_asks_nobody_else():
    async def scene() -> tuple[Scripted, CostLedger]:
        asked = asyncio.Event()

        async def hang() -> Reply:
            asked.set()
            await asyncio.sleep(60)
            raise AssertionError

        dear = scripted("dear-b")
        router = RoutingClassifier(scripted("cheap-a", hang), dear, measured(), evidence=trusted("lang"))
        call = asyncio.create_task(router.ask("a state", {"lang": LANG}))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return dear, router.ledger

    dear, ledger = asyncio.run(scene())
    assert not dear.asked
    assert not ledger.calls


@pytest.mark.parametrize("questions", [{}, {" ": LANG}, {"lang": Question.choice("", {"a": "", "b": ""})}])
def test_a_bad_set_of_questions_calls_nobody(questions):
    cheap, dear = scripted("cheap-a"), scripted("dear-b")
    router = RoutingClassifier(cheap, dear, measured(), evidence=trusted("lang"))
    with pytest.raises(QuestionError):
        asyncio.run(router.ask("a state", questions))
    assert not cheap.asked
    assert not dear.asked
    assert not router.ledger.calls


def test_reported_tokens_are_kept_and_missing_ones_estimated_as_such():
    async def reply() -> Reply:
        return Reply({"lang": UNSURE}, Usage(100, 7), model="cheap-a-2026-01-01")

    router = RoutingClassifier(scripted("cheap-a", reply), scripted("dear-b"), measured(), evidence=trusted("lang"))
    ask(router, "lang")
    cheap, dear = router.ledger.calls
    assert cheap.usage == Usage(100, 7)
    assert cheap.answered_by == "cheap-a-2026-01-01"
    assert dear.usage.estimated
    assert dear.usage.prompt_tokens > 0


def test_a_router_can_be_routed():
    inner = RoutingClassifier(scripted("cheap-a"), scripted("dear-b"), measured(), evidence=trusted("lang"))
    outer = RoutingClassifier(scripted("tiny"), inner)
    assert ask(outer, "lang").sources["lang"] == Source("dear-b", RouteReason.ROUTING_OFF)


@given(confidence=st.one_of(st.floats(), st.integers(0, 100).map(lambda value: value / 100)), floor=st.integers(0, 100))
def test_a_cheap_answer_is_served_exactly_when_it_reaches_its_floor_as_a_decimal(confidence, floor):
    reason = Thresholds(LANGUAGE_MODEL, floor / 100).judge(Answer("choice", "en", confidence, {"en": 1.0}))
    in_range = -5e-10 <= confidence <= 1 + 5e-10
    assert (reason is RouteReason.CHEAP_ACCEPTED) is (in_range and round(confidence * 1e9) >= floor * 10_000_000)
