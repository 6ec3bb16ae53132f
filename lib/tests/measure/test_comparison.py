import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.measure.comparison import compare
from assay.measure.pairing import BETTER, MCNEMAR, NOT_DETECTED, SWAPS, UNDEFINED, WORSE
from assay.measure.permutation import mcnemar
from assay.rules import Gate, LabelClass, Taxonomy
from assay.study import load_study

ITEMS, RUNS = 113, 10


def variants(model="m", **outcomes) -> pd.DataFrame:
    """Frame of variants by name, each an array of outcomes (items,) or (items, runs)."""
    parts = []
    for name, right in outcomes.items():
        right = np.atleast_2d(np.asarray(right, dtype=bool).T).T
        items, runs = right.shape
        columns = {
            "item_id": np.repeat([f"q{i:04d}" for i in range(items)], runs),
            "run": np.tile(np.arange(runs) + 1, items),
        }
        parts.append(pd.DataFrame({**columns, "correct": right.ravel(), "model": model, "prompt": name}))
    return pd.concat(parts, ignore_index=True)


def only_accuracy(frame, **settings):
    (pair,) = compare(frame, metrics=["accuracy"], **settings).pairs
    return pair.of("accuracy")


@pytest.fixture(scope="module")
def claims():
    study = load_study("ci_claims")
    return compare(study, metrics=["accuracy"], seed=study.seed)


def test_one_answer_per_item_is_tested_by_mcnemar():
    found = only_accuracy(variants(a=[1] * 30 + [0] * 10, b=[1] * 20 + [0] * 20))
    assert (found.test, found.a_ahead, found.b_ahead) == (MCNEMAR, 10, 0)
    assert found.p_value == mcnemar(10, 0)
    assert found.verdict == BETTER
    assert found.difference == pytest.approx(0.25)


def test_repeats_are_tested_by_swaps_and_all_equal_runs_as_one_run():
    rng = np.random.default_rng(0)
    once = [rng.random(80) < share for share in (0.8, 0.6)]
    tenfold = [np.repeat(one[:, None], RUNS, axis=1) for one in once]
    found = only_accuracy(variants(a=tenfold[0], b=tenfold[1]))
    single = only_accuracy(variants(a=once[0], b=once[1]))
    assert found.test == SWAPS
    assert found.p_value == pytest.approx(single.p_value, abs=0.01)
    assert (found.low, found.high) == (single.low, single.high)


def test_however_alike_the_variants_six_items_must_differ_to_show_it():
    found = only_accuracy(variants(a=[1] * 30, b=[1] * 30))
    assert found.smallest == pytest.approx(6 / 30)
    assert found.verdict == NOT_DETECTED


def test_turned_round_everything_changes_its_sign():
    comparison = compare(variants(a=[1] * 30 + [0] * 10, b=[1] * 20 + [0] * 20), metrics=["accuracy"])
    one, other = comparison.pair("a", "b").of("accuracy"), comparison.pair("b", "a").of("accuracy")
    assert (other.difference, other.low, other.high) == (-one.difference, -one.high, -one.low)
    assert (other.a, other.b, other.a_ahead, other.b_ahead) == (one.b, one.a, one.b_ahead, one.a_ahead)
    assert (one.verdict, other.verdict) == (BETTER, WORSE)
    with pytest.raises(KeyError, match="no pair 'a' and 'c'"):
        comparison.pair("a", "c")


def test_neither_the_order_of_rows_nor_other_variants_change_a_pair():
    rng = np.random.default_rng(1)
    frame = variants(**{name: rng.random((40, 3)) < 0.7 for name in "abc"})
    frame["confidence"] = rng.random(len(frame)).round(2)
    whole = compare(frame.sample(frac=1, random_state=2)).pair("a", "b", "")
    alone = compare(frame[frame["prompt"] != "c"]).pair("a", "b", "")
    for metric in ("accuracy", "Brier score", "AUROC"):
        one, other = whole.of(metric), alone.of(metric)
        assert (one.difference, one.low) == pytest.approx((other.difference, other.low), abs=0.02)
    assert whole.of("accuracy").difference == alone.of("accuracy").difference


def test_items_of_one_side_alone_are_named_and_leave_the_pair():
    frame = variants(a=[1, 1, 0, 1], b=[1, 0, 0, 1])
    frame = frame[~((frame["prompt"] == "a") & (frame["item_id"] == "q0001"))]
    frame = frame[~((frame["prompt"] == "b") & frame["item_id"].isin(["q0002", "q0003"]))]
    (pair,) = compare(frame, metrics=["accuracy"]).pairs
    assert (pair.items, pair.only_in_a, pair.only_in_b) == (1, ("q0002", "q0003"), ("q0001",))
    assert pair.of("accuracy").items == 1


def test_variants_without_a_shared_item_are_not_compared():
    frame = pd.concat([variants(a=[1, 1]), variants(b=[1, 0]).replace({"q0000": "x", "q0001": "y"})])
    comparison = compare(frame, metrics=["accuracy"])
    assert comparison.groups == ()
    assert comparison.pairs[0].of("accuracy").verdict == UNDEFINED


