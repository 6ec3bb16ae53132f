import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measure.decide import decide
from assay.measure.figures import decision_figures
from assay.measure.sweep import SweepPlan, breakpoints, sweep
from assay.measure.table import AnswerTable
from assay.rules import Classification, ContextRule, Gate, LabelClass, Taxonomy, apply_safety_rules

NAMES = ("a", "b", "c", "d")
hundredths = st.integers(0, 100).map(lambda value: value / 100)
votes = st.integers(0, 3).map(lambda value: value / 3)
floats = st.floats(0, 1, allow_subnormal=False)


@st.composite
def taxonomies(draw):
    abstain = draw(st.sampled_from(("ask", "b")))
    return Taxonomy(
        classes=tuple(LabelClass(name, draw(st.integers(0, 2))) for name in NAMES),
        abstain=abstain,
        threshold_exempt=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))),
        never_loosen=draw(st.booleans()),
        context=tuple(
            ContextRule(name, "time") for name in draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
        ),
        gates=(Gate("caught", ("c", "d")),),
    )


@st.composite
def logs(draw):
    """A taxonomy and a log of answers under it: unreadable ones, unknown alternatives and abstaining labels too."""
    taxonomy = draw(taxonomies())
    confidence = draw(st.sampled_from((hundredths, votes, floats)))
    labels = st.sampled_from((*NAMES, taxonomy.abstain))
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "label": labels,
                    "predicted": labels,
                    "confidence": confidence,
                    "alternatives": st.dictionaries(st.sampled_from((*NAMES, "nonsense")), confidence, max_size=4),
                    "missing_context": st.sampled_from(((), ("time",), ("place", "time"))),
                    "readable": st.integers(0, 9).map(bool),
                }
            ),
            min_size=1,
            max_size=8,
        )
    )
    frame = pd.DataFrame(rows)
    frame.loc[~frame["readable"], ["predicted", "confidence"]] = [None, np.nan]
    return taxonomy, frame


def one_by_one(frame, taxonomy, threshold, margin):
    """The decisions of `apply_safety_rules`, with unreadable answers abstaining."""
    decisions = []
    for row in frame.itertuples():
        if not row.readable:
            decisions.append((taxonomy.abstain, ("unreadable",)))
            continue
        answer = Classification(row.label_said, row.confidence, row.alternatives, row.missing_context)
        decision = apply_safety_rules(answer, taxonomy=taxonomy, threshold=threshold, tie_margin=margin)
        decisions.append((decision.label, decision.reasons))
    return decisions


def count_by_hand(frame, taxonomy, decisions):
    """Every figure straight from its definition, for a list of decisions."""
    ranks = dict(taxonomy.ranks)
    rows = list(zip(frame["label"], decisions, strict=True))
    acted = [(label, decision) for label, decision in rows if decision != taxonomy.abstain]

    def safe(label, decision):
        return decision in (label, taxonomy.abstain) or (label in ranks and ranks[decision] > ranks[label])

    by_hand = {"accepted": len(acted), "right": sum(label == decision for label, decision in acted)}
    for name in NAMES:
        own = [decision for label, decision in rows if label == name]
        by_hand[f"class_accuracy {name}"] = sum(decision == name for decision in own)
        by_hand[f"caught {name}"] = sum(safe(name, decision) for decision in own)
        by_hand[f"decided {name}"] = sum(decision == name for _, decision in acted)
    others = [(label, decision) for label, decision in rows if label not in taxonomy.gated]
    by_hand["over"] = sum(
        label != decision and (decision == taxonomy.abstain or (label in ranks and ranks[decision] > ranks[label]))
        for label, decision in others
    )
    by_hand["dangerous"] = sum(not safe(label, decision) for label, decision in rows)
    return by_hand


@settings(max_examples=500, deadline=None)
@given(logs(), st.data())
def test_decide_sweep_and_the_scalar_rules_agree_at_every_breakpoint(log, data):
    taxonomy, frame = log
    frame["label_said"] = frame["predicted"]
    table = AnswerTable.from_frame(frame, taxonomy)
    thresholds, margins = breakpoints(table)
    # Exact confidences and gaps are the edges of the pieces; breakpoints lie just past the confidences.
    at = np.unique(np.concatenate([thresholds, table.confidence[~np.isnan(table.confidence)].round(9)]))
    counts = sweep(table, thresholds=at, margins=margins)
    for t, m in points(len(at), len(margins), data):
        expected = one_by_one(frame, taxonomy, at[t], margins[m])
        decided = decide(frame, taxonomy, at[t], margins[m])
        assert list(zip(decided["decision"], decided["reasons"], strict=True)) == expected
        by_hand = count_by_hand(frame, taxonomy, [label for label, _ in expected])
        assert counts.accepted()[t, m] == by_hand["accepted"]
        assert counts.accepted_accuracy()[0][t, m] == by_hand["right"]
        assert counts.over_restriction()[0][t, m] == by_hand["over"]
        assert counts.dangerous()[t, m] == by_hand["dangerous"]
        for name in NAMES:
            assert counts.class_accuracy(name)[0][t, m] == by_hand[f"class_accuracy {name}"]
            assert counts.caught(name)[0][t, m] == by_hand[f"caught {name}"]
            assert counts.accepted_accuracy(name)[1][t, m] == by_hand[f"decided {name}"]


