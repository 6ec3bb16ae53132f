"""Recalibration maps: from the confidence a model states to how often it is right when it does.

A map is fitted where there is numpy and applied where there may be none: it is a handful of plain numbers, and applying
it takes the standard library. Every map is never decreasing, so it cannot put a less confident answer above a more
confident one, and takes [0, 1] into [0, 1]. A map belongs to the calibration and elicitation that it was fitted on.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal

from assay.rules.answers import Calibration, Elicitation
from assay.rules.documents import DocumentError, Fields

RecalibrationKind = Literal["temperature", "platt", "beta", "isotonic"]

CLIP: Final = 1e-6
"""Confidences are taken no closer to 0 and 1 than this before a logarithm (not by an isotonic map)."""

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "temperature": ("temperature",),
        "platt": ("slope", "intercept"),
        "beta": ("a", "b", "c"),
        "isotonic": ("confidence", "frequency"),
    }
)
"""Names of the parameters of each kind of map."""


@dataclass(frozen=True)
class RecalibrationMap:
    """A fitted map of confidences.

    Parameters
    ----------
    kind : {"temperature", "platt", "beta", "isotonic"}
    parameters : mapping of str to float, or to a tuple of floats for "isotonic"
        ``temperature``: above 0; the log odds are divided by it. ``platt``: ``slope`` at least 0 and ``intercept`` of
        the log odds. ``beta``: ``a`` and ``b`` at least 0 and ``c``, of ``a ln p - b ln(1 - p) + c``. ``isotonic``:
        ``confidence``, strictly increasing, and ``frequency``, never decreasing, of the knots between which the map is
        linear; outside them it keeps the value of the nearest.
    calibration : Calibration
    elicitation : Elicitation, optional
        None for a trained classifier.
    low, high : float in [0, 1]
        Range of the confidences that the map was fitted on; outside it the map is an extrapolation (`extrapolates`).
    items : int
        Items it was fitted on.

    Raises
    ------
    ValueError
        If a parameter is missing, unknown, not finite or out of range; it is named.
    """

    kind: RecalibrationKind
    parameters: Mapping[str, float | tuple[float, ...]] = field(hash=False)
    calibration: Calibration
    elicitation: Elicitation | None = None
    low: float = 0.0
    high: float = 1.0
    items: int = 0

    def __post_init__(self) -> None:
        if self.kind not in PARAMETERS:
            raise ValueError(f"kind must be one of {', '.join(PARAMETERS)}, got {self.kind!r}")
        expected, given = PARAMETERS[self.kind], tuple(self.parameters)
        if set(given) != set(expected):
            named = ", ".join(map(str, given)) or "none"
            raise ValueError(f"parameters of a map of kind {self.kind} must be {', '.join(expected)}, got {named}")
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError(f"low and high must satisfy 0 <= low <= high <= 1, got {self.low} and {self.high}")
        if self.kind == "isotonic":
            _check_knots(self.parameters["confidence"], self.parameters["frequency"])
        else:
            _check_numbers(self.kind, self.parameters)
        object.__setattr__(self, "calibration", Calibration(self.calibration))
        if self.elicitation is not None:
            object.__setattr__(self, "elicitation", Elicitation(self.elicitation))
        # A copy, so that no change of the mapping that was passed in reaches the map.
        object.__setattr__(self, "parameters", dict(self.parameters))

    def apply(self, confidence: float) -> float:
        """Return the recalibrated confidence.

        Parameters
        ----------
        confidence : float
            In [0, 1].

        Raises
        ------
        ValueError
            If the confidence is not a number in [0, 1]; the message does not give it, since a model wrote it.
        """
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
            raise ValueError("confidence must be a number in [0, 1]")
        if self.kind == "isotonic":
            return _interpolate(confidence, self.parameters["confidence"], self.parameters["frequency"])
        clipped = min(max(float(confidence), CLIP), 1 - CLIP)
        sure, unsure = math.log(clipped), math.log1p(-clipped)
        number: Any = self.parameters
        if self.kind == "temperature":
            return _sigmoid((sure - unsure) / number["temperature"])
        if self.kind == "platt":
            return _sigmoid(number["slope"] * (sure - unsure) + number["intercept"])
        return _sigmoid(number["a"] * sure - number["b"] * unsure + number["c"])

    def extrapolates(self, confidence: float) -> bool:
        """Whether `confidence` lies outside the range that the map was fitted on."""
        return not self.low <= confidence <= self.high

    def require_source(self, calibration: str, elicitation: str | None) -> None:
        """Raise ValueError, naming both sides, if confidences of that source are not those the map was fitted on.

        The calibration must be the same, and so must the elicitation where both sides name one.
        """
        differs = self.elicitation and elicitation and str(self.elicitation) != elicitation
        if str(self.calibration) != calibration or differs:
            own, asked = (
                " ".join(str(part) for part in pair if part)
                for pair in ((self.calibration, self.elicitation), (calibration, elicitation))
            )
            raise ValueError(f"a map fitted on {own} confidences does not apply to {asked or 'unnamed'} ones")

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain numbers and text, for JSON."""
        return {
            "kind": self.kind,
            "calibration": str(self.calibration),
            "elicitation": None if self.elicitation is None else str(self.elicitation),
            "items": self.items,
            "low": self.low,
            "high": self.high,
            "parameters": {
                name: list(value) if isinstance(value, tuple) else value for name, value in self.parameters.items()
            },
        }

    @classmethod
    def from_dict(cls, document: object, where: str = "recalibration") -> "RecalibrationMap":
        """Read what `to_dict` wrote.

        Parameters
        ----------
        document : object
            As decoded from JSON.
        where : str
            Its place in a larger document, for messages.

        Raises
        ------
        DocumentError
            If a field is missing, unknown, of the wrong type or out of range; it is named.
        """
        fields = Fields(document, where)
        kind = fields.text("kind")
        if kind not in PARAMETERS:
            raise DocumentError(f"{where}.kind must be one of {', '.join(PARAMETERS)}, got {kind!r}")
        calibration = _member(Calibration, fields.text("calibration"), f"{where}.calibration")
        elicitation = fields.text("elicitation", None)
        if elicitation is not None:
            elicitation = _member(Elicitation, elicitation, f"{where}.elicitation")
        items, low, high = fields.whole("items"), fields.share("low"), fields.share("high")
        given = Fields(fields.take("parameters"), f"{where}.parameters")
        fields.done()
        read = _numbers if kind == "isotonic" else _number
        parameters = {name: read(given.take(name), f"{where}.parameters.{name}") for name in PARAMETERS[kind]}
        given.done()
        try:
            return cls(kind, parameters, calibration, elicitation, low, high, items)
        except ValueError as error:
            raise DocumentError(f"{where}: {error}") from None


