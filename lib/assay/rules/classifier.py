"""What the router asks: a classifier that answers typed questions about one text.

A `Classifier` says what it is (`Profile`) and answers a set of questions about a state (`Reply`), or raises one of the
four `AskError` kinds. Adapters to providers, local models and recorded answers all have this shape, and so do the
router and the shadow themselves, so that they nest.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from assay.rules.answers import Answer, Calibration, Elicitation, Question

logger = logging.getLogger(__name__)

ORIGIN = ("calibration", "elicitation", "model", "prompt")
"""What says where a confidence comes from, in the order in which differences are named."""

DEFAULT_MAX_STATE_CHARS = 96_000
"""Characters of a state that are sent unless a profile says otherwise."""


@dataclass(frozen=True)
class Usage:
    """Tokens that one call took.

    Parameters
    ----------
    prompt_tokens, completion_tokens : int
        Counts, 0 or more.
    estimated : bool
        Whether they were guessed from the length of the texts, the reply having reported none.
    """

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"usage.{name} must be a whole number of at least 0, got {value!r}")

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated or other.estimated,
        )


class AskError(Exception):
    """A call that gave no answers. The message never quotes the state or the model's text.

    Parameters
    ----------
    message : str
    usage : Usage, optional
        Tokens the failed call is known to have taken: a reply that breaks the rules is paid for all the same.
    """

    def __init__(self, message: str = "", *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class NotConfigured(AskError):  # noqa: N818 (a kind of AskError, which carries the suffix)
    """No model is wired, or it lacks a capability that the call needs."""


class Rejected(AskError):  # noqa: N818
    """The provider refused the request, or the reply broke the rules."""


class Transient(AskError):  # noqa: N818
    """Worth another try: too many requests, a server error, a time-out.

    Parameters
    ----------
    message : str
    retry_after : float, optional
        Seconds to wait, where the provider named them.
    usage : Usage, optional
    """

    def __init__(self, message: str = "", *, retry_after: float | None = None, usage: Usage | None = None) -> None:
        super().__init__(message, usage=usage)
        self.retry_after = retry_after


class Transport(AskError):  # noqa: N818
    """No readable answer came back."""


@dataclass(frozen=True)
class Profile:
    """What a classifier is, and where its confidences come from.

    Parameters
    ----------
    model : str
        The name by which prices, thresholds and evidence know it.
    calibration : Calibration
    elicitation : Elicitation, optional
        How a language model's number was got.
    max_state_chars : int
        Characters (code points) of a state that it takes; the rest is cut off.
    prompt : str, optional
        Name or hash of its prompt.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names it.
    """

    model: str
    calibration: Calibration
    elicitation: Elicitation | None = None
    max_state_chars: int = DEFAULT_MAX_STATE_CHARS
    prompt: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError(f"profile.model must be a name that is not blank, got {self.model!r}")
        object.__setattr__(self, "calibration", as_calibration(self.calibration, "profile.calibration"))
        object.__setattr__(self, "elicitation", as_elicitation(self.elicitation, "profile.elicitation"))
        _check_ceiling(self.max_state_chars, "profile.max_state_chars")


@dataclass(frozen=True)
class Reply:
    """What came back from one call.

    Parameters
    ----------
    answers : mapping of str to Answer
        By question id; an id that was asked may be missing.
    usage : Usage, optional
        Tokens as the provider reported them; None where it reported none.
    model : str, optional
        The model that the provider says answered, which may be more exact than the name that was asked for.
    text_chars : int, optional
        Length of the text that carried the answers, in characters, for estimating tokens where `usage` is None.
    """

    answers: Mapping[str, Answer]
    usage: Usage | None = None
    model: str | None = None
    text_chars: int | None = None


class Classifier(Protocol):
    """Anything that answers typed questions about a state."""

    def profile(self) -> Profile:
        """Say what this classifier is; the same every time."""
        ...

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        """Answer `questions` about `state` in one call, or raise an `AskError`."""
        ...


def prepare_state(state: str, max_state_chars: int = DEFAULT_MAX_STATE_CHARS) -> str:
    """Return the part of `state` that is sent: all of it, or its first `max_state_chars` characters.

    The cut falls between code points and depends on nothing but the two arguments, so the same state always gives the
    same prefix. A cut is logged as a warning with the two lengths and none of the text: a state trimmed in silence is
    answered with confidence and wrongly.

    Raises
    ------
    ValueError
        If `max_state_chars` is not a whole number of at least 1.
    """
    _check_ceiling(max_state_chars, "max_state_chars")
    if len(state) <= max_state_chars:
        return state
    logger.warning("the state has %d characters; only the first %d are sent", len(state), max_state_chars)
    return state[:max_state_chars]


def origin_difference(declared: object, profile: Profile) -> tuple[str, str, str] | None:
    """Find where numbers tuned on one origin meet a classifier of another.

    Parameters
    ----------
    declared : object
        Anything with some of the attributes `ORIGIN`.
    profile : Profile

    Returns
    -------
    tuple of str or None
        The attribute, what was declared and what the profile reports, for the first attribute that both name and that
        differs; None if there is none.
    """
    for name in ORIGIN:
        wanted, reported = getattr(declared, name, None), getattr(profile, name)
        if wanted is not None and reported is not None and wanted != reported:
            return name, str(wanted), str(reported)
    return None


def origin_document(declared: object) -> dict[str, str | None]:
    """Return the attributes `ORIGIN` of `declared` as the fields of a document."""
    return {name: getattr(declared, name) for name in ORIGIN}


def as_calibration(value: object, where: str) -> Calibration:
    """Return the calibration that `value` names; ValueError naming `where` if it names none."""
    try:
        return Calibration(value)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"{where} must be one of {', '.join(Calibration)}, got {value!r}") from None


def as_elicitation(value: object, where: str) -> Elicitation | None:
    """Return the elicitation that `value` names, None for None; ValueError naming `where` if it names none."""
    if value is None:
        return None
    try:
        return Elicitation(value)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"{where} must be one of {', '.join(Elicitation)} or nothing, got {value!r}") from None


def _check_ceiling(value: object, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{where} must be a whole number of at least 1, got {value!r}")
