import numpy as np
import pandas as pd
import pytest

from assay.measure.decide import decide_table
from assay.measure.figures import figures_of
from assay.measure.operating import (
    ALONG,
    best_point,
    figures_along,
    gate_name,
    named_figures,
    single_gates,
    worst_slack,
)
from assay.measure.sweep import sweep
from assay.measure.table import AnswerTable
from assay.rules import Gate, LabelClass, Taxonomy

CAUGHT = Gate("caught", ("high",), target=0.9)
TAXONOMY = Taxonomy((LabelClass("low", 0), LabelClass("high", 1)), "ask", gates=(CAUGHT,))


def frame(rows):
    columns = ["label", "predicted", "confidence", "alternatives"]
    return pd.DataFrame(rows, columns=columns)


def test_the_best_point_has_the_most_coverage_among_those_that_meet_every_gate():
    answers = frame([("high", "low", 0.6, None), ("high", "high", 0.9, None), ("low", "low", 0.8, None)])
    point = best_point(sweep(answers, TAXONOMY), TAXONOMY.gates)
    assert (point.how, point.threshold, point.tie_margin) == ("meets", 0.61, 0.0)


def test_at_equal_coverage_the_point_that_decides_more_right_is_taken():
    # A margin of 1 sends everything to the safest class: full coverage, and of no use.
    rows = [("high", "low", 0.55, {"high": 0.45}), *[("low", "low", 0.9, {"high": 0.1})] * 5]
    point = best_point(sweep(frame(rows), TAXONOMY), TAXONOMY.gates)
    assert (point.threshold, point.tie_margin) == (0.0, 0.1)


def test_where_no_point_meets_the_gates_the_closest_is_taken_and_said_so():
    rows = [("high", "low", 1.0, None), ("high", "high", 0.5, None)]
    point = best_point(sweep(frame(rows), TAXONOMY), [Gate("class_accuracy", ("high",))])
    assert point.how == "closest"
    nothing = best_point(sweep(frame([("low", "low", 0.5, None)]), TAXONOMY), TAXONOMY.gates)
    assert nothing.how == "nothing"


def test_a_share_of_exactly_the_target_meets_it():
    rows = [("high", "high", 1.0, None)] * 9 + [("high", "low", 1.0, None)]
    assert worst_slack(sweep(frame(rows), TAXONOMY), [CAUGHT]).max() == 0


@pytest.mark.parametrize("by", ["threshold", "tie_margin"])
def test_the_quick_way_along_a_line_gives_what_point_by_point_gives(by):
    rng = np.random.default_rng(5)
    taxonomy = Taxonomy(
        tuple(LabelClass(name, rank) for rank, name in enumerate("abcd")),
        "ask",
        gates=(Gate("caught", ("c", "d")), Gate("accepted_accuracy"), Gate("accepted_accuracy", ("b",))),
    )
    single = AnswerTable.from_scores(rng.integers(0, 4, 60), rng.dirichlet(np.ones(4), 60).round(2), taxonomy)
    grid = np.linspace(0, 1, 11).round(2)
    points = [(float(value), 0.1) if by == "threshold" else (0.5, float(value)) for value in grid]
    quick = figures_along(single, taxonomy, points, taxonomy.gates)
    slow = pd.concat([_slowly(single, taxonomy, [point]) for point in points])
    both = quick.merge(slow, on=["threshold", "tie_margin", "figure"], suffixes=("", "_slow"))
    assert len(both) == len(quick) == len(slow)
    for name in ("estimate", "low", "high", "answers"):
        np.testing.assert_allclose(both[name], both[f"{name}_slow"], atol=1e-12)
    assert {gate_name(gate) for gate in taxonomy.gates[1:]} <= set(quick["figure"])


def _slowly(table, taxonomy, points):
    gates = single_gates(taxonomy.gates)
    rows = []
    for threshold, margin in points:
        figures = figures_of(table, decide_table(table, threshold, margin), threshold, margin)
        for name, one in named_figures(figures, gates).items():
            rows.append((threshold, margin, name, one.estimate, one.low, one.high, one.n))
    return pd.DataFrame(rows, columns=ALONG)