def points(thresholds, margins, data, most=8):
    """All points of a small plane, a drawn dozen of a larger one."""
    plane = [(t, m) for t in range(thresholds) for m in range(margins)]
    if len(plane) <= most:
        return plane
    return data.draw(st.lists(st.sampled_from(plane), min_size=most, max_size=most, unique=True))


@settings(max_examples=60, deadline=None)
@given(logs(), hundredths, hundredths)
def test_the_figures_at_a_point_are_the_counts_of_the_sweep(log, threshold, margin):
    taxonomy, frame = log
    counts = sweep(frame, taxonomy)
    t, m = counts.at(threshold, margin)
    figures = decision_figures(frame, taxonomy, threshold, margin)
    assert figures.coverage.estimate == pytest.approx(counts.coverage()[t, m])
    assert figures.dangerous == counts.dangerous()[t, m]
    for name in NAMES:
        for metric in ("class_accuracy", "caught", "accepted_accuracy"):
            hits, trials = counts.gate_counts(Gate(metric, (name,)))
            interval = figures.gate(Gate(metric, (name,)))
            assert interval.n == trials[t, m]
            if interval.n:
                assert interval.estimate == pytest.approx(hits[t, m] / trials[t, m])
    assert figures.gate(Gate("accepted_accuracy")) == figures.accepted_accuracy


@settings(max_examples=40, deadline=None)
@given(logs(), st.integers(0, 8))
def test_counts_of_parts_add_up_and_weights_count_rows(log, cut):
    taxonomy, frame = log
    whole = sweep(frame, taxonomy)
    first, second = frame.iloc[:cut], frame.iloc[cut:]
    parts = [sweep(part, taxonomy) for part in (first, second) if len(part)]
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    assert np.array_equal(whole.outcomes, total.outcomes)
    assert np.array_equal(whole.decided, total.decided)
    repeated = frame.loc[frame.index.repeat(np.arange(len(frame)) % 3)]
    weighted = SweepPlan(frame, taxonomy).count(np.arange(len(frame)) % 3)
    if len(repeated):
        assert np.array_equal(weighted.outcomes, sweep(repeated, taxonomy).outcomes)


def test_blocks_do_not_change_the_counts(monkeypatch):
    rng = np.random.default_rng(3)
    taxonomy = Taxonomy(tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)), "ask")
    table = AnswerTable.from_scores(rng.integers(0, 4, 1000), rng.dirichlet(np.ones(4), 1000), taxonomy)
    whole = sweep(table)
    monkeypatch.setattr(sys.modules[sweep.__module__], "BLOCK", 170)
    assert np.array_equal(sweep(table).outcomes, whole.outcomes)


def test_classes_beyond_the_tracked_are_pooled_and_gated_ones_kept():
    names = [f"class {number}" for number in range(150)]
    taxonomy = Taxonomy(tuple(LabelClass(name) for name in names), "ask", gates=(Gate("class_accuracy", ("class 7",)),))
    frame = pd.DataFrame({"label": names, "predicted": names, "confidence": 0.5})
    counts = sweep(frame, taxonomy, thresholds=[0, 0.6], margins=[0])
    assert counts.classes == ("class 7",)
    assert counts.total == 150
    assert counts.accepted()[:, 0].tolist() == [150, 0]
    with pytest.raises(ValueError, match="class 8"):
        counts.class_accuracy("class 8")


def test_wrong_grids_weights_and_sums_are_named():
    frame = pd.DataFrame({"label": ["a"], "predicted": ["a"], "confidence": [0.5]})
    taxonomy = Taxonomy.of("a", "b")
    with pytest.raises(ValueError, match="thresholds must be increasing"):
        sweep(frame, taxonomy, thresholds=[0.5, 0.2])
    with pytest.raises(ValueError, match="weights must have shape"):
        SweepPlan(frame, taxonomy).count([1, 2])
    with pytest.raises(ValueError, match="same taxonomy"):
        sweep(frame, taxonomy) + sweep(frame, taxonomy, margins=[0, 0.5])
    with pytest.raises(ValueError, match="not on the grid"):
        sweep(frame, taxonomy).at(0.505, 0)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", "z", "label 'z' in row 1"),
        ("label", None, "label is missing in row 1"),
        ("confidence", 1.5, "confidence must lie in"),
    ],
)
def test_a_frame_that_is_no_log_is_refused(column, value, message):
    frame = pd.DataFrame({"label": ["a"], "predicted": ["a"], "confidence": [0.5]})
    frame[column] = [value]
    with pytest.raises(ValueError, match=message):
        AnswerTable.from_frame(frame, Taxonomy.of("a", "b"))


def test_a_prediction_of_no_class_is_refused_without_quoting_it():
    frame = pd.DataFrame({"label": ["a"], "predicted": ["CANARY-88"], "confidence": [0.5]})
    with pytest.raises(ValueError, match="predicted in row 1") as raised:
        AnswerTable.from_frame(frame, Taxonomy.of("a", "b"))
    assert "CANARY" not in str(raised.value)
