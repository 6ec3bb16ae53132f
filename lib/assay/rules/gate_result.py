"""The result of testing one gate, as a policy carries it."""

from dataclasses import dataclass
from typing import Any, Self

from assay.rules.decimals import at_least, below
from assay.rules.documents import DocumentError, Fields
from assay.rules.taxonomy import Gate, TaxonomyError

VERDICTS = ("pass", "fail", "undecided")
"""What a test may say of a gate, and the tests of all gates of a policy."""


@dataclass(frozen=True)
class GateResult:
    """One gate of one class (or of all accepted answers together) as it was tested.

    Parameters
    ----------
    metric : {"class_accuracy", "caught", "accepted_accuracy"}
    label : str or None
        The class; None for the accepted answers of all classes.
    target, delta : float in (0, 1)
    successes, trials : int
    lower, upper : float in [0, 1]
        One-sided bounds, each at confidence ``1 - delta``.
    verdict : {"pass", "fail", "undecided"}
        Pass: the lower bound reaches the target. Fail: the upper bound is below it.

    Raises
    ------
    ValueError
        If a field is out of range or contradicts another; it is named.
    """

    metric: str
    label: str | None
    target: float
    delta: float
    successes: int
    trials: int
    lower: float
    upper: float
    verdict: str

    def __post_init__(self) -> None:
        _ = self.gate  # which refuses a wrong metric, target or delta
        if not 0 <= self.successes <= self.trials:
            raise ValueError(f"successes must lie between 0 and trials ({self.trials}), got {self.successes}")
        if not 0 <= self.lower <= self.upper <= 1:
            raise ValueError(f"lower and upper must satisfy 0 <= lower <= upper <= 1, got {self.lower}, {self.upper}")
        share = self.successes / self.trials if self.trials else None
        # Above even odds a bound may well pass the share itself; with no more than them, it bounds nothing if it does.
        if share is not None and self.delta <= 0.5 and (below(share, self.lower) or below(self.upper, share)):
            raise ValueError(
                f"lower {self.lower} and upper {self.upper} must enclose {self.successes} successes of {self.trials}"
            )
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        if self.verdict == "pass" and not at_least(self.lower, self.target):
            raise ValueError(f"verdict is pass, but lower {self.lower} does not reach target {self.target}")
        if self.verdict == "fail" and not below(self.upper, self.target):
            raise ValueError(f"verdict is fail, but upper {self.upper} is not below target {self.target}")

    @property
    def gate(self) -> Gate:
        """The gate itself."""
        return Gate(self.metric, () if self.label is None else (self.label,), self.target, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON holds it."""
        return {
            "metric": self.metric,
            "class": self.label,
            "target": float(self.target),
            "delta": float(self.delta),
            "successes": self.successes,
            "trials": self.trials,
            "lower": float(self.lower),
            "upper": float(self.upper),
            "verdict": self.verdict,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read what `to_dict` wrote; DocumentError names the field."""
        given = {
            "metric": fields.text("metric"),
            "label": fields.text("class", None),
            "target": fields.share("target"),
            "delta": fields.share("delta"),
            "successes": fields.whole("successes"),
            "trials": fields.whole("trials"),
            "lower": fields.share("lower"),
            "upper": fields.share("upper"),
            "verdict": fields.text("verdict"),
        }
        fields.done()
        try:
            return cls(**given)
        except (ValueError, TaxonomyError) as error:
            raise DocumentError(f"{fields.where}: {error}") from None
