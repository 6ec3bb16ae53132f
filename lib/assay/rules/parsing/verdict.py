"""Reading a review verdict: whether a claim matches its source, how certain the reviewer is, and why."""

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from assay.rules.parsing._json import NotJson, decode, has_surrogate, repeated_keys, trim
from assay.rules.parsing.outcomes import VERDICT_ERRORS, AnswerError

VerdictName = Literal["match", "no-match", "not-applicable"]

VERDICTS: Final[tuple[VerdictName, ...]] = get_args(VerdictName)
"""What a verdict may be."""

MAX_REASON_CHARS: Final = 500
"""Code points of a reason that are kept whole."""

MAX_IGNORED_DEPTH: Final = 256
"""Levels to which fields that are not read may nest."""

_FENCE: Final = "```"
_FIELDS: Final = ("verdict", "certainty", "reason")


@dataclass(frozen=True)
class Verdict:
    """One review verdict.

    Parameters
    ----------
    verdict : {"match", "no-match", "not-applicable"}
    certainty : int in [0, 100]
    reason : str
        At most 500 code points.
    """

    verdict: VerdictName
    certainty: int
    reason: str


def parse_verdict(text: str | None) -> Verdict:
    """Read one verdict.

    Parameters
    ----------
    text : str or None
        The whole of what the model wrote: the JSON object bare, or in a code fence with prose around the fence. A
        message that begins and ends with a fence is one fence; of any other, the first complete fenced block is taken.
        The tag of the fence is empty or ``json``. Unicode white space around text and object is trimmed.

    Returns
    -------
    Verdict
        A reason of more than 500 code points is cut to 499 and an ellipsis.

    Raises
    ------
    AnswerError
        `not_json`, `unknown_verdict` or `bad_certainty`; of several faults the first in that order. The message quotes
        none of the text.

    Notes
    -----
    ======================================== =================================================================
    written                                  read as
    ======================================== =================================================================
    prose around a bare object, no text,     error `not_json`
    a fence that never closes, ``<think>``
    blocks, a byte order mark, an array
    a field missing, null, of another type,  error `not_json`; other fields may repeat and are not looked at
    or given twice
    a certainty in a string, a boolean       error `not_json`
    80.0, 1e2, -0, -1, 101                   error `bad_certainty`: a whole number is written as one
    a verdict in other case, padded, or      error `unknown_verdict`
    with another hyphen
    NaN or Infinity                          error `not_json`, wherever in the object
    a lone surrogate, escaped                error `not_json` in a known field or a field's name, else not
                                             looked at
    nesting deeper than 256                  error `not_json`
    ======================================== =================================================================
    """
    answer = _decode(text)
    if not isinstance(answer, dict) or repeated_keys(answer).intersection(_FIELDS):
        raise AnswerError("not_json", VERDICT_ERRORS["not_json"])
    verdict, certainty, reason = (answer.get(name) for name in _FIELDS)
    if not isinstance(verdict, str) or not isinstance(reason, str) or type(certainty) not in (int, float):
        raise AnswerError("not_json", "the fields must be a string, a whole number and a string")
    if has_surrogate([verdict, reason, *answer]):
        raise AnswerError("not_json", "a lone surrogate is not text")
    if verdict not in VERDICTS:
        raise AnswerError("unknown_verdict", VERDICT_ERRORS["unknown_verdict"])
    if not isinstance(certainty, int) or not 0 <= certainty <= 100:
        raise AnswerError("bad_certainty", VERDICT_ERRORS["bad_certainty"])
    if len(reason) > MAX_REASON_CHARS:
        reason = reason[: MAX_REASON_CHARS - 1] + "…"
    return Verdict(verdict, certainty, reason)


def _decode(text: str | None) -> Any:
    try:
        return decode(_unfenced(trim(text or "")), strict=False, max_depth=MAX_IGNORED_DEPTH)
    except NotJson:
        return None


def _unfenced(text: str) -> str:
    fence = len(_FENCE)
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        inside = text[fence:-fence]
    else:
        start = text.find(_FENCE)
        end = text.find(_FENCE, start + fence) if start >= 0 else -1
        if end < 0:
            return text
        inside = text[start + fence : end]
    return trim(inside.removeprefix("json"))