def test_one_variant_has_nothing_to_be_compared_with():
    comparison = compare(variants(a=[1, 0, 1]))
    assert comparison.pairs == ()
    assert comparison.frame().empty
    assert [one.name for one in comparison.ranking("")] == ["m"]


def test_holm_covers_the_pairs_of_a_model_and_no_others():
    rng = np.random.default_rng(3)
    one = variants("m", **{name: rng.random(60) < 0.7 for name in "abc"})
    two = variants("n", **{name: rng.random(60) < 0.7 for name in "ab"})
    comparison = compare(pd.concat([one, two]), metrics=["accuracy"])
    assert comparison.tests == {"m": 3, "n": 1}
    last = comparison.pair("a", "b", "n").of("accuracy")
    assert last.adjusted == last.p_value


def test_holm_covers_all_primary_metrics():
    frame = variants(a=[1, 0] * 20, b=[1, 1] * 20).assign(confidence=0.8)
    comparison = compare(frame, primary=["accuracy", "brier"])
    assert comparison.tests == {"": 2}
    assert [one.metric.name for one in comparison.pairs[0].differences if one.primary] == ["accuracy", "Brier score"]


@pytest.mark.parametrize("metric", ["brier", "log_loss", "ece", "auroc", "unreadable", "tokens"])
def test_every_metric_can_be_the_primary_one(metric):
    rng = np.random.default_rng(4)
    frame = variants(a=rng.random(80) < 0.8, b=rng.random(80) < 0.8)
    frame["confidence"] = np.where(frame["prompt"] == "a", 0.8, 0.3) + 0.1 * rng.random(len(frame)) * frame["correct"]
    frame["prompt_tokens"], frame["completion_tokens"] = (
        np.where(frame["prompt"] == "a", 100, 120),
        rng.integers(5, 9, 160),
    )
    (found,) = (one for one in compare(frame, primary=metric).pairs[0].differences if one.primary)
    assert found.test == (MCNEMAR if metric == "unreadable" else SWAPS)
    assert 0 < found.p_value <= found.adjusted <= 1
    if metric in ("brier", "ece", "tokens"):
        assert found.verdict == BETTER


def test_lower_is_better_where_it_is():
    frame = variants(a=[1] * 60, b=[1] * 60)
    frame["confidence"] = np.where(frame["prompt"] == "a", 0.9, 0.6) - 0.01 * (np.arange(120) % 5)
    found = compare(frame, primary="brier").pairs[0].of("Brier score")
    assert found.difference < 0
    assert (found.verdict, found.a_ahead) == (BETTER, 60)


def test_metrics_not_named_beforehand_are_not_tested():
    frame = variants(a=[1, 0] * 20, b=[1, 1] * 20).assign(confidence=0.8)
    for one in compare(frame).pairs[0].differences:
        assert one.primary == (one.metric.name == "accuracy") == (not np.isnan(one.p_value))


def test_class_metrics_are_those_of_the_decisions():
    taxonomy = Taxonomy((LabelClass("lo", 0), LabelClass("hi", 1)), "ask", gates=(Gate("caught", ("lo", "hi")),))
    rows = [("q1", "hi", "hi", 0.9), ("q2", "hi", "lo", 0.9), ("q3", "hi", "lo", 0.4), ("q4", "lo", "lo", 0.4)]
    frame = pd.DataFrame(rows, columns=["item_id", "label", "predicted", "confidence"])
    frame = pd.concat([frame.assign(prompt="a"), frame.assign(prompt="b", predicted=["hi", "hi", None, "lo"])])
    frame.loc[frame["predicted"].isna(), "confidence"] = np.nan
    (pair,) = compare(frame, taxonomy, threshold=0.5).pairs
    assert (pair.of("caught hi").a, pair.of("caught hi").b) == pytest.approx((2 / 3, 1))
    assert (pair.of("class accuracy hi").a, pair.of("class accuracy hi").b) == pytest.approx((1 / 3, 2 / 3))
    assert pair.of("caught hi").items == 3
    assert pair.of("caught hi (readable)").items == 2
    assert pair.of("class accuracy lo").a == 0


def test_unreadable_answers_are_shown_left_out_only_where_there_are_any():
    frame = variants(a=[1, 0, 1, 1], b=[1, 1, 0, 0]).astype({"correct": "boolean"})
    assert all(not one.metric.left_out for one in compare(frame).pairs[0].differences)
    frame.loc[1, "correct"] = pd.NA
    pair = compare(frame).pairs[0]
    assert (pair.unreadable_a, pair.of("accuracy").items, pair.of("accuracy (readable)").items) == (1, 4, 3)


def test_the_ranking_is_by_all_answers_and_best_first():
    frame = variants(a=[1] * 6 + [0] * 4, b=[1] * 7 + [0] * 3).astype({"correct": "boolean"})
    frame.loc[(frame["prompt"] == "a") & ~frame["correct"], "correct"] = pd.NA
    comparison = compare(frame)
    assert [one.name for one in comparison.ranking("")] == ["b", "a"]
    assert [one.estimates["accuracy (readable)"] for one in comparison.ranking("")] == pytest.approx([0.7, 1.0])


