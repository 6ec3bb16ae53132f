"""The certificate: a threshold and a tie margin that labelled items have shown to keep every gate, or why there is none.

The items are split. One part orders all candidate policies, the other tests them in that order by exact binomial tests
(see `assay.measure.fixed_sequence`), so that a policy which misses a gate is certified with probability at most delta.
A policy fixed beforehand needs no split and is tested on all items. Where a gate has too few labels to pass even without
a miss, nothing is split or tested: the figures then describe all items and the verdict is "undecided".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from assay.measure.binomial import FAIL, PASS, UNDECIDED
from assay.measure.candidates import candidate_plan
from assay.measure.fixed_sequence import Walk, walk
from assay.measure.gates import GateFinding, judge, overall
from assay.measure.intervals import UNKNOWN, Interval, plain_proportion
from assay.measure.operating import best_point, single_gates
from assay.measure.sweep import SweepCounts
from assay.measure.table import AnswerTable
from assay.measure.units import first_answers, require_one_series
from assay.rules import Gate, Taxonomy
from assay.study.parts import CERTIFICATION, PARTS, TUNING, split_items

SPLIT, FIXED, TOO_FEW = "split", "fixed", "too_few"
"""How a certificate was come by: tuned on one part and tested on the other; given beforehand; not tested at all."""


Labels: TypeAlias = Sequence[tuple[float, float]]
"""For each gate, the labels held in all and those in the part that decides."""


class CertificateError(ValueError):
    """A certificate that must not be given for what was passed in; the message says what would do."""


@dataclass(frozen=True)
class Certificate:
    """What was tested, on what, and what came of it.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
    mode : {"split", "fixed", "too_few", "by_hand"}
        "by_hand": see `assay.measure.by_hand`.
    reason : str
        The verdict in words: which gate, by how much, how many labels would be needed.
    threshold, tie_margin : float or None
        The certified policy. None unless the verdict is pass, so that nothing else can be taken for one.
    shown_at : (threshold, tie margin)
        What the figures below describe: the certified policy, the one given, the candidate that the tuning part
        favours, or (too few labels) the best point over all items, which is descriptive.
    gates : tuple of GateFinding
        One per gate and class. Bounds are for this one policy; the guarantee of a pass is that the target holds.
    coverage, tuning_coverage : Interval
        Share of items acted on: where tested, and on the tuning part (unknown where there is none). Wilson, 95 %.
    tested_items, tuning_items : int
    candidates, candidates_tested, candidates_passed : int
        Candidate policies that the counts tell apart.
    thresholds : (T,) float, margins : (M,) float
        The grid of candidates.
    region : (T, M) bool
        The candidates that passed: with probability ``1 - delta`` every one of them keeps the gates.
    series : dict of str to str
        Calibration, elicitation, model and prompt of the answers, as far as they are named.
    seed : int
    certification_share : float
    choices : int
        Among how many certified variants the caller means to choose; each was given delta / choices.
    """

    verdict: str
    mode: str
    reason: str
    threshold: float | None
    tie_margin: float | None
    shown_at: tuple[float, float]
    gates: tuple[GateFinding, ...]
    coverage: Interval
    tuning_coverage: Interval
    tested_items: int
    tuning_items: int
    candidates: int
    candidates_tested: int
    candidates_passed: int
    thresholds: NDArray[np.float64] = field(repr=False, compare=False)
    margins: NDArray[np.float64] = field(repr=False, compare=False)
    region: NDArray[np.bool_] = field(repr=False, compare=False)
    series: dict[str, str]
    seed: int
    certification_share: float
    choices: int

    @property
    def passed(self) -> bool:
        """Whether a policy is certified."""
        return self.verdict == PASS


def certify(
    answers: pd.DataFrame,
    taxonomy: Taxonomy,
    *,
    seed: int,
    certification_share: float = 0.5,
    parts: pd.Series | None = None,
    gates: Sequence[Gate] | None = None,
    delta: float | None = None,
    thresholds: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    fixed: tuple[float, float] | None = None,
    choices: int = 1,
    selected_on: str | None = None,
) -> Certificate:
    """Certify a policy for one series of answers.

    Parameters
    ----------
    answers : DataFrame
        Tidy, as `Study.answers`, of one model, prompt and kind of confidence. One answer per item counts, that of the
        lowest run; one that could not be read is an abstention.
    taxonomy : Taxonomy
    seed : int
        Of the split; recorded.
    certification_share : float in (0, 1)
        Share of each label's items that certifies, where `parts` does not say.
    parts : Series of "tuning" or "certification", indexed by item_id, optional
        As `Study.parts` gives it. Needed where the answers are a selection from a study, so that its split is kept.
    gates : sequence of Gate, optional
        The taxonomy's by default. All have to hold, each class by itself.
    delta : float in (0, 1), optional
        In place of the gates' own.
    thresholds, margins : increasing floats in [0, 1], optional
        The candidates. By default hundredths from 0 to 1; where no answer names an alternative the margin has nothing
        to work on and stays 0.10.
    fixed : (threshold, tie margin), optional
        A policy settled before these items were looked at: tested on all of them, without a split.
    choices : int, at least 1
        If the best of several certificates will be chosen, how many: each is tested at delta / choices.
    selected_on : {None, "tuning", "all"}
        Which of these items chose the model, the prompt or the recalibration map. "tuning" keeps a fixed policy's test
        to the certification part; "all" leaves nothing to certify on.

    Returns
    -------
    Certificate

    Raises
    ------
    CertificateError
        If something was selected on all items and there are labels enough for a certificate.
    ValueError
        If the answers mix calibrations or other series, which are named, if there is no gate or no answer, or an
        argument is out of range.

    Notes
    -----
    With no miss, 59 labels of a class in the certification part suffice for 0.95 at 95 %; see `fewest_labels`.
    """
    gates = _tested(taxonomy.gates if gates is None else gates, delta, choices)
    if selected_on not in (None, TUNING, "all"):
        raise ValueError(f"selected_on must be None, 'tuning' or 'all', got {selected_on!r}")
    if answers.empty:
        raise ValueError("a certificate needs answers; the frame has no rows")
    series = require_one_series(answers, "a certificate")
    first = first_answers(answers)
    table = AnswerTable.from_frame(first, taxonomy)
    certifies = _certifying(first, parts, seed, certification_share)
    whole = fixed is not None and selected_on != TUNING
    tests = np.ones(len(first), dtype=bool) if whole else certifies
    if fixed is not None:
        if thresholds is not None or margins is not None:
            raise ValueError("thresholds and margins name candidates; leave them out with a fixed policy")
        thresholds, margins = [fixed[0]], [fixed[1]]
    plan = candidate_plan(table, gates, thresholds, margins)
    common: dict[str, Any] = {
        "thresholds": plan.thresholds,
        "margins": plan.margins,
        "series": series,
        "seed": seed,
        "certification_share": certification_share,
        "choices": choices,
    }
    everything, tested = plan.count(), plan.count(tests)
    labels = [
        (float(everything.gate_counts(gate)[1].max()), float(tested.gate_counts(gate)[1].max())) for gate in gates
    ]
    if any(judge(gate, 0, 0, held=held, room=room).shortage for gate, (held, room) in zip(gates, labels, strict=True)):
        return _too_few(everything, gates, labels, fixed, common)
    if selected_on == "all":
        raise CertificateError(
            "the model, prompt or recalibration was selected on all items, so none are left to certify on; "
            "select on the tuning part, or certify on new items"
        )
    if fixed is not None:
        tuning = plan.count(~tests) if not whole else None
        return _given(tested, tuning, gates, labels, common)
    tuning = plan.count(~tests)
    if not tuning.total:
        raise ValueError("a certificate that chooses a policy needs items in the tuning part; there are none")
    return _chosen(walk(tuning, tested, gates), tuning, tested, gates, labels, common)


def _tested(gates: Sequence[Gate], delta: float | None, choices: int) -> tuple[Gate, ...]:
    """Gates of one class each, with the delta that each test may spend."""
    if isinstance(choices, bool) or not isinstance(choices, int) or choices < 1:
        raise ValueError(f"choices must be a whole number of at least 1, got {choices!r}")
    single = single_gates(gates)
    if not single:
        raise ValueError("a certificate needs at least one gate; the taxonomy names none")
    return tuple(replace(gate, delta=(gate.delta if delta is None else delta) / choices) for gate in single)


def _certifying(
    first: pd.DataFrame, parts: pd.Series | None, seed: int, certification_share: float
) -> NDArray[np.bool_]:
    """Tell for each answer whether its item certifies."""
    if not 0 < certification_share < 1:
        raise ValueError(f"certification_share must lie strictly between 0 and 1, got {certification_share!r}")
    ids = first["item_id"] if "item_id" in first else pd.Series(first.index.astype(str))
    if parts is None:
        parts = split_items(ids, first["label"], seed=seed, certification_share=certification_share)
    assigned = ids.map(parts)
    unknown = ~assigned.isin(PARTS).to_numpy()
    if unknown.any():
        raise ValueError(
            f"parts must say tuning or certification of every item; item {ids.iloc[unknown.argmax()]!r} has none"
        )
    return np.asarray(assigned == CERTIFICATION)


def _findings(
    counts: SweepCounts, at: tuple[int, int], gates: Sequence[Gate], labels: Labels
) -> tuple[GateFinding, ...]:
    findings = []
    for gate, (held, room) in zip(gates, labels, strict=True):
        successes, trials = counts.gate_counts(gate)
        findings.append(judge(gate, float(successes[at]), float(trials[at]), held=held, room=room))
    return tuple(findings)


def _too_few(
    counts: SweepCounts,
    gates: Sequence[Gate],
    labels: Labels,
    fixed: tuple[float, float] | None,
    common: dict[str, Any],
) -> Certificate:
    point = fixed
    if point is None:
        best = best_point(counts, gates)
        point = (best.threshold, best.tie_margin)
    at = counts.at(*point)
    # A part of the labels says little and all of them were looked at for the point: nothing here is a test.
    found = _findings(counts, at, gates, labels)
    findings = tuple(replace(finding, verdict=UNDECIDED) for finding in found)
    missing = "; ".join(finding.shortage for finding in findings if finding.shortage)
    if fixed is None:
        share = common["certification_share"]
        in_all = max(math.ceil(finding.fewest / share) for finding in findings if finding.shortage)
        missing += f" ({in_all:,} in all, if {share:g} of them certify)"
    missing = missing[:1].upper() + missing[1:]
    short = "; ".join(finding.words.removesuffix(", fails.") for finding in found if finding.verdict == FAIL)
    hopeless = (
        f" More labels would hardly help: at the point that suits these very labels best, {short}." if short else ""
    )
    return Certificate(
        verdict=UNDECIDED,
        mode=TOO_FEW,
        reason=f"Undecided: too few labels. {missing}.{hopeless} The figures describe all items, and nothing is "
        "certified.",
        threshold=None,
        tie_margin=None,
        shown_at=point,
        gates=findings,
        coverage=_share(counts, at),
        tuning_coverage=_share(None, at),
        tested_items=0,
        tuning_items=0,
        candidates=0,
        candidates_tested=0,
        candidates_passed=0,
        region=np.zeros(counts.coverage().shape, dtype=bool),
        **common,
    )


def _given(
    tested: SweepCounts,
    tuning: SweepCounts | None,
    gates: Sequence[Gate],
    labels: Labels,
    common: dict[str, Any],
) -> Certificate:
    only = np.ones((1, 1), dtype=bool)
    passes = overall(_findings(tested, (0, 0), gates, labels)) == PASS
    outcome = Walk((0, 0) if passes and tested.accepted()[0, 0] else None, (0, 0), only & passes, 1, 1, int(passes))
    return _chosen(outcome, tuning, tested, gates, labels, common, mode=FIXED)


def _chosen(
    outcome: Walk,
    tuning: SweepCounts | None,
    tested: SweepCounts,
    gates: Sequence[Gate],
    labels: Labels,
    common: dict[str, Any],
    mode: str = SPLIT,
) -> Certificate:
    at = outcome.chosen or outcome.first
    point = (float(tested.thresholds[at[0]]), float(tested.margins[at[1]]))
    findings = _findings(tested, at, gates, labels)
    certified = outcome.chosen is not None
    accepts = bool(tested.accepted()[at])
    # What accepts nothing is no policy, however well it keeps the gates.
    verdict = PASS if certified else FAIL if not accepts else overall(findings)
    coverage = _share(tested, at)
    return Certificate(
        verdict=verdict,
        mode=mode,
        reason=_reason(verdict, mode, point, findings, coverage, accepts),
        threshold=point[0] if certified else None,
        tie_margin=point[1] if certified else None,
        shown_at=point,
        gates=findings,
        coverage=coverage,
        tuning_coverage=_share(tuning, at),
        tested_items=round(tested.total),
        tuning_items=round(tuning.total) if tuning else 0,
        candidates=outcome.candidates,
        candidates_tested=outcome.tested,
        candidates_passed=outcome.passed,
        region=outcome.region,
        **common,
    )


def _reason(
    verdict: str,
    mode: str,
    point: tuple[float, float],
    findings: Sequence[GateFinding],
    coverage: Interval,
    accepts: bool,
) -> str:
    where = f"threshold {point[0]:.9g}, tie margin {point[1]:.9g}"
    if verdict == PASS:
        return (
            f"Certified at {where}: every gate passes on {coverage.n:,} items, "
            f"and {100 * coverage.estimate:.1f} % of them are acted on."
        )
    who = "The policy given" if mode == FIXED else "The candidate that the tuning part favours"
    if not accepts:
        return f"Nothing is certified. {who} ({where}) acts on none of {coverage.n:,} items."
    faults = "; ".join(finding.words.removesuffix(".") for finding in findings if finding.verdict != PASS)
    return f"Nothing is certified. {who} ({where}) does not pass on {coverage.n:,} items: {faults}."


def _share(counts: SweepCounts | None, at: tuple[int, int]) -> Interval:
    """The share acted on at a grid point; unknown without counts."""
    return UNKNOWN if counts is None else plain_proportion(float(counts.accepted()[at]), counts.total)
