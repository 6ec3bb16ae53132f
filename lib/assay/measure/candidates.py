"""The grid of candidate policies, placed over a table of answers so that it can be counted under any weights."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from assay.measure.sweep import SweepPlan
from assay.measure.table import AnswerTable
from assay.rules import Gate

USUAL_MARGIN = 0.10
"""The tie margin where no answer names an alternative, which leaves the tie rule nothing to work on."""


def candidate_plan(
    table: AnswerTable,
    gates: Sequence[Gate],
    thresholds: ArrayLike | None = None,
    margins: ArrayLike | None = None,
) -> SweepPlan:
    """Place the candidates.

    Parameters
    ----------
    table : AnswerTable
    gates : sequence of Gate
        Only the classes that they name are counted apart.
    thresholds, margins : increasing floats in [0, 1], optional
        Hundredths from 0 to 1 by default; where no answer names an alternative, the margin is 0.10 alone.
    """
    if margins is None and not table.alternative_code.size:
        margins = [USUAL_MARGIN]
    named = {name for gate in gates for name in gate.classes}
    classes = tuple(name for name in table.taxonomy.names if name in named)
    return SweepPlan(table, thresholds=thresholds, margins=margins, classes=classes)
