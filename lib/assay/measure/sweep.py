"""Counting every decision for every (threshold, tie margin) at once.

For one answer the decision is constant on rectangles of the plane: the steps of its tie staircase times the two sides
of its own confidence. A sweep therefore drops each step once into a histogram of (threshold index, margin index) and
recovers the whole plane by cumulative sums. The counts are exact, cost time linear in the answers plus the grid, and
add up: parts of a data set can be counted apart and summed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from assay.measure.decide import exempt, with_context
from assay.measure.staircase import staircase
from assay.measure.table import UNREADABLE, AnswerTable, to_nano
from assay.rules import Gate, Taxonomy

RIGHT, RIGHT_ABSTAINED, ABSTAINED, SAFER, DANGEROUS = range(5)
"""Outcomes of a decision: right and acted on; right to abstain (the item is so labelled); abstained on another label;
wrong but of strictly higher rank; and a dangerous misroute, everything else."""

OUTCOMES = ("right", "right_abstained", "abstained", "safer", "dangerous")
MAX_TRACKED = 100
BLOCK = 1 << 17

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class SweepCounts:
    """Counts of outcomes over a grid of thresholds and margins. Add two of the same grid with ``+``.

    Attributes
    ----------
    taxonomy : Taxonomy
    thresholds : (T,) float, margins : (M,) float
    classes : tuple of str
        The classes counted by themselves.
    outcomes : (len(classes) + 2, 5, T, M) float
        Weighted answers by label and outcome. After the classes comes a slot for all other labels, then one for items
        labelled with the abstain name where that is not among `classes`.
    decided : (len(classes), T, M) float
        Weighted answers decided as each class and acted on (the abstain class is never acted on).
    """

    taxonomy: Taxonomy
    thresholds: NDArray[np.float64]
    margins: NDArray[np.float64]
    classes: tuple[str, ...]
    outcomes: Counts
    decided: Counts

    def __add__(self, other: "SweepCounts") -> "SweepCounts":
        same = (
            self.taxonomy == other.taxonomy
            and self.classes == other.classes
            and np.array_equal(self.thresholds, other.thresholds)
            and np.array_equal(self.margins, other.margins)
        )
        if not same:
            raise ValueError("sweeps add up only over the same taxonomy, classes and grid")
        return replace(self, outcomes=self.outcomes + other.outcomes, decided=self.decided + other.decided)

    @property
    def total(self) -> float:
        """Weight of all answers."""
        return float(self.outcomes[:, :, 0, 0].sum())

    def class_accuracy(self, name: str) -> tuple[Counts, Counts]:
        """Return (decided right, labelled) for class `name`, each (T, M)."""
        counts = self._labelled(name)
        return counts[RIGHT] + counts[RIGHT_ABSTAINED], counts.sum(axis=0)

    def caught(self, name: str) -> tuple[Counts, Counts]:
        """Return (right, abstained or decided safer; labelled) for class `name`, each (T, M)."""
        counts = self._labelled(name)
        return counts.sum(axis=0) - counts[DANGEROUS], counts.sum(axis=0)

    def accepted_accuracy(self, name: str | None = None) -> tuple[Counts, Counts]:
        """Return (right, acted on): of all decisions that are not abstentions, or of those decided `name`."""
        if name is None:
            right = self.outcomes[:, RIGHT].sum(axis=0)
            return right, self.accepted()
        slot = self._slot(name)
        return self.outcomes[slot, RIGHT], self.decided[slot]

    def accepted(self) -> Counts:
        """Return the weight of decisions that are not abstentions, (T, M)."""
        return self.outcomes[:, [RIGHT, SAFER, DANGEROUS]].sum(axis=(0, 1))

    def coverage(self) -> Counts:
        """Return the share of decisions that are not abstentions, (T, M); NaN only over no answers."""
        return ratio(self.accepted(), np.full(self.outcomes.shape[2:], self.total))

    def dangerous(self, name: str | None = None) -> Counts:
        """Return the weight of dangerous misroutes of items labelled `name`, or of all, (T, M)."""
        return self.outcomes[:, DANGEROUS].sum(axis=0) if name is None else self._labelled(name)[DANGEROUS]

    def over_restriction(self) -> tuple[Counts, Counts]:
        """Return (abstained or decided a higher rank; labelled) over the items whose class no gate names."""
        gated = {self._slot(name) for name in self.taxonomy.gated}
        slots = [slot for slot in range(len(self.outcomes)) if slot not in gated]
        counts = self.outcomes[slots].sum(axis=0)
        return counts[ABSTAINED] + counts[SAFER], counts.sum(axis=0)

    def gate_counts(self, gate: Gate) -> tuple[Counts, Counts]:
        """Return (successes, trials), each (T, M), of a gate that names at most one class."""
        if len(gate.classes) > 1:
            raise ValueError("gate_counts takes a gate of one class; split it with gate.each()")
        name = gate.classes[0] if gate.classes else None
        if gate.metric == "accepted_accuracy":
            return self.accepted_accuracy(name)
        assert name is not None
        return self.class_accuracy(name) if gate.metric == "class_accuracy" else self.caught(name)

    def at(self, threshold: float, margin: float) -> tuple[int, int]:
        """Return the grid indices of a point; ValueError if the grid does not hold it (to 1e-9)."""
        indices = []
        for name, grid, value in (("threshold", self.thresholds, threshold), ("margin", self.margins, margin)):
            index = np.flatnonzero(to_nano(grid) == to_nano(value))
            if not index.size:
                raise ValueError(f"{name} {value:g} is not on the grid of this sweep")
            indices.append(int(index[0]))
        return indices[0], indices[1]

    def cut(self, rows: slice | list[int], columns: slice | list[int]) -> "SweepCounts":
        """Return the counts at some grid rows (thresholds) and columns (margins)."""
        return replace(
            self,
            thresholds=self.thresholds[rows],
            margins=self.margins[columns],
            outcomes=self.outcomes[:, :, rows][:, :, :, columns],
            decided=self.decided[:, rows][:, :, columns],
        )

    def _labelled(self, name: str) -> Counts:
        return self.outcomes[self._slot(name)]

    def _slot(self, name: str) -> int:
        if name not in self.classes:
            raise ValueError(f"{name!r} was not counted by itself in this sweep; counted were {self.classes}")
        return self.classes.index(name)


def sweep(
    answers: pd.DataFrame | AnswerTable,
    taxonomy: Taxonomy | None = None,
    *,
    thresholds: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    classes: Iterable[str] | None = None,
) -> SweepCounts:
    """Count the outcomes of every decision over a grid.

    Parameters
    ----------
    answers : tidy frame, or AnswerTable
    taxonomy : Taxonomy
        Needed with a frame.
    thresholds, margins : increasing floats in [0, 1]
        By default 0.00, 0.01, ... 1.00. Use `breakpoints` for the exact values at which anything changes.
    weights : (n,) float, optional
        Weight of each answer, 1 by default.
    classes : names to count apart, optional
        By default all of them up to 100 classes, and the gated ones beyond.
    """
    plan = SweepPlan(answers, taxonomy, thresholds=thresholds, margins=margins, classes=classes)
    return plan.count(weights)


def breakpoints(answers: AnswerTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the thresholds and margins at which some decision changes, with 0 and 1: the exact grid.

    A threshold counts everything at or above it, so the decision changes just above each distinct confidence; the
    value returned for a change is the smallest threshold (in units of 1e-9) past it.
    """
    read = answers.predicted != UNREADABLE
    past = np.unique(to_nano(answers.confidence[read])) + 1
    steps = staircase(answers)
    gaps = np.unique(steps.start)
    unit = 1e-9
    thresholds = np.unique(np.concatenate([[0], past[past <= round(1 / unit)], [round(1 / unit)]]))
    margins = np.unique(np.concatenate([gaps, [round(1 / unit)]]))
    return thresholds / 1e9, margins / 1e9