def _check_numbers(kind: str, parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
        if name == "temperature" and value <= 0:
            raise ValueError(f"temperature must be above 0, got {value}")
        if name in ("slope", "a", "b") and value < 0:
            raise ValueError(f"{name} of a map of kind {kind} must be at least 0, got {value}")


def _check_knots(confidence: Any, frequency: Any) -> None:
    for name, values in (("confidence", confidence), ("frequency", frequency)):
        if not isinstance(values, tuple) or not values:
            raise ValueError(f"{name} of an isotonic map must be a tuple of at least one number")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"{name} of an isotonic map must hold numbers in [0, 1], got {value!r}")
    if len(confidence) != len(frequency):
        raise ValueError(f"confidence and frequency must be equally long, got {len(confidence)} and {len(frequency)}")
    if any(after <= before for before, after in pairwise(confidence)):
        raise ValueError("confidence of an isotonic map must be strictly increasing")
    if any(after < before for before, after in pairwise(frequency)):
        raise ValueError("frequency of an isotonic map must never decrease")


def _interpolate(confidence: float, knots: Any, values: Any) -> float:
    if confidence <= knots[0]:
        return float(values[0])
    if confidence >= knots[-1]:
        return float(values[-1])
    after = bisect_right(knots, confidence)
    before = after - 1
    slope = (values[after] - values[before]) / (knots[after] - knots[before])
    # Rounding must not carry the value past the next knot's.
    return float(min(values[before] + slope * (confidence - knots[before]), values[after]))


def _sigmoid(log_odds: float) -> float:
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    # exp of a large positive number would overflow; this underflows to 0 instead.
    odds = math.exp(log_odds)
    return odds / (1 + odds)


def _member(enumeration: Any, value: str, where: str) -> Any:
    try:
        return enumeration(value)
    except ValueError:
        allowed = ", ".join(str(member) for member in enumeration)
        raise DocumentError(f"{where} must be one of {allowed}, got {value!r}") from None


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DocumentError(f"{where} must be a number")
    return float(value)


def _numbers(value: object, where: str) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise DocumentError(f"{where} must be an array of numbers")
    return tuple(_number(one, f"{where}[{position}]") for position, one in enumerate(value))
