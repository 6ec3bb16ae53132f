"""Intervals of proportions: parity with scipy, clustering by item, and the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.measure.intervals import (
    clustered_proportion,
    effective_items,
    exact_lower,
    exact_upper,
    item_codes,
    plain_proportion,
    proportion_bounds,
    wilson,
)

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_that_of_scipy(count, confidence):
    k, n = count
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose(wilson(k, n, confidence), expected, rtol=0, atol=1e-12)


@given(counts, st.sampled_from([0.01, 0.05, 0.2]))
def test_exact_bounds_are_those_of_scipy(count, delta):
    k, n = count
    test = stats.binomtest(k, n, alternative="greater")
    assert exact_lower(k, n, delta) == pytest.approx(test.proportion_ci(1 - delta).low, abs=1e-12)
    test = stats.binomtest(k, n, alternative="less")
    assert exact_upper(k, n, delta) == pytest.approx(test.proportion_ci(1 - delta).high, abs=1e-12)


def test_fifty_nine_of_fifty_nine_passes_ninety_five_percent_and_fifty_eight_does_not():
    low = exact_lower([58, 59], [58, 59], 0.05)
    assert low[0] < 0.95 < low[1]
    assert exact_lower(17, 17, 0.05) == pytest.approx(0.838, abs=5e-4)


def test_all_right_reaches_one_and_all_wrong_zero_without_rounding():
    n = np.arange(1, 3001)
    assert (wilson(n, n)[1] == 1).all()
    assert (wilson(0, n)[0] == 0).all()


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_only_the_bound_next_to_the_edge_is_moved_and_only_outward(count, confidence):
    k, n = count
    low, high = wilson(k, n, confidence)
    moved_low, moved_high = proportion_bounds(k, n, confidence)
    assert 0 <= moved_low <= low <= high <= moved_high <= 1
    if not 0 < k <= 3:
        assert moved_low == low
    if not 0 < n - k <= 3:
        assert moved_high == high


def test_the_moved_bound_is_the_rate_at_which_so_many_misses_are_as_rare_as_allowed():
    for misses in (1, 2, 3):
        rate = 1 - float(proportion_bounds(60 - misses, 60)[1])
        assert stats.poisson.sf(misses - 1, 60 * rate) == pytest.approx(0.05)


@pytest.mark.parametrize("n", [18, 30, 60, 300])
def test_high_rates_are_covered_where_wilson_alone_misses_them(n):
    k = np.arange(n + 1)
    rates = np.linspace(1 - 3 / n, 1 - 0.06 / n, 200)
    chance = stats.binom.pmf(k[:, None], n, rates)

    def coverage(bounds):
        low, high = bounds(k, n)
        return (chance * ((low[:, None] <= rates) & (rates <= high[:, None]))).sum(axis=0)

    assert coverage(wilson).min() < 0.87
    assert coverage(proportion_bounds).min() > 0.92


def test_no_trials_leave_everything_possible():
    assert [float(bound) for bound in wilson(0, 0)] == [0.0, 1.0]
    assert exact_lower(0, 0, 0.05) == 0
    assert exact_upper(0, 0, 0.05) == 1


def test_a_share_of_nothing_is_unknown():
    interval = clustered_proportion([], [])
    assert not interval.known
    assert interval.n == 0
    assert math.isnan(interval.estimate)
    assert not clustered_proportion([0, 0], [0, 0], ["a", "b"]).known


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 5))
def test_copies_of_every_answer_change_nothing(outcomes, copies):
    single = clustered_proportion(outcomes, np.ones(len(outcomes)))
    items = np.repeat(np.arange(len(outcomes)), copies)
    repeated = clustered_proportion(np.repeat(outcomes, copies), np.ones(len(items)), items)
    np.testing.assert_allclose(
        [repeated.estimate, repeated.low, repeated.high], [single.estimate, single.low, single.high], atol=1e-12
    )
    assert repeated.n == copies * len(outcomes)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=60))
def test_effective_items_never_exceed_the_items_and_the_interval_holds_its_estimate(rows):
    items, outcomes = zip(*rows, strict=True)
    interval = clustered_proportion(outcomes, np.ones(len(rows)), items)
    assert 0 < interval.n_effective <= len(set(items))
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.width > 0


@pytest.mark.parametrize("right", [0, 1])
def test_all_alike_counts_the_items_and_never_has_zero_width(right):
    interval = clustered_proportion(np.full(50, right), np.ones(50), np.repeat(np.arange(5), 10))
    assert interval.n_effective == 5
    low, high = wilson(5 * right, 5)
    assert (interval.low, interval.high) == (low, high)
    assert interval.high - interval.low > 0.4


def test_an_item_without_trials_is_not_counted():
    interval = clustered_proportion([1, 1, 0, 0], [1, 1, 0, 0], ["a", "b", "c", "d"])
    assert interval.n_effective == 2
    assert interval.n == 2


def test_scatter_between_items_widens_the_interval():
    items = np.repeat(np.arange(20), 10)
    together = np.repeat([1, 0], 100)
    mixed = np.tile([1, 0], 100)
    assert clustered_proportion(together, np.ones(200), items).n_effective == pytest.approx(20)
    assert clustered_proportion(mixed, np.ones(200), items).n_effective == 20


def test_items_of_unequal_size_follow_the_variance_of_a_ratio():
    hits, trials = np.array([8.0, 1.0, 0.0, 3.0]), np.array([10.0, 1.0, 2.0, 6.0])
    share = hits.sum() / trials.sum()
    variance = ((hits - share * trials) ** 2).sum() / trials.sum() ** 2
    assert effective_items(hits, trials) == pytest.approx(min(4, share * (1 - share) / variance))


def test_trailing_axes_are_taken_one_by_one():
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 4, (30, 3, 2))
    hits = rng.binomial(trials, 0.7)
    together = effective_items(hits, trials)
    apart = [[float(effective_items(hits[:, i, j], trials[:, i, j])) for j in range(2)] for i in range(3)]
    np.testing.assert_allclose(together, apart)


@pytest.mark.parametrize("items", [[3, 3, 900, -1], ["b", "b", "a", "c"], [2.5, 2.5, 1.0, 7.0]])
def test_item_ids_of_any_type_become_codes(items):
    codes, count = item_codes(items)
    assert count == 3
    assert codes[0] == codes[1]
    assert len(set(codes)) == 3


def test_a_missing_item_is_refused_with_its_position():
    with pytest.raises(ValueError, match="position 1 is missing"):
        item_codes(np.array(["a", None, "b"], dtype=object))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson(3, 2), "successes must lie between 0 and n, got 3.0 of 2.0"),
        (lambda: wilson(-1, 2), "successes must lie between 0"),
        (lambda: wilson(np.nan, 2), "must be finite"),
        (lambda: wilson(1, 2, 1.0), r"confidence must lie in \(0, 1\), got 1.0"),
        (lambda: wilson([1, 2], [3, 3, 3]), "must have the same shape"),
        (lambda: exact_lower(1, 2, 0.0), "delta must lie in"),
        (lambda: exact_upper(3, 2, 0.05), "must lie between 0 and n"),
        (lambda: clustered_proportion([1, 0], [1, 1], ["a"]), "items must have the shape"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("events", [1, 2, 3])
def test_a_few_hits_are_a_few_whatever_the_number_of_items_rounds_them_to(events):
    for items in range(events + 1, 400):
        hits = [1] * events + [0] * (items - events)
        assert clustered_proportion(hits, [1] * items).low == pytest.approx(plain_proportion(events, items).low)
