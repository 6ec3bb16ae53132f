"""The safety rules for a whole table of answers at one threshold and one tie margin.

The result is the one that `assay.rules.apply_safety_rules` gives for every answer; a property test holds the two
together.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.staircase import Staircase, staircase
from assay.measure.table import UNREADABLE, AnswerTable, decision_names, to_nano
from assay.rules import Taxonomy, nano
from assay.rules.safety import MISSING_CONTEXT, REASONS, THRESHOLD, TIE

UNREADABLE_REASON = "unreadable"
"""Reason given for the abstention of an answer that could not be read, to which the rules never apply."""


@dataclass(frozen=True)
class Decisions:
    """Decisions for the answers of one table.

    Attributes
    ----------
    code : (n,) int32
        Decision codes: position in ``decision_names(taxonomy)``.
    fired : dict of str to (n,) bool
        For each reason, the answers in which that rule fired.
    """

    code: NDArray[np.int32]
    fired: dict[str, NDArray[np.bool_]]


def decide(frame: pd.DataFrame, taxonomy: Taxonomy, threshold: float, tie_margin: float = 0.10) -> pd.DataFrame:
    """Apply the safety rules to every row of a tidy frame.

    Parameters
    ----------
    frame : DataFrame
        As `AnswerTable.from_frame` reads it.
    taxonomy : Taxonomy
    threshold, tie_margin : float in [0, 1]

    Returns
    -------
    DataFrame
        Columns ``decision`` (str) and ``reasons`` (tuple of str, in the order in which the rules fire), with the index
        of `frame`. An unreadable answer abstains with the single reason ``unreadable``.
    """
    decisions = decide_table(AnswerTable.from_frame(frame, taxonomy), threshold, tie_margin)
    names = np.array(decision_names(taxonomy), dtype=object)
    reasons = [UNREADABLE_REASON, *REASONS]
    bits = np.zeros(len(frame), dtype=int)
    for position, reason in enumerate(reasons):
        bits |= decisions.fired[reason].astype(int) << position
    spelled = [
        tuple(reason for position, reason in enumerate(reasons) if pattern >> position & 1)
        for pattern in range(2 ** len(reasons))
    ]
    return pd.DataFrame(
        {"decision": names[decisions.code], "reasons": [spelled[pattern] for pattern in bits]}, index=frame.index
    )


def decide_table(table: AnswerTable, threshold: float, tie_margin: float, steps: Staircase | None = None) -> Decisions:
    """Apply the safety rules to every answer of `table`; pass its `steps` to save computing them again."""
    require_share("threshold", threshold)
    require_share("tie_margin", tie_margin)
    steps = staircase(table) if steps is None else steps
    margin = nano(tie_margin)
    held = (steps.start <= margin) & (margin < steps.stop)
    code = np.empty(len(table), dtype=np.int32)
    code[steps.row[held]] = steps.winner[held]
    unreadable = table.predicted == UNREADABLE
    fired = {UNREADABLE_REASON: unreadable, TIE: (code != table.predicted) & ~unreadable}
    own = to_nano(np.where(unreadable, 1.0, table.confidence))
    fired[THRESHOLD] = (own < nano(threshold)) & ~unreadable & ~exempt(table.taxonomy)[code]
    code[fired[THRESHOLD]] = table.abstain_code
    rows = np.arange(len(table))
    before = code
    code = with_context(table, rows, code)
    fired[MISSING_CONTEXT] = lacks_context(table, rows, before) & ~unreadable
    return Decisions(code, fired)


def exempt(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Return per decision code whether the threshold leaves it alone."""
    return np.array([name in taxonomy.threshold_exempt for name in decision_names(taxonomy)])


def lacks_context(table: AnswerTable, rows: NDArray[np.int64], code: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell where a context rule of the class `code` fires for the answer at `rows`."""
    fires = np.zeros(len(code), dtype=bool)
    names = decision_names(table.taxonomy)
    for column, rule in enumerate(table.taxonomy.context):
        fires |= (code == names.index(rule.label)) & table.missing[rows, column]
    return fires


def with_context(table: AnswerTable, rows: NDArray[np.int64], code: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return `code` with the context rules applied to the answers at `rows`."""
    if not table.taxonomy.context or not table.missing.any():
        return code
    return np.where(lacks_context(table, rows, code), table.abstain_code, code).astype(np.int32)


def require_share(name: str, value: float) -> None:
    """Raise ValueError unless `value` lies in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
