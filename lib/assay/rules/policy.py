"""The policy file: what was certified, in a form that a service loads and applies with the standard library alone.

A policy carries everything its decisions depend on and everything that says how far to trust it: the taxonomy, the
origin of the confidences it was tuned on, the threshold and the tie margin, the recalibration map, the gates with their
counts and bounds, and a date by which it has to be looked at again. It refuses confidences of another origin, and,
unless the caller allows it by name, another model or prompt, an expired policy and one that did not pass.
"""

import datetime
import json
import os
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from assay.rules.answers import Calibration, Elicitation
from assay.rules.classifier import as_calibration, as_elicitation
from assay.rules.documents import DocumentError, Fields, OneLineError
from assay.rules.gate_result import VERDICTS, GateResult
from assay.rules.recalibration import RecalibrationMap
from assay.rules.safety import Classification, Decision, apply_safety_rules
from assay.rules.sealed import load_text, save_text, seal, unseal
from assay.rules.taxonomy import Taxonomy, TaxonomyError

FORMAT, VERSION = "assay-policy", 1

ALLOWANCES = ("model", "prompt", "expired", "fail", "undecided")
"""What a caller may allow by name: another model or prompt, an expired policy, one that failed or is undecided."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class PolicyError(OneLineError):
    """A policy that cannot be used as it stands; the message names the field."""


class PolicyRefused(PolicyError):  # noqa: N818 (a refusal, not a fault)
    """A sound policy that must not be applied here; the message names both sides.

    Parameters
    ----------
    kind : {"calibration", "elicitation", "model", "prompt", "expired", "fail", "undecided"}
    message : str
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Policy:
    """A threshold and a tie margin, what they were tuned on, and what was shown of them.

    Parameters
    ----------
    taxonomy : Taxonomy
    calibration : Calibration
    threshold, tie_margin : float in [0, 1]
        Compared with confidences after recalibration.
    gates : tuple of GateResult
    verdict : {"pass", "fail", "undecided"}
        Pass only where every gate passes.
    seed : int
        Of the split into tuning and certification part.
    date, review_by : datetime.date
        When it was made, and the last day on which it may be applied.
    elicitation : Elicitation, optional
    model, prompt, prompt_sha256, data_sha256 : str, optional
        The model and the prompt by name, and the sha256 of the prompt and of the data, in 64 hex digits.
    recalibration : RecalibrationMap, optional
        Applied to the answer's confidence and to those of its alternatives before anything is compared.
    package_version : str

    Raises
    ------
    PolicyError
        If a field is out of range or contradicts another; it is named.
    """

    taxonomy: Taxonomy
    calibration: Calibration
    threshold: float
    tie_margin: float
    gates: tuple[GateResult, ...]
    verdict: str
    seed: int
    date: datetime.date
    review_by: datetime.date
    elicitation: Elicitation | None = None
    model: str | None = None
    prompt: str | None = None
    prompt_sha256: str | None = None
    data_sha256: str | None = None
    recalibration: RecalibrationMap | None = None
    package_version: str = ""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "calibration", as_calibration(self.calibration, "calibration"))
            object.__setattr__(self, "elicitation", as_elicitation(self.elicitation, "elicitation"))
            self._check()
        except ValueError as error:
            raise PolicyError(f"policy.{error}") from None

    def decide(
        self,
        classification: Classification,
        *,
        calibration: str,
        elicitation: str | None = None,
        model: str | None = None,
        prompt_sha256: str | None = None,
        today: datetime.date | None = None,
        allow: Collection[str] = (),
    ) -> Decision:
        """Decide what to do with one answer.

        Parameters
        ----------
        classification : Classification
            As the model stated it; recalibration happens here.
        calibration : str
            Where its confidence comes from.
        elicitation, model, prompt_sha256 : str, optional
            Compared where the policy names them too.
        today : datetime.date, optional
            The day to compare with `review_by`; the system's by default.
        allow : collection of names out of `ALLOWANCES`

        Raises
        ------
        PolicyRefused
            If the policy does not apply; see `require`.
        """
        self.require(
            calibration=calibration,
            elicitation=elicitation,
            model=model,
            prompt_sha256=prompt_sha256,
            today=today,
            allow=allow,
        )
        return apply_safety_rules(
            self.recalibrated(classification),
            taxonomy=self.taxonomy,
            threshold=self.threshold,
            tie_margin=self.tie_margin,
        )

    def require(
        self,
        *,
        calibration: str,
        elicitation: str | None = None,
        model: str | None = None,
        prompt_sha256: str | None = None,
        today: datetime.date | None = None,
        allow: Collection[str] = (),
    ) -> None:
        """Raise `PolicyRefused` unless the policy applies to answers of this origin, today.

        Another calibration or elicitation is always refused. Another model or prompt, a day after `review_by`, and a
        verdict other than pass are refused unless `allow` names them. What either side leaves open is not compared.
        """
        allowed = _allowances(allow)
        origin = (
            ("calibration", self.calibration, as_calibration(calibration, "calibration")),
            ("elicitation", self.elicitation, as_elicitation(elicitation or None, "elicitation")),
            ("model", self.model, model),
            ("prompt", self.prompt_sha256, prompt_sha256),
        )
        for kind, own, given in origin:
            if own and given and own != given and kind not in allowed:
                raise PolicyRefused(kind, f"the policy was tuned on {kind} {own}, and these answers have {given}")
        today = datetime.date.today() if today is None else today
        if today > self.review_by and "expired" not in allowed:
            raise PolicyRefused("expired", f"the policy was to be reviewed by {self.review_by}, and today is {today}")
        if self.verdict != "pass" and self.verdict not in allowed:
            raise PolicyRefused(self.verdict, f"the policy's verdict is {self.verdict}: it is not certified")

    def recalibrated(self, classification: Classification) -> Classification:
        """Return the answer with the recalibration map applied to its confidences, if the policy has one."""
        if self.recalibration is None:
            return classification
        apply = self.recalibration.apply
        return replace(
            classification,
            confidence=apply(classification.confidence),
            alternatives={name: apply(value) for name, value in classification.alternatives.items()},
        )

    def to_json(self) -> str:
        """Return the text of the policy file: JSON with the digest of every field and of the whole."""
        return seal(
            {
                "format": FORMAT,
                "version": VERSION,
                "package_version": self.package_version,
                "date": self.date.isoformat(),
                "review_by": self.review_by.isoformat(),
                "verdict": self.verdict,
                "threshold": float(self.threshold),
                "tie_margin": float(self.tie_margin),
                "calibration": str(self.calibration),
                "elicitation": None if self.elicitation is None else str(self.elicitation),
                "model": self.model,
                "prompt": self.prompt,
                "prompt_sha256": self.prompt_sha256,
                "data_sha256": self.data_sha256,
                "seed": self.seed,
                "recalibration": None if self.recalibration is None else self.recalibration.to_dict(),
                "gates": [gate.to_dict() for gate in self.gates],
                "taxonomy": self.taxonomy.to_dict(),
                "taxonomy_sha256": self.taxonomy.digest(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a policy file.

        Raises
        ------
        PolicyError
            If it is not whole JSON, lacks a field or has one too many, or if a field is of the wrong type, out of
            range, was changed after it was written, or contradicts another. The message names the field.
        """
        try:
            fields = unseal(text, "policy")
            fields.header(FORMAT, VERSION)
            taxonomy, hashed = _taxonomy(fields.take("taxonomy")), fields.text("taxonomy_sha256")
            recalibration = fields.take("recalibration")
            given: dict[str, Any] = {
                "calibration": fields.text("calibration"),
                "threshold": fields.share("threshold"),
                "tie_margin": fields.share("tie_margin"),
                "gates": tuple(GateResult.from_fields(one) for one in fields.objects("gates")),
                "verdict": fields.text("verdict"),
                "seed": fields.take("seed"),
                "date": _day(fields, "date"),
                "review_by": _day(fields, "review_by"),
                "package_version": fields.text("package_version"),
            }
            if recalibration is not None:
                given["recalibration"] = RecalibrationMap.from_dict(recalibration, "policy.recalibration")
            for name in ("elicitation", "model", "prompt", "prompt_sha256", "data_sha256"):
                given[name] = _text_or_null(fields, name)
            fields.done()
        except DocumentError as error:
            raise PolicyError(str(error)) from None
        if taxonomy.digest() != hashed:
            raise PolicyError("policy.taxonomy_sha256 is not that of policy.taxonomy")
        return cls(taxonomy=taxonomy, **given)

    def _check(self) -> None:
        """Raise ValueError, beginning with the name of the field, for what is out of range or contradictory."""
        for name in ("threshold", "tie_margin"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
        for name in ("prompt_sha256", "data_sha256"):
            value = getattr(self, name)
            if value is not None and not _DIGEST.fullmatch(value):
                raise ValueError(f"{name} must be 64 hex digits, got {value!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ValueError(f"seed must be a whole number, got {self.seed!r}")
        if self.review_by < self.date:
            raise ValueError(f"review_by {self.review_by} must not lie before date {self.date}")
        if self.recalibration is not None:
            try:
                self.recalibration.require_source(self.calibration, self.elicitation)
            except ValueError as error:
                raise ValueError(f"recalibration: {error}") from None
        for position, gate in enumerate(self.gates):
            if gate.label is not None and gate.label not in self.taxonomy:
                raise ValueError(f"gates[{position}].class {gate.label!r} is not a class of the taxonomy")
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        if self.verdict == "pass" and not (self.gates and all(gate.verdict == "pass" for gate in self.gates)):
            raise ValueError("verdict is pass, but the gates do not all pass")


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file.

    Raises
    ------
    PolicyError
        If the file cannot be read or `Policy.from_json` refuses it; the message begins with the file's name.
    """
    path = Path(path)
    try:
        text = load_text(path)
    except DocumentError as error:
        raise PolicyError(str(error)) from None
    try:
        return Policy.from_json(text)
    except PolicyError as error:
        raise PolicyError(f"{path.name}: {error}") from None


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a policy file, whole or not at all."""
    save_text(Path(path), policy.to_json())


def policy_schema() -> dict[str, Any]:
    """Return the JSON schema of the policy file, which ships beside this module."""
    from importlib import resources  # not at the top: a service that never asks should not wait for it

    text = (resources.files("assay.rules") / "policy.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _taxonomy(stated: object) -> Taxonomy:
    if not isinstance(stated, dict):
        raise DocumentError("policy.taxonomy must be an object")
    try:
        return Taxonomy.from_dict(stated)
    except TaxonomyError as error:
        raise DocumentError(f"policy.taxonomy: {error}") from None


def _day(fields: Fields, name: str) -> datetime.date:
    value = fields.text(name)
    try:
        return datetime.date.fromisoformat(value)
    except ValueError:
        raise DocumentError(f"{fields.where}.{name} must be a day such as 2026-03-31, got {value!r}") from None


def _text_or_null(fields: Fields, name: str) -> str | None:
    value = fields.take(name)
    if value is not None and not isinstance(value, str):
        raise DocumentError(f"{fields.where}.{name} must be a string or null")
    return value


def _allowances(allow: Collection[str]) -> frozenset[str]:
    if isinstance(allow, str):
        raise ValueError(f"allow must be a collection of names, such as ({allow!r},)")
    for name in allow:
        if name not in ALLOWANCES:
            raise ValueError(f"allow may name {', '.join(ALLOWANCES)}, got {name!r}")
    return frozenset(allow)
