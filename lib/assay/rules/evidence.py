"""What was measured about a cheap model against an expensive one.

An `AgreementLog` is fed pairs of answers, live by the shadow or from recorded ones, and gives an `AgreementReport`:
per question kind, every pair that both sides answered and the number that only one did. A question kind is one
question asked again and again about different states, known by its id; different questions earn trust apart, whether
or not they share a form. The report is the evidence that measured routing asks for, and is kept as JSON.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from assay.rules.agreement import (
    Value,
    answer_margin,
    as_share,
    clears,
    matches_truth,
    require_share,
    values_agree,
)
from assay.rules.answers import Answer, Calibration, Elicitation
from assay.rules.classifier import Profile, as_calibration, as_elicitation, origin_document
from assay.rules.documents import DocumentError, Fields, located, number_or_null, read_document, value_shown

Grade = Literal["cheap", "expensive", "neither"]
"""Which side of a disagreement the ground truth bears out."""

FORMAT, VERSION = "assay-agreement", 1


@dataclass(frozen=True)
class Side:
    """One of the two models that were compared, with what is known of where its numbers come from."""

    model: str
    calibration: Calibration | None = None
    elicitation: Elicitation | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.calibration is not None:
            object.__setattr__(self, "calibration", as_calibration(self.calibration, "calibration"))
        object.__setattr__(self, "elicitation", as_elicitation(self.elicitation, "elicitation"))

    @classmethod
    def of(cls, profile: Profile) -> Self:
        """Take the side from a classifier's profile."""
        return cls(profile.model, profile.calibration, profile.elicitation, profile.prompt)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question that both sides answered.

    Parameters
    ----------
    confidence, margin : float
        The cheap answer's, in [0, 1] or NaN.
    agreed : bool
    right : {"cheap", "expensive", "neither"}, optional
        For a disagreement whose truth is known: who was right.
    cheap, expensive : str, float or bool, optional
        For a disagreement: what each said. A score that is not finite is kept as NaN.
    item : str
        Where to find the text, for whoever looks into it.
    """

    confidence: float
    margin: float
    agreed: bool
    right: Grade | None = None
    cheap: Value | None = None
    expensive: Value | None = None
    item: str = ""

    def __post_init__(self) -> None:
        for name in ("confidence", "margin"):
            value = getattr(self, name)
            share = as_share(value)
            if math.isnan(share) and not (isinstance(value, float) and math.isnan(value)):
                raise ValueError(f"{name} must lie in [0, 1] or be NaN, got {value!r}")
            object.__setattr__(self, name, share)
        if self.right is not None and (self.agreed or self.right not in get_args(Grade)):
            raise ValueError(f"right must be one of {', '.join(get_args(Grade))} and only for a disagreement")


@dataclass(frozen=True)
class Agreement:
    """How many pairs were counted and how many of them agreed."""

    measured: int
    agreed: int

    @property
    def rate(self) -> float | None:
        """Share that agreed, in [0, 1]; None over nothing."""
        return self.agreed / self.measured if self.measured else None

    @property
    def disagreement_rate(self) -> float | None:
        """Share that disagreed, in [0, 1]; None over nothing."""
        return (self.measured - self.agreed) / self.measured if self.measured else None


@dataclass(frozen=True)
class KindAgreement:
    """Everything measured about one question kind.

    Parameters
    ----------
    comparisons : tuple of Comparison
        Questions that both sides answered.
    errors : int
        Questions that at least one side failed; they are in no rate.
    """

    comparisons: tuple[Comparison, ...] = ()
    errors: int = 0

    @property
    def overall(self) -> Agreement:
        """Agreement over all comparisons, those without a usable confidence included."""
        return Agreement(len(self.comparisons), sum(one.agreed for one in self.comparisons))

    @property
    def disagreements(self) -> tuple[Comparison, ...]:
        """The comparisons that did not agree, in the order in which they were recorded."""
        return tuple(one for one in self.comparisons if not one.agreed)

    @property
    def graded(self) -> dict[Grade, int]:
        """Disagreements whose truth is known, by the side that was right."""
        counts = Counter(one.right for one in self.comparisons if one.right is not None)
        return {grade: counts[grade] for grade in get_args(Grade)}

    def agreement_at(self, min_confidence: float = 0.0, min_margin: float = 0.0) -> Agreement:
        """Count the comparisons whose cheap answer reaches both floors (equal passes, NaN never does).

        Parameters
        ----------
        min_confidence, min_margin : float in [0, 1]

        Raises
        ------
        ValueError
            If a floor lies outside.
        """
        require_share(min_confidence, "min_confidence")
        require_share(min_margin, "min_margin")
        cleared = [
            one.agreed
            for one in self.comparisons
            if clears(one.confidence, one.margin, min_confidence=min_confidence, min_margin=min_margin)
        ]
        return Agreement(len(cleared), sum(cleared))


@dataclass(frozen=True)
class AgreementReport:
    """The evidence about one pair of models, by question kind."""

    cheap: Side
    expensive: Side
    kinds: Mapping[str, KindAgreement] = field(default_factory=dict)

    def agreement_at(self, min_confidence: float = 0.0, min_margin: float = 0.0) -> dict[str, Agreement]:
        """Count each kind's comparisons that reach both floors; see `KindAgreement.agreement_at`."""
        return {name: kind.agreement_at(min_confidence, min_margin) for name, kind in self.kinds.items()}

    def digest(self) -> str:
        """Return the sha256 (64 hex digits) of the evidence, which a routing policy may name."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Write the report as JSON with NaN as null, the same text for the same evidence."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "cheap": origin_document(self.cheap),
            "expensive": origin_document(self.expensive),
            "kinds": {
                name: {"errors": kind.errors, "comparisons": [_comparison_document(one) for one in kind.comparisons]}
                for name, kind in sorted(self.kinds.items())
            },
        }
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        DocumentError
            If a field is missing, unknown, given twice, of the wrong type or out of range; the message names it.
        """
        fields = read_document(text, "evidence")
        fields.header(FORMAT, VERSION)
        cheap = _side(Fields(fields.take("cheap"), "evidence.cheap"))
        expensive = _side(Fields(fields.take("expensive"), "evidence.expensive"))
        kinds = {name: _kind(one) for name, one in fields.named_objects("kinds")}
        fields.done()
        return cls(cheap, expensive, kinds)


