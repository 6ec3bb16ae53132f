"""The figures that counts alone give: calibration, and the decisions at one operating point."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from assay.measure.cells import Cells
from assay.measure.ece import ece
from assay.measure.gates import GateFinding, judge
from assay.measure.intervals import UNKNOWN, Interval, proportion_bounds
from assay.measure.operating import OperatingPoint, best_point, figures_over, single_gates
from assay.measure.ranking import area_of
from assay.measure.scores import Loss, log_losses, squared_errors
from assay.measure.smooth import smooth_ece
from assay.measure.tally import Tally

DEFAULT_MARGIN = 0.10

_HOW = {
    "given": "given",
    "meets": "chosen on these answers: the most coverage among points that meet the gates as observed",
    "closest": "chosen on these answers: no point meets the gates, this one comes closest",
    "nothing": "no point acts on any answer that a gate counts",
}


@dataclass(frozen=True)
class CalibrationFigures:
    """What cells say of stated confidences; NaN where there is nothing to say it of.

    Attributes
    ----------
    accuracy : Interval
    confidence : float in [0, 1]
        Mean.
    brier, log_loss : float
    ece_mass, ece_width, smooth_ece : float in [0, 1]
        As `assay.measure.ece.ece` over 15 bins, and `assay.measure.smooth.smooth_ece`.
    auroc : float in [0, 1]
    distinct : int
        Distinct confidences.
    """

    accuracy: Interval
    confidence: float
    brier: float
    log_loss: float
    ece_mass: float
    ece_width: float
    smooth_ece: float
    auroc: float
    distinct: int

    def named(self) -> dict[str, str]:
        """Return the figures as text, by the names that people know them by."""
        return {
            "accuracy": _interval(self.accuracy),
            "mean confidence": f"{self.confidence:.4f}",
            "Brier score": f"{self.brier:.4f}",
            "log loss": f"{self.log_loss:.4f}",
            "ECE, equal mass": f"{self.ece_mass:.4f}",
            "ECE, equal width": f"{self.ece_width:.4f}",
            "smooth ECE": f"{self.smooth_ece:.4f}",
            "AUROC": f"{self.auroc:.4f}",
            "distinct confidences": f"{self.distinct:,}",
        }


@dataclass(frozen=True)
class TallyFigures:
    """Everything that is read off a tally.

    Attributes
    ----------
    answers, unreadable, unlabelled : int
    items : int or None
        None where answers have no item ids, and each is taken for an item.
    repeated : bool
        Whether items repeat: counts cannot tell which answers belong together, so there are then no intervals.
    calibration : CalibrationFigures or None
        None if no answer is readable.
    point : OperatingPoint
    decisions : DataFrame
        One row per figure: ``figure``, ``estimate``, ``low``, ``high``, ``answers``.
    gates : tuple of GateFinding
        Exact tests of the gates, for a point that was given beforehand and items that do not repeat; empty otherwise.
    """

    answers: int
    unreadable: int
    unlabelled: int
    items: int | None
    repeated: bool
    calibration: CalibrationFigures | None
    point: OperatingPoint
    decisions: pd.DataFrame
    gates: tuple[GateFinding, ...]

    def record(self) -> dict[str, object]:
        """Return the figures as what JSON can hold."""
        return {
            "answers": self.answers,
            "unreadable": self.unreadable,
            "unlabelled": self.unlabelled,
            "items": self.items,
            "items repeat": self.repeated,
            "calibration": self.calibration,
            "point": self.point,
            "decisions": self.decisions,
            "gates": [{"verdict": finding.verdict, "finding": finding.words} for finding in self.gates],
        }

    @property
    def words(self) -> str:
        """The figures as lines of text."""
        items = "each taken for an item of its own" if self.items is None else f"of {self.items:,} items"
        lines = [
            f"{self.answers:,} labelled answers, {items}; {self.unreadable:,} of them unreadable; "
            f"{self.unlabelled:,} more without a label"
        ]
        if self.repeated:
            lines.append(
                "Items repeat, and counts do not tell which answers belong together: no intervals, no verdicts."
            )
        if self.calibration is not None:
            lines += ["", *_aligned(self.calibration.named())]
        point = self.point
        lines += ["", f"threshold {point.threshold:g}, tie margin {point.tie_margin:g} ({_HOW[point.how]})"]
        lines += _aligned({str(row.figure): _interval(_of(row)) for row in self.decisions.itertuples()})
        if self.gates:
            lines += ["", *(finding.words for finding in self.gates)]
        return "\n".join(lines)


def tally_figures(counted: Tally, threshold: float | None = None, margin: float | None = None) -> TallyFigures:
    """Read the figures off counts.

    Parameters
    ----------
    counted : Tally
    threshold, margin : float in [0, 1], optional
        A point of the grid. Without a threshold the best one as observed is chosen, if there are gates, else 0; the
        margin is 0.10 by default.

    Raises
    ------
    ValueError
        The point is not on the grid of the sweep.
    """
    gates = single_gates(counted.sweep.taxonomy.gates)
    if threshold is None and margin is None and gates:
        point = best_point(counted.sweep, gates)
    else:
        point = OperatingPoint(threshold or 0.0, DEFAULT_MARGIN if margin is None else margin, "given")
    row, column = counted.sweep.at(point.threshold, point.tie_margin)
    here = counted.sweep.cut([row], [column])
    decisions = figures_over(here, gates)[["figure", "estimate", "low", "high", "answers"]]
    findings: tuple[GateFinding, ...] = ()
    if counted.repeated:
        decisions[["low", "high"]] = np.nan
    elif point.how == "given":
        counts = ((gate, *here.gate_counts(gate)) for gate in gates)
        findings = tuple(judge(gate, float(hits[0, 0]), float(trials[0, 0])) for gate, hits, trials in counts)
    return TallyFigures(
        answers=counted.answers,
        unreadable=counted.unreadable,
        unlabelled=counted.unlabelled,
        items=None if counted.items is None else len(counted.items),
        repeated=counted.repeated,
        calibration=_calibration(counted.cells, counted.repeated) if counted.cells.n else None,
        point=point,
        decisions=decisions,
        gates=findings,
    )


def _calibration(cells: Cells, repeated: bool) -> CalibrationFigures:
    n, right = cells.n, int(cells.right.sum())
    low, high = (float("nan"), float("nan")) if repeated else map(float, proportion_bounds(right, n))
    return CalibrationFigures(
        accuracy=Interval(right / n, low, high, n, float("nan") if repeated else float(n)),
        confidence=float((cells.confidence * cells.count).sum()) / n,
        brier=_mean(cells, squared_errors),
        log_loss=_mean(cells, log_losses),
        ece_mass=ece(cells, scheme="mass"),
        ece_width=ece(cells, scheme="width"),
        smooth_ece=smooth_ece(cells).error,
        auroc=area_of(cells),
        distinct=len(cells),
    )


def _mean(cells: Cells, loss: Loss) -> float:
    """Average a loss over answers, one outcome at a time so that no more than one array of losses is held."""
    total = sum(
        float((counts * loss(cells.confidence, np.full(len(cells), outcome))).sum())
        for counts, outcome in ((cells.right, True), (cells.wrong, False))
    )
    return total / cells.n


def _of(row: Any) -> Interval:
    return Interval(row.estimate, row.low, row.high, row.answers, float("nan")) if row.answers else UNKNOWN


def _interval(of: Interval) -> str:
    if not of.known:
        return "nothing to count"
    bounds = "" if np.isnan(of.low) else f"  (95 % interval {of.low:.4f} to {of.high:.4f})"
    return f"{of.estimate:.4f}{bounds}"


def _aligned(named: Mapping[str, str]) -> list[str]:
    width = max(map(len, named), default=0)
    return [f"{name:<{width}}  {value}" for name, value in named.items()]
