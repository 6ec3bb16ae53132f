"""Which items may choose a prompt, a model or a map: the tuning part, unless there is nothing to be kept for later.

Whatever is chosen on items cannot be certified on them. So a choice sees the tuning part alone, except where no
certificate is within reach: then keeping half of the items back would buy nothing, and all of them are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.measure.candidates import candidate_plan
from assay.measure.fixed_sequence import largest_p_value
from assay.measure.operating import single_gates
from assay.measure.planning import fewest_labels
from assay.measure.table import AnswerTable
from assay.measure.units import first_answers
from assay.rules import Gate, Taxonomy
from assay.study.parts import CERTIFICATION, TUNING
from assay.study.series import each_series

if TYPE_CHECKING:
    from assay.study.study import Study

ALL = "all"


@dataclass(frozen=True)
class Selection:
    """The items that a choice sees.

    Attributes
    ----------
    part : {"tuning", "certification", "all"}
    reason : str
        A sentence on what that means for a certificate.
    """

    part: str
    reason: str


def items_for_choosing(study: Study, asked: str = TUNING) -> Selection:
    """Decide which part of a study a choice is made on.

    Parameters
    ----------
    study : Study
        Of both parts.
    asked : {"tuning", "certification", "all"}

    Returns
    -------
    Selection
        The part asked for; but all items in place of the tuning part where no series has a certificate within reach:
        there is no gate, a gated class has too few labels to pass even without a miss, or no candidate policy passes
        its gates even on the tuning part, where the best of all may be picked. The certification part's answers are
        not looked at for this.
    """
    if asked == CERTIFICATION:
        return Selection(asked, "Chosen on the certification part: no certificate can be given on it afterwards.")
    if asked == ALL:
        return Selection(
            asked, "Chosen on all items: none are left to certify on, and a certificate on them is refused."
        )
    parts = study.parts()
    gates = single_gates(study.taxonomy.gates)
    why = "the study has no gate" if not gates else _shortage(study, gates, parts)
    if not why and not any(_in_reach(one.answers, study.taxonomy, gates, parts) for one in each_series(study)):
        why = "no policy passes its gates even on the tuning part"
    if why:
        return Selection(ALL, f"Chosen on all items, since no certificate is within reach that could be spoilt: {why}.")
    return Selection(TUNING, "Chosen on the tuning part alone; the certification part is left for a certificate.")


def _shortage(study: Study, gates: tuple[Gate, ...], parts: pd.Series) -> str:
    """Say which gate has too few labels in the certification part; empty where all have enough."""
    certifying = study.items.loc[(parts == CERTIFICATION).to_numpy(), "label"]
    for gate in gates:
        held = int((certifying == gate.classes[0]).sum()) if gate.classes else len(certifying)
        needed = fewest_labels(gate.target, gate.delta)
        if held < needed:
            of = f" of {gate.classes[0]}" if gate.classes else ""
            return f"{gate} needs {needed:,} labels{of} to certify on, and {held:,} are held"
    return ""


def _in_reach(answers: pd.DataFrame, taxonomy: Taxonomy, gates: tuple[Gate, ...], parts: pd.Series) -> bool:
    """Whether some candidate passes every gate on the tuning part."""
    first = first_answers(answers)
    tuning = first[(first["item_id"].map(parts) == TUNING).to_numpy()]
    if tuning.empty:
        return False
    counts = candidate_plan(AnswerTable.from_frame(tuning, taxonomy), gates, None, None).count()
    # What acts on nothing keeps many a gate and is no policy.
    passes = largest_p_value(counts, gates) <= min(gate.delta for gate in gates)
    return bool(np.any(passes & (counts.accepted() > 0)))
