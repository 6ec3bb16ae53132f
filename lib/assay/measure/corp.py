"""The isotonic reliability curve (CORP), its consistency band and its decomposition of the Brier score.

The curve is the never-decreasing function of the confidence that comes closest to the outcomes, so it needs no bins. A
calibrated model's curve is not the diagonal either: the consistency band around the diagonal shows where it would be.
The Brier score splits into how far the confidences are from their own curve (miscalibration), how much the curve tells
answers apart (discrimination), and how uncertain the outcomes are to begin with:
``brier = miscalibration - discrimination + uncertainty``.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import optimize

from assay.measure.calibrated import DEFAULT_SIMULATIONS, simulate_right, simulation_cells
from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray
from assay.measure.judged import Judged

BAND_POINTS = 256
"""The band is drawn at no more confidences than this."""


@dataclass(frozen=True)
class Decomposition:
    """The Brier score in three parts, all in [0, 1]: ``brier = miscalibration - discrimination + uncertainty``."""

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True)
class Band:
    """Where the isotonic curve of a calibrated model with the same confidences lies.

    Attributes
    ----------
    confidence : (m,) float64, increasing
        Confidences at which the band is known; all the distinct ones if they are no more than 256.
    low, high : (m,) float64 in [0, 1]
        At each confidence taken alone, the curve lies between them in at least `level` of calibrated studies.
    envelope_low, envelope_high : (m,) float64 in [0, 1]
        The curve lies between them at all these confidences at once in at least `level` of calibrated studies.
    level : float in (0, 1)
    simulations : int
    """

    confidence: FloatArray
    low: FloatArray
    high: FloatArray
    envelope_low: FloatArray
    envelope_high: FloatArray
    level: float
    simulations: int


@dataclass(frozen=True)
class CorpCurve:
    """The isotonic curve of one answer per item, with its band.

    Attributes
    ----------
    confidence : (k,) float64, strictly increasing
        Distinct confidences.
    frequency : (k,) float64 in [0, 1], never decreasing
        Estimated share of right answers.
    answers : (k,) int
        Answers at each confidence.
    band : Band
    outside : int
        Points of the band at which the curve leaves the pointwise band.
    consistent : bool
        Whether the curve stays inside the envelope: what a calibrated model does in at least ``band.level`` of studies.
    decomposition : Decomposition
        Of the Brier score of these answers.
    note : str
        Empty, or what a reader must know.
    """

    confidence: FloatArray
    frequency: FloatArray
    answers: npt.NDArray[np.int64]
    band: Band
    outside: int
    consistent: bool
    decomposition: Decomposition
    note: str

    def table(self) -> pd.DataFrame:
        """Return one row per point of the band, with the curve there."""
        band = self.band
        return pd.DataFrame(
            {
                "confidence": band.confidence,
                "frequency": self.frequency[np.searchsorted(self.confidence, band.confidence)],
                "band_low": band.low,
                "band_high": band.high,
                "envelope_low": band.envelope_low,
                "envelope_high": band.envelope_high,
            }
        )


def corp_curve(judged: Judged, level: float = 0.95, simulations: int = DEFAULT_SIMULATIONS, seed: int = 0) -> CorpCurve:
    """Compute the isotonic reliability curve with its consistency band.

    Parameters
    ----------
    judged : Judged
        Where items repeat, the first answer of each is taken, since the band is simulated for independent answers.
    level : float
        Of the band, in (0, 1).
    simulations : int
        Enough to resolve the level: ``(simulations + 1) * (1 - level) / 2`` at least 1.
    seed : int

    Raises
    ------
    ValueError
        If no answer can be taken, the level is not in (0, 1), or the simulations are too few for it.

    Notes
    -----
    Dimitriadis, Gneiting and Jordan (2021), https://doi.org/10.1073/pnas.2016191118. The envelope widens
    the pointwise band until it holds whole curves: Myllymäki et al. (2017), https://doi.org/10.1111/rssb.12172.
    """
    single = judged.one_per_item()
    single.require_any()
    cells = single.cells
    frequency = isotonic_frequency(cells)
    band = consistency_band(cells, level, simulations, seed)
    curve = frequency[np.searchsorted(cells.confidence, band.confidence)]
    below, above = _beyond(curve, band.low, band.high)
    far_below, far_above = _beyond(curve, band.envelope_low, band.envelope_high)
    notes = []
    if judged.repeated:
        notes.append(f"items repeat: the first answer of each, {len(single)} of {len(judged)}")
    if len(cells) == 1:
        notes.append("one distinct confidence: the curve is one point")
    return CorpCurve(
        confidence=cells.confidence,
        frequency=frequency,
        answers=cells.count,
        band=band,
        outside=int((below | above).sum()),
        consistent=not bool((far_below | far_above).any()),
        decomposition=decompose_brier(cells),
        note="; ".join(notes),
    )


def isotonic_frequency(cells: Cells) -> FloatArray:
    """Isotonic least-squares estimate of the share of right answers at each distinct confidence."""
    return _isotonic(cells.right / cells.count, cells.count)


def decompose_brier(cells: Cells) -> Decomposition:
    """Split the Brier score into miscalibration, discrimination and uncertainty; there must be an answer.

    Notes
    -----
    Dimitriadis, Gneiting and Jordan (2021), https://doi.org/10.1073/pnas.2016191118, section 4. The parts are at least
    0, whatever the data. Miscalibration is positive even for a calibrated model, as the calibration error is.
    """
    stated = _brier(cells, cells.confidence)
    recalibrated = _brier(cells, isotonic_frequency(cells))
    constant = _brier(cells, np.full(len(cells), cells.accuracy))
    # The isotonic fit is never worse than the other two; rounding may say otherwise.
    return Decomposition(
        brier=stated,
        miscalibration=max(0.0, stated - recalibrated),
        discrimination=max(0.0, constant - recalibrated),
        uncertainty=constant,
    )


def consistency_band(cells: Cells, level: float = 0.95, simulations: int = DEFAULT_SIMULATIONS, seed: int = 0) -> Band:
    """Simulate the isotonic curves of a calibrated model that states the same confidences, and enclose them.

    Parameters
    ----------
    cells : Cells
        One answer per item; outcomes are not used.
    level : float
    simulations : int
    seed : int

    Raises
    ------
    ValueError
        As `corp_curve`.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    # Rank of the bound among the simulations, counted from either end.
    depth = int(np.floor((simulations + 1) * (1 - level) / 2 + 1e-9))
    if depth < 1:
        raise ValueError(f"simulations must be at least {int(np.ceil(2 / (1 - level))) - 1} for level {level}")
    simulated = simulation_cells(cells)
    shown = _spread_out(cells, BAND_POINTS)
    # A point of the data takes the value of the simulated cell that it went into.
    source = np.searchsorted(_upper_ends(cells, simulated), cells.confidence[shown], side="left")
    curves = np.empty((simulations, len(shown)))
    row = 0
    for block in simulate_right(simulated, simulations, seed):
        for right in block:
            curves[row] = _isotonic(right / simulated.count, simulated.count)[source]
            row += 1
    ordered = np.sort(curves, axis=0)
    low, high = ordered[depth - 1], ordered[-depth]
    stated = cells.confidence[shown]
    # What a share over all the answers would scatter: above 0 wherever a curve can move at all.
    envelope_low, envelope_high = _envelope(curves, np.sqrt(stated * (1 - stated) / cells.n), level)
    return Band(
        confidence=stated,
        low=low,
        high=high,
        # Pointwise ranks of few distinct values can reach further than their level asks for.
        envelope_low=np.minimum(envelope_low, low),
        envelope_high=np.maximum(envelope_high, high),
        level=level,
        simulations=simulations,
    )