class SweepPlan:
    """The steps of a table's answers, placed on a grid once so that they can be counted under many weightings.

    A bootstrap of the chosen point recounts the same steps with other weights; only the histogram and the cumulative
    sums are done again.
    """

    def __init__(
        self,
        answers: pd.DataFrame | AnswerTable,
        taxonomy: Taxonomy | None = None,
        *,
        thresholds: ArrayLike | None = None,
        margins: ArrayLike | None = None,
        classes: Iterable[str] | None = None,
    ) -> None:
        if not isinstance(answers, AnswerTable):
            if taxonomy is None:
                raise ValueError("a taxonomy is needed with a frame")
            answers = AnswerTable.from_frame(answers, taxonomy)
        self.taxonomy = answers.taxonomy
        self.size = len(answers)
        self.thresholds = _grid("thresholds", thresholds)
        self.margins = _grid("margins", margins)
        self.classes = _tracked(self.taxonomy, classes)
        self._blocks = [
            self._place(answers if self.size <= BLOCK else answers.take(slice(begin, begin + BLOCK)), begin)
            for begin in range(0, max(self.size, 1), BLOCK)
        ]

    def count(self, weights: ArrayLike | None = None) -> SweepCounts:
        """Count under `weights`, one per answer (all 1 by default)."""
        given = None if weights is None else np.asarray(weights, dtype=float)
        if given is not None and given.shape != (self.size,):
            raise ValueError(f"weights must have shape ({self.size},), got {given.shape}")
        slots, grid = len(self.classes) + 2, (len(self.thresholds) + 1, len(self.margins) + 1)
        by_outcome = np.zeros(slots * 5 * 2 * grid[0] * grid[1])
        by_decision = np.zeros(slots * 2 * grid[0] * grid[1])
        for block in self._blocks:
            weight = None if given is None else given[block.row]
            for histogram, kind in ((by_outcome, block.outcome_kind), (by_decision, block.decision_kind)):
                base = kind * (grid[0] * grid[1]) + block.below * grid[1]
                histogram += np.bincount(base + block.start, weight, len(histogram))
                histogram -= np.bincount(base + block.stop, weight, len(histogram))
        return SweepCounts(
            self.taxonomy,
            self.thresholds,
            self.margins,
            self.classes,
            _outcome_plane(by_outcome.reshape(slots, 5, 2, *grid), self._abstain_slot),
            _decision_plane(by_decision.reshape(slots, 2, *grid))[: len(self.classes)],
        )

    @property
    def _abstain_slot(self) -> int:
        """Slot of the items for which abstaining is right."""
        abstain = self.taxonomy.abstain
        return self.classes.index(abstain) if abstain in self.classes else len(self.classes) + 1

    def _place(self, table: AnswerTable, offset: int) -> "_Block":
        steps = staircase(table)
        start = np.searchsorted(to_nano(self.margins), steps.start, "left")
        stop = np.searchsorted(to_nano(self.margins), steps.stop, "left")
        held = start < stop
        row, start, stop = steps.row[held], start[held], stop[held]
        winner = steps.winner[held]
        abstain = table.abstain_code
        stays = exempt(self.taxonomy)[winner] | (winner == abstain)
        decided = with_context(table, row, winner)
        # A class that context turns into an abstention abstains on both sides of the threshold.
        moves = ~stays & (decided != abstain)
        confidence = np.where(table.predicted == UNREADABLE, 0.0, table.confidence)
        # The answer is below exactly the thresholds from this index on.
        below = np.searchsorted(to_nano(self.thresholds), to_nano(confidence), "right")[row]
        slot = self._label_slots(table)
        outcome = outcomes(table, row, decided)
        kind = (slot[table.label[row]] * 5 + outcome) * 2 + moves
        # Abstentions are not decisions of a class: they go to the last slot, which is dropped.
        decision_slot = np.where(decided == abstain, len(self.classes), slot[decided])
        return _Block(row + offset, below, start, stop, kind, decision_slot * 2 + moves)

    def _label_slots(self, table: AnswerTable) -> NDArray[np.int64]:
        slots = np.full(len(self.taxonomy.classes) + 1, len(self.classes))
        slots[table.abstain_code] = self._abstain_slot
        position = {name: index for index, name in enumerate(self.taxonomy.names)}
        for slot, name in enumerate(self.classes):
            slots[position[name]] = slot
        return slots


