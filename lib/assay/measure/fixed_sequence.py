"""Testing candidate policies one after the other, in an order fixed beforehand.

The candidates are the points of a (threshold, tie margin) grid. One half of the items, the tuning part, puts them in
an order; the other half tests them in that order, each at the full level, and stops at the first that fails. However
many candidates there are, the chance that an unsafe one is among those passed is at most delta: for that, the unsafe one
that comes first in the order has to pass its own test. The passed candidates hold jointly, so any rule may choose among
them.

Fixed sequence testing: Westfall and Krishen (2001), https://doi.org/10.1016/S0378-3758(01)00077-5; as a way of choosing
a predictor's settings: Angelopoulos, Bates, Candes, Jordan and Lei, arXiv 2110.01052. Requiring every gate of one
candidate to pass its own test at delta, without sharing delta out: Berger (1982),
https://doi.org/10.1080/00401706.1982.10487790.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.measure.binomial import FloatArray, chance_of_at_least
from assay.measure.sweep import SweepCounts
from assay.rules import Gate


@dataclass(frozen=True)
class Walk:
    """The outcome of testing a grid of candidates in order.

    Attributes
    ----------
    chosen : (threshold index, margin index), or None
        The candidate certified.
    first : (threshold index, margin index)
        The first of the order: the candidate that the tuning part favours.
    region : (T, M) bool
        The grid points that passed.
    candidates, tested, passed : int
        Numbers of candidates that can be told apart: grid points with the same counts are one.
    """

    chosen: tuple[int, int] | None
    first: tuple[int, int]
    region: NDArray[np.bool_]
    candidates: int
    tested: int
    passed: int


def walk(tuning: SweepCounts, certification: SweepCounts, gates: Sequence[Gate]) -> Walk:
    """Order the grid on the tuning part, test along it on the certification part, and choose.

    Parameters
    ----------
    tuning, certification : SweepCounts
        Of the same grid; whole counts, one answer per item, no item in both.
    gates : sequence of Gate
        Each of at most one class, tested at its own delta.

    Returns
    -------
    Walk

    Notes
    -----
    Order: the largest of the gates' tuning p-values, smallest first. Equal ones: the candidate that abstains more on
    the tuning part, then, where the tuning part tells them apart no further, the smaller margin and threshold, which
    interfere least. A point that accepts nothing of the tuning part is no candidate: it would come first and stop the
    walk. Nor is a point that another betters on whatever items (see `worth_testing`).

    Choice: of those passed, the most coverage on the tuning part, the earlier in the order where equal. The
    certification part is not asked again, so its coverage at the chosen point is not the best of several.
    """
    accepted = tuning.accepted().ravel()
    order = _order(largest_p_value(tuning, gates).ravel(), accepted, tuning.margins.size)
    candidates = order[(accepted[order] > 0) & worth_testing(tuning, gates).ravel()[order]]
    if not candidates.size:
        nothing = np.zeros(tuning.accepted().shape, dtype=bool)
        return Walk(None, _point(order[0], tuning), nothing, 0, 0, 0)
    passes = _passes(certification, gates).ravel()[candidates]
    stop = int(passes.argmin()) if not passes.all() else len(candidates)
    passed = candidates[:stop]
    region = np.zeros(accepted.shape, dtype=bool)
    region[passed] = True
    # A test of gates cannot see that a candidate accepts nothing of the certification part; it is no policy.
    usable = passed[certification.accepted().ravel()[passed] > 0]
    chosen = usable[accepted[usable].argmax()] if usable.size else None
    apart = _kinds(tuning, certification, gates)[candidates]
    return Walk(
        chosen=None if chosen is None else _point(chosen, tuning),
        first=_point(candidates[0], tuning),
        region=region.reshape(tuning.accepted().shape),
        candidates=len(np.unique(apart)),
        tested=len(np.unique(apart[: stop + 1])),
        passed=len(np.unique(apart[:stop])),
    )


def largest_p_value(counts: SweepCounts, gates: Sequence[Gate]) -> FloatArray:
    """Return, per grid point, the largest p-value of the gates: how little the counts speak for the point. (T, M)."""
    return np.max([chance_of_at_least(*counts.gate_counts(gate), gate.target) for gate in gates], axis=0)


def worth_testing(counts: SweepCounts, gates: Sequence[Gate]) -> NDArray[np.bool_]:
    """Tell which grid points no other point betters whatever the items are, (T, M).

    Abstaining can only cost class accuracy, unless the class is that of abstaining itself. So where every gate is one of
    class accuracy, raising the threshold at the same margin lowers, item by item, both the gates and the coverage: a
    higher threshold passes only where the lowest does and is never chosen before it. As a candidate it would do little
    but stop the walk, and it would do so often, since among equal p-values the one that abstains more comes first.
    """
    worth = np.ones((counts.thresholds.size, counts.margins.size), dtype=bool)
    if all(gate.metric == "class_accuracy" and gate.classes[0] != counts.taxonomy.abstain for gate in gates):
        worth[1:] = False
    return worth


def _passes(counts: SweepCounts, gates: Sequence[Gate]) -> NDArray[np.bool_]:
    """Tell where every gate passes its exact test; a gate without trials has a p-value of 1 and never does."""
    every = [chance_of_at_least(*counts.gate_counts(gate), gate.target) <= gate.delta for gate in gates]
    return np.asarray(np.all(every, axis=0))


def _order(p_value: FloatArray, accepted: FloatArray, margins: int) -> NDArray[np.intp]:
    point = np.arange(p_value.size)
    return np.lexsort((point // margins, point % margins, accepted, p_value))


def _point(flat: np.intp | int, counts: SweepCounts) -> tuple[int, int]:
    return int(flat) // counts.margins.size, int(flat) % counts.margins.size


def _kinds(tuning: SweepCounts, certification: SweepCounts, gates: Sequence[Gate]) -> NDArray[np.intp]:
    """Number the grid points so that those with equal counts everywhere share a number."""
    columns = []
    for counts in (tuning, certification):
        columns += [counts.accepted(), *(part for gate in gates for part in counts.gate_counts(gate))]
    kinds = np.zeros(tuning.accepted().size, dtype=np.intp)
    for column in columns:
        values = np.unique(column.ravel(), return_inverse=True)[1]
        kinds = np.unique(kinds * (values.max() + 1) + values, return_inverse=True)[1]
    return kinds
