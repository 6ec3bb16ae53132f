"""How far the choice of an operating point would move with other items, and what it is worth on items it has not seen.

A point chosen as the best of ten thousand looks better on the items it was chosen on than it is. Here items are drawn
with replacement, the point is chosen anew on each draw, and its decisions are judged on the items left out of the draw
(about 37 % of them). Recounting the whole plane for a draw costs a histogram, not a pass over the rules.

Judging on the items left out: Efron and Tibshirani (1997), https://doi.org/10.1080/01621459.1997.10474007.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from assay.measure.candidates import candidate_plan
from assay.measure.decide import decide_table
from assay.measure.intervals import Interval, clustered_proportion
from assay.measure.operating import best_point, single_gates
from assay.measure.staircase import staircase
from assay.measure.sweep import ABSTAINED, RIGHT_ABSTAINED, outcomes
from assay.measure.table import AnswerTable
from assay.measure.trials import gate_trials
from assay.rules import Gate, Taxonomy


@dataclass(frozen=True)
class ChoiceBootstrap:
    """The choice of an operating point, repeated on resampled items.

    Attributes
    ----------
    gates : tuple of Gate
        Each of at most one class.
    threshold, tie_margin : (low, high)
        Between which the chosen point lay in the middle 95 % of the draws.
    figures : tuple of Interval
        One per gate: its figure on items left out of the draw that chose the point. The estimate is the ratio of the
        items' own means over those draws; Wilson's interval at the effective number of items.
    coverage : Interval
        Share acted on, of items left out, in the same way.
    points : DataFrame
        The points chosen, most frequent first: ``threshold``, ``tie_margin``, ``draws``.
    draws : int
    without : int
        Draws in which no point met every gate as observed; they choose nothing and count in no figure.
    """

    gates: tuple[Gate, ...]
    threshold: tuple[float, float]
    tie_margin: tuple[float, float]
    figures: tuple[Interval, ...]
    coverage: Interval
    points: pd.DataFrame
    draws: int
    without: int


def bootstrap_choice(
    answers: pd.DataFrame | AnswerTable,
    taxonomy: Taxonomy,
    *,
    seed: int,
    gates: Sequence[Gate] | None = None,
    thresholds: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    draws: int = 200,
    progress: bool = False,
) -> ChoiceBootstrap:
    """Repeat `best_point` on resampled items and judge it on those left out.

    Parameters
    ----------
    answers : tidy frame or AnswerTable
        Of one series. Items are drawn with all their answers.
    taxonomy : Taxonomy
    seed : int
    gates : sequence of Gate, optional
        The taxonomy's by default.
    thresholds, margins : increasing floats in [0, 1], optional
        See `candidate_plan`.
    draws : int, at least 1
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ChoiceBootstrap
        Where no draw finds a point, bounds are NaN and the intervals unknown (``n == 0``).
    """
    gates = single_gates(taxonomy.gates if gates is None else gates)
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    table = answers if isinstance(answers, AnswerTable) else AnswerTable.from_frame(answers, taxonomy)
    plan = candidate_plan(table, gates, thresholds, margins)
    judged = _Judged(table, gates)
    items = int(table.item.max()) + 1 if len(table) else 0
    random = np.random.default_rng(seed)
    chosen = []
    for _ in tqdm(range(draws), desc="resampling items", disable=not progress):
        drawn = np.bincount(random.integers(0, items, items), minlength=items)
        point = best_point(plan.count(drawn[table.item]), gates)
        if point.how == "meets":
            chosen.append((point.threshold, point.tie_margin))
            judged.add(point.threshold, point.tie_margin, drawn[table.item] == 0)
    points = pd.DataFrame(chosen, columns=["threshold", "tie_margin"])
    return ChoiceBootstrap(
        gates=gates,
        threshold=_middle(points["threshold"]),
        tie_margin=_middle(points["tie_margin"]),
        figures=tuple(judged.interval(position) for position in range(len(gates))),
        coverage=judged.interval(len(gates)),
        points=points.value_counts().rename("draws").reset_index(),
        draws=draws,
        without=draws - len(chosen),
    )


class _Judged:
    """Sums, per answer, of successes and trials over the draws that left it out: one row per gate, then coverage."""

    def __init__(self, table: AnswerTable, gates: Sequence[Gate]) -> None:
        self._table, self._gates = table, gates
        self._steps = staircase(table)
        self._successes = np.zeros((len(gates) + 1, len(table)))
        self._trials = np.zeros((len(gates) + 1, len(table)))
        self._draws = np.zeros(len(table))
        self._seen: dict[tuple[float, float], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def add(self, threshold: float, margin: float, left_out: NDArray[np.bool_]) -> None:
        successes, trials = self._at(threshold, margin)
        self._successes += successes & trials & left_out
        self._trials += trials & left_out
        self._draws += left_out

    def interval(self, row: int) -> Interval:
        # The mean over the draws, so that an item counts the same however often it was left out.
        share = np.divide(1.0, self._draws, out=np.zeros(len(self._draws)), where=self._draws > 0)
        return clustered_proportion(self._successes[row] * share, self._trials[row] * share, self._table.item)

    def _at(self, threshold: float, margin: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        if (threshold, margin) not in self._seen:
            code = decide_table(self._table, threshold, margin, self._steps).code
            outcome = outcomes(self._table, np.arange(len(code)), code)
            pairs = [gate_trials(gate, self._table, code, outcome) for gate in self._gates]
            acted = ~np.isin(outcome, (ABSTAINED, RIGHT_ABSTAINED))
            pairs.append((acted, np.ones(len(code), dtype=bool)))
            self._seen[threshold, margin] = (np.array([one for one, _ in pairs]), np.array([one for _, one in pairs]))
        return self._seen[threshold, margin]


def _middle(values: pd.Series) -> tuple[float, float]:
    """The middle 95 %, at values that occur."""
    if values.empty:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)
