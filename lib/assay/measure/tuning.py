"""Tuning one series: its plane of decisions, an operating point, and the figures there and along the two lines through it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.certificate import FIXED, SPLIT, Certificate, certify
from assay.measure.decide import decide_table
from assay.measure.figures import DecisionFigures, figures_of
from assay.measure.operating import figures_along, single_gates
from assay.measure.sweep import SweepCounts, sweep
from assay.measure.table import AnswerTable
from assay.rules import Gate, Taxonomy
from assay.study.series import Series

CERTIFIED, GIVEN, FAVOURED, DESCRIPTIVE = "certified", "given", "favoured", "descriptive"
"""How an operating point was come by: it carries a certificate; it was given; the tuning part favours it but no
certificate could be had; or it is the best of all items as observed, which promises nothing."""


@dataclass(frozen=True)
class Tuned:
    """One series with everything that the choice of its operating point is read from.

    Attributes
    ----------
    series : Series
    gates : tuple of Gate, each of at most one class
    table : AnswerTable
    counts : SweepCounts
    certificate : Certificate
    threshold, tie_margin : float
        The operating point that everything else describes.
    how : {"certified", "given", "favoured", "descriptive"}
    figures : DecisionFigures
        At the point, over all answers of the series, intervals over items.
    along_threshold, along_margin : DataFrame
        See `figures_along`: the figures at the chosen margin over all thresholds, and the other way about.
    """

    series: Series
    gates: tuple[Gate, ...]
    table: AnswerTable
    counts: SweepCounts
    certificate: Certificate
    threshold: float
    tie_margin: float
    how: str
    figures: DecisionFigures
    along_threshold: pd.DataFrame
    along_margin: pd.DataFrame


def tune(
    series: Series,
    taxonomy: Taxonomy,
    *,
    parts: pd.Series,
    seed: int,
    gates: Sequence[Gate] | None = None,
    threshold: float | None = None,
    tie_margin: float | None = None,
    delta: float | None = None,
    grid: int = 101,
    choices: int = 1,
) -> Tuned:
    """Sweep a series, certify a policy for it or say why there is none, and describe the point that this leaves.

    Parameters
    ----------
    series : Series
    taxonomy : Taxonomy
    parts : Series of str by item id
        From `Study.parts`: which items tune and which certify.
    seed : int
        Of the split; recorded in the certificate.
    gates : sequence of Gate, optional
        The taxonomy's own by default.
    threshold, tie_margin : float in [0, 1], optional
        Both given are a policy fixed beforehand, tested on all items; one given leaves the other to be tuned.
    delta : float in (0, 1), optional
        In place of each gate's own.
    grid : int
        Number of thresholds and of margins, evenly spaced over [0, 1].
    choices : int
        Among how many certified series the best will be chosen.
    """
    gates = single_gates(taxonomy.gates if gates is None else gates)
    table = AnswerTable.from_frame(series.answers, taxonomy)
    values = np.linspace(0, 1, grid).round(9)
    fixed = None if threshold is None or tie_margin is None else (threshold, tie_margin)
    certificate = certify(
        series.answers,
        taxonomy,
        seed=seed,
        parts=parts,
        gates=gates,
        delta=delta,
        thresholds=None if fixed else (values if threshold is None else [threshold]),
        margins=None if fixed else (_margins(table, values) if tie_margin is None else [tie_margin]),
        fixed=fixed,
        choices=choices,
    )
    point = certificate.shown_at
    coarse = values if grid <= 101 else np.linspace(0, 1, 101).round(9)
    return Tuned(
        series=series,
        gates=gates,
        table=table,
        counts=sweep(table, thresholds=_with(values, point[0]), margins=_with(values, point[1])),
        certificate=certificate,
        threshold=point[0],
        tie_margin=point[1],
        how=_how(certificate),
        figures=figures_of(table, decide_table(table, *point), *point),
        along_threshold=figures_along(table, taxonomy, [(value, point[1]) for value in _with(coarse, point[0])], gates),
        along_margin=figures_along(table, taxonomy, [(point[0], value) for value in _with(coarse, point[1])], gates),
    )


def _how(certificate: Certificate) -> str:
    if certificate.mode == FIXED:
        return GIVEN
    if certificate.passed:
        return CERTIFIED
    return FAVOURED if certificate.mode == SPLIT else DESCRIPTIVE


def _margins(table: AnswerTable, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Every margin is a candidate, unless no answer names an alternative: then only the usual one is."""
    return values if table.alternative_code.size else None


def _with(values: NDArray[np.float64], extra: float) -> NDArray[np.float64]:
    return np.unique(np.append(values, round(extra, 9)))
