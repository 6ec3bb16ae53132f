"""Floors of confidence and margin: how often two models agree above them, and which of them the cheap model has earned.

Agreement is counted where both models answered, at every pair of candidate floors, as `assay.rules.evidence` counts it at
one. A pair of floors is earned by the bounds of a routing policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.table import to_nano
from assay.rules import AgreementReport, KindAgreement, RouteReason, RoutingMode, RoutingPolicy, Thresholds
from assay.rules.decimals import at_least, nano
from assay.rules.evidence import Grade

CONFIDENCE_FLOORS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
MARGIN_FLOORS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""The candidates, where none are named."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class FloorMap:
    """Agreement at every pair of candidate floors.

    Attributes
    ----------
    confidences : (C,) float64, margins : (M,) float64
        Candidate floors, increasing.
    measured, agreed : (C, M) int64
        Pairs whose cheap answer reaches both floors, and those of them that agree.
    graded : dict of str to (C, M) int64
        Disagreements among them by who was right: cheap, expensive or neither.
    """

    confidences: NDArray[np.float64]
    margins: NDArray[np.float64]
    measured: Counts
    agreed: Counts
    graded: dict[Grade, Counts]

    def rate(self, at: tuple[int, int]) -> float | None:
        """Return the share that disagrees at a pair of floors, in [0, 1]; None over nothing."""
        measured = int(self.measured[at])
        return (measured - int(self.agreed[at])) / measured if measured else None

    def floors(self, at: tuple[int, int]) -> tuple[float, float]:
        """Return the confidence floor and the margin floor at a place of the map."""
        return float(self.confidences[at[0]]), float(self.margins[at[1]])


@dataclass(frozen=True)
class Earned:
    """The floors that the evidence earns the cheap model, or what stands in the way.

    Attributes
    ----------
    map : FloorMap
    min_questions : int
    max_disagreement_rate : float in [0, 1]
    trusted : (C, M) bool
        Where both bounds are kept.
    at : (int, int) or None
        Place of the chosen floors: of all that are trusted, those that serve the most. None where none is trusted.
    nearest : (int, int)
        The chosen place, or the one that comes closest: with questions enough, that of the lowest rate; where none has
        enough, the one with the most questions.
    too_few : (int, int) or None
        Where nothing is trusted: the place with the most questions among those that keep the rate and lack questions.
    reason : RouteReason or None
        Which bound `nearest` fails; None where it is trusted.
    """

    map: FloorMap
    min_questions: int
    max_disagreement_rate: float
    trusted: NDArray[np.bool_]
    at: tuple[int, int] | None
    nearest: tuple[int, int]
    too_few: tuple[int, int] | None
    reason: RouteReason | None

    @property
    def floors(self) -> tuple[float, float] | None:
        """The confidence floor and the margin floor that were earned; None where none were."""
        return None if self.at is None else self.map.floors(self.at)

    def policy(self, evidence: AgreementReport) -> RoutingPolicy:
        """Write the routing policy: mode measured with the floors earned, or off.

        Thresholds carry the origin of the cheap side's numbers, and the policy the digest of the evidence, so that a
        router of other models, calibrations, prompts or evidence refuses it.
        """
        bounds = RoutingPolicy(
            min_questions=self.min_questions,
            max_disagreement_rate=self.max_disagreement_rate,
            evidence=evidence.digest(),
        )
        if self.floors is None:
            return bounds
        cheap = evidence.cheap
        if cheap.calibration is None:
            raise ValueError(f"the evidence does not say which calibration the confidences of {cheap.model!r} have")
        thresholds = Thresholds(cheap.calibration, *self.floors, cheap.elicitation, cheap.model, cheap.prompt)
        return replace(bounds, mode=RoutingMode.MEASURED, thresholds={cheap.model: thresholds})


def floor_map(
    measured: KindAgreement,
    confidences: Sequence[float] = CONFIDENCE_FLOORS,
    margins: Sequence[float] = MARGIN_FLOORS,
) -> FloorMap:
    """Count agreement at every pair of floors, as `KindAgreement.agreement_at` counts it at one.

    Parameters
    ----------
    measured : KindAgreement
    confidences, margins : floats in [0, 1]
        Distinct; they are put in order.

    Raises
    ------
    ValueError
        If there is no floor, one lies outside [0, 1], or one is given twice.
    """
    up, across = _floors("confidences", confidences), _floors("margins", margins)
    comparisons = measured.comparisons
    reached = [
        _places(np.array([getattr(one, name) for one in comparisons], dtype=float), grid)
        for name, grid in (("confidence", up), ("margin", across))
    ]

    def count(chosen: Sequence[bool]) -> Counts:
        kept = np.array(chosen, dtype=bool) & (reached[0] >= 0) & (reached[1] >= 0)
        table = np.zeros((len(up), len(across)), dtype=np.int64)
        np.add.at(table, (reached[0][kept], reached[1][kept]), 1)
        # An answer that reaches a floor reaches every lower one.
        return table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]

    return FloorMap(
        confidences=up,
        margins=across,
        measured=count([True] * len(comparisons)),
        agreed=count([one.agreed for one in comparisons]),
        graded={grade: count([one.right == grade for one in comparisons]) for grade in get_args(Grade)},
    )


def earn(counted: FloorMap, *, min_questions: int = 20, max_disagreement_rate: float = 0.05) -> Earned:
    """Choose the floors that serve the most among those that the evidence trusts.

    A pair of floors is trusted as `RoutingPolicy.standing` trusts it: at least `min_questions` answers reach both, and at
    most `max_disagreement_rate` of them disagree. Of floors that serve equally many the highest are taken.
    """
    bounds = RoutingPolicy(min_questions=min_questions, max_disagreement_rate=max_disagreement_rate)
    places = [(c, m) for c in range(len(counted.confidences)) for m in range(len(counted.margins))]
    rates = {at: counted.rate(at) for at in places}
    keeps = {at for at in places if (rate := rates[at]) is not None and at_least(bounds.max_disagreement_rate, rate)}
    enough = {at for at in places if counted.measured[at] >= bounds.min_questions and rates[at] is not None}

    def most(among: set[tuple[int, int]]) -> tuple[int, int]:
        return max(among, key=lambda at: (counted.measured[at], at))

    def lowest(among: set[tuple[int, int]]) -> tuple[int, int]:
        return min(among, key=lambda at: (nano(rates[at] or 0.0), -counted.measured[at], (-at[0], -at[1])))

    trusted = np.zeros(counted.measured.shape, dtype=bool)
    for place in keeps & enough:
        trusted[place] = True
    at = most(keeps & enough) if keeps & enough else None
    nearest = at or (lowest(enough) if enough else most(set(places)))
    reason = None
    if at is None:
        reason = RouteReason.DISAGREEMENT_TOO_HIGH if enough else RouteReason.NOT_MEASURED_ENOUGH
    too_few = most(keeps - enough) if at is None and keeps - enough else None
    return Earned(counted, min_questions, max_disagreement_rate, trusted, at, nearest, too_few, reason)


def reaches_floors(answers: pd.DataFrame, floors: tuple[float, float] | None) -> NDArray[np.bool_]:
    """Tell which answers the router would serve from the cheap model: those that reach both floors.

    Parameters
    ----------
    answers : DataFrame
        With ``confidence`` and ``margin`` of the cheap answer; NaN reaches nothing.
    floors : (confidence, margin), or None for nothing
    """
    if floors is None:
        return np.zeros(len(answers), dtype=bool)
    reached = [
        _places(answers[name].to_numpy(float), np.array([floor])) == 0
        for name, floor in zip(("confidence", "margin"), floors, strict=True)
    ]
    return np.asarray(reached[0] & reached[1])


def _floors(name: str, values: Sequence[float]) -> NDArray[np.float64]:
    grid = np.sort(np.asarray(values, dtype=float))
    if not grid.size or not ((grid >= 0) & (grid <= 1)).all() or (np.diff(to_nano(grid)) == 0).any():
        raise ValueError(f"{name} must be distinct numbers in [0, 1], got {list(values)!r}")
    return grid


def _places(shares: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the position of the highest floor that each number reaches, compared as decimals; -1 where none, or NaN."""
    usable = ~np.isnan(shares)
    place = np.full(len(shares), -1, dtype=np.int64)
    place[usable] = np.searchsorted(to_nano(grid), to_nano(shares[usable]), side="right") - 1
    return place
