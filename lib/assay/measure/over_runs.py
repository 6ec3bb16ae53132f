"""The test that repeats mislead into: comparing variants by their accuracies in each run, as if runs were samples.

Ten runs over the same items share the items. Whatever favours one variant on these items favours it in every run, so a
test over runs grows surer with every repetition and says nothing of other items. It is computed here only to be shown
beside the analysis by item.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.measure.intervals import FloatArray
from assay.measure.item_means import outcomes_of
from assay.measure.permutation import swap_test
from assay.measure.variants import Variant, split_variants

if TYPE_CHECKING:
    from assay.measure.comparison import Comparison

_MOST_LISTED = 14
_SWAPS = 20_000


@dataclass(frozen=True)
class OverRuns:
    """Two variants compared run by run.

    Attributes
    ----------
    group, a, b : str
    runs : int
        Runs that both have.
    a_ahead, b_ahead : int
        Runs in which one has the higher accuracy.
    p_value : float
        Of Wilcoxon's signed-rank test over the runs, exact; 1 where no run differs.
    effect : float in [-1, 1]
        The matched-pairs rank-biserial correlation: 1 where a is ahead in every run, however little.
    steady : float in [0, 1]
        Share of items on which all runs of a agree in being right or wrong, and all runs of b: the nearer to 1, the more
        the runs are copies of each other.

    Notes
    -----
    Wilcoxon (1945), https://doi.org/10.2307/3001968; Kerby (2014), https://doi.org/10.2466/11.IT.3.1.
    """

    group: str
    a: str
    b: str
    runs: int
    a_ahead: int
    b_ahead: int
    p_value: float
    effect: float
    steady: float


def over_runs(answers: pd.DataFrame, comparison: Comparison) -> tuple[OverRuns, ...]:
    """Compare the variants of a comparison run by run; nothing where they share fewer than two runs.

    Parameters
    ----------
    answers : DataFrame
        Those that were compared.
    comparison : Comparison
    """
    if "run" not in answers:
        return ()
    variants, items = split_variants(answers, comparison.columns, comparison.within)
    found = []
    for group in comparison.groups:
        members = [_by_run(one, len(items)) for one in variants if one.group == group]
        found += [
            _compare(group, a, b)
            for a, b in combinations(members, 2)
            if len(a.accuracy.index.intersection(b.accuracy.index)) > 1
        ]
    return tuple(found)


@dataclass(frozen=True)
class _ByRun:
    """One variant: its accuracy in each run, and which items it answers, and answers alike in every run."""

    name: str
    accuracy: pd.Series
    answered: np.ndarray
    steady: np.ndarray


def _by_run(variant: Variant, items: int) -> _ByRun:
    right = outcomes_of(variant.answers)[0].astype(np.float64)
    accuracy = pd.Series(right).groupby(variant.answers["run"].to_numpy()).mean()
    count = np.bincount(variant.item, minlength=items)
    hits = np.bincount(variant.item, weights=right, minlength=items)
    return _ByRun(variant.name, accuracy, count > 0, (hits == 0) | (hits == count))


def _compare(group: str, a: _ByRun, b: _ByRun) -> OverRuns:
    difference = (a.accuracy - b.accuracy).dropna().round(12).to_numpy()
    shared = a.answered & b.answered
    return OverRuns(
        group=group,
        a=a.name,
        b=b.name,
        runs=len(difference),
        a_ahead=int((difference > 0).sum()),
        b_ahead=int((difference < 0).sum()),
        p_value=_signed_rank(difference),
        effect=_rank_biserial(difference),
        steady=float((a.steady & b.steady)[shared].mean()) if shared.any() else float("nan"),
    )


def _signed_ranks(difference: FloatArray) -> FloatArray:
    differing = difference[difference != 0]
    return np.asarray(pd.Series(np.abs(differing)).rank() * np.sign(differing), dtype=np.float64)


def _signed_rank(difference: FloatArray) -> float:
    """Every pattern of signs, where they are few enough to list."""
    ranks = _signed_ranks(difference)
    if len(ranks) > _MOST_LISTED:
        return swap_test(ranks, _SWAPS)
    patterns = np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks)) & 1
    sums = (1 - 2 * patterns) @ np.abs(ranks)
    return float((np.abs(sums) >= abs(ranks.sum()) - 1e-9).mean())


def _rank_biserial(difference: FloatArray) -> float:
    ranks = _signed_ranks(difference)
    return float(ranks.sum() / np.abs(ranks).sum()) if len(ranks) else 0.0
