"""Serving from the cheap model where it has earned that, and from the expensive one elsewhere.

`RoutingClassifier` holds two classifiers and is one itself. In mode measured it sends the question kinds that the
evidence trusts to the cheap model in one call, serves the answers that clear the thresholds, and asks the expensive
model everything else in one second call. Every answer says who gave it and why, since a reply of both mixes two
scales of confidence: a threshold on it has to look at the source of each answer.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from assay.rules.answers import Answer, Question, validate_questions
from assay.rules.asking import Returned, make_call
from assay.rules.calls import Role
from assay.rules.classifier import Classifier, Profile, Reply, Usage, prepare_state
from assay.rules.costs import CostLedger
from assay.rules.evidence import AgreementReport
from assay.rules.routing_policy import RouteReason, RoutingMode, RoutingPolicy, Standing

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Who gave an answer, and why it was that model."""

    model: str
    reason: RouteReason


@dataclass(frozen=True)
class RoutedReply(Reply):
    """A reply with the source of each answer.

    Parameters
    ----------
    sources : mapping of str to Source
        By question id, for the same ids as `answers`.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)


@dataclass(frozen=True)
class _Adapter:
    classifier: Classifier
    profile: Profile


class RoutingClassifier:
    """A classifier that answers from one of two others.

    Parameters
    ----------
    cheap, expensive : Classifier
        Known by the model names of their profiles, which are read once, here.
    policy : RoutingPolicy
        Off unless given: the expensive model answers everything.
    evidence : AgreementReport, optional
        What was measured about this pair; without it, mode measured trusts the cheap model with nothing.
    ledger : CostLedger, optional
        Where calls are recorded; a new one unless given.

    Raises
    ------
    RoutingRefused
        If policy or evidence belong to other models, calibrations or evidence; see `RoutingPolicy.check`.
    """

    def __init__(
        self,
        cheap: Classifier,
        expensive: Classifier,
        policy: RoutingPolicy | None = None,
        *,
        evidence: AgreementReport | None = None,
        ledger: CostLedger | None = None,
    ) -> None:
        self.policy = RoutingPolicy() if policy is None else policy
        self.evidence = evidence
        self.ledger = CostLedger() if ledger is None else ledger
        self._cheap = _Adapter(cheap, cheap.profile())
        self._expensive = _Adapter(expensive, expensive.profile())
        self.policy.check(self._cheap.profile, self._expensive.profile, evidence)
        self._standings = {name: self._judge(name) for name in (evidence.kinds if evidence else {})}

    def profile(self) -> Profile:
        """Describe what answers: the model in charge, in mode measured with the smaller of the two state ceilings."""
        if self.policy.mode is not RoutingMode.MEASURED:
            return self._in_charge().profile
        ceiling = min(self._cheap.profile.max_state_chars, self._expensive.profile.max_state_chars)
        return replace(self._expensive.profile, max_state_chars=ceiling)

    def standing(self, kind: str) -> Standing:
        """Tell whether the cheap model is trusted with a question kind (a question id), and on which counts."""
        return self._standings.get(kind) or self._judge(kind)

    async def ask(self, state: str, questions: Mapping[str, Question]) -> RoutedReply:
        """Answer each question from the model that the policy names for it.

        An id that its model left out is missing from the reply.

        Raises
        ------
        QuestionError
            If the questions must not be asked; no model is called then.
        Exception
            Whatever the model that had to serve raised, usually an `AskError`. A failure of the cheap model in mode
            measured is no error of the call: the expensive one is asked instead.
        """
        validate_questions(questions)
        state = prepare_state(state, self.profile().max_state_chars)
        if self.policy.mode is RoutingMode.MEASURED:
            return await self._ask_measured(state, questions)
        pinned = self.policy.mode is RoutingMode.PINNED
        adapter = self._in_charge()
        reply = await self._serve(adapter, state, questions)
        reason = RouteReason.PINNED if pinned else RouteReason.ROUTING_OFF
        return _routed(dict.fromkeys(questions, reason), dict.fromkeys(questions, (adapter, reply)), reply.usage)

    async def _ask_measured(self, state: str, questions: Mapping[str, Question]) -> RoutedReply:
        reasons = {name: self.standing(name).reason for name in questions}
        trusted = {name: question for name, question in questions.items() if reasons[name] is None}
        settled = {name: reason for name, reason in reasons.items() if reason is not None}
        givers: dict[str, tuple[_Adapter, Reply]] = {}
        usages: list[Usage | None] = []
        recorded = None
        if trusted:
            returned = await make_call(self._cheap.classifier, state, trusted)
            verdicts = {name: self._verdict(returned.answer(name, one)) for name, one in trusted.items()}
            settled |= verdicts
            accepted = [name for name, reason in verdicts.items() if reason is RouteReason.CHEAP_ACCEPTED]
            role = Role.SERVED if accepted else Role.DISCARDED
            # Written down before anything else is awaited: a caller that gives up on the escalation has paid for this.
            recorded = self.ledger.record(returned.as_call(self._cheap.profile.model, role, trusted))
            if returned.reply is None:
                self._warn_of_failure(returned, len(trusted))
                usages.append(None)
            else:
                givers = dict.fromkeys(accepted, (self._cheap, returned.reply))
                usages.append(returned.reply.usage)
        rest = {name: question for name, question in questions.items() if name not in givers}
        if rest:
            try:
                reply = await self._serve(self._expensive, state, rest)
            except BaseException:
                if recorded is not None:
                    self.ledger.discard(recorded)
                raise
            givers |= dict.fromkeys(rest, (self._expensive, reply))
            usages.append(reply.usage)
        return _routed({name: settled[name] for name in questions}, givers, _total(usages))

    async def _serve(self, adapter: _Adapter, state: str, questions: Mapping[str, Question]) -> Reply:
        returned = await make_call(adapter.classifier, state, questions)
        self.ledger.record(returned.as_call(adapter.profile.model, Role.SERVED, questions))
        return returned.reply_or_raise()

    def _judge(self, kind: str) -> Standing:
        measured = self.evidence.kinds.get(kind) if self.evidence else None
        return self.policy.standing(self._cheap.profile.model, measured)

    def _verdict(self, answer: Answer | None) -> RouteReason:
        if answer is None:
            return RouteReason.ESCALATED_CHEAP_FAILED
        return self.policy.thresholds[self._cheap.profile.model].judge(answer)

    def _in_charge(self) -> _Adapter:
        return self._cheap if self.policy.pinned == self._cheap.profile.model else self._expensive

    def _warn_of_failure(self, returned: Returned, count: int) -> None:
        logger.warning(
            "%s failed (%s); its %d questions go to %s",
            self._cheap.profile.model,
            type(returned.outcome).__name__,
            count,
            self._expensive.profile.model,
        )


def _routed(
    reasons: Mapping[str, RouteReason], givers: Mapping[str, tuple[_Adapter, Reply]], usage: Usage | None
) -> RoutedReply:
    """Put the answers together in the order in which the questions were asked."""
    answers: dict[str, Answer] = {}
    sources: dict[str, Source] = {}
    for name, reason in reasons.items():
        adapter, reply = givers[name]
        if name in reply.answers:
            answers[name] = reply.answers[name]
            sources[name] = Source(adapter.profile.model, reason)
    models = {reply.model for _, reply in givers.values()}
    return RoutedReply(answers, usage, models.pop() if len(models) == 1 else None, sources=sources)


def _total(usages: list[Usage | None]) -> Usage | None:
    """Add up the tokens of the calls behind one reply; None where one of them is not known."""
    total = Usage(0, 0)
    for usage in usages:
        if usage is None:
            return None
        total += usage
    return total
