"""What is kept of one call: who was asked what, in which role, and the tokens it took or is estimated to have taken."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.rules.answers import Answer, Question
from assay.rules.classifier import Reply, Usage

CHARS_PER_TOKEN = 4
"""Characters that an estimate takes a token to be."""


class Role(StrEnum):
    """What became of a call's answers."""

    SERVED = "served"
    """At least one was handed to the caller, or was to be when the call failed."""
    SHADOW = "shadow"
    """None was meant to be: they were only compared."""
    DISCARDED = "discarded"
    """Asked to be served, then thrown away: an escalated question is paid for twice."""


@dataclass(frozen=True)
class Call:
    """One call to one model.

    Parameters
    ----------
    model : str
        The name it was asked by, under which its price is looked up.
    role : Role
    questions : tuple of str
        Ids asked, in order.
    answered : bool
        Whether a reply came; False for a failed call.
    usage : Usage, optional
        Tokens. Needed where `answered`; a failed call has them only where its error reported them.
    seconds : float, optional
        How long the call took.
    answered_by : str, optional
        The model that the reply names, where it names one: one alias may cover several.
    error : str, optional
        Kind of failure, as the name of the error's type; never its message.
    """

    model: str
    role: Role
    questions: tuple[str, ...]
    answered: bool
    usage: Usage | None = None
    seconds: float | None = None
    answered_by: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))
        if self.answered and self.usage is None:
            raise ValueError("usage is needed for a call that was answered; estimate_usage gives an estimate")


def estimate_usage(state: str, questions: Mapping[str, Question], reply: Reply | None = None) -> Usage:
    """Estimate the tokens of a call from the length of its texts: four characters a token, rounded up.

    The text read is the state with the ids, instructions, labels and meanings of the questions; the text written is as
    long as the reply says it was, else as its answers are in JSON, and empty without a reply. What an adapter wraps
    around them is not known here, so the estimate is low rather than high; it is marked as an estimate.
    """
    read = len(state) + sum(len(name) + _question_chars(one) for name, one in questions.items())
    return Usage(_tokens(read), _tokens(_reply_chars(reply)), estimated=True)


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _question_chars(question: Question) -> int:
    meanings = sum(len(meaning) for _, meaning in question.meanings)
    return len(question.instructions) + meanings + sum(len(label) for label in question.labels)


def _reply_chars(reply: Reply | None) -> int:
    if reply is None:
        return 0
    if reply.text_chars is not None:
        return reply.text_chars
    written = {
        name: {"value": answer.value, "probabilities": answer.probabilities}
        for name, answer in reply.answers.items()
        if isinstance(answer, Answer)
    }
    # The length is all that counts here, so what JSON does not know is written as Python shows it.
    return len(json.dumps({"answers": written}, default=str, skipkeys=True))
