"""Smooth calibration error: a calibration error without bins.

Instead of collecting answers in bins, every answer's residual (right or wrong, less the confidence) is spread over
[0, 1] by a normal kernel that is reflected at both ends, and the absolute value of the sum is integrated. The kernel's
width is not chosen but follows from the data: it is the one that equals the resulting error.
"""

from dataclasses import dataclass

import numpy as np
from scipy import fft

from assay.measure.cells import Cells
from assay.measure.intervals import FloatArray
from assay.measure.judged import Judged, counts_of

GRID = 2**14
"""Points of the grid on which residuals are spread; a confidence's residual is shared by the two nearest ones."""

_STEPS = 40


@dataclass(frozen=True)
class SmoothEce:
    """A smooth calibration error and the kernel width at which it was found.

    Attributes
    ----------
    error : float in [0, 1]
    width : float in [0, 1]
        Standard deviation of the kernel; equal to the error up to the search's precision.
    """

    error: float
    width: float


def smooth_ece(judged: Judged | Cells) -> SmoothEce:
    """Compute the smooth calibration error.

    Parameters
    ----------
    judged : Judged or Cells
        Counts will do, and counts of parts add up.

    Returns
    -------
    SmoothEce
        On a grid of 16,384 points: off by about ``(1 / (16,384 * width))**2`` of the error.

    Raises
    ------
    ValueError
        If no answer is readable.

    Notes
    -----
    Błasiok and Nakkiran (2023), https://arxiv.org/abs/2309.12236: the error at width s never increases with s, so the
    fixed point is found by bisection. A reflected normal kernel multiplies the k-th cosine of the residuals by
    ``exp(-(pi k s)**2 / 2)``, so each step is one cosine transform of the grid, whatever the number of answers.
    """
    spectrum = fft.dct(_spread(counts_of(judged)), type=2)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        width = (low + high) / 2
        if _error_at(spectrum, width) < width:
            high = width
        else:
            low = width
    return SmoothEce(_error_at(spectrum, high), high)


def _spread(cells: Cells) -> FloatArray:
    """Residuals per answer on the grid of cell midpoints, shape (GRID,), each shared between its two neighbours."""
    residual = (cells.right - cells.confidence * cells.count) / cells.n
    position = np.clip(cells.confidence * GRID - 0.5, 0, GRID - 1)
    below = np.minimum(position.astype(np.intp), GRID - 2)
    share = position - below
    spread: FloatArray = np.bincount(below, weights=residual * (1 - share), minlength=GRID).astype(np.float64)
    spread[1:] += np.bincount(below, weights=residual * share, minlength=GRID)[:-1]
    return spread


def _error_at(spectrum: FloatArray, width: float) -> float:
    frequency = np.arange(GRID) * np.pi * width
    smooth = fft.idct(spectrum * np.exp(-(frequency**2) / 2), type=2)
    return float(np.abs(smooth).sum())
