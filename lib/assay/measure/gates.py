"""One gate, judged by exact tests: the counts, the bounds, the verdict and what more labels could do."""

import math
from dataclasses import dataclass

import numpy as np

from assay.measure.binomial import FAIL, PASS, UNDECIDED, chance_of_at_least, decided
from assay.measure.intervals import exact_lower, exact_upper
from assay.measure.planning import count_in_words, fewest_labels, further_labels
from assay.rules import Gate


@dataclass(frozen=True)
class GateFinding:
    """What the labels say about one gate of at most one class.

    Attributes
    ----------
    gate : Gate
        With the delta that was spent on it.
    successes, trials : int
        In the denominator of the gate's metric.
    estimate : float or None
        None over no trials.
    lower, upper : float in [0, 1]
        One-sided exact bounds, each at confidence ``1 - delta``.
    p_value : float
        Of the exact test that the true rate is below the target.
    verdict : {"pass", "fail", "undecided"}
    held : int
        Labels there are for this gate: of its class, or the most answers that any candidate accepts.
    room : int
        Those of them in the part that decides.
    fewest : int
        Labels that could pass it, if there were no miss.
    further : int or None
        Labels that would decide it at the observed rate: 0 if it is decided, None if more than 10,000.
    """

    gate: Gate
    successes: int
    trials: int
    estimate: float | None
    lower: float
    upper: float
    p_value: float
    verdict: str
    held: int
    room: int
    fewest: int
    further: int | None

    @property
    def best_bound(self) -> float:
        """The lower bound that the labels could give at most: none of them a miss."""
        count = self._countable
        return self.gate.delta ** (1 / count) if count else 0.0

    @property
    def words(self) -> str:
        """The finding as a sentence."""
        if self.estimate is None:
            return f"{self.gate}: nothing to count, {self.verdict}."
        counted = f"{self.successes:,} of {self.trials:,} ({self.estimate:.3f})"
        if self.verdict == PASS:
            return f"{self.gate}: {counted}, at least {rounded_down(self.lower)} at {_sure(self.gate)}, passes."
        if self.verdict == FAIL:
            return f"{self.gate}: {counted}, below {rounded_up(self.upper)} at {_sure(self.gate)}, fails."
        return (
            f"{self.gate}: {counted}, between {rounded_down(self.lower)} and {rounded_up(self.upper)} at "
            f"{_sure(self.gate)} each way, undecided, the lower bound {rounded_up(self.gate.target - self.lower)} short; "
            f"{count_in_words(self.further)} further labels at this rate would decide it."
        )

    @property
    def shortage(self) -> str:
        """In words, why the labels could not pass the gate even without a miss; empty where they could."""
        if self.room >= self.fewest:
            return ""
        what = f"labels of {self.gate.classes[0]}" if self.gate.classes else "answers"
        if self.gate.metric == "accepted_accuracy":
            what = f"accepted answers{' decided ' + self.gate.classes[0] if self.gate.classes else ''}"
        where = "" if self.held < self.fewest else f", {self.room:,} of them in the part that decides"
        count = self._countable
        return (
            f"{self.gate}: {self.held:,} {what} held{where}, {self.fewest:,} needed without a miss; "
            f"even {count:,} of {count:,} would show no more than {self.best_bound:.3f}"
        )

    @property
    def _countable(self) -> int:
        """The labels that speak at best: all, unless all would do and only a split leaves too few."""
        return self.held if self.held < self.fewest else self.room


def judge(
    gate: Gate, successes: float, trials: float, *, held: float | None = None, room: float | None = None
) -> GateFinding:
    """Judge one gate by its counts.

    Parameters
    ----------
    gate : Gate
        Of at most one class.
    successes, trials : whole numbers
        Of the part that decides.
    held, room : whole numbers, optional
        Labels there are in all, and in the part that decides; `trials` by default.
    """
    k, n = round(successes), round(trials)
    return GateFinding(
        gate=gate,
        successes=k,
        trials=n,
        estimate=k / n if n else None,
        lower=float(exact_lower(k, n, gate.delta)),
        upper=float(exact_upper(k, n, gate.delta)),
        p_value=float(chance_of_at_least(k, n, gate.target)),
        verdict=str(decided(k, n, gate.target, gate.delta)),
        held=n if held is None else round(held),
        room=n if room is None else round(room),
        fewest=fewest_labels(gate.target, gate.delta),
        further=further_labels(k, n, gate.target, gate.delta),
    )


def overall(findings: tuple[GateFinding, ...]) -> str:
    """Return the verdict over several gates: pass if all pass, fail if any fails."""
    verdicts = {finding.verdict for finding in findings}
    if verdicts == {PASS}:
        return PASS
    return FAIL if FAIL in verdicts else UNDECIDED


def rounded_down(bound: float) -> str:
    """Write a lower bound in three decimals, claiming no more than it does."""
    return f"{math.floor(np.nextafter(bound * 1000, np.inf)) / 1000:.3f}"


def rounded_up(bound: float) -> str:
    """Write an upper bound in three decimals, claiming no more than it does."""
    return f"{math.ceil(np.nextafter(bound * 1000, -np.inf)) / 1000:.3f}"


def _sure(gate: Gate) -> str:
    return f"{100 * (1 - gate.delta):.4g} % confidence"
