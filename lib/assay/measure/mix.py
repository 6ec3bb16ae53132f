"""Figures that depend on the mix: what a test set full of traps says of production, and what errors cost.

Class accuracy and caught are shares within a class and need none of this. Coverage and accepted accuracy are shares over
all questions, so they follow how often each class is asked; costs do too. All of it is descriptive: no gate rests on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.measure.sweep import ABSTAINED, DANGEROUS, RIGHT, SAFER, Counts, SweepCounts
from assay.study import Costs


@dataclass(frozen=True)
class Mix:
    """Figures of one operating point under a mix of classes.

    Attributes
    ----------
    coverage : float in [0, 1]
        Share acted on.
    accepted_accuracy : float in [0, 1], or None where nothing is acted on
    cost : float or None
        Expected cost per question; None without a cost matrix.
    """

    coverage: float
    accepted_accuracy: float | None
    cost: float | None


def mix_of(
    counts: SweepCounts,
    threshold: float,
    tie_margin: float,
    prevalence: Mapping[str, float] | None = None,
    costs: Costs | None = None,
) -> Mix:
    """Compute coverage, accepted accuracy and expected cost at a grid point.

    Parameters
    ----------
    counts : SweepCounts
    threshold, tie_margin : float in [0, 1]
        On the grid of `counts`.
    prevalence : mapping of class to share, optional
        Of the classes that have items; shares of the others are left out and the rest scaled to 1. By default the mix
        of the answers counted.
    costs : Costs, optional
        A dangerous misroute, an abstention on an item not so labelled, and a decision safer than the label each cost
        what it says; being right costs nothing.

    Raises
    ------
    ValueError
        If a class of the prevalence was not counted by itself, or none of its classes has an item.
    """
    t, m = counts.at(threshold, tie_margin)
    by_label = counts.outcomes[:, :, t, m]
    totals = by_label.sum(axis=1)
    shares = by_label / np.where(totals > 0, totals, 1)[:, None]
    weights = _weights(counts, totals, prevalence)
    coverage = float(weights @ shares[:, [RIGHT, SAFER, DANGEROUS]].sum(axis=1))
    right = float(weights @ shares[:, RIGHT])
    cost = None
    if costs is not None:
        cost = float(
            weights
            @ (
                costs.misroute * shares[:, DANGEROUS]
                + costs.abstention * shares[:, ABSTAINED]
                + costs.over_restriction * shares[:, SAFER]
            )
        )
    return Mix(coverage, right / coverage if coverage > 0 else None, cost)


def _weights(counts: SweepCounts, totals: Counts, prevalence: Mapping[str, float] | None) -> Counts:
    """Weight of each label slot, summing to 1."""
    weights = totals.astype(float)
    if prevalence is not None:
        unknown = [name for name in prevalence if name not in counts.classes]
        if unknown:
            raise ValueError(f"prevalence names {unknown[0]!r}, which was not counted by itself in this sweep")
        weights = np.zeros(len(totals))
        for name, share in prevalence.items():
            weights[counts.classes.index(name)] = share
        weights[totals == 0] = 0.0
    if weights.sum() <= 0:
        raise ValueError("no class of the prevalence has an item here")
    return np.asarray(weights / weights.sum())
