"""Tests of two variants on the same items: McNemar's, and the one that swaps the two variants' answers of an item.

If two variants were equally good, it would not matter which of them gave which of an item's two sets of answers. So the
difference is set against those that come about when every item's sets change hands by a coin of its own. All answers
of an item move together: ten runs of one item are one coin, not ten.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measure.intervals import FloatArray, whole_count

FEWEST = 1000

PER_TEST = 20
"""Permutations for each test at the 5 % level: the smallest p-value, adjusted for all of them, is then 0.0025 or less."""

_BLOCK = 4_000_000
_FEW_KINDS = 64


def mcnemar(a_only: int, b_only: int) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    Parameters
    ----------
    a_only, b_only : int
        Items on which only one of the two variants is right, one answer each.

    Returns
    -------
    float in (0, 1]
        1 where no pair differs: there is nothing to test, which shows no equality either.

    Raises
    ------
    ValueError
        If a count is no whole number, or negative.

    Notes
    -----
    McNemar (1947), https://doi.org/10.1007/BF02295996, in its exact binomial form.
    """
    fewer, more = sorted((whole_count("a_only", a_only), whole_count("b_only", b_only)))
    # The lower tail of a binomial, as an incomplete beta function: the binomial of scipy counts in 32 bits.
    return float(min(1.0, 2 * special.betainc(max(more, 1), fewer + 1, 0.5)))


def permutations_needed(tests: int, level: float = 0.05) -> int:
    """Return how many permutations a family of tests takes: 20 for each test over the level, and at least 1,000."""
    return max(FEWEST, int(np.ceil(PER_TEST * tests / level)))


def swap_test(differences: npt.ArrayLike, permutations: int = FEWEST, seed: int = 0) -> float:
    """Test whether the mean paired difference is further from 0 than swaps within items make it.

    Parameters
    ----------
    differences : array-like of float, shape (items,)
        Mean over the first variant's answers of an item less that over the second's.
    permutations : int
    seed : int

    Returns
    -------
    float
        At least ``1 / (permutations + 1)``: the data count as one permutation, which makes the test exact
        (Phipson and Smyth, 2010, https://doi.org/10.2202/1544-6115.1585).
    """
    given: FloatArray = np.asarray(differences, dtype=np.float64)
    differing = given[given != 0]
    total = float(differing.sum())
    sizes, count = np.unique(np.round(np.abs(differing), 12), return_counts=True)
    if len(sizes) <= _FEW_KINDS:
        # Items of one size of difference are exchangeable: only how many of them are swapped matters.
        swapped = np.random.default_rng(seed).binomial(count, 0.5, size=(permutations, len(count)))
        return _p_value((count - 2 * swapped) @ sizes, total, permutations)
    return swap_test_of(lambda swapped: total - 2 * (swapped @ differing), len(differing), permutations, seed)


def swap_test_of(
    statistic: Callable[[FloatArray], FloatArray], items: int, permutations: int = FEWEST, seed: int = 0
) -> float:
    """Test any statistic of two variants by swaps within items.

    Parameters
    ----------
    statistic : callable
        From (rows, items) floats, 1 where an item's answers are swapped and else 0, to (rows,) values. It must change
        its sign when every item is swapped, and is large in size where variants differ.
    items : int
    permutations : int
    seed : int

    Returns
    -------
    float in (0, 1]
    """
    observed = float(statistic(np.zeros((1, items)))[0])
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // max(1, items))
    values = []
    for start in range(0, permutations, rows):
        size = min(rows, permutations - start)
        bits = rng.integers(0, 256, size=(size, -(-items // 8)), dtype=np.uint8)
        values.append(statistic(np.unpackbits(bits, axis=1, count=items).astype(np.float64)))
    return _p_value(np.concatenate(values), observed, permutations)


def _p_value(values: FloatArray, observed: float, permutations: int) -> float:
    # Equal values must count as reached although they were summed in another order.
    tolerance = 1e-9 * max(1.0, abs(observed))
    reached = int((np.abs(values) >= abs(observed) - tolerance).sum())
    return (1 + reached) / (1 + permutations)
