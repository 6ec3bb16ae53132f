import pandas as pd
import pytest

from assay.measure.mix import mix_of
from assay.measure.sweep import sweep
from assay.rules import LabelClass, Taxonomy
from assay.study import Costs

TAXONOMY = Taxonomy((LabelClass("low", 0), LabelClass("high", 1)), "ask")
ROWS = [("low", "low", 0.9)] * 6 + [("low", "high", 0.9)] * 2 + [("high", "high", 0.9)] + [("high", "low", 0.9)]
COUNTS = sweep(pd.DataFrame(ROWS, columns=["label", "predicted", "confidence"]), TAXONOMY)
COSTS = Costs(misroute=100.0, abstention=5.0, over_restriction=1.0)


def test_without_a_prevalence_the_mix_is_that_of_the_answers():
    mix = mix_of(COUNTS, 0.5, 0.0)
    assert mix.coverage == 1.0
    assert mix.accepted_accuracy == pytest.approx(0.7)
    assert mix.cost is None


def test_a_prevalence_weighs_each_class_by_its_share():
    mix = mix_of(COUNTS, 0.5, 0.0, {"low": 0.99, "high": 0.01})
    assert mix.accepted_accuracy == pytest.approx(0.99 * 0.75 + 0.01 * 0.5)


def test_costs_follow_misroutes_abstentions_and_needless_restriction():
    acting = mix_of(COUNTS, 0.5, 0.0, {"low": 0.5, "high": 0.5}, COSTS)
    assert acting.cost == pytest.approx(0.5 * 0.25 * 1 + 0.5 * 0.5 * 100)
    abstaining = mix_of(COUNTS, 1.0, 0.0, None, COSTS)
    assert (abstaining.coverage, abstaining.accepted_accuracy, abstaining.cost) == (0.0, None, 5.0)


def test_a_class_without_items_is_left_out_and_one_not_counted_is_refused():
    only_low = sweep(pd.DataFrame(ROWS[:8], columns=["label", "predicted", "confidence"]), TAXONOMY)
    assert mix_of(only_low, 0.5, 0.0, {"low": 0.1, "high": 0.9}).accepted_accuracy == pytest.approx(0.75)
    with pytest.raises(ValueError, match="'medium'"):
        mix_of(COUNTS, 0.5, 0.0, {"medium": 1.0})


def test_class_figures_do_not_depend_on_the_mix():
    # The gates' figures come from the counts, which no prevalence touches.
    before = COUNTS.class_accuracy("high")[0].copy()
    mix_of(COUNTS, 0.5, 0.0, {"low": 0.99, "high": 0.01}, COSTS)
    assert (COUNTS.class_accuracy("high")[0] == before).all()