class AgreementLog:
    """Collects comparisons of one pair of models.

    Parameters
    ----------
    cheap, expensive : Side
    """

    def __init__(self, cheap: Side, expensive: Side) -> None:
        self.cheap = cheap
        self.expensive = expensive
        self._comparisons: dict[str, list[Comparison]] = {}
        self._errors: Counter[str] = Counter()

    def record(
        self, kind: str, cheap: Answer | None, expensive: Answer | None, *, truth: Value | None = None, item: str = ""
    ) -> None:
        """Add one question.

        Parameters
        ----------
        kind : str
            The question's id.
        cheap, expensive : Answer or None
            None where that side failed or left the question out: counted as an error, in no rate.
        truth : str, float or bool, optional
            The right answer where it is known, which grades a disagreement.
        item : str
        """
        comparisons = self._comparisons.setdefault(kind, [])
        if cheap is None or expensive is None:
            self._errors[kind] += 1
            return
        comparisons.append(_compare(cheap, expensive, truth, item))

    def report(self) -> AgreementReport:
        """Return what has been recorded so far."""
        kinds = {name: KindAgreement(tuple(ones), self._errors[name]) for name, ones in self._comparisons.items()}
        return AgreementReport(self.cheap, self.expensive, kinds)


def _compare(cheap: Answer, expensive: Answer, truth: Value | None, item: str) -> Comparison:
    confidence, margin = as_share(cheap.confidence), answer_margin(cheap)
    if values_agree(cheap, expensive):
        return Comparison(confidence, margin, agreed=True, item=item)
    right: Grade | None = None
    if truth is not None:
        right = "neither"
        if matches_truth(cheap, truth):
            right = "cheap"
        elif matches_truth(expensive, truth):
            right = "expensive"
    return Comparison(
        confidence,
        margin,
        agreed=False,
        right=right,
        cheap=_kept(cheap.value),
        expensive=_kept(expensive.value),
        item=item,
    )


def _kept(value: Value) -> Value:
    return math.nan if isinstance(value, float) and not math.isfinite(value) else value


def _side(fields: Fields) -> Side:
    model = fields.text("model")
    calibration, elicitation, prompt = (fields.text(name, None) for name in ("calibration", "elicitation", "prompt"))
    fields.done()
    with located(fields.where):
        return Side(model, calibration, elicitation, prompt)


def _comparison_document(one: Comparison) -> dict[str, Any]:
    document: dict[str, Any] = {
        "confidence": number_or_null(one.confidence),
        "margin": number_or_null(one.margin),
        "agreed": one.agreed,
    }
    if one.right is not None:
        document["right"] = one.right
    for name in ("cheap", "expensive"):
        value = getattr(one, name)
        if value is not None:
            document[name] = number_or_null(value) if isinstance(value, float) else value
    if one.item:
        document["item"] = one.item
    return document


def _kind(fields: Fields) -> KindAgreement:
    errors = fields.whole("errors")
    comparisons = tuple(_comparison(one) for one in fields.objects("comparisons"))
    fields.done()
    return KindAgreement(comparisons, errors)


def _comparison(fields: Fields) -> Comparison:
    agreed = fields.flag("agreed")
    right = fields.text("right", None)
    if right is not None and (agreed or right not in get_args(Grade)):
        raise DocumentError(
            f"{fields.where}.right must be one of {', '.join(get_args(Grade))}, and only where agreed is false, "
            f"got {value_shown(right)}"
        )
    one = Comparison(
        confidence=fields.share_or_nan("confidence"),
        margin=fields.share_or_nan("margin"),
        agreed=agreed,
        right=right,
        cheap=_value(fields, "cheap"),
        expensive=_value(fields, "expensive"),
        item=fields.text("item", ""),
    )
    fields.done()
    return one


def _value(fields: Fields, name: str) -> Value | None:
    missing = object()
    value = fields.take(name, missing)
    if value is missing:
        return None
    if value is None:
        return math.nan
    if not isinstance(value, str | int | float):
        # The value came from a model: it is told by its place alone.
        raise DocumentError(f"{fields.where}.{name} must be a label, a number, true, false or null")
    return value