def test_primary_metrics_have_an_interval_of_each_variant():
    frame = variants(a=[1, 0, 1, 1] * 10, b=[1, 1, 0, 0] * 10)
    frame["confidence"] = 0.5 + 0.01 * (np.arange(80) % 7)
    one = compare(frame, primary=["brier", "auroc"]).variants[0]
    assert set(one.intervals) == {"accuracy", "accuracy (readable)", "unreadable", "Brier score", "AUROC"}
    for name in ("Brier score", "AUROC"):
        assert one.intervals[name].low < one.estimates[name] < one.intervals[name].high
    assert "Brier score" not in compare(frame).variants[0].intervals


def test_models_are_compared_where_each_has_one_prompt():
    comparison = compare(pd.concat([variants("m", p=[1, 0, 1]), variants("n", q=[1, 1, 1])]))
    assert comparison.columns == ("model", "prompt")
    assert (comparison.pairs[0].a, comparison.pairs[0].b) == ("m", "n")


def test_too_few_permutations_for_holm_are_refused():
    frame = variants(**{name: np.ones((5, 2)) for name in "abcd"})
    with pytest.raises(ValueError, match="permutations must be at least 2,400 for 6 tests in a group, got 1,000"):
        compare(frame, permutations=1000)
    assert compare(frame).permutations == 2400
    assert compare(frame[frame["run"] == 1], permutations=1000).permutations == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"primary": "acc"}, "primary: no metric is called 'acc'"),
        ({"metrics": ["speed"]}, "metrics: no metric is called 'speed'"),
        ({"threshold": 1.5}, "threshold must lie in"),
        ({"resamples": 5}, "resamples must be at least 100"),
        ({"variants": "style"}, "no column 'style'"),
    ],
)
def test_impossible_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        compare(variants(a=[1, 0], b=[1, 1]), **settings)


def test_no_answers_are_refused():
    with pytest.raises(ValueError, match="the frame has no rows"):
        compare(variants(a=[1])[:0])


def test_sets_that_do_not_compare_are_not_pooled():
    study = load_study("triage")
    comparison = compare(study, metrics=["accuracy"])
    assert comparison.within[-1] == "tag_set"
    assert all(pair.items <= 45 for pair in comparison.pairs)


def test_the_same_settings_give_the_same_comparison():
    frame = variants(a=np.eye(30, 3), b=np.ones((30, 3))).assign(confidence=0.7)
    assert compare(frame).frame().equals(compare(frame).frame())


def test_no_prompt_of_the_claims_is_better_than_another_by_item(claims):
    for pair in claims.pairs:
        found = pair.of("accuracy")
        assert (pair.items, pair.repeated, found.test) == (113, True, SWAPS)
        assert found.verdict == NOT_DETECTED
        assert found.adjusted >= found.p_value
    found = claims.pair("L1", "L5", "claude-haiku-4-5-20251001").of("accuracy")
    assert (found.a_ahead, found.b_ahead) == (10, 5)
    assert found.difference == pytest.approx(0.0434, abs=1e-4)
    assert found.low < 0 < found.high
    assert 0.15 < found.p_value < 0.30


def two_equally_good(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Each item's outcome drawn apart for each variant; its runs are copies of the draw but for one in twenty."""
    made = {}
    for name in "ab":
        draw = rng.random((ITEMS, 1)) < 0.8
        made[name] = draw ^ (rng.random((ITEMS, RUNS)) < 0.05)
    return made


def rejections_without_a_difference(trials: int) -> tuple[int, int]:
    """How often equally good variants are called different: by item, and by McNemar over all 1,130 pairs of answers."""
    by_item = by_answer = 0
    for seed in range(trials):
        made = two_equally_good(np.random.default_rng(seed))
        by_item += only_accuracy(variants(**made), resamples=100, seed=seed).p_value <= 0.05
        a, b = made["a"], made["b"]
        by_answer += mcnemar(int((a & ~b).sum()), int((b & ~a).sum())) <= 0.05
    return by_item, by_answer


def finds_of_ten_points(trials: int) -> int:
    found = 0
    for seed in range(trials):
        drawn = np.random.default_rng(seed).choice(3, 400, p=[0.20, 0.10, 0.70])
        found += only_accuracy(variants(a=drawn != 1, b=drawn != 0), resamples=100).p_value <= 0.05
    return found


def check_simulations(trials: int) -> None:
    by_item, by_answer = rejections_without_a_difference(trials)
    assert by_item <= stats.binom.ppf(0.999, trials, 0.05)
    # Why the item is the unit: taking near copies for samples calls equal variants different in half of the studies.
    assert by_answer >= stats.binom.ppf(0.001, trials, 0.45)
    assert finds_of_ten_points(trials) >= 0.90 * trials


def test_equal_variants_are_rarely_called_different_and_ten_points_are_found():
    check_simulations(100)


@pytest.mark.long
def test_equal_variants_are_rarely_called_different_and_ten_points_are_found_in_a_thousand_trials():
    check_simulations(1000)
