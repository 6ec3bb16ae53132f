import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.measure.certificate import CertificateError, certify
from assay.measure.fixed_sequence import walk
from assay.measure.sweep import SweepPlan
from assay.rules import Classification, Gate, LabelClass, Taxonomy, apply_safety_rules

PLANT = Taxonomy(
    classes=tuple(
        LabelClass(name, rank)
        for rank, name in enumerate(("historical", "reference", "unclear", "procedural", "advisory"))
    ),
    abstain="unclear",
    threshold_exempt=("procedural",),
    gates=(Gate("class_accuracy", ("procedural", "advisory")),),
)
TRIAGE = Taxonomy.of("em", "ne", "sc")


def log(label, predicted=None, confidence=0.9, **columns):
    """One row per label, right where no prediction is given."""
    frame = pd.DataFrame({"label": label, "predicted": label if predicted is None else predicted})
    frame["confidence"] = confidence
    frame["item_id"] = [f"q{number}" for number in range(len(frame))]
    return frame.assign(**columns)


def caught_em(answers, **options):
    return certify(answers, TRIAGE, seed=1, gates=[Gate("caught", ("em",))], **options)


def test_no_miss_of_59_passes_a_policy_given_beforehand_and_of_58_does_not():
    passed, short = (caught_em(log(["em"] * count), fixed=(0.5, 0.1)) for count in (59, 58))
    assert (passed.verdict, passed.mode, passed.threshold, passed.tie_margin) == ("pass", "fixed", 0.5, 0.1)
    assert (short.verdict, short.threshold) == ("undecided", None)


def test_a_split_needs_59_labels_in_the_certification_part():
    assert caught_em(log(["em"] * 117)).verdict == "pass"
    short = caught_em(log(["em"] * 116))
    assert (short.verdict, short.mode) == ("undecided", "too_few")
    assert "116 labels of em held, 58 of them in the part that decides, 59 needed without a miss" in short.reason
    assert "(118 in all, if 0.5 of them certify)" in short.reason


def test_17_of_17_can_show_no_more_than_0_838():
    certificate = caught_em(log(["em"] * 17 + ["ne"] * 300))
    (gate,) = certificate.gates
    assert (certificate.verdict, certificate.mode) == ("undecided", "too_few")
    assert (gate.held, gate.fewest, gate.further) == (17, 59, 42)
    assert gate.best_bound == pytest.approx(0.838, abs=5e-4)
    assert (
        "17 labels of em held, 59 needed without a miss; even 17 of 17 would show no more than 0.838" in gate.shortage
    )


def test_too_few_labels_certify_nothing_and_describe_all_items():
    answers = log(["em"] * 17 + ["ne"] * 300, confidence=np.linspace(0.5, 1, 317))
    certificate = caught_em(answers)
    assert certificate.threshold is None
    assert certificate.tie_margin is None
    assert not certificate.region.any()
    assert certificate.coverage.n == 317
    assert (certificate.tested_items, certificate.tuning_items) == (0, 0)


def test_where_more_labels_would_hardly_help_the_reason_says_so():
    hopeless = caught_em(log(["em"] * 17 + ["ne"] * 300, ["ne"] * 17 + ["ne"] * 300, confidence=1.0))
    assert hopeless.verdict == "undecided"
    assert "More labels would hardly help" in hopeless.reason
    assert "caught of em at least 0.95: 0 of 17 (0.000), below 0.162 at 95 % confidence." in hopeless.reason
    assert "would hardly help" not in caught_em(log(["em"] * 17 + ["ne"] * 300)).reason


def test_too_few_labels_for_one_gate_leave_every_gate_undecided():
    answers = log(["em"] * 17 + ["ne"] * 300, ["em"] * 17 + ["sc"] * 300)
    gates = [Gate("caught", ("em",)), Gate("class_accuracy", ("ne",))]
    certificate = certify(answers, TRIAGE, seed=1, gates=gates)
    assert [gate.verdict for gate in certificate.gates] == ["undecided", "undecided"]


