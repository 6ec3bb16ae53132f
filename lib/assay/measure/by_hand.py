"""A policy that a person picked by looking: what may be said of it.

A point chosen on some items proves nothing on those items, however the choice was made. It may be tested, once, on
items that the person has not seen: the certification part, where only the tuning part was shown. In every other case the
policy keeps its counts and is undecided, and a service refuses it.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from assay.measure.binomial import UNDECIDED
from assay.measure.certificate import Certificate, certify
from assay.measure.gates import judge
from assay.measure.intervals import UNKNOWN, plain_proportion
from assay.measure.operating import single_gates
from assay.measure.sweep import sweep
from assay.measure.table import AnswerTable
from assay.measure.units import first_answers, require_one_series
from assay.rules import Taxonomy
from assay.study.parts import CERTIFICATION, TUNING

BY_HAND = "by_hand"
"""Mode of a certificate that tests nothing, since the policy was picked on the items that it would be tested on."""


def certify_by_hand(
    answers: pd.DataFrame,
    taxonomy: Taxonomy,
    point: tuple[float, float],
    *,
    seen: Collection[str],
    parts: pd.Series,
    seed: int,
    certification_share: float = 0.5,
    earlier: str = "",
) -> Certificate:
    """Say what may be said of a threshold and a tie margin that were picked while some items were on show.

    Parameters
    ----------
    answers : DataFrame
        Tidy, all answers of one series: those to the items seen, and any others.
    taxonomy : Taxonomy
        With the gates.
    point : (threshold, tie margin)
    seen : collection of str
        Ids of the items that were on show.
    parts : Series of "tuning" or "certification", indexed by item_id
    seed : int
    certification_share : float in (0, 1)
    earlier : str
        Where another policy of this series was picked and tested before, in words; empty if none was. The certification
        part answers once: who has seen its answer may not pick again.

    Returns
    -------
    Certificate
        Of mode "fixed" where the certification part was kept unseen and could test (pass, fail or undecided), "too_few"
        where it has too few labels, else "by_hand": undecided, with the counts of the items seen.
    """
    shown = answers[answers["item_id"].isin(set(seen))]
    certifying = answers["item_id"].map(parts) == CERTIFICATION
    unseen = certifying.any() and not certifying[shown.index].any()
    if unseen and not earlier and taxonomy.gates:
        return certify(
            answers,
            taxonomy,
            seed=seed,
            certification_share=certification_share,
            parts=parts,
            fixed=point,
            selected_on=TUNING,
        )
    why = (
        f"the certification items have answered already, for {earlier}"
        if unseen and earlier
        else "and there is no gate to test"
        if unseen
        else "so they cannot test it; pick it on the tuning part alone (part = tuning), or have it tested on new items"
    )
    return _picked(shown, taxonomy, point, seed, certification_share, why)


def _picked(
    shown: pd.DataFrame, taxonomy: Taxonomy, point: tuple[float, float], seed: int, share: float, why: str
) -> Certificate:
    series = require_one_series(shown, "a policy")
    table = AnswerTable.from_frame(first_answers(shown), taxonomy)
    counts = sweep(table, thresholds=[point[0]], margins=[point[1]], classes=taxonomy.gated)
    at = (0, 0)
    findings = tuple(
        # What the exact test would say is not said: it would be a test on the items that chose.
        replace(judge(gate, float(hits[at]), float(trials[at])), verdict=UNDECIDED)
        for gate in single_gates(taxonomy.gates)
        for hits, trials in (counts.gate_counts(gate),)
    )
    counted = "; ".join(f"{one.gate}: {one.successes:,} of {one.trials:,}" for one in findings)
    return Certificate(
        verdict=UNDECIDED,
        mode=BY_HAND,
        reason=(
            f"Undecided: threshold {point[0]:.9g} and tie margin {point[1]:.9g} were picked by hand on "
            f"{len(table):,} items, {why}. {f'Counted there: {counted}.' if counted else ''}"
        ).strip(),
        threshold=None,
        tie_margin=None,
        shown_at=point,
        gates=findings,
        coverage=plain_proportion(float(counts.accepted()[at]), counts.total),
        tuning_coverage=UNKNOWN,
        tested_items=0,
        tuning_items=len(table),
        candidates=0,
        candidates_tested=0,
        candidates_passed=0,
        thresholds=counts.thresholds,
        margins=counts.margins,
        region=np.zeros((1, 1), dtype=bool),
        series=series,
        seed=seed,
        certification_share=share,
        choices=1,
    )
