"""Counts that add up: parts give what the whole gives, number for number."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measure.cells import Cells, sum_cells
from assay.measure.ece import ece
from assay.measure.figures import decision_figures
from assay.measure.judged import Judged
from assay.measure.ranking import auroc
from assay.measure.scores import brier, log_loss
from assay.measure.smooth import smooth_ece
from assay.measure.table import AnswerTable
from assay.measure.tally import Tally, TallyError, sum_tallies, tally
from assay.measure.tally_figures import tally_figures
from assay.rules import Gate, LabelClass, Taxonomy

TAXONOMY = Taxonomy(
    tuple(LabelClass(name, rank) for rank, name in enumerate("abc")), "abstain", gates=(Gate("caught", ("c",)),)
)


def made(rows: int, seed: int = 0, *, continuous: bool = True, items: int | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    confidence = rng.random(rows)
    confidence = confidence if continuous else confidence.round(1)
    confidence[rng.random(rows) < 0.05] = np.nan
    names = np.array(["a", "b", "c"], dtype=object)
    codes = np.arange(rows) if items is None else rng.integers(0, items, rows)
    return pd.DataFrame(
        {
            "item_id": pd.Series(codes).astype("str"),
            "label": names[rng.integers(0, 3, rows)],
            "predicted": names[rng.integers(0, 3, rows)],
            "confidence": confidence,
            "alternatives": [{"c": float(share)} for share in rng.random(rows).round(2)],
        }
    )


def tallied(frame: pd.DataFrame) -> Tally:
    return tally(AnswerTable.from_frame(frame.reset_index(drop=True), TAXONOMY), item_id=frame["item_id"])


def assert_equal(one: Tally, other: Tally) -> None:
    assert np.array_equal(one.sweep.outcomes, other.sweep.outcomes)
    assert np.array_equal(one.sweep.decided, other.sweep.decided)
    for name in ("confidence", "right", "wrong"):
        assert np.array_equal(getattr(one.cells, name), getattr(other.cells, name))
    assert (one.unreadable, one.unlabelled) == (other.unreadable, other.unlabelled)
    assert one.items is not None
    assert other.items is not None
    assert np.array_equal(one.items, other.items)


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 300), max_size=6),
    continuous=st.booleans(),
    items=st.sampled_from([None, 40]),
    seed=st.integers(0, 5),
)
def test_parts_add_up_to_the_whole_however_they_are_cut(cuts, continuous, items, seed):
    frame = made(300, seed, continuous=continuous, items=items)
    edges = [0, *sorted(cuts), 300]
    parts = [frame.iloc[begin:end] for begin, end in pairwise(edges)]
    assert_equal(sum_tallies(tallied(part) for part in parts), tallied(frame))


def test_merging_early_changes_nothing(monkeypatch):
    frames = [made(200, seed) for seed in range(20)]
    late = sum_tallies(map(tallied, frames))
    monkeypatch.setattr("assay.measure.tally._WORTH_MERGING", 10)
    assert_equal(sum_tallies(map(tallied, frames)), late)


@given(st.lists(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=8), max_size=5))
def test_cells_of_parts_are_those_of_the_whole(parts):
    def cells(answers):
        return Cells.of(np.array([one for one, _ in answers]), np.array([right for _, right in answers], dtype=bool))

    added, whole = sum_cells([cells(part) for part in parts]), cells([one for part in parts for one in part])
    for name in ("confidence", "right", "wrong"):
        assert getattr(added, name).tolist() == getattr(whole, name).tolist()


def test_figures_of_counts_are_those_of_the_answers():
    frame = made(2000, items=None)
    figures = tally_figures(tallied(frame), 0.4, 0.2)
    judged = Judged.from_frame(frame)
    found = figures.calibration
    assert found is not None
    assert found.accuracy.estimate == judged.correct.mean()
    assert found.confidence == pytest.approx(judged.confidence.mean(), rel=1e-12)
    assert found.brier == pytest.approx(brier(judged, resamples=10).interval.estimate, rel=1e-12)
    assert found.log_loss == pytest.approx(log_loss(judged, resamples=10).interval.estimate, rel=1e-12)
    assert (found.ece_mass, found.ece_width) == (ece(judged), ece(judged, scheme="width"))
    assert found.smooth_ece == smooth_ece(judged).error
    assert found.auroc == auroc(judged).auroc.estimate
    assert found.distinct == len(np.unique(judged.confidence))
    decided = decision_figures(frame, TAXONOMY, 0.4, 0.2)
    rows = figures.decisions.set_index("figure")
    for name, interval in {"coverage": decided.coverage, "caught c": decided.caught["c"]}.items():
        assert rows.loc[name, ["estimate", "low", "high"]].tolist() == pytest.approx(
            [interval.estimate, interval.low, interval.high], abs=1e-12
        )
    [finding] = figures.gates
    assert finding.successes / finding.trials == decided.caught["c"].estimate
    assert figures.unreadable == decided.unreadable


def test_items_that_repeat_get_no_interval_and_no_verdict():
    figures = tally_figures(tallied(made(500, items=100)), 0.5)
    assert figures.repeated
    assert figures.items == made(500, items=100)["item_id"].nunique()
    assert figures.gates == ()
    assert figures.decisions[["low", "high"]].isna().all(axis=None)
    assert "interval" not in figures.words.split("\n\n", 1)[1]
    assert "Items repeat" in figures.words


def test_a_chosen_point_is_called_chosen_and_is_not_tested():
    figures = tally_figures(tallied(made(500)))
    assert figures.point.how in ("meets", "closest")
    assert "chosen on these answers" in figures.words
    assert figures.gates == ()


def test_a_point_off_the_grid_is_refused():
    with pytest.raises(ValueError, match=r"threshold 0\.123 is not on the grid"):
        tally_figures(tallied(made(50)), 0.123)


def test_rounding_is_for_cells_alone_and_only_on_demand():
    frame = made(300)
    table = AnswerTable.from_frame(frame, TAXONOMY)
    rounded = tally(table, decimals=1)
    assert len(rounded.cells) <= 11
    assert len(tally(table).cells) == tally(table).cells.n
    assert np.array_equal(rounded.sweep.outcomes, tally(table).sweep.outcomes)


def test_too_many_distinct_confidences_are_an_error_and_never_rounded(monkeypatch):
    monkeypatch.setattr("assay.measure.tally.MOST_DISTINCT", 150)
    with pytest.raises(TallyError, match=r"more than 150 distinct confidences .* --decimals 6 rounds them"):
        sum_tallies(tallied(made(100, seed)) for seed in range(3))
    assert sum_tallies(tallied(made(100, 1)) for _ in range(3)).cells.n == 3 * tallied(made(100, 1)).cells.n


def test_nothing_readable_has_no_calibration():
    frame = made(10).assign(confidence=np.nan)
    figures = tally_figures(tallied(frame), 0.5)
    assert figures.calibration is None
    assert figures.unreadable == 10
    assert "accuracy " not in figures.words.split("threshold")[0]


def test_nothing_at_all_cannot_be_added_up():
    with pytest.raises(ValueError, match="nothing to add up"):
        sum_tallies([])
