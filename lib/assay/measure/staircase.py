"""The tie rule for every margin at once.

As the tie margin grows, more classes tie for the lead, and the winner changes only at the gaps between an answer's
own confidences. So the winner as a function of the margin is a staircase of at most one step per contender (and one
per pair that shares a rank). Computing the steps once makes every later question about margins exact and cheap.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.measure.table import UNREADABLE, AnswerTable, to_nano
from assay.rules.decimals import NANO

NEVER = NANO + 1
"""A gap (in units of 1e-9) that no margin in [0, 1] reaches."""

_GAP_BITS = 30
_CODE_BITS = 20


@dataclass(frozen=True)
class Staircase:
    """For each step: from which margin to which margin an answer's tie rule gives which class.

    Attributes
    ----------
    row : (s,) int64
        The answer. Every answer's steps cover [0, NEVER) without overlap; their order is not specified.
    start, stop : (s,) int64
        The step holds for margins m with ``start <= nano(m) < stop``.
    winner : (s,) int32
        Decision code after the tie rule: a class, or the abstain code.
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    winner: NDArray[np.int32]


def staircase(table: AnswerTable) -> Staircase:
    """Compute the steps of every answer of `table`; an unreadable one abstains at every margin."""
    unreadable = table.predicted == UNREADABLE
    width = np.diff(table.alternative_start)
    pieces = []
    plain = np.flatnonzero((width == 0) | unreadable)
    winner = np.where(unreadable[plain], table.abstain_code, table.predicted[plain]).astype(np.int32)
    pieces.append(Staircase(plain, np.zeros(len(plain), np.int64), np.full(len(plain), NEVER), winner))
    # Rows of similar width are padded together, so that one very wide answer costs only itself.
    group = np.where((width == 0) | unreadable, 0, np.ceil(np.log2(np.maximum(width, 1))).astype(int) + 1)
    for size in np.unique(group[group > 0]):
        pieces.append(_steps(table, np.flatnonzero(group == size)))
    return Staircase(
        *(np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("row", "start", "stop", "winner"))
    )


def _steps(table: AnswerTable, rows: NDArray[np.int64]) -> Staircase:
    """Steps of answers that have alternatives.

    The winner at margin m is the class of the highest rank with a gap of at most m, or abstaining when two of that
    rank are within m. Sorted by rank downward and gap upward, each contender therefore wins from its gap until the
    first of a higher rank ties, or until a second of its own rank does.
    """
    codes, confidences = _contenders(table, rows)
    # Absent contenders lie more than 1 below the lead, so that no margin reaches them.
    gap = np.minimum(to_nano(confidences.max(axis=0) - confidences), NEVER)
    order = _rank_order(table)
    key = (order[codes] << (_GAP_BITS + _CODE_BITS)) | (gap << _CODE_BITS) | codes
    key.sort(axis=0)
    code = (key & ((1 << _CODE_BITS) - 1)).astype(np.int32)
    gap = (key >> _CODE_BITS) & ((1 << _GAP_BITS) - 1)
    rank = key >> (_GAP_BITS + _CODE_BITS)
    predicted = table.predicted[rows]
    loosens = table.taxonomy.never_loosen and (predicted < len(table.taxonomy.classes))
    own_rank = order[np.minimum(predicted, len(order) - 1)]

    pieces = []
    ceiling = np.full(len(rows), NEVER)  # the smallest gap among the ranks above the present one
    lowest = ceiling  # the smallest gap within the present rank
    first = np.ones(len(rows), dtype=bool)
    for place in range(len(key)):
        was_first, first = first, np.ones(len(rows), dtype=bool) if place == 0 else rank[place] != rank[place - 1]
        ceiling = np.where(first, np.minimum(ceiling, lowest), ceiling)
        lowest = np.where(first, gap[place], lowest)
        stop, winner, wins = ceiling, code[place], first
        if place + 1 < len(key):
            stop = np.where(first & (rank[place + 1] == rank[place]), np.minimum(stop, gap[place + 1]), stop)
        if not first.all():
            second = ~first & was_first
            winner = np.where(second, table.abstain_code, winner)
            wins = first | second
        if table.taxonomy.never_loosen:
            winner = np.where(loosens & (rank[place] > own_rank), predicted, winner)
        held = np.flatnonzero(wins & (gap[place] < stop))
        pieces.append((rows[held], gap[place][held], stop[held], winner[held].astype(np.int32)))
    return Staircase(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


def _contenders(table: AnswerTable, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Codes and confidences of each row's contenders, (most of them, rows), the chosen class first, absent at -2."""
    begin = table.alternative_start[rows]
    count = table.alternative_start[rows + 1] - begin
    width = int(count.max())
    codes = np.zeros((width + 1, len(rows)), dtype=np.int64)
    confidences = np.full((width + 1, len(rows)), -2.0)
    chosen = table.predicted[rows].astype(np.int64)
    own = table.confidence[rows].copy()
    for place in range(width):
        present = slice(None) if (count > place).all() else np.flatnonzero(count > place)
        source = begin[present] + place
        codes[place + 1, present] = table.alternative_code[source]
        confidences[place + 1, present] = table.alternative_confidence[source]
        # A choice listed again among the alternatives is one contender, at the larger of its two confidences.
        again = codes[place + 1] == chosen
        if again.any():
            own = np.where(again, np.maximum(own, confidences[place + 1]), own)
            confidences[place + 1, again] = -2.0
    is_class = chosen < len(table.taxonomy.classes)
    codes[0] = np.where(is_class, chosen, 0)
    confidences[0] = np.where(is_class, own, -2.0)
    return codes, confidences


def _rank_order(table: AnswerTable) -> NDArray[np.int64]:
    """Position of each class's rank, 0 for the most restrictive."""
    ranks = np.array([one.rank for one in table.taxonomy.classes], dtype=object)
    _, position = np.unique(-ranks, return_inverse=True)
    return position.astype(np.int64)