def test_mixed_calibrations_are_refused_by_name():
    answers = log(["em"] * 200, calibration=["classifier", "language_model"] * 100)
    with pytest.raises(ValueError, match=r"one calibration at a time .*classifier, language_model"):
        caught_em(answers)


@pytest.mark.parametrize("column", ["elicitation", "model", "prompt"])
def test_other_mixed_series_are_refused_by_name(column):
    with pytest.raises(ValueError, match=f"one {column} at a time .*the answers mix one, two"):
        caught_em(log(["em"] * 200, **{column: ["one", "two"] * 100}))


def test_what_was_selected_on_all_items_is_refused():
    with pytest.raises(CertificateError, match="selected on all items"):
        caught_em(log(["em"] * 200), selected_on="all")


def test_too_few_labels_are_described_even_if_selected_on_all_items():
    assert caught_em(log(["em"] * 17), selected_on="all").mode == "too_few"


def test_a_fixed_policy_after_a_selection_on_the_tuning_part_is_tested_on_the_other():
    answers = log(["em"] * 200)
    parts = pd.Series(["tuning"] * 120 + ["certification"] * 80, index=answers["item_id"])
    certificate = caught_em(answers, parts=parts, fixed=(0.5, 0.1), selected_on="tuning")
    assert (certificate.tested_items, certificate.tuning_items) == (80, 120)
    assert caught_em(answers, parts=parts, fixed=(0.5, 0.1)).tested_items == 200


def test_an_item_counts_by_its_lowest_run_even_if_that_cannot_be_read():
    first = log(["em"] * 120, predicted=[None] + ["em"] * 119, run=2)
    later = log(["em"] * 120, predicted=["em"] * 120, run=10)
    certificate = certify(
        pd.concat([later, first]), TRIAGE, seed=1, gates=[Gate("class_accuracy", ("em",))], fixed=(0.0, 0.1)
    )
    (gate,) = certificate.gates
    assert (gate.successes, gate.trials) == (119, 120)


def test_a_policy_that_accepts_nothing_never_passes():
    certificate = caught_em(log(["em"] * 100, confidence=0.6), fixed=(0.7, 0.1))
    assert certificate.gates[0].verdict == "pass"
    assert (certificate.verdict, certificate.threshold) == ("fail", None)
    assert "acts on none of 100 items" in certificate.reason


def test_candidates_that_accept_nothing_do_not_stand_in_the_way():
    certificate = caught_em(log(["em"] * 200, confidence=0.6))
    assert (certificate.verdict, certificate.threshold) == ("pass", 0.0)


def test_a_point_that_accepts_nothing_is_no_candidate():
    certificate = caught_em(log(["em"] * 200, "ne", confidence=0.6))
    assert certificate.verdict == "fail"
    assert certificate.shown_at[0] <= 0.6
    assert not certificate.region.any()


def test_a_candidate_that_accepts_nothing_of_the_certification_part_is_not_certified():
    # From 0.51 upward the tuning part has one answer to accept and the other part none; below, that part is all wrong.
    answers = log(["em"] * 200, ["em"] * 100 + ["ne"] * 100, [0.9] + [0.5] * 199)
    parts = pd.Series(["tuning"] * 100 + ["certification"] * 100, index=answers["item_id"])
    certificate = caught_em(answers, parts=parts)
    assert (certificate.verdict, certificate.threshold) == ("fail", None)
    assert "acts on none of 100 items" in certificate.reason


def test_a_gate_that_counts_nothing_never_passes():
    answers = log(["ne"] * 200)
    certificate = certify(answers, TRIAGE, seed=1, gates=[Gate("accepted_accuracy", ("em",), 0.5)])
    assert certificate.verdict == "undecided"
    assert certificate.gates[0].estimate is None


def test_choosing_among_k_variants_costs_delta_over_k():
    two = caught_em(log(["em"] * 71), fixed=(0.5, 0.1), choices=2)
    assert (two.verdict, two.gates[0].gate.delta, two.gates[0].fewest) == ("undecided", 0.025, 72)
    assert caught_em(log(["em"] * 72), fixed=(0.5, 0.1), choices=2).verdict == "pass"