def _isotonic(share: FloatArray, weight: npt.ArrayLike) -> FloatArray:
    return np.asarray(optimize.isotonic_regression(share, weights=weight).x, dtype=np.float64)


def _brier(cells: Cells, forecast: FloatArray) -> float:
    return float((cells.right * (1 - forecast) ** 2 + cells.wrong * forecast**2).sum()) / cells.n


def _beyond(
    curve: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Where the curve lies below and above the bounds by more than rounding."""
    return curve < low - 1e-12, curve > high + 1e-12


def _spread_out(cells: Cells, limit: int) -> npt.NDArray[np.intp]:
    """Positions of at most `limit` confidences: all, or the nearest ones to equally spaced shares of the answers."""
    if len(cells) <= limit:
        return np.arange(len(cells))
    return np.unique(np.searchsorted(np.cumsum(cells.count), np.linspace(1, cells.n, limit)))


def _upper_ends(cells: Cells, simulated: Cells) -> FloatArray:
    """Largest confidence of the data in each simulated cell."""
    if len(simulated) == len(cells):
        return cells.confidence
    last = np.searchsorted(np.cumsum(cells.count), np.cumsum(simulated.count))
    return cells.confidence[last]


def _envelope(curves: FloatArray, floor: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Bounds that hold whole curves: pointwise ones, moved away from the mean by one common factor.

    One half of the curves gives the shape: the mean, and the distance of the pointwise quantiles from it, but at least
    a standard deviation and at least `floor`, since near 0 and 1 a quantile can touch the mean. The other half gives
    the factor: a curve's distance is the largest over the points, in units of the shape, and the factor is the distance
    that all but a share ``1 - level`` of these curves and the data together keep. Two halves, because curves are closer
    to a shape that they helped to make.
    """
    half = len(curves) // 2
    shape, others = curves[:half], curves[half:]
    mean = shape.mean(axis=0)
    low, high = np.quantile(shape, [(1 - level) / 2, (1 + level) / 2], axis=0)
    least = np.maximum(shape.std(axis=0), floor)
    below, above = np.maximum(mean - low, least), np.maximum(high - mean, least)
    moved = others - mean
    unit = np.where(moved < 0, below, above)
    distance = np.divide(np.abs(moved), unit, out=np.zeros_like(moved), where=unit > 0).max(axis=1)
    rank = int(np.ceil((len(others) + 1) * level - 1e-9))
    factor = float(np.sort(distance)[min(rank, len(others)) - 1])
    return np.maximum(mean - factor * below, 0.0), np.minimum(mean + factor * above, 1.0)
