import numpy as np
import pandas as pd
import pytest

from assay.measure.decide import decide_table
from assay.measure.sweep import outcomes, sweep
from assay.measure.table import AnswerTable
from assay.measure.trials import gate_trials
from assay.rules import Gate, LabelClass, Taxonomy

PLANT = Taxonomy(
    tuple(
        LabelClass(name, rank)
        for rank, name in enumerate(("historical", "reference", "unclear", "procedural", "advisory"))
    ),
    "unclear",
    threshold_exempt=("procedural",),
)
GATES = [
    Gate(metric, (name,)) for metric in ("class_accuracy", "caught", "accepted_accuracy") for name in PLANT.names
] + [Gate("accepted_accuracy", ())]


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_a_gate_counts_answer_by_answer_what_the_sweep_counts_in_sum(gate):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"label": rng.choice(PLANT.names, 300), "predicted": rng.choice(PLANT.names, 300)})
    frame["confidence"] = rng.random(300).round(2)
    frame["alternatives"] = [{name: 0.5} for name in rng.choice(PLANT.names, 300)]
    frame.loc[:20, "predicted"] = None
    table = AnswerTable.from_frame(frame, PLANT)
    for threshold, margin in ((0.0, 0.0), (0.4, 0.1), (0.9, 0.3)):
        code = decide_table(table, threshold, margin).code
        succeeds, counts = gate_trials(gate, table, code, outcomes(table, np.arange(300), code))
        swept = sweep(table, thresholds=[threshold], margins=[margin]).gate_counts(gate)
        assert ((succeeds & counts).sum(), counts.sum()) == (swept[0][0, 0], swept[1][0, 0])
