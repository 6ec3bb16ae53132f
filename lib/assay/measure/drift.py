"""Checking a certified policy against new labelled answers, as often as one likes.

The answers file holds every labelled answer since the policy's date, in order, and grows. Each gate's rate is followed by
evidence that stays valid however often it is looked at (see `assay.measure.anytime`). What is assumed is that each
answer was picked for labelling without regard to how it came out.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.anytime import anytime_bounds, log_evidence_above, log_evidence_below
from assay.measure.decide import decide_table
from assay.measure.gates import rounded_down, rounded_up
from assay.measure.labelled import read_labelled, row_names
from assay.measure.policies import recalibrated_answers
from assay.measure.sweep import ABSTAINED, RIGHT_ABSTAINED, outcomes
from assay.measure.table import UNREADABLE, AnswerTable
from assay.measure.trials import gate_trials
from assay.measure.units import first_answers
from assay.rules import Gate
from assay.rules.classifier import as_calibration, as_elicitation
from assay.rules.policy import Policy, PolicyError, PolicyRefused, load_policy
from assay.study import UNNAMED

ORIGINS = ("calibration", "elicitation", "model", "prompt")
"""Kinds of refusal that are about an answer; the others are about the policy."""

HOLDS, VIOLATED, CANNOT_TELL = "holds", "violated", "cannot tell"

EXIT_CODES = {HOLDS: 0, VIOLATED: 1, CANNOT_TELL: 3}
"""What `assay check` exits with; 2 is for input that cannot be used, 4 for a check that failed for another reason."""


@dataclass(frozen=True)
class GateDrift:
    """One gate of at most one class, followed over the labelled answers.

    Attributes
    ----------
    gate : Gate
    successes, trials : int
        In the denominator of its metric, so far.
    lower, upper : float in [0, 1]
        Bounds of the rate that hold at every look, each at the level at which it decides.
    verdict : {"holds", "violated", "cannot tell"}
        Holds: `lower` reaches the target now. Violated: `upper` lay below the target now or at an earlier look. A
        violation once shown stands, since a look that day would have found it: a safety failure is explained by a
        person, not averaged away by later answers.
    violated_at : int or None
        The trial at which the violation was first shown.
    """

    gate: Gate
    successes: int
    trials: int
    lower: float
    upper: float
    verdict: str
    violated_at: int | None

    @property
    def words(self) -> str:
        """The finding as a sentence."""
        if not self.trials:
            return f"{self.gate}: nothing to count yet, cannot tell."
        rate = f"{self.successes:,} of {self.trials:,} ({self.successes / self.trials:.3f})"
        bounds = f"between {rounded_down(self.lower)} and {rounded_up(self.upper)} at every look"
        shown = f", first shown after {self.violated_at:,}" if self.violated_at else ""
        return f"{self.gate}: {rate}, {bounds}: {self.verdict}{shown}."


@dataclass(frozen=True)
class DriftReport:
    """What new labelled answers say of a policy.

    Attributes
    ----------
    verdict : {"holds", "violated", "cannot tell"}
        Violated if any gate is, each tested at delta over the number of gates, so that the chance of any false alarm,
        ever, is at most delta. Holds if all gates do, each tested at delta: for a false "holds" the very gate that is
        missed has to be shown to be reached, so nothing is shared out.
    gates : tuple of GateDrift
    answers : int
        Counted: labelled, one per item.
    unlabelled, repeated, unreadable : int
        Left out for want of a label, left out as later answers to the same item, and counted as abstentions.
    abstained : int
        Of the answers counted.
    """

    verdict: str
    gates: tuple[GateDrift, ...]
    answers: int
    unlabelled: int
    repeated: int
    unreadable: int
    abstained: int

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def words(self) -> str:
        """The report, a line for the verdict and one for each gate."""
        counted = f"{self.answers:,} labelled answers, {self.abstained:,} abstained, {self.unreadable:,} unreadable"
        left_out = f"left out: {self.unlabelled:,} without a label, {self.repeated:,} repeated"
        return "\n".join([f"{self.verdict}: {counted}; {left_out}.", *(gate.words for gate in self.gates)])


def check(
    policy: Policy,
    answers: pd.DataFrame,
    *,
    prompt_sha256: str | None = None,
    today: date | None = None,
    allow: Collection[str] = (),
    at: Callable[[int], str] = lambda row: f"row {row + 1}",
) -> DriftReport:
    """Check a policy against labelled answers.

    Parameters
    ----------
    policy : Policy
    answers : DataFrame
        Tidy, as `Study.answers`, in the order in which they were given: every labelled answer since the policy's date.
        Needs ``calibration``. A row without a label is left out, and so is a later run of an item; an answer that could
        not be read is an abstention.
    prompt_sha256 : str, optional
        Of the prompt they were asked with, where the frame has no such column.
    today : datetime.date, optional
    allow : collection of names out of `assay.rules.policy.ALLOWANCES`
    at : callable
        Names the row at a position, from 0, in messages.

    Raises
    ------
    PolicyRefused
        If the policy does not apply to the answers: another calibration or elicitation, or, unless allowed, another
        model or prompt, an expired policy or one that did not pass.
    ValueError
        If a column is missing, a label is unknown, or the policy has no gate.
    """
    if not policy.gates:
        raise PolicyError("the policy has no gates to check")
    for column in ("label", "calibration"):
        if column not in answers:
            raise ValueError(f"the answers have no column {column!r}; it is needed to check a policy")
    _require_origin(policy, answers, prompt_sha256, today, allow, at)
    labelled = answers[answers["label"].notna()]
    counted = first_answers(labelled)
    table = AnswerTable.from_frame(recalibrated_answers(counted, policy.recalibration), policy.taxonomy)
    decisions = decide_table(table, policy.threshold, policy.tie_margin)
    outcome = outcomes(table, np.arange(len(table)), decisions.code)
    gates = [result.gate for result in policy.gates]
    followed = tuple(_follow(gate, *gate_trials(gate, table, decisions.code, outcome), len(gates)) for gate in gates)
    return DriftReport(
        verdict=_overall(followed),
        gates=followed,
        answers=len(table),
        unlabelled=len(answers) - len(labelled),
        repeated=len(labelled) - len(counted),
        unreadable=int((table.predicted == UNREADABLE).sum()),
        abstained=int(np.isin(outcome, (ABSTAINED, RIGHT_ABSTAINED)).sum()),
    )


def check_files(
    policy_path: str | Path,
    answers_path: str | Path,
    *,
    allow: Collection[str] = (),
    encoding: str = "utf-8",
    delimiter: str | None = None,
    decimal: str = ".",
) -> tuple[int, str]:
    """Check a policy file against an answers file, as `assay check` does.

    Parameters
    ----------
    policy_path, answers_path : path
        A policy file, and what `assay.measure.labelled.read_labelled` reads.
    allow : collection of str
        As for `check`.
    encoding, delimiter, decimal : str
        How the file of answers is written, as for `assay.measure.labelled.read_labelled`.

    Returns
    -------
    code : int
        0 holds, 1 violated, 3 cannot tell, 2 where the input cannot be used.
    text : str
        The report, or one line that says what is wrong, and in which file.
    """
    policy_path, answers_path = Path(policy_path), Path(answers_path)
    try:
        policy = load_policy(policy_path)
        answers = read_labelled(answers_path, policy.taxonomy, encoding=encoding, delimiter=delimiter, decimal=decimal)
        report = check(policy, answers, allow=allow, at=row_names(answers_path, answers))
    except ValueError as error:  # of which policy and study errors are kinds
        said = " ".join(str(error).split())
        of_policy = isinstance(error, PolicyError) and not said.startswith((policy_path.name, answers_path.name))
        return 2, f"{policy_path.name}: {said}" if of_policy else said
    return report.exit_code, report.words


def _require_origin(
    policy: Policy,
    answers: pd.DataFrame,
    prompt_sha256: str | None,
    today: date | None,
    allow: Collection[str],
    at: Callable[[int], str],
) -> None:
    named = [name for name in ("calibration", "elicitation", "model", "prompt", "prompt_sha256") if name in answers]
    if answers.empty:
        policy.require(calibration=policy.calibration, today=today, allow=allow)
    first = ~answers[named].duplicated().to_numpy()
    for place, row in zip(np.flatnonzero(first), answers.loc[first, named].to_dict("records"), strict=True):
        where = at(int(place))
        origin = {name: None if pd.isna(value) or value in ("", UNNAMED) else str(value) for name, value in row.items()}
        if origin["calibration"] is None:
            raise ValueError(f"{where}: calibration is missing; it is needed to check a policy")
        as_calibration(origin["calibration"], f"{where}: calibration")
        as_elicitation(origin.get("elicitation"), f"{where}: elicitation")
        prompt = origin.pop("prompt", None)
        origin.setdefault("prompt_sha256", prompt_sha256)
        try:
            policy.require(**origin, today=today, allow=allow)  # type: ignore[arg-type]
        except PolicyRefused as error:
            if error.kind not in ORIGINS:
                raise
            raise PolicyRefused(error.kind, f"{where}: {error}") from None
        compared = origin["prompt_sha256"] and policy.prompt_sha256
        if not compared and prompt and policy.prompt and prompt != policy.prompt and "prompt" not in allow:
            raise PolicyRefused(
                "prompt", f"{where}: the policy was tuned on prompt {policy.prompt}, and these answers have {prompt}"
            )


def _follow(gate: Gate, succeeds: NDArray[np.bool_], counts: NDArray[np.bool_], gates: int) -> GateDrift:
    successes = succeeds[counts].cumsum()
    trials = np.arange(1, len(successes) + 1)
    if not len(trials):
        return GateDrift(gate, 0, 0, 0.0, 1.0, CANNOT_TELL, None)
    below = log_evidence_below(successes, trials, gate.target) >= math.log(gates / gate.delta)
    above = log_evidence_above(successes[-1], trials[-1], gate.target) >= math.log(1 / gate.delta)
    lower, upper = anytime_bounds(int(successes[-1]), len(trials), gate.delta, gate.delta / gates)
    verdict = VIOLATED if below.any() else HOLDS if above else CANNOT_TELL
    first = int(below.argmax()) + 1 if below.any() else None
    return GateDrift(gate, int(successes[-1]), len(trials), lower, upper, verdict, first)


def _overall(gates: tuple[GateDrift, ...]) -> str:
    verdicts = {gate.verdict for gate in gates}
    if VIOLATED in verdicts:
        return VIOLATED
    return HOLDS if verdicts == {HOLDS} else CANNOT_TELL
