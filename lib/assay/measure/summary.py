"""All figures of calibration for one set of answers, and tables of them by series, subgroup or class.

A summary holds every figure with its interval or yardstick. A figure that the answers do not determine is left empty
and the notes say why: a table never shows an empty cell without a word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from assay.measure.corp import Decomposition, decompose_brier
from assay.measure.ece import EceTest, debiased_ece, ece, ece_test, squared_error
from assay.measure.intervals import Interval
from assay.measure.judged import Judged
from assay.measure.line import CalibrationLine, calibration_line
from assay.measure.phrases import counted, percent, percent_interval
from assay.measure.ranking import Ranking, auroc
from assay.measure.reliability import DEFAULT_BINS
from assay.measure.scores import LogLoss, Score, accuracy, brier_and_log_loss
from assay.measure.smooth import SmoothEce, smooth_ece

SERIES = ("model", "prompt", "calibration", "elicitation")
"""Columns that tell series of comparable answers apart."""


@dataclass(frozen=True)
class CalibrationSummary:
    """The figures of calibration of one set of answers.

    Attributes
    ----------
    answers, items, unreadable : int
        Readable answers, their items, and the answers left out because they could not be read.
    confidence : float in [0, 1]
        Mean stated confidence.
    accuracy : Interval
    brier : Score
    decomposition : Decomposition
        Of the Brier score, over all answers.
    log_loss : LogLoss
    ranking : Ranking
    line : CalibrationLine
    ece_mass, ece_width, ece_debiased : float in [0, 1]
        In bins of equal mass (the debiased one too) and of equal width.
    squared_error : float or None
        Debiased squared calibration error in bins of equal mass; None without a bin of two items.
    smooth : SmoothEce
    test : EceTest or None
        None if every item's first answer is unreadable.
    """

    answers: int
    items: int
    unreadable: int
    confidence: float
    accuracy: Interval
    brier: Score
    decomposition: Decomposition
    log_loss: LogLoss
    ranking: Ranking
    line: CalibrationLine
    ece_mass: float
    ece_width: float
    ece_debiased: float
    squared_error: float | None
    smooth: SmoothEce
    test: EceTest | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the figures, each said once."""
        found = []
        if self.unreadable:
            found.append(f"{counted(self.unreadable, 'unreadable answer')} left out")
        found += [f"Brier score: {self.brier.note}", f"log loss: {self.log_loss.note}"]
        if self.log_loss.certain_and_wrong:
            certain = counted(self.log_loss.certain_and_wrong, "answer")
            found.append(f"log loss: {certain} certain and wrong, at 36.04 each")
        found += [f"AUROC: {self.ranking.note}", f"calibration line: {self.line.note}"]
        if self.squared_error is None:
            found.append("squared error: no bin has two items")
        found.append(f"calibration test: {self.test.note if self.test else 'no first answer is readable'}")
        return tuple(note for note in found if not note.endswith(": "))

    def row(self) -> dict[str, object]:
        """Return the figures as one row of a table, None where a figure is not determined, notes in the last field."""
        line, test = self.line, self.test
        return {
            "answers": self.answers,
            "items": self.items,
            "unreadable": self.unreadable,
            "confidence": self.confidence,
            **_bounds("accuracy", self.accuracy),
            **_bounds("brier", self.brier.interval),
            "miscalibration": self.decomposition.miscalibration,
            "discrimination": self.decomposition.discrimination,
            "uncertainty": self.decomposition.uncertainty,
            **_bounds("log_loss", self.log_loss.interval),
            "certain_and_wrong": self.log_loss.certain_and_wrong,
            **_bounds("auroc", self.ranking.auroc),
            **_bounds("intercept", line.intercept),
            **_bounds("slope", line.slope),
            "ece_mass": self.ece_mass,
            "ece_width": self.ece_width,
            "ece_debiased": self.ece_debiased,
            "squared_error": self.squared_error,
            "smooth_ece": self.smooth.error,
            "ece_tested": test.ece if test else None,
            "ece_calibrated_mean": test.calibrated_mean if test else None,
            "ece_calibrated_high": test.calibrated_high if test else None,
            "p_value": test.p_value if test else None,
            "note": "; ".join(self.notes),
        }

    def findings(self) -> tuple[str, ...]:
        """State in words what the figures say: level, order and calibration."""
        gap = self.confidence - self.accuracy.estimate
        if self.accuracy.low <= self.confidence <= self.accuracy.high:
            level = "which the interval does not tell apart"
        else:
            level = f"so it is {'over' if gap > 0 else 'under'}confident by {100 * abs(gap):.1f} points"
        found = [
            f"The stated confidence is {percent(self.confidence, 1)} on average and "
            f"{percent_interval(self.accuracy, 1)} of {counted(self.answers, 'answer')} to "
            f"{counted(self.items, 'item')} are right, {level}."
        ]
        area = self.ranking.auroc
        if area.known:
            order = (
                "right answers tend to state more than wrong ones"
                if area.low > 0.5
                else "right answers tend to state less than wrong ones"
                if area.high < 0.5
                else "it does not tell right from wrong answers"
            )
            found.append(f"As a ranking: {order} (AUROC {area.estimate:.2f}, {area.low:.2f} to {area.high:.2f}).")
        else:
            found.append(f"As a ranking: {self.ranking.note}.")
        if self.test:
            found.append(_calibration_finding(self.test))
        return tuple(found)