def test_every_class_of_every_gate_has_to_pass():
    labels = ["procedural"] * 200 + ["advisory"] * 200
    wrong = ["procedural"] * 200 + ["advisory"] * 150 + ["reference"] * 50
    assert certify(log(labels), PLANT, seed=1).verdict == "pass"
    certificate = certify(log(labels, wrong), PLANT, seed=1)
    assert [gate.verdict for gate in certificate.gates] == ["pass", "fail"]
    assert certificate.verdict == "fail"
    assert "class accuracy of advisory at least 0.95" in certificate.reason


def test_an_undecided_gate_says_how_many_labels_would_decide_it():
    certificate = caught_em(log(["em"] * 200, ["em"] * 194 + ["ne"] * 6), fixed=(0.0, 0.1))
    assert certificate.verdict == "undecided"
    assert "194 of 200 (0.970)" in certificate.reason
    assert f"{certificate.gates[0].further} further labels at this rate would decide it" in certificate.reason
    assert "short" in certificate.reason


def test_the_same_answers_in_another_order_give_the_same_certificate():
    rng = np.random.default_rng(3)
    answers = log(rng.choice(["em", "ne", "sc"], 600), confidence=rng.random(600).round(2))
    assert caught_em(answers).reason == caught_em(answers.sample(frac=1, random_state=5)).reason


def test_an_item_without_a_part_is_named():
    answers = log(["em"] * 200)
    parts = pd.Series("tuning", index=answers["item_id"].iloc[:-1])
    with pytest.raises(ValueError, match="item 'q199' has none"):
        caught_em(answers, parts=parts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"certification_share": 1.0}, r"certification_share must lie strictly between 0 and 1, got 1\.0"),
        ({"choices": 0}, "choices must be a whole number of at least 1, got 0"),
        ({"selected_on": "test"}, "selected_on must be None, 'tuning' or 'all', got 'test'"),
        ({"fixed": (0.5, 0.1), "margins": [0.1]}, "leave them out with a fixed policy"),
    ],
)
def test_arguments_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        caught_em(log(["em"] * 200), **options)


def test_a_taxonomy_without_gates_is_refused():
    with pytest.raises(ValueError, match="at least one gate"):
        certify(log(["em"] * 200), TRIAGE, seed=1)


# The walk against a loop over the grid that decides every answer by the rules themselves.

NAMES = PLANT.names
GRID = ([0.0, 0.5, 0.7, 0.9, 1.0], [0.0, 0.1, 0.3, 0.6])
GATE_SETS = (
    (Gate("caught", ("advisory",), 0.6, 0.3),),
    (Gate("caught", ("procedural",), 0.6, 0.2), Gate("accepted_accuracy", (), 0.4, 0.3)),
    (Gate("accepted_accuracy", (), 0.5, 0.2),),
    (Gate("accepted_accuracy", ("advisory",), 0.4, 0.3),),
    (Gate("class_accuracy", ("procedural",), 0.5, 0.3), Gate("class_accuracy", ("advisory",), 0.3, 0.3)),
    (Gate("class_accuracy", ("advisory",), 0.3, 0.3), Gate("caught", ("advisory",), 0.6, 0.3)),
)


def answers_of(seed):
    """Forty answers, mostly right, with a runner-up each: label, prediction, confidence, alternatives."""
    rng = np.random.default_rng(seed)
    rows = []
    for label in rng.choice(NAMES, 40, p=[0.15, 0.1, 0.05, 0.3, 0.4]):
        predicted = label if rng.random() < 0.8 else rng.choice(NAMES)
        confidence = float(rng.choice([0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], p=[0.1, 0.2, 0.2, 0.2, 0.15, 0.13, 0.02]))
        rows.append(
            (str(label), str(predicted), confidence, {str(rng.choice(NAMES)): float(rng.choice([0.2, 0.4, 0.6]))})
        )
    return rows


