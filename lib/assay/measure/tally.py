"""Answers counted part by part: the sweep, the cells of calibration and the items, all of which add up.

More answers than fit in memory are counted a batch at a time, here or on many machines, and the counts are added. They
are whole numbers, so the sum does not depend on how the answers were parted, and every figure read off it is the one
that the answers in one piece would give. A sweep is of fixed size; cells are one per distinct confidence and outcome:
a few hundred where models write hundredths, 24 bytes for each confidence where they are continuous. Confidences are
never rounded unless that is asked for.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.cells import Cells, sum_cells
from assay.measure.sweep import SweepCounts, sweep
from assay.measure.table import UNREADABLE, AnswerTable

MOST_DISTINCT: Final = 50_000_000
"""Distinct confidences that are kept apart; more do not fit in the memory of an ordinary machine."""

_WORTH_MERGING = 1 << 20

ItemCodes = NDArray[np.uint64]
Counted = TypeVar("Counted", Cells, ItemCodes)


class TallyError(ValueError):
    """There is too much to be counted exactly."""


@dataclass(frozen=True)
class Tally:
    """Counts of some answers.

    Attributes
    ----------
    sweep : SweepCounts
    cells : Cells
        Of the readable answers.
    unreadable, unlabelled : int
        Answers that could not be read (abstentions in the sweep, in no cell) and those without a label (in neither).
    items : (k,) uint64 or None
        Distinct items as sorted 64-bit hashes of their ids; None where answers have none and each is an item. Two ids
        share a hash in one of some 400,000 collections of ten million, which would make items seem to repeat.
    """

    sweep: SweepCounts
    cells: Cells
    unreadable: int
    unlabelled: int
    items: ItemCodes | None

    @property
    def answers(self) -> int:
        """Labelled answers."""
        return self.cells.n + self.unreadable

    @property
    def repeated(self) -> bool:
        """Whether some item has several answers."""
        return self.items is not None and len(self.items) < self.answers


def tally(
    table: AnswerTable,
    *,
    thresholds: NDArray[np.float64] | None = None,
    unlabelled: int = 0,
    item_id: pd.Series | None = None,
    decimals: int | None = None,
) -> Tally:
    """Count the answers of one table.

    Parameters
    ----------
    table : AnswerTable
    thresholds : increasing floats in [0, 1], optional
        Of the sweep; see `assay.measure.sweep.sweep`.
    unlabelled : int
        Answers that were left out of the table.
    item_id : Series of str, optional
        Ids of the items, one per answer.
    decimals : int, optional
        Round confidences for the cells (never for decisions) to so many decimals; by default they are kept as they are.
    """
    readable = table.predicted != UNREADABLE
    confidence = table.confidence[readable]
    if decimals is not None:
        confidence = confidence.round(decimals)
    items = None
    if item_id is not None:
        items = _distinct([pd.util.hash_pandas_object(item_id, index=False).to_numpy().astype(np.uint64)])
    return Tally(
        sweep(table, thresholds=thresholds),
        Cells.of(confidence, table.correct[readable]),
        int((~readable).sum()),
        unlabelled,
        items,
    )


def sum_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add up tallies as they come, of which there must be one.

    What has come is merged whenever it has doubled, so that time stays linear and memory in proportion to the result.

    Raises
    ------
    TallyError
        There are more than `MOST_DISTINCT` distinct confidences.
    ValueError
        The tallies are of different taxonomies or grids, or there is none.
    """
    total: SweepCounts | None = None
    cells: _Merged[Cells] = _Merged(sum_cells)
    items: _Merged[ItemCodes] = _Merged(_distinct)
    unreadable = unlabelled = 0
    identified = True
    for one in tallies:
        total = one.sweep if total is None else total + one.sweep
        unreadable, unlabelled = unreadable + one.unreadable, unlabelled + one.unlabelled
        cells.add(one.cells)
        if cells.size > MOST_DISTINCT and len(cells.total()) > MOST_DISTINCT:
            raise TallyError(
                f"more than {MOST_DISTINCT:,} distinct confidences cannot be kept apart; "
                "--decimals 6 rounds them for calibration, which the result then says"
            )
        identified &= one.items is not None
        if one.items is not None:
            items.add(one.items)
    if total is None:
        raise ValueError("there is nothing to add up")
    return Tally(total, cells.total(), unreadable, unlabelled, items.total() if identified else None)


class _Merged(Generic[Counted]):
    """Counts kept as one merged piece and the new ones, which are merged into it when they outgrow it."""

    def __init__(self, merge: Callable[[list[Counted]], Counted]) -> None:
        self._merge: Callable[[list[Counted]], Counted] = merge
        self._pieces: list[Counted] = []
        self._new = 0

    def add(self, piece: Counted) -> None:
        self._pieces.append(piece)
        self._new += len(piece)
        if self._new > max(_WORTH_MERGING, self.size - self._new):
            self.total()

    @property
    def size(self) -> int:
        """Entries held, at least as many as are distinct, and after `total` exactly so many."""
        return sum(map(len, self._pieces))

    def total(self) -> Counted:
        if len(self._pieces) != 1:
            self._pieces = [self._merge(self._pieces)]
        self._new = 0
        return self._pieces[0]


def _distinct(pieces: list[ItemCodes]) -> ItemCodes:
    """Return what occurs in any piece, sorted; by a sort in place, since the table of a hash would be larger than all."""
    values = np.concatenate(pieces or [np.empty(0, np.uint64)])
    values.sort(kind="stable")
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = values[1:] != values[:-1]
    return values if new.all() else values[new]
