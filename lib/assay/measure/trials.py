"""Which answers a gate counts, and which of them succeed by its metric."""

import numpy as np
from numpy.typing import NDArray

from assay.measure.sweep import ABSTAINED, DANGEROUS, RIGHT, RIGHT_ABSTAINED
from assay.measure.table import AnswerTable
from assay.rules import Gate


def gate_trials(
    gate: Gate, table: AnswerTable, decided: NDArray[np.int32], outcome: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Take a gate of at most one class answer by answer.

    Parameters
    ----------
    gate : Gate
    table : AnswerTable
    decided, outcome : (n,) int
        Decision codes, and the outcomes of those decisions as `assay.measure.sweep.outcomes` gives them.

    Returns
    -------
    succeeds, counts : (n,) bool
        `succeeds` means nothing where `counts` is false.
    """
    code = table.taxonomy.names.index(gate.classes[0]) if gate.classes else None
    if gate.metric == "accepted_accuracy":
        acted = ~np.isin(outcome, (ABSTAINED, RIGHT_ABSTAINED))
        return outcome == RIGHT, acted if code is None else acted & (decided == code)
    succeeds = np.isin(outcome, (RIGHT, RIGHT_ABSTAINED)) if gate.metric == "class_accuracy" else outcome != DANGEROUS
    return succeeds, table.label == code