def summarise_calibration(
    judged: Judged, bins: int = DEFAULT_BINS, confidence: float = 0.95, seed: int = 0
) -> CalibrationSummary:
    """Compute all figures of calibration for one set of answers.

    Parameters
    ----------
    judged : Judged
    bins : int
        For the binned calibration errors.
    confidence : float
        Two-sided confidence of the intervals, in (0, 1).
    seed : int

    Raises
    ------
    ValueError
        If no answer is readable.
    """
    judged.require_any()
    try:
        squared = squared_error(judged, bins)
    except ValueError:
        squared = None
    brier, log_loss = brier_and_log_loss(judged, confidence, seed=seed)
    return CalibrationSummary(
        answers=len(judged),
        items=judged.items,
        unreadable=judged.unreadable,
        confidence=float(judged.confidence.mean()),
        accuracy=accuracy(judged, confidence),
        brier=brier,
        decomposition=decompose_brier(judged.cells),
        log_loss=log_loss,
        ranking=auroc(judged, confidence),
        line=calibration_line(judged, confidence),
        ece_mass=ece(judged, bins, "mass"),
        ece_width=ece(judged, bins, "width"),
        ece_debiased=debiased_ece(judged, bins, "mass"),
        squared_error=squared,
        smooth=smooth_ece(judged),
        test=ece_test(judged, bins, seed=seed) if judged.first.any() else None,
    )


def calibration_table(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    bins: int = DEFAULT_BINS,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Summarise a tidy frame group by group.

    Parameters
    ----------
    frame : DataFrame
        As `Judged.from_frame` reads it.
    by : column names
        The columns whose values make the groups: by default the series; add or give tag columns for subgroups.
    bins, confidence, seed
        As `summarise_calibration`.

    Returns
    -------
    DataFrame
        One row per group: the columns of `by`, then those of `CalibrationSummary.row`. A group in which no answer is
        readable has its counts and a note.

    Raises
    ------
    ValueError
        If a column is missing, or a group mixes calibrations or elicitations.
    """
    rows = []
    for names, part in groups(frame, by):
        judged = Judged.from_frame(part)
        if len(judged):
            row = summarise_calibration(judged, bins, confidence, seed).row()
        else:
            row = {"answers": 0, "items": 0, "unreadable": judged.unreadable, "note": "no readable answer"}
        rows.append({**names, **row})
    table = pd.DataFrame(rows)
    return table[[name for name in table.columns if name != "note"] + ["note"]] if rows else table


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the values of the columns `by` and the rows that have them, in sorted order; a missing value is a value.

    Raises
    ------
    ValueError
        If `frame` lacks a column.
    """
    for column in by:
        if column not in frame:
            raise ValueError(f"the frame has no column {column!r}; it has: {', '.join(map(str, frame.columns))}")
    if not by:
        yield {}, frame
        return
    for values, part in frame.groupby(list(by), sort=True, dropna=False, observed=True):
        yield dict(zip(by, values, strict=True)), part


def _bounds(name: str, interval: Interval | None) -> dict[str, object]:
    known = interval is not None and interval.known
    return {
        name: interval.estimate if interval is not None and known else None,
        f"{name}_low": interval.low if interval is not None and known else None,
        f"{name}_high": interval.high if interval is not None and known else None,
    }


def _calibration_finding(test: EceTest) -> str:
    seen = (
        f"a calibration error of {test.ece:.3f} over {counted(test.answers, 'item')}, where a calibrated model with "
        f"these confidences shows {test.calibrated_mean:.3f} on average and more than {test.calibrated_high:.3f} in one "
        f"study of twenty (p {'< 0.001' if test.p_value < 0.001 else f'= {test.p_value:.3f}'})"
    )
    if test.p_value <= 0.05:
        return f"Not calibrated: {seen}."
    return f"No miscalibration detectable at this size: {seen}."
