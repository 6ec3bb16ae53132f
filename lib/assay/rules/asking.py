"""Making one call to a classifier: how it ended, as a value.

The router and the shadow ask the models they hold through `make_call`, so that a failure of one does not unwind the
other, and write down what came of it as a `Call`.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.rules.answers import Answer, Question
from assay.rules.calls import Call, Role, estimate_usage
from assay.rules.classifier import AskError, Classifier, Reply, Usage


@dataclass(frozen=True)
class Returned:
    """How a call ended.

    Parameters
    ----------
    outcome : Reply or BaseException
    usage : Usage, optional
        Tokens: as the reply reports them, else estimated; of a failed call, as its error reports them.
    seconds : float
    """

    outcome: Reply | BaseException
    usage: Usage | None
    seconds: float

    @property
    def reply(self) -> Reply | None:
        """The reply, None of a failed call."""
        return self.outcome if isinstance(self.outcome, Reply) else None

    def reply_or_raise(self) -> Reply:
        """Return the reply, or raise the error."""
        if isinstance(self.outcome, Reply):
            return self.outcome
        raise self.outcome

    def answer(self, name: str, question: Question) -> Answer | None:
        """Return the answer to one question; None where there is none of its kind, or none that can be read."""
        try:
            answer = None if self.reply is None else self.reply.answers.get(name)
        except Exception:
            return None
        return answer if isinstance(answer, Answer) and answer.kind == question.kind else None

    def as_call(self, model: str, role: Role, questions: Mapping[str, Question]) -> Call:
        """Write the call down."""
        ids = tuple(questions)
        if isinstance(self.outcome, Reply):
            return Call(model, role, ids, True, self.usage, self.seconds, self.outcome.model)
        return Call(model, role, ids, False, self.usage, self.seconds, error=type(self.outcome).__name__)


async def make_call(classifier: Classifier, state: str, questions: Mapping[str, Question]) -> Returned:
    """Ask once and return how that ended.

    Every `Exception` becomes an outcome, and so does a cancellation that the classifier raises without having been
    cancelled. The cancellation of the caller is raised, as are exceptions that are no `Exception`.
    """
    start = time.perf_counter()
    usage = None
    try:
        reply = _checked(await classifier.ask(state, questions))
        usage = estimate_usage(state, questions, reply) if reply.usage is None else reply.usage
        outcome: Reply | BaseException = reply
    except asyncio.CancelledError as error:
        if cancelling():
            raise
        outcome = error
    except Exception as error:
        usage = error.usage if isinstance(error, AskError) else None
        outcome = error
    return Returned(outcome, usage, time.perf_counter() - start)


def cancelling() -> bool:
    """Tell whether the running task has been asked to stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _checked(reply: object) -> Reply:
    if not isinstance(reply, Reply):
        raise TypeError(f"a classifier must return a Reply, got {type(reply).__name__}")
    for name, allowed in (("answers", Mapping), ("usage", Usage | None), ("text_chars", int | None)):
        value = getattr(reply, name)
        if not isinstance(value, allowed):
            raise TypeError(f"reply.{name} must be {getattr(allowed, '__name__', allowed)}, got {type(value).__name__}")
    return reply
