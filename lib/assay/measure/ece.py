"""Expected calibration error, and what a calibrated model with the same confidences would show.

The expected calibration error (ECE) is the mean distance between stated confidence and share of right answers, over
bins. It is never negative, so chance alone makes it positive; and the more bins or the fewer answers, the larger it
gets. Read alone it says little. It comes here with its mean and its 95 % quantile under calibration, a test, and a
debiased version.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from assay.measure.calibrated import DEFAULT_SIMULATIONS, simulate_right, simulation_cells
from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray
from assay.measure.judged import Judged, counts_of
from assay.measure.reliability import DEFAULT_BINS, Scheme, binned_curve, cut


@dataclass(frozen=True)
class EceTest:
    """The expected calibration error of one answer per item, against calibrated models of the same confidences.

    Attributes
    ----------
    ece : float in [0, 1]
        Over one answer per item; where items repeat, not the same number as over all answers.
    calibrated_mean, calibrated_high : float
        Mean and 95 % quantile of the error under calibration.
    p_value : float in (0, 1]
        Share of calibrated studies that show at least this error, the data counted among them. Rejecting at 0.05 is
        wrong in at most 5 % of calibrated studies, exactly; fewer where few distinct values make ties.
    answers : int
        Answers (and so items) tested.
    simulations : int
    bins : int
        Bins in use.
    note : str
        Empty, or what a reader must know.
    """

    ece: float
    calibrated_mean: float
    calibrated_high: float
    p_value: float
    answers: int
    simulations: int
    bins: int
    note: str


def ece(judged: Judged | Cells, bins: int = DEFAULT_BINS, scheme: Scheme = "mass") -> float:
    """Compute the expected calibration error: mean |share right - mean confidence| over bins, weighted by answers.

    Parameters
    ----------
    judged : Judged or Cells
        Counts will do, and counts of parts add up: more answers than fit in memory can be counted part by part.
    bins : int
    scheme : {"mass", "width"}
        As in `assay.measure.reliability.cut`.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Guo et al. (2017), https://arxiv.org/abs/1706.04599; equal mass: Nguyen and O'Connor (2015),
    https://doi.org/10.18653/v1/D15-1182.
    """
    cells = counts_of(judged)
    layout = cut(cells, bins, scheme)
    gaps = np.bincount(layout.place(cells.confidence), weights=cells.right - cells.confidence * cells.count)
    return float(np.abs(gaps).sum() / cells.n)


def debiased_ece(judged: Judged, bins: int = DEFAULT_BINS, scheme: Scheme = "mass") -> float:
    """Compute the expected calibration error less its bias, by a normal approximation in each bin.

    In a bin with gap g and standard error s, chance turns the gap into a normal variable of mean g and deviation s; the
    mean of its absolute value exceeds |g|, and that excess is taken off. The standard error is that of a proportion at
    the effective number of items.

    Returns
    -------
    float in [0, 1]
        Never below 0: a difference below is set to 0. For a calibrated model this removes a good part of the bias, not
        all of it (the gap seen is itself inflated); `squared_error` is free of it.

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Kumar, Liang and Ma (2019), https://arxiv.org/abs/1909.10155, whose package simulates the normal variable; its mean
    has a closed form.
    """
    curve = binned_curve(judged, bins, scheme)
    gap = np.abs(curve.accuracy - curve.confidence)
    error = np.sqrt(curve.accuracy * (1 - curve.accuracy) / curve.n_effective)
    excess = _mean_absolute_normal(gap, error) - gap
    share = curve.answers / curve.answers.sum()
    return max(0.0, float((share * (gap - excess)).sum()))


def squared_error(judged: Judged, bins: int = DEFAULT_BINS, scheme: Scheme = "mass") -> float:
    """Compute the debiased squared calibration error over bins: its mean over studies is the true one for these bins.

    Every bin's squared gap is reduced by ``a (1 - a) / (m - 1)``, a its share of right answers and m its effective
    number of items. A bin with one effective item shows no scatter and is left out.

    Returns
    -------
    float
        About 0 for a calibrated model, on either side of it: a negative value is chance and means no error was found.

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Kumar, Liang and Ma (2019), https://arxiv.org/abs/1909.10155, section 4; Ferro and Fricker (2012),
    https://doi.org/10.1002/qj.1924.
    """
    curve = binned_curve(judged, bins, scheme)
    usable = curve.n_effective > 1
    if not usable.any():
        raise ValueError("the debiased squared error needs a bin with at least two items")
    accuracy = curve.accuracy[usable]
    noise = accuracy * (1 - accuracy) / (curve.n_effective[usable] - 1)
    squared = (accuracy - curve.confidence[usable]) ** 2 - noise
    share = curve.answers[usable] / curve.answers[usable].sum()
    return float((share * squared).sum())


def ece_test(
    judged: Judged,
    bins: int = DEFAULT_BINS,
    scheme: Scheme = "mass",
    simulations: int = DEFAULT_SIMULATIONS,
    seed: int = 0,
) -> EceTest:
    """Compare the expected calibration error with that of calibrated models that state the same confidences.

    Parameters
    ----------
    judged : Judged
        Where items repeat, the first answer of each is tested.
    bins : int
    scheme : {"mass", "width"}
    simulations : int
    seed : int

    Raises
    ------
    ValueError
        If no answer can be tested.

    Notes
    -----
    A Monte Carlo test: Bröcker and Smith (2007), https://doi.org/10.1175/WAF993.1, simulate outcomes from forecasts
    the same way. Bins depend on the confidences alone, so they are the same in every simulation.
    """
    single = judged.one_per_item()
    single.require_any()
    layout = cut(single.cells, bins, scheme)
    observed = ece(single, bins, scheme)
    cells = simulation_cells(single.cells, layout.inner)
    place = layout.place(cells.confidence)
    start = np.flatnonzero(np.diff(place, prepend=-1))
    expected = np.add.reduceat(cells.confidence * cells.count, start)
    blocks = [
        np.abs(np.add.reduceat(right, start, axis=1) - expected).sum(axis=1) / cells.n
        for right in simulate_right(cells, simulations, seed)
    ]
    calibrated = np.concatenate(blocks)
    # Equal errors must count as reached although they were summed in another order.
    reached = int((calibrated >= observed - 1e-12).sum())
    return EceTest(
        ece=observed,
        calibrated_mean=float(calibrated.mean()),
        calibrated_high=float(np.quantile(calibrated, 0.95)),
        p_value=(1 + reached) / (1 + simulations),
        answers=len(single),
        simulations=simulations,
        bins=len(start),
        note=_test_note(judged, single.cells, layout.note),
    )


def _mean_absolute_normal(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Mean of |X| for normal X; |mean| where there is no deviation."""
    ratio = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    folded = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + mean * special.erf(ratio / np.sqrt(2))
    return np.where(deviation > 0, folded, np.abs(mean))


def _test_note(judged: Judged, cells: Cells, binning: str) -> str:
    notes = []
    if judged.repeated:
        notes.append(f"items repeat: tested on the first answer of each, {cells.n} of {len(judged)}")
    if bool(((cells.confidence == 0) | (cells.confidence == 1)).all()):
        notes.append("every confidence is 0 or 1: a calibrated model would be right exactly as stated")
    if binning:
        notes.append(binning)
    return "; ".join(notes)