@dataclass(frozen=True)
class _Block:
    """Steps on the grid: the answer's row, grid indices, and the histogram each step belongs to."""

    row: NDArray[np.int64]
    below: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    outcome_kind: NDArray[np.int64]
    decision_kind: NDArray[np.int64]


def ratio(part: Counts, whole: Counts) -> Counts:
    """Divide, with NaN over nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def outcomes(table: AnswerTable, rows: NDArray[np.int64], decided: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the outcome (`RIGHT` ... `DANGEROUS`) of deciding the answers at `rows` as the codes `decided`."""
    abstain = table.abstain_code
    label = table.label[rows]
    # An item labelled with an abstain name that is no class has no rank: acting on it is never safe.
    rank = np.append(_rank_positions(table.taxonomy), np.iinfo(np.int64).max)
    outcome = np.where(rank[decided] > rank[label], SAFER, DANGEROUS)
    outcome[label == decided] = RIGHT
    abstained = decided == abstain
    outcome[abstained] = np.where(label[abstained] == abstain, RIGHT_ABSTAINED, ABSTAINED)
    return outcome


def _rank_positions(taxonomy: Taxonomy) -> NDArray[np.int64]:
    """Position of each class's rank, higher is safer."""
    return np.unique(np.array([one.rank for one in taxonomy.classes], dtype=object), return_inverse=True)[1]