def counts_by_rules(rows, gates, threshold, margin):
    """Successes and trials of each gate, and how many decisions are acted on, one answer at a time."""
    counts, accepted = [[0, 0] for _ in gates], 0
    for label, predicted, confidence, alternatives in rows:
        said = Classification(predicted, confidence, alternatives)
        decision = apply_safety_rules(said, taxonomy=PLANT, threshold=threshold, tie_margin=margin).label
        acted = decision != PLANT.abstain
        accepted += acted
        for count, one in zip(counts, gates, strict=True):
            if one.metric == "accepted_accuracy":
                counted = acted and one.classes in ((), (decision,))
                success = decision == label
            else:
                counted = label == one.classes[0]
                safer = not acted or PLANT.rank(decision) > PLANT.rank(label)
                success = decision == label or (one.metric == "caught" and safer)
            count[0] += counted and success
            count[1] += counted
    return [tuple(count) for count in counts], accepted


def p_value(count, one):
    return stats.binomtest(*count, one.target, alternative="greater").pvalue if count[1] else 1.0


def walk_by_rules(rows, gates):
    """The region that passes and the point chosen, by a loop over the grid that sorts and tests."""
    half = len(rows) // 2
    only_class_accuracy = all(one.metric == "class_accuracy" for one in gates)
    candidates = []
    for margin, threshold in itertools.product(GRID[1], GRID[0]):
        tuned, accepted = counts_by_rules(rows[:half], gates, threshold, margin)
        tested, acted = counts_by_rules(rows[half:], gates, threshold, margin)
        if accepted and not (only_class_accuracy and threshold > 0):
            worst = round(max(p_value(count, one) for count, one in zip(tuned, gates, strict=True)), 12)
            passes = all(p_value(count, one) <= one.delta for count, one in zip(tested, gates, strict=True))
            candidates.append((worst, accepted, margin, threshold, passes, acted))
    candidates.sort(key=lambda one: one[:4])
    passed = list(itertools.takewhile(lambda one: one[4], candidates))
    best = max((one for one in passed if one[5]), key=lambda one: one[1], default=None)
    return {(one[3], one[2]) for one in passed}, best and (best[3], best[2])


@pytest.mark.parametrize("gates", GATE_SETS, ids=lambda gates: " and ".join(map(str, gates)))
def test_the_walk_is_the_one_that_a_loop_over_the_grid_makes(gates):
    chosen_at = set()
    for seed in range(25):
        rows = answers_of(seed)
        label, predicted, confidence, alternatives = map(list, zip(*rows, strict=True))
        frame = log(label, predicted, confidence).assign(alternatives=alternatives)
        plan = SweepPlan(frame, PLANT, thresholds=GRID[0], margins=GRID[1])
        tests = np.arange(len(rows)) >= len(rows) // 2
        outcome = walk(plan.count(~tests), plan.count(tests), gates)
        region = {(GRID[0][t], GRID[1][m]) for t, m in np.argwhere(outcome.region)}
        chosen = outcome.chosen and (GRID[0][outcome.chosen[0]], GRID[1][outcome.chosen[1]])
        assert (region, chosen) == walk_by_rules(rows, gates)
        chosen_at.add(chosen)
    assert len(chosen_at) > 2  # so that the walks compared differ


def test_the_order_does_not_depend_on_the_certification_part():
    rng = np.random.default_rng(2)
    answers = log(rng.choice(NAMES, 300), rng.choice(NAMES, 300), rng.random(300).round(2))
    plan = SweepPlan(answers, PLANT, margins=[0.1])
    tuning, tests = np.arange(300) < 150, np.arange(300) >= 150
    gates = [Gate("caught", ("advisory",), 0.6), Gate("accepted_accuracy", (), 0.1)]
    seen = {walk(plan.count(tuning), plan.count(tests * weight), gates).first for weight in (0.0, 1.0, 5.0)}
    assert len(seen) == 1


def test_every_item_either_tunes_or_certifies():
    answers = log(["em"] * 118 + ["ne"] * 50)
    certificate = caught_em(answers)
    assert certificate.tested_items + certificate.tuning_items == 168
    assert certificate.gates[0].trials == 59
