"""Holm's adjustment: p-values of several tests, each raised so that one wrong "different" is as rare as for one test."""

import numpy as np
import numpy.typing as npt


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjust the p-values of a family of tests.

    Parameters
    ----------
    p_values : array-like of float in [0, 1], shape (tests,)
        NaN marks a test that could not be made; it stays NaN and does not count.

    Returns
    -------
    (tests,) float64
        Rejecting where the adjusted value is at most 0.05 is wrong anywhere in the family in at most 5 % of studies,
        however the tests depend on each other. Never below the raw p-value, never in another order, never above 1.

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1].

    Notes
    -----
    Holm (1979), https://www.jstor.org/stable/4615733.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1:
        raise ValueError(f"p_values must be one-dimensional, got {raw.ndim} dimensions")
    outside = (raw < 0) | (raw > 1)
    if outside.any():
        raise ValueError(f"p_values must lie in [0, 1], got {raw[outside][0]}")
    adjusted = np.full(raw.shape, np.nan)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * raw[order]), 1.0)
    return adjusted
