"""Asking a cheap model the same questions on the side, to learn how often it agrees.

`ShadowClassifier` serves the expensive model's reply untouched and compares the cheap model's answers with it. Both
are asked at once, so a call takes as long as the slower of the two; since a cheap model that stalls would hold it, the
cheap side has a deadline of its own.
"""

import asyncio
import logging
import math
import time
from collections.abc import Mapping

from assay.rules.agreement import Value
from assay.rules.answers import Question, validate_questions
from assay.rules.asking import Returned, cancelling, make_call
from assay.rules.calls import Role
from assay.rules.classifier import Classifier, Profile, Reply, prepare_state
from assay.rules.costs import CostLedger
from assay.rules.evidence import AgreementLog, Side

logger = logging.getLogger(__name__)

GRACE_SECONDS = 0.05
"""How long a cheap call that was cancelled is waited for."""


class ShadowClassifier:
    """A classifier that is the expensive one, with the cheap one measured against it.

    Nothing that the cheap side does changes or fails a result: whatever it raises (a `KeyboardInterrupt` apart, which
    is the user's), a cancellation of its own included, and whatever it returns is logged by type, recorded, and
    counted as an error of the kinds asked. It has to keep from blocking the event loop, which no deadline can undo.

    Parameters
    ----------
    cheap, expensive : Classifier
        Known by the model names of their profiles, which are read once, here.
    cheap_timeout : float
        Seconds, above 0, after which the cheap call is cancelled and counted as failed.
    log : AgreementLog, optional
        Where answers are compared; a new one of this pair unless given.
    ledger : CostLedger, optional
        Where calls are recorded; a new one unless given.

    Raises
    ------
    ValueError
        If the deadline is not a finite number above 0, or the log is of another pair.
    """

    def __init__(
        self,
        cheap: Classifier,
        expensive: Classifier,
        *,
        cheap_timeout: float,
        log: AgreementLog | None = None,
        ledger: CostLedger | None = None,
    ) -> None:
        number = isinstance(cheap_timeout, int | float) and not isinstance(cheap_timeout, bool)
        if not number or not math.isfinite(cheap_timeout) or cheap_timeout <= 0:
            raise ValueError(f"cheap_timeout must be a number of seconds above 0, got {cheap_timeout!r}")
        self._cheap, self._expensive = cheap, expensive
        self._cheap_profile, self._expensive_profile = cheap.profile(), expensive.profile()
        self._cheap_timeout = cheap_timeout
        pair = (Side.of(self._cheap_profile), Side.of(self._expensive_profile))
        self.log = AgreementLog(*pair) if log is None else log
        if (self.log.cheap, self.log.expensive) != pair:
            raise ValueError(
                f"log compares {self.log.cheap} with {self.log.expensive}, the shadow holds {pair[0]} and {pair[1]}"
            )
        self.ledger = CostLedger() if ledger is None else ledger
        self._stray: set[asyncio.Task[Returned]] = set()

    def profile(self) -> Profile:
        """Describe the expensive model, which is the one that answers."""
        return self._expensive_profile

    async def ask(
        self,
        state: str,
        questions: Mapping[str, Question],
        *,
        truths: Mapping[str, Value] | None = None,
        item: str = "",
    ) -> Reply:
        """Return the expensive model's reply, as it came.

        When the caller cancels, both calls are cancelled; one that had returned by then is in the ledger.

        Parameters
        ----------
        state : str
        questions : mapping of str to Question
        truths : mapping of str to str, float or bool, optional
            The right answers by question id, where they are known: they grade disagreements. Neither model sees them.
        item : str
            What the log keeps of where the state came from.

        Raises
        ------
        QuestionError
            If the questions must not be asked; no model is called then.
        Exception
            Whatever the expensive model raised, usually an `AskError`.
        """
        validate_questions(questions)
        start = time.perf_counter()
        served = asyncio.create_task(self._ask_expensive(state, questions))
        shadow = asyncio.create_task(self._ask_cheap(state, dict(questions)))
        try:
            await asyncio.wait({served, shadow}, timeout=self._cheap_timeout)
            if shadow.done() and not shadow.cancelled():
                measured = shadow.result()
            else:
                reason = asyncio.CancelledError() if shadow.done() else TimeoutError()
                measured = Returned(reason, None, time.perf_counter() - start)
                self._record_cheap(measured, questions)
                await self._abandon(shadow)
            await asyncio.wait({served})
        except BaseException:
            served.cancel()
            await self._abandon(shadow)
            await asyncio.wait({served})
            raise
        returned = served.result()
        self._compare(questions, returned, measured, truths or {}, item)
        return returned.reply_or_raise()

    async def _ask_expensive(self, state: str, questions: Mapping[str, Question]) -> Returned:
        state = prepare_state(state, self._expensive_profile.max_state_chars)
        returned = await make_call(self._expensive, state, questions)
        self.ledger.record(returned.as_call(self._expensive_profile.model, Role.SERVED, questions))
        return returned

    async def _ask_cheap(self, state: str, questions: Mapping[str, Question]) -> Returned:
        state = prepare_state(state, self._cheap_profile.max_state_chars)
        start = time.perf_counter()
        try:
            returned = await make_call(self._cheap, state, questions)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            returned = Returned(error, None, time.perf_counter() - start)
        if cancelling():
            # Too late, or no longer wanted: what comes back after that counts as nothing.
            raise asyncio.CancelledError
        self._record_cheap(returned, questions)
        return returned

    def _record_cheap(self, returned: Returned, questions: Mapping[str, Question]) -> None:
        self.ledger.record(returned.as_call(self._cheap_profile.model, Role.SHADOW, questions))
        if returned.reply is None:
            logger.warning("shadow call to %s failed: %s", self._cheap_profile.model, type(returned.outcome).__name__)

    async def _abandon(self, shadow: asyncio.Task[Returned]) -> None:
        """Cancel the cheap call and see it end, unless it refuses to."""
        shadow.cancel()
        await asyncio.wait({shadow}, timeout=GRACE_SECONDS)
        if not shadow.done():
            logger.error("shadow call to %s ignores its cancellation", self._cheap_profile.model)
            self._stray.add(shadow)
            shadow.add_done_callback(self._stray.discard)

    def _compare(
        self,
        questions: Mapping[str, Question],
        served: Returned,
        shadow: Returned,
        truths: Mapping[str, Value],
        item: str,
    ) -> None:
        for name, question in questions.items():
            cheap = shadow.answer(name, question)
            try:
                self.log.record(name, cheap, served.answer(name, question), truth=truths.get(name), item=item)
            except Exception as error:
                # An answer of the right type may still hold anything.
                logger.warning("answer %s of %s: %s", name, self._cheap_profile.model, type(error).__name__)
                self.log.record(name, None, None)
