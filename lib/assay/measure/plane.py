"""The plane of decisions of one series, counted once and read at any threshold and tie margin.

For looking around by hand: a step of a slider costs milliseconds. One answer per item counts, that of the lowest run, as
in a certificate, so counts are items and every interval is that of a plain proportion. What is read here was chosen by
looking at these items, so it is descriptive: the bounds are those of an exact test, but nothing is tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.decide import Decisions, decide_table
from assay.measure.figures import misrouted, with_decisions
from assay.measure.gates import GateFinding, judge
from assay.measure.operating import best_point, figures_over, single_gates, worst_slack
from assay.measure.staircase import Staircase, staircase
from assay.measure.sweep import SweepCounts, sweep
from assay.measure.table import AnswerTable
from assay.measure.units import first_answers
from assay.rules import Gate, Taxonomy


@dataclass(frozen=True)
class Spot:
    """What the decisions come to at one point of a plane.

    Attributes
    ----------
    threshold, tie_margin : float in [0, 1]
        On the grid of the plane.
    gates : tuple of GateFinding
        Counts, exact bounds, and the verdict that a test would give had the point been fixed beforehand.
    along_threshold, along_margin : DataFrame
        As of `figures_along`: at this tie margin over all thresholds, and the other way about.
    decisions : Decisions
    misrouted : int array
        Positions in the plane's answers of the dangerous misroutes, the most confident first.
    """

    threshold: float
    tie_margin: float
    gates: tuple[GateFinding, ...]
    along_threshold: pd.DataFrame
    along_margin: pd.DataFrame
    decisions: Decisions
    misrouted: NDArray[np.intp]

    @property
    def figures(self) -> pd.DataFrame:
        """The figures at the point itself, a row each, in the columns of `along_threshold`."""
        return self.along_threshold[self.along_threshold["threshold"] == self.threshold]


@dataclass(frozen=True)
class Plane:
    """One answer per item of a series under one taxonomy, with everything that does not depend on the point.

    Attributes
    ----------
    gates : tuple of Gate, each of at most one class
    answers : DataFrame
        Tidy, one row per item.
    table : AnswerTable
        Of the same rows.
    counts : SweepCounts
        Over the grid; of the classes only those that gates name are counted by themselves.
    steps : Staircase
    """

    gates: tuple[Gate, ...]
    answers: pd.DataFrame
    table: AnswerTable
    counts: SweepCounts
    steps: Staircase

    @classmethod
    def of(
        cls,
        answers: pd.DataFrame,
        taxonomy: Taxonomy,
        *,
        grid: int = 101,
        holding: Sequence[tuple[float, float]] = (),
    ) -> Self:
        """Count the plane of a tidy frame.

        Parameters
        ----------
        answers : DataFrame
            Of one series; of repeated answers to an item the first run counts.
        taxonomy : Taxonomy
            With the gates.
        grid : int
            Number of thresholds and of margins, evenly spaced over [0, 1].
        holding : sequence of (threshold, tie margin)
            Points that the grid shall hold besides.
        """
        first = first_answers(answers).reset_index(drop=True)
        table = AnswerTable.from_frame(first, taxonomy)
        even = np.linspace(0, 1, grid).round(9)
        thresholds, margins = (np.unique([*even, *(round(point[side], 9) for point in holding)]) for side in (0, 1))
        counts = sweep(table, thresholds=thresholds, margins=margins, classes=taxonomy.gated)
        return cls(single_gates(taxonomy.gates), first, table, counts, staircase(table))

    @property
    def margin_matters(self) -> bool:
        """Whether any answer names a runner-up that could tie."""
        return bool(self.table.alternative_code.size)

    @cached_property
    def meets(self) -> NDArray[np.bool_]:
        """The points whose observed figures meet every gate, (T, M); none where there is no gate."""
        if not self.gates:
            return np.zeros(self.counts.outcomes.shape[2:], dtype=bool)
        return worst_slack(self.counts, self.gates) >= 0

    def best(self) -> tuple[float, float]:
        """Return the best point as observed; without a gate, acting on everything with the usual margin."""
        if not self.gates:
            return self.nearest(0.0, 0.1)
        point = best_point(self.counts, self.gates)
        return point.threshold, point.tie_margin

    def nearest(self, threshold: float, tie_margin: float) -> tuple[float, float]:
        """Return the point of the grid nearest to one."""
        t, m = (
            int(np.argmin(np.abs(line - value)))
            for line, value in ((self.counts.thresholds, threshold), (self.counts.margins, tie_margin))
        )
        return float(self.counts.thresholds[t]), float(self.counts.margins[m])

    def spot(self, threshold: float, tie_margin: float) -> Spot:
        """Read the plane at the point of the grid nearest to one."""
        threshold, tie_margin = self.nearest(threshold, tie_margin)
        t, m = self.counts.at(threshold, tie_margin)
        here = [(gate, self.counts.gate_counts(gate)) for gate in self.gates]
        decisions = decide_table(self.table, threshold, tie_margin, self.steps)
        rows = misrouted(self.table, decisions)
        return Spot(
            threshold=threshold,
            tie_margin=tie_margin,
            gates=tuple(judge(gate, float(hits[t, m]), float(trials[t, m])) for gate, (hits, trials) in here),
            along_threshold=figures_over(self.counts.cut(slice(None), [m]), self.gates),
            along_margin=figures_over(self.counts.cut([t], slice(None)), self.gates),
            decisions=decisions,
            misrouted=rows[np.argsort(-self.table.confidence[rows], kind="stable")],
        )

    def rows(self, spot: Spot, most: int) -> pd.DataFrame:
        """Return the answers of the most confident misroutes of a spot, with ``decision`` and ``reasons`` added."""
        return with_decisions(self.answers, self.table, spot.decisions, spot.misrouted[:most])
