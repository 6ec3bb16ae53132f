import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.measure.comparison import compare
from assay.measure.over_runs import over_runs
from assay.study import load_study


def runs(**right) -> pd.DataFrame:
    """Frame of variants by name, each an (items, runs) array of outcomes."""
    parts = []
    for name, outcomes in right.items():
        items, count = outcomes.shape
        ids = np.repeat([f"q{item}" for item in range(items)], count)
        run = np.tile(np.arange(count) + 1, items)
        parts.append(pd.DataFrame({"item_id": ids, "run": run, "correct": outcomes.ravel(), "prompt": name}))
    return pd.concat(parts, ignore_index=True)


def only(frame):
    (found,) = over_runs(frame, compare(frame, metrics=["accuracy"]))
    return found


def test_one_item_that_differs_in_every_run_looks_certain_over_runs():
    a = np.ones((50, 10), dtype=bool)
    b = a.copy()
    b[0] = False
    found = only(runs(a=a, b=b))
    assert (found.runs, found.a_ahead, found.b_ahead) == (10, 10, 0)
    assert found.p_value == pytest.approx(2 / 2**10)
    assert found.effect == 1.0
    assert found.steady == 1.0


def test_the_p_value_is_that_of_wilcoxons_exact_test():
    rng = np.random.default_rng(1)
    a, b = (rng.random((200, 8)) < share for share in (0.75, 0.70))
    difference = a.mean(axis=0) - b.mean(axis=0)
    assert len(np.unique(np.abs(difference).round(9))) == 8, "with ties scipy gives no exact value"
    assert only(runs(a=a, b=b)).p_value == pytest.approx(stats.wilcoxon(difference, method="exact").pvalue)


def test_more_runs_than_can_be_listed_are_sampled():
    a = np.ones((50, 18), dtype=bool)
    b = a.copy()
    b[0] = False
    assert only(runs(a=a, b=b)).p_value < 0.001


def test_runs_that_never_differ_give_one():
    a = np.ones((5, 4), dtype=bool)
    found = only(runs(a=a, b=a))
    assert (found.p_value, found.effect) == (1.0, 0.0)


def test_items_whose_runs_disagree_are_not_steady():
    a = np.ones((4, 3), dtype=bool)
    b = a.copy()
    b[0, 0] = False
    assert only(runs(a=a, b=b)).steady == 0.75


def test_without_two_shared_runs_there_is_nothing_to_show():
    one = runs(a=np.ones((5, 1), dtype=bool), b=np.ones((5, 1), dtype=bool))
    comparison = compare(one)
    assert over_runs(one, comparison) == ()
    assert over_runs(one.drop(columns="run"), comparison) == ()


def test_the_published_claim_about_the_claims_is_reproduced():
    study = load_study("ci_claims").select(model="claude-haiku-4-5-20251001", prompt=["L1", "L5"])
    found = only(study.answers)
    assert (found.a_ahead, found.runs) == (10, 10)
    assert found.p_value == pytest.approx(0.002, abs=5e-4)
    assert found.effect == 1.0
