"""When the cheap model may answer: the thresholds, the mode, and what the evidence has to show.

A `RoutingPolicy` is a document of its own, kept as JSON beside the evidence it was tuned on. It says nothing about how
calls are made; `assay.rules.routing` follows it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from assay.rules.agreement import answer_margin, reaches, require_share
from assay.rules.answers import Answer, Calibration, Elicitation
from assay.rules.classifier import Profile, as_calibration, as_elicitation, origin_difference, origin_document
from assay.rules.decimals import at_least
from assay.rules.documents import DocumentError, Fields, located, read_document, value_shown
from assay.rules.evidence import Agreement, AgreementReport, KindAgreement, Side

FORMAT, VERSION = "assay-routing-policy", 1


class RoutingMode(StrEnum):
    """Who answers."""

    OFF = "off"
    """The expensive model, everything: a cheaper one is earned by measurement."""
    PINNED = "pinned"
    """The named model, everything."""
    MEASURED = "measured"
    """The cheap model where the evidence trusts it, the expensive one elsewhere."""


class RouteReason(StrEnum):
    """Why an answer came from the model it came from."""

    ROUTING_OFF = "routing_off"
    PINNED = "pinned"
    NO_CALIBRATION = "no_calibration"
    """No thresholds exist for the cheap model."""
    NO_MEASUREMENT = "no_measurement"
    """The evidence does not have the question kind."""
    NOT_MEASURED_ENOUGH = "not_measured_enough"
    DISAGREEMENT_TOO_HIGH = "disagreement_too_high"
    CHEAP_ACCEPTED = "cheap_accepted"
    ESCALATED_LOW_CONFIDENCE = "escalated_low_confidence"
    ESCALATED_NARROW_MARGIN = "escalated_narrow_margin"
    ESCALATED_CHEAP_FAILED = "escalated_cheap_failed"


class RoutingRefused(ValueError):  # noqa: N818 (a refusal, not a fault)
    """A router that must not be built as asked; the message names both sides of the contradiction.

    Parameters
    ----------
    kind : str
        `same_adapter`, `unknown_adapter`, `evidence_for_other_adapters`, `evidence_changed`, or the attribute that
        differs followed by ``_mismatch``: `calibration_mismatch`, `elicitation_mismatch`, `model_mismatch`,
        `prompt_mismatch`.
    message : str
    names : mapping of str to str
        The names involved: `adapter`, `declared` and `reported`, or `cheap` and `expensive`.
    """

    def __init__(self, kind: str, message: str, **names: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.names = names


@dataclass(frozen=True)
class Thresholds:
    """Floors that an answer has to reach, and the origin of the numbers they were tuned on.

    Parameters
    ----------
    calibration : Calibration
    min_confidence, min_margin : float in [0, 1]
        Compared as decimals; equal passes.
    elicitation : Elicitation, optional
    model, prompt : str, optional
        What else they were tuned on; None is not compared.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names it.
    """

    calibration: Calibration
    min_confidence: float
    min_margin: float = 0.0
    elicitation: Elicitation | None = None
    model: str | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibration", as_calibration(self.calibration, "calibration"))
        object.__setattr__(self, "elicitation", as_elicitation(self.elicitation, "elicitation"))
        for name in ("min_confidence", "min_margin"):
            require_share(getattr(self, name), name)

    def judge(self, answer: Answer) -> RouteReason:
        """Accept an answer that reaches both floors; the confidence is looked at before the margin."""
        if not reaches(answer.confidence, self.min_confidence):
            return RouteReason.ESCALATED_LOW_CONFIDENCE
        if not reaches(answer_margin(answer), self.min_margin):
            return RouteReason.ESCALATED_NARROW_MARGIN
        return RouteReason.CHEAP_ACCEPTED


@dataclass(frozen=True)
class Standing:
    """What the evidence says of one question kind.

    Parameters
    ----------
    reason : RouteReason or None
        Why the cheap model is not trusted with it; None where it is.
    agreement : Agreement or None
        The pairs whose cheap answer clears the thresholds; None where nothing could be counted.
    """

    reason: RouteReason | None
    agreement: Agreement | None = None

    @property
    def trusted(self) -> bool:
        """Whether the cheap model may answer this kind."""
        return self.reason is None


@dataclass(frozen=True)
class RoutingPolicy:
    """The mode, the thresholds by model, and the bounds that evidence has to keep.

    Parameters
    ----------
    mode : RoutingMode
    pinned : str, optional
        The model that answers everything, in mode `pinned` and only there.
    thresholds : mapping of str to Thresholds
        By model name. Only those of the cheap model are used; all are checked.
    min_questions : int
        Measured answers that have to clear the thresholds, at least.
    max_disagreement_rate : float in [0, 1]
        Share of them that may disagree; equal passes.
    evidence : str, optional
        The digest of the `AgreementReport` it was tuned on; another report is then refused.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names it.
    """

    mode: RoutingMode = RoutingMode.OFF
    pinned: str | None = None
    thresholds: Mapping[str, Thresholds] = field(default_factory=dict)
    min_questions: int = 20
    max_disagreement_rate: float = 0.05
    evidence: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in tuple(RoutingMode):
            raise ValueError(f"mode must be one of {', '.join(RoutingMode)}, got {self.mode!r}")
        object.__setattr__(self, "mode", RoutingMode(self.mode))
        if (self.mode is RoutingMode.PINNED) != (self.pinned is not None):
            raise ValueError(
                f"pinned must name a model in mode pinned and only there, got {self.pinned!r} in {self.mode}"
            )
        if isinstance(self.min_questions, bool) or not isinstance(self.min_questions, int) or self.min_questions < 0:
            raise ValueError(f"min_questions must be a whole number of at least 0, got {self.min_questions!r}")
        require_share(self.max_disagreement_rate, "max_disagreement_rate")

    def standing(self, cheap: str, measured: KindAgreement | None) -> Standing:
        """Judge whether a question kind has earned the cheap model.

        Parameters
        ----------
        cheap : str
            Name of the cheap model.
        measured : KindAgreement or None
            The evidence about the kind, None where there is none.
        """
        thresholds = self.thresholds.get(cheap)
        if thresholds is None:
            return Standing(RouteReason.NO_CALIBRATION)
        if measured is None:
            return Standing(RouteReason.NO_MEASUREMENT)
        agreement = measured.agreement_at(thresholds.min_confidence, thresholds.min_margin)
        if agreement.measured < self.min_questions:
            return Standing(RouteReason.NOT_MEASURED_ENOUGH, agreement)
        rate = agreement.disagreement_rate
        # With min_questions 0 there may be nothing to take a rate of; no evidence earns nothing.
        if rate is None or not at_least(self.max_disagreement_rate, rate):
            return Standing(RouteReason.DISAGREEMENT_TOO_HIGH, agreement)
        return Standing(None, agreement)

    def check(self, cheap: Profile, expensive: Profile, evidence: AgreementReport | None) -> None:
        """Refuse what does not belong together.

        The pin comes first, then the thresholds by name, then, in mode measured, the evidence.

        Raises
        ------
        RoutingRefused
        """
        held = {cheap.model: cheap, expensive.model: expensive}
        if len(held) == 1:
            raise RoutingRefused(
                "same_adapter", f"cheap and expensive are both called {cheap.model!r}", adapter=cheap.model
            )
        if self.pinned is not None and self.pinned not in held:
            raise _unknown(f"the policy pins {self.pinned!r}", self.pinned, cheap, expensive)
        for name in sorted(self.thresholds):
            if name not in held:
                raise _unknown(f"there are thresholds for {name!r}", name, cheap, expensive)
            _check_origin(f"the thresholds for {name!r} were tuned on", self.thresholds[name], held[name])
        if self.mode is RoutingMode.MEASURED and evidence is not None:
            _check_evidence(evidence, cheap, expensive)
        if self.mode is RoutingMode.MEASURED and self.evidence is not None:
            found = "none" if evidence is None else evidence.digest()
            if found != self.evidence:
                raise RoutingRefused(
                    "evidence_changed",
                    f"the policy was tuned on evidence {self.evidence}, the router is given {found}",
                    declared=self.evidence,
                    reported=found,
                )

    def to_json(self) -> str:
        """Write the policy as JSON."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "mode": self.mode,
            "pinned": self.pinned,
            "thresholds": {name: _thresholds_document(one) for name, one in sorted(self.thresholds.items())},
            "min_questions": self.min_questions,
            "max_disagreement_rate": self.max_disagreement_rate,
            "evidence": self.evidence,
        }
        return json.dumps(document, allow_nan=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        DocumentError
            If a field is missing, unknown, given twice, of the wrong type or out of range; the message names it.
        """
        fields = read_document(text, "policy")
        fields.header(FORMAT, VERSION)
        mode = fields.text("mode")
        if mode not in tuple(RoutingMode):
            raise DocumentError(f"policy.mode must be one of {', '.join(RoutingMode)}, got {value_shown(mode)}")
        pinned = fields.text("pinned", None)
        thresholds = {name: _thresholds(one) for name, one in fields.named_objects("thresholds")}
        min_questions = fields.whole("min_questions")
        rate = fields.share("max_disagreement_rate")
        evidence = fields.text("evidence", None)
        fields.done()
        with located("policy"):
            return cls(RoutingMode(mode), pinned, thresholds, min_questions, rate, evidence)


def _unknown(claim: str, name: str, cheap: Profile, expensive: Profile) -> RoutingRefused:
    return RoutingRefused(
        "unknown_adapter", f"{claim}, the router holds {cheap.model!r} and {expensive.model!r}", adapter=name
    )


def _check_origin(claim: str, declared: Thresholds | Side, profile: Profile) -> None:
    difference = origin_difference(declared, profile)
    if difference is not None:
        attribute, wanted, reported = difference
        raise RoutingRefused(
            f"{attribute}_mismatch",
            f"{claim} {attribute} {wanted}, {profile.model!r} reports {reported}",
            adapter=profile.model,
            declared=wanted,
            reported=reported,
        )


def _check_evidence(evidence: AgreementReport, cheap: Profile, expensive: Profile) -> None:
    compared = (evidence.cheap.model, evidence.expensive.model)
    if compared != (cheap.model, expensive.model):
        raise RoutingRefused(
            "evidence_for_other_adapters",
            f"the evidence compares {compared[0]!r} (cheap) with {compared[1]!r} (expensive), the router holds "
            f"{cheap.model!r} (cheap) and {expensive.model!r} (expensive)",
            cheap=compared[0],
            expensive=compared[1],
        )
    _check_origin("the evidence was measured with", evidence.cheap, cheap)
    _check_origin("the evidence was measured with", evidence.expensive, expensive)


def _thresholds_document(one: Thresholds) -> dict[str, Any]:
    return {"min_confidence": one.min_confidence, "min_margin": one.min_margin, **origin_document(one)}


def _thresholds(fields: Fields) -> Thresholds:
    calibration = fields.text("calibration")
    floors = (fields.share("min_confidence"), fields.share("min_margin"))
    elicitation, model, prompt = (fields.text(name, None) for name in ("elicitation", "model", "prompt"))
    fields.done()
    with located(fields.where):
        return Thresholds(calibration, *floors, elicitation, model, prompt)
