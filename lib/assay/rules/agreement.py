"""Comparing two answers to one question, and telling how sure an answer is.

Whether a cheap model may stand in for an expensive one is decided on how often their values agree among the answers
that clear a floor of confidence and a floor of margin. These are those four rules; `assay.rules.evidence` counts them.
"""

import math
from decimal import ROUND_HALF_UP, Decimal

from assay.rules.answers import Answer
from assay.rules.decimals import NANO, at_least

Value = str | float | bool
"""What an answer says: the label of a choice, the level of a score, the verdict of a yes/no question."""


def values_agree(first: Answer, second: Answer) -> bool:
    """Tell whether two answers say the same.

    Choices agree on the same label and yes/no answers on the same verdict. Scores agree when they round to the same
    whole level, halves away from zero: 3.2 and 2.9 agree, 3.4 and 3.6 do not. A score that is not finite agrees with
    nothing, itself included, and answers of different kinds never agree.
    """
    return first.kind == second.kind and _same_value(first.kind, first.value, second.value)


def matches_truth(answer: Answer, truth: Value) -> bool:
    """Tell whether an answer is right, by the rule of `values_agree`."""
    return _same_value(answer.kind, answer.value, truth)


def answer_margin(answer: Answer) -> float:
    """Return how far the most probable label leads, in [0, 1] or NaN.

    The lead is over the larger of the runner-up's probability and the mass that the answer left unreported (1 less the
    sum), so that an answer that names few labels looks no surer than it is: ``{"true": 0.55}`` has a margin of 0.10, a
    lone choice at 0.60 has 0.20, and probabilities 0.6 and 0.1 have 0.30. Without probabilities it is twice the
    confidence less 1. It is never below 0.

    Returns
    -------
    float
        NaN if a number it is computed from is NaN or is no probability at all (outside [0, 1]).
    """
    if not answer.probabilities:
        return max(0.0, 2.0 * as_share(answer.confidence) - 1.0) if _is_share(answer.confidence) else math.nan
    if not all(_is_share(one) for one in answer.probabilities.values()):
        return math.nan
    ranked = sorted((as_share(one) for one in answer.probabilities.values()), reverse=True)
    runner_up = ranked[1] if len(ranked) > 1 else 0.0
    unreported = 1.0 - math.fsum(ranked)
    return max(0.0, ranked[0] - max(runner_up, unreported))


def clears(confidence: float, margin: float, *, min_confidence: float, min_margin: float) -> bool:
    """Tell whether an answer reaches both floors: equal passes, NaN never does.

    Numbers are compared as decimals (see `assay.rules.decimals`). One outside [0, 1] clears nothing: a confidence of
    85 is a confidence on another scale, not a sure answer.
    """
    return reaches(confidence, min_confidence) and reaches(margin, min_margin)


def reaches(share: float, floor: float) -> bool:
    """Tell whether `share` is a number in [0, 1] and at least `floor`."""
    return _is_share(share) and at_least(share, floor)


def as_share(value: object) -> float:
    """Return `value` as a double in [0, 1]; NaN where it is no number, is not finite or lies outside."""
    if not _is_share(value):
        return math.nan
    return min(1.0, max(0.0, float(value)))  # type: ignore[arg-type]


def require_share(value: object, name: str) -> None:
    """Raise ValueError, naming the argument, unless `value` is a number in [0, 1]."""
    if math.isnan(as_share(value)):
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")


def _is_share(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # A sum of doubles may end a hair outside; half a unit of the decimal comparison is let through.
    return -0.5 / NANO <= value <= 1.0 + 0.5 / NANO


def _same_value(kind: object, first: object, second: object) -> bool:
    if kind == "choice":
        return isinstance(first, str) and isinstance(second, str) and first == second
    if kind == "noul":
        return isinstance(first, bool) and isinstance(second, bool) and first == second
    if kind == "score":
        level = _whole_level(first)
        return level is not None and level == _whole_level(second)
    return False


def _whole_level(score: object) -> Decimal | None:
    """Round a score, as it is written in decimals, to the nearest whole level; None where it is not finite."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return None
    return Decimal(repr(score)).to_integral_value(rounding=ROUND_HALF_UP)
