"""Reading a confidence, whoever wrote it: the one place that decides about strings, percent signs and scales.

The scale is declared by the study and never guessed from the value: 95 on a scale of 1 is an error, not 0.95.
"""

import math
import re
from numbers import Real
from typing import Final, SupportsFloat

from assay.rules.decimals import as_double
from assay.rules.parsing._json import trim
from assay.rules.parsing.outcomes import AnswerError, Flag, ordered

SCALES: Final = (1, 100)
"""The scales that a study may declare, by the value that means certainty."""

VECTOR_TOLERANCE: Final = 5e-5
"""Share of the scale by which a number out of a normalised vector of single precision may miss its ends."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")


def read_confidence(value: object, scale: int = 1, *, tolerance: float = 0.0) -> tuple[float, tuple[Flag, ...]]:
    """Read a stated confidence as a number in [0, 1].

    Parameters
    ----------
    value : object
        As it was decoded from JSON or stands in a column.
    scale : {1, 100}
        What the study declares to mean certainty.
    tolerance : float, default 0
        Share of the scale by which a number may lie outside and be read as the nearer end, with the flag
        `rounded_to_scale`. For columns that hold normalised vectors (`VECTOR_TOLERANCE`); what a model wrote is taken
        as it stands.

    Returns
    -------
    confidence : float in [0, 1]
    flags : tuple of str
        What was normalised.

    Raises
    ------
    AnswerError
        `missing_confidence`, `bad_confidence` or `out_of_scale`; the message does not give the value.
    ValueError
        If `scale` is neither 1 nor 100, or `tolerance` is not in [0, 0.01].

    Notes
    -----
    ================================== ===================================================================
    written                            read as
    ================================== ===================================================================
    a number on the scale, ends too    that number divided by the scale; -0 as 0
    above 0 and not above 1, scale 100 the same, flagged `suspicious_scale`: nothing is rescaled
    a number outside the scale         error `out_of_scale`; infinity too
    `"0.9"`, `" .9 "`, `"9e-1"`        the number, flagged `string_number`; then as above
    `"95%"`, `"95 %"`                  0.95 on either scale, flagged `percent`; outside 0 to 100 `out_of_scale`
    `"0,9"`, `"high"`, `"4/5"`         error `bad_confidence`; so are digits that are not ASCII, `"NaN"`, `"1_0"`
    ``true``, ``false``                error `bad_confidence`: a boolean is not a number
    a list, an object                  error `bad_confidence`
    null, missing, ``""``, NaN         error `missing_confidence`, never 0 (in JSON text NaN is `not_json` already)
    ================================== ===================================================================
    """
    if type(value) is float and scale == 1 and 0 <= value <= 1:
        return abs(value), ()  # what nearly every answer holds, ahead of the checks that all others need
    if scale not in SCALES:
        raise ValueError(f"scale must be 1 or 100, got {scale!r}")
    if not 0 <= tolerance <= 0.01:
        raise ValueError(f"tolerance must lie in [0, 0.01], got {tolerance!r}")
    if isinstance(value, str):
        return _read_text(value, scale, tolerance)
    if value is None:
        raise AnswerError("missing_confidence", "the confidence is missing or null")
    if isinstance(value, bool) or not isinstance(value, (int, float, Real)):
        raise AnswerError("bad_confidence", "the confidence must be a number")
    return _on_scale(_as_float(value), scale, tolerance, ())


def written_number(text: str) -> tuple[float, bool]:
    """Read a number that stands in a text.

    Parameters
    ----------
    text : str

    Returns
    -------
    number : float
        As written: 95 for ``95%``. Infinite where it is beyond a double.
    percent : bool
        Whether a percent sign follows.

    Raises
    ------
    AnswerError
        `missing_confidence` or `bad_confidence`; the message does not give the value.
    """
    number = trim(text)
    if not number:
        raise AnswerError("missing_confidence", "the confidence is a blank string")
    percent = number.endswith("%")
    if percent:
        number = trim(number[:-1])
    if not _NUMBER.fullmatch(number):
        raise AnswerError("bad_confidence", "the confidence is a string that is not a decimal number")
    return float(number), percent


def _read_text(text: str, scale: int, tolerance: float) -> tuple[float, tuple[Flag, ...]]:
    number, percent = written_number(text)
    if not percent:
        return _on_scale(number, scale, tolerance, ("string_number",))
    share = number / 100
    if not 0 <= share <= 1:
        raise AnswerError("out_of_scale", "the confidence must lie between 0 and 100 percent")
    return abs(share), ("percent",)


def _on_scale(value: float, scale: int, tolerance: float, flags: tuple[Flag, ...]) -> tuple[float, tuple[Flag, ...]]:
    if math.isnan(value):
        raise AnswerError("missing_confidence", "the confidence is not a number (NaN)")
    if not 0 <= value <= scale:
        slack = tolerance * scale
        if not -slack <= value <= scale + slack:
            raise AnswerError("out_of_scale", f"the confidence must lie between 0 and {scale}")
        return float(value > 0), ordered((*flags, "rounded_to_scale"))
    if scale == 100 and 0 < value <= 1:
        flags = ordered((*flags, "suspicious_scale"))
    return abs(value) / scale, flags


def _as_float(value: SupportsFloat) -> float:
    try:
        return as_double(value)
    except OverflowError:
        return math.inf
