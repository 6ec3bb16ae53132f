"""The bootstrap on counts: the same distribution as the bootstrap on rows, and honest edges."""

import numpy as np
import pytest
from scipy import stats

from assay.measure import resample
from assay.measure.judged import Judged
from assay.measure.resample import mean_interval, mean_intervals, resample_calibration


def rows_bootstrap(confidence, correct, items, resamples, rng):
    """Resample items and recompute everything from the rows, in 15 bins of equal width."""
    by_item = [np.flatnonzero(items == item) for item in np.unique(items)]
    figures = []
    for _ in range(resamples):
        rows = np.concatenate([by_item[pick] for pick in rng.integers(len(by_item), size=len(by_item))])
        stated, right = confidence[rows], correct[rows]
        place = np.clip(np.ceil(stated * 15 - 1e-9).astype(int) - 1, 0, 14)
        gaps = np.bincount(place, weights=right - stated, minlength=15)
        figures.append([np.abs(gaps).sum() / len(rows), ((right - stated) ** 2).mean(), right.mean()])
    return np.array(figures).T


@pytest.mark.parametrize("kind", ["hundredths", "continuous", "repeated"])
def test_resamples_have_the_distribution_of_a_bootstrap_of_the_rows(kind):
    rng = np.random.default_rng(11)
    confidence = rng.uniform(0.5, 1, 300)
    items = np.arange(300)
    if kind == "hundredths":
        confidence = np.round(confidence, 2)
    if kind == "repeated":
        items = np.repeat(np.arange(60), 5)
    correct = (rng.random(300) < confidence).astype(float)
    expected = rows_bootstrap(confidence, correct, items, 3000, rng)
    found = resample_calibration(Judged.of(confidence, correct, items), scheme="width", resamples=3000, seed=1)
    for ours, theirs in zip((found.ece, found.brier, found.accuracy), expected, strict=True):
        assert ours.mean() == pytest.approx(theirs.mean(), abs=4 * theirs.std() / np.sqrt(1500))
        assert ours.std() == pytest.approx(theirs.std(), rel=0.06)


def test_grouping_very_many_kinds_keeps_the_spread(monkeypatch):
    rng = np.random.default_rng(12)
    confidence = rng.uniform(0.5, 1, 4000)
    judged = Judged.of(confidence, rng.random(4000) < confidence)
    single = resample_calibration(judged, resamples=4000)
    losses = rng.lognormal(0, 1.5, 4000)
    expected = mean_interval(losses, resamples=4000)
    monkeypatch.setattr(resample, "MANY_KINDS", 100)
    grouped = resample_calibration(judged, resamples=4000)
    for name in ("ece", "brier", "accuracy"):
        ours, theirs = getattr(grouped, name), getattr(single, name)
        assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * theirs.std() / np.sqrt(2000))
        assert ours.std() == pytest.approx(theirs.std(), rel=0.05)
    monkeypatch.setattr(resample, "GROUPED_KINDS", 4)
    coarse = resample_calibration(judged, bins=1, resamples=4000)
    assert coarse.brier.mean() == pytest.approx(single.brier.mean(), abs=5 * single.brier.std() / np.sqrt(2000))
    monkeypatch.undo()
    monkeypatch.setattr(resample, "MANY_KINDS", 100)
    found = mean_interval(losses, resamples=4000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.08 * expected.width)


def test_grouped_items_hide_a_vanishing_share_of_the_spread():
    rng = np.random.default_rng(13)
    values = np.sort(rng.lognormal(0, 2, 50_000))
    group = resample.neighbours(values, np.ones(50_000), resample.GROUPED_KINDS)
    means = np.bincount(group, weights=values) / np.maximum(np.bincount(group), 1)
    assert 1 - np.var(means[group]) / np.var(values) < 1e-3


def test_the_interval_is_close_to_the_bca_interval_of_scipy_when_items_are_many():
    rng = np.random.default_rng(14)
    values = rng.exponential(1, 400)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=rng).confidence_interval
    ours = mean_interval(values, resamples=20_000)
    # Ours is wider by 0.4 %, the correction for 400 items, and both have Monte Carlo error.
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.05 * (theirs.high - theirs.low))


def test_the_bounds_are_those_of_the_published_formula():
    values = np.random.default_rng(19).exponential(1, 30)
    means = np.random.default_rng(20).choice(values, (5000, 30)).mean(axis=1)
    left_out = np.array([np.delete(values, i).mean() for i in range(30)])
    bias = stats.norm.ppf((means < values.mean()).mean())
    spread = left_out.mean() - left_out
    acceleration = (spread**3).sum() / (6 * (spread**2).sum() ** 1.5)
    assert acceleration > 0.02
    reach = stats.t.ppf(0.975, 29) * np.sqrt(30 / 29)
    shifted = [bias - reach, bias + reach]
    expected = np.quantile(means, [stats.norm.cdf(bias + z / (1 - acceleration * z)) for z in shifted])
    found = resample.bca_bounds(means, values.mean(), left_out, 0.95)
    assert found == pytest.approx(tuple(expected), rel=1e-9)


def test_the_closed_jackknife_is_the_one_over_items():
    rng = np.random.default_rng(15)
    answers = rng.integers(1, 6, 40)
    sums = rng.random(40) * answers
    left_out = [np.delete(sums, i).sum() / np.delete(answers, i).sum() for i in range(40)]
    np.testing.assert_allclose((sums.sum() - sums) / (answers.sum() - answers), left_out)
    interval = mean_interval(sums, answers)
    assert interval.estimate == pytest.approx(sums.sum() / answers.sum())
    assert (interval.n, interval.n_effective) == (answers.sum(), 40)


def test_copies_of_every_answer_change_nothing():
    rng = np.random.default_rng(16)
    losses = rng.random(50)
    single = mean_interval(losses)
    repeated = mean_interval(losses * 10, np.full(50, 10))
    assert (repeated.low, repeated.high) == pytest.approx((single.low, single.high))


@pytest.mark.parametrize("sums", [[0.3], [0.2, 0.2, 0.2]])
def test_items_that_are_all_alike_show_no_spread(sums):
    interval = mean_interval(sums)
    assert interval.low == interval.estimate == interval.high


@pytest.mark.parametrize("many", [10, 1000])
def test_means_taken_together_have_the_intervals_they_have_alone(many, monkeypatch):
    monkeypatch.setattr(resample, "MANY_KINDS", many)
    values = np.random.default_rng(18).random((50, 2))
    values[:, 1] **= 3
    for place, together in enumerate(mean_intervals(values)):
        alone = mean_interval(values[:, place])
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high))


def test_a_mean_without_spread_is_left_alone_beside_one_with():
    flat, spread = mean_intervals(np.column_stack([np.full(20, 0.3), np.arange(20.0)]))
    assert flat.width == 0
    assert spread.width > 0


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(17).random(30)
    assert mean_interval(values, seed=3) == mean_interval(values, seed=3)
    assert mean_interval(values, seed=3) != mean_interval(values, seed=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "at least one item"),
        (lambda: mean_interval([1.0, np.nan]), "sums must be finite"),
        (lambda: mean_interval([1.0, 2.0], [1, 0]), "answers must be at least 1"),
        (lambda: mean_interval([1.0, 2.0], [1]), "equally many items"),
        (lambda: mean_interval([1.0, 2.0], confidence=1), "confidence must lie in"),
        (lambda: mean_interval([1.0, 2.0], resamples=0), "resamples must be at least 1, got 0"),
        (lambda: resample_calibration(Judged.of([], [])), "no readable answer"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