def _outcome_plane(histogram: Counts, abstain_slot: int) -> Counts:
    """Turn (label, outcome, moves, below, margin) step counts into (label, outcome, threshold, margin)."""
    over_margin = histogram.cumsum(axis=-1)[..., :-1]
    plane = np.repeat(over_margin[:, :, 0].sum(axis=2, keepdims=True), histogram.shape[3] - 1, axis=2)
    moving = over_margin[:, :, 1]
    running = moving.cumsum(axis=2)
    plane += running[:, :, -1:] - running[:, :, :-1]
    fallen = running[:, :, :-1].sum(axis=1)
    plane[:abstain_slot, ABSTAINED] += fallen[:abstain_slot]
    plane[abstain_slot + 1 :, ABSTAINED] += fallen[abstain_slot + 1 :]
    plane[abstain_slot, RIGHT_ABSTAINED] += fallen[abstain_slot]
    return plane


def _decision_plane(histogram: Counts) -> Counts:
    """Turn (decision, moves, below, margin) step counts into (decision, threshold, margin) of those acted on."""
    over_margin = histogram.cumsum(axis=-1)[..., :-1]
    running = over_margin[:, 1].cumsum(axis=1)
    return over_margin[:, 0].sum(axis=1, keepdims=True) + (running[:, -1:] - running[:, :-1])


def _tracked(taxonomy: Taxonomy, classes: Iterable[str] | None) -> tuple[str, ...]:
    if classes is None:
        return taxonomy.names if len(taxonomy.classes) <= MAX_TRACKED else taxonomy.gated
    named = tuple(classes)
    for name in named:
        if name not in taxonomy:
            raise ValueError(f"classes: {name!r} is not a class of the taxonomy")
    return named


def _grid(name: str, values: ArrayLike | None) -> NDArray[np.float64]:
    grid = np.linspace(0, 1, 101).round(2) if values is None else np.atleast_1d(np.asarray(values, dtype=float))
    if grid.ndim != 1 or not grid.size or not ((grid >= 0) & (grid <= 1)).all() or (np.diff(grid) <= 0).any():
        raise ValueError(f"{name} must be increasing numbers in [0, 1]")
    return grid
