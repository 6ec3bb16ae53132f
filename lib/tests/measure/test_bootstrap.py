import numpy as np
import pandas as pd
import pytest

from assay.measure.bootstrap import bootstrap_choice
from assay.measure.decide import decide
from assay.measure.operating import best_point
from assay.measure.sweep import sweep
from assay.rules import Gate, LabelClass, Taxonomy

TRIAGE = Taxonomy(tuple(LabelClass(name, rank) for rank, name in enumerate(("sc", "ne", "em"))), "unsure")
ACCEPTED = (Gate("accepted_accuracy", (), 0.9),)
GRID = {"thresholds": np.linspace(0, 1, 21).round(2), "margins": [0.0, 0.1, 0.3]}


def log(count, seed, right=0.85):
    """Answers whose confidences say nothing about whether they are right."""
    rng = np.random.default_rng(seed)
    label = rng.choice(TRIAGE.names, count)
    other = rng.choice(TRIAGE.names, count)
    predicted = np.where(rng.random(count) < right, label, other)
    confidence = rng.uniform(0.5, 1, count).round(2)
    alternatives = [{name: 0.45} for name in rng.choice(TRIAGE.names, count)]
    frame = pd.DataFrame({"label": label, "predicted": predicted, "confidence": confidence})
    return frame.assign(alternatives=alternatives, item_id=[f"q{number}" for number in range(count)])


def test_the_same_seed_gives_the_same_bootstrap_and_another_seed_another():
    answers = log(80, seed=1)
    one, same, other = (
        bootstrap_choice(answers, TRIAGE, seed=seed, gates=ACCEPTED, draws=20, **GRID) for seed in (1, 1, 2)
    )
    assert one.figures == same.figures
    assert one.points.equals(same.points)
    assert one.figures != other.figures


def test_it_is_what_choosing_on_each_draw_and_judging_on_the_rest_gives():
    answers = log(60, seed=3)
    gates = (Gate("accepted_accuracy", (), 0.9), Gate("caught", ("em",), 0.8))
    ours = bootstrap_choice(answers, TRIAGE, seed=5, gates=gates, draws=30, **GRID)

    rng = np.random.default_rng(5)
    hits, trials, draws = np.zeros((3, 60)), np.zeros((3, 60)), np.zeros(60)
    chosen = []
    for _ in range(30):
        drawn = np.bincount(rng.integers(0, 60, 60), minlength=60)
        point = best_point(sweep(answers, TRIAGE, weights=drawn, **GRID), gates)
        if point.how != "meets":
            continue
        chosen.append((point.threshold, point.tie_margin))
        decision = decide(answers, TRIAGE, point.threshold, point.tie_margin)["decision"]
        acted, right = decision != "unsure", decision == answers["label"]
        # Abstaining is safer than any class.
        safer = decision.map({**TRIAGE.ranks, "unsure": 99})
        caught = right | (safer > answers["label"].map(TRIAGE.rank))
        left_out = drawn == 0
        draws += left_out
        for row, (success, counts) in enumerate(
            [(right, acted), (caught, answers["label"] == "em"), (acted, np.ones(60, bool))]
        ):
            hits[row] += success & counts & left_out
            trials[row] += counts & left_out
    used = draws > 0
    estimates = [
        (hit[used] / draws[used]).sum() / (count[used] / draws[used]).sum()
        for hit, count in zip(hits, trials, strict=True)
    ]
    assert [one.estimate for one in (*ours.figures, ours.coverage)] == pytest.approx(estimates)
    assert ours.without == 30 - len(chosen)
    assert len(ours.points) > 3
    assert ours.points["draws"].sum() == len(chosen)
    assert ours.threshold[0] >= min(point[0] for point in chosen)
    assert ours.threshold[1] <= max(point[0] for point in chosen)


def test_the_best_point_looks_better_than_it_is_on_items_left_out():
    answers = log(150, seed=6)
    point = best_point(sweep(answers, TRIAGE, **GRID), ACCEPTED)
    counts = sweep(answers, TRIAGE, thresholds=[point.threshold], margins=[point.tie_margin])
    right, acted = (float(part[0, 0]) for part in counts.accepted_accuracy())
    honest = bootstrap_choice(answers, TRIAGE, seed=7, gates=ACCEPTED, draws=100, **GRID)
    assert right / acted >= 0.9
    assert honest.figures[0].estimate < 0.9


def test_all_right_is_never_an_interval_of_no_width():
    found = bootstrap_choice(
        log(40, seed=8, right=1.0), TRIAGE, seed=1, gates=ACCEPTED, draws=20, thresholds=[0.0], margins=[0.0]
    )
    assert found.figures[0].estimate == 1
    assert found.figures[0].low < 0.95


def test_copies_of_every_answer_tell_no_more_than_one():
    answers = log(60, seed=9, right=0.97)
    copies = pd.concat([answers.assign(run=run) for run in range(5)])
    once, often = (bootstrap_choice(one, TRIAGE, seed=2, gates=ACCEPTED, draws=30, **GRID) for one in (answers, copies))
    assert often.figures[0].estimate == pytest.approx(once.figures[0].estimate)
    assert (often.figures[0].low, often.figures[0].high) == pytest.approx((once.figures[0].low, once.figures[0].high))


def test_a_gate_that_no_draw_meets_leaves_everything_unknown():
    gates = (Gate("class_accuracy", ("em",), 0.999),)
    found = bootstrap_choice(log(60, seed=10, right=0.3), TRIAGE, seed=1, gates=gates, draws=10, **GRID)
    assert (found.without, found.draws, len(found.points)) == (10, 10, 0)
    assert not found.figures[0].known
    assert np.isnan(found.threshold).all()


def test_no_draws_are_refused():
    with pytest.raises(ValueError, match="draws must be at least 1, got 0"):
        bootstrap_choice(log(10, seed=1), TRIAGE, seed=1, gates=ACCEPTED, draws=0)
