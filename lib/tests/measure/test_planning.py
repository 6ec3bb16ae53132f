import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.measure.binomial import FAIL, PASS, UNDECIDED, chance_of_at_least, chance_of_at_most, decided
from assay.measure.intervals import exact_lower, exact_upper
from assay.measure.planning import count_in_words, fewest_labels, further_labels, labels_needed

shares = st.floats(0.05, 0.99)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300), shares)
def test_tails_are_those_of_the_binomial_distribution(successes, more, rate):
    trials = successes + more
    assert chance_of_at_least(successes, trials, rate) == pytest.approx(stats.binom.sf(successes - 1, trials, rate))
    assert chance_of_at_most(successes, trials, rate) == pytest.approx(stats.binom.cdf(successes, trials, rate))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 200), st.integers(1, 200), shares, st.floats(0.001, 0.3))
def test_a_verdict_is_what_the_exact_bounds_say(successes, more, target, delta):
    trials = successes + more
    lower, upper = exact_lower(successes, trials, delta), exact_upper(successes, trials, delta)
    expected = PASS if lower >= target else FAIL if upper < target else UNDECIDED
    assert decided(successes, trials, target, delta) == expected


def test_no_trials_decide_nothing():
    assert decided(0, 0, 0.95, 0.05) == UNDECIDED


def test_59_labels_without_a_miss_suffice_for_95_percent_and_58_do_not():
    assert fewest_labels(0.95, 0.05) == 59
    assert decided(59, 59, 0.95, 0.05) == PASS
    assert decided(58, 58, 0.95, 0.05) == UNDECIDED


@settings(max_examples=50, deadline=None)
@given(shares, st.floats(0.001, 0.5))
def test_the_fewest_labels_pass_and_one_less_does_not(target, delta):
    fewest = fewest_labels(target, delta)
    assert decided(fewest, fewest, target, delta) == PASS
    assert fewest == 1 or decided(fewest - 1, fewest - 1, target, delta) != PASS


def test_a_rate_without_misses_needs_the_fewest_labels():
    assert labels_needed(0.95, 1.0, 0.05) == 59
    assert labels_needed(0.9, 1.0, 0.05) == 29


@pytest.mark.parametrize(("target", "expected", "power"), [(0.95, 0.998, 0.9), (0.95, 0.98, 0.9), (0.8, 0.9, 0.5)])
def test_the_labels_planned_for_pass_with_the_power_asked_for_and_stay_so(target, expected, power):
    def chance(trials):
        counts = np.arange(trials + 1)
        passes = decided(counts, trials, target, 0.05) == PASS
        return stats.binom.pmf(counts, trials, expected)[passes].sum()

    needed = labels_needed(target, expected, power=power)
    assert needed is not None
    assert all(chance(trials) >= power for trials in range(needed, needed + 60))
    assert chance(needed - 1) < power


@pytest.mark.parametrize("expected", [0.95, 0.9, 0.951])
def test_a_rate_at_or_hardly_above_the_target_needs_more_than_ten_thousand(expected):
    assert labels_needed(0.95, expected) is None
    assert count_in_words(None) == "more than 10,000"


def test_a_target_or_delta_of_0_or_1_is_refused():
    with pytest.raises(ValueError, match=r"target must lie strictly between 0 and 1, got 1\.0"):
        labels_needed(1.0)
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1, got 0"):
        fewest_labels(0.95, 0)
    with pytest.raises(ValueError, match=r"expected must lie in \[0, 1\], got 1\.2"):
        labels_needed(0.95, 1.2)


def test_what_is_decided_needs_no_further_labels():
    assert further_labels(59, 59, 0.95) == 0
    assert further_labels(10, 59, 0.95) == 0


def test_further_labels_at_a_spotless_rate_fill_up_to_the_fewest():
    assert further_labels(17, 17, 0.95) == 59 - 17
    assert further_labels(0, 0, 0.95) == 59


def test_a_rate_of_exactly_the_target_is_never_decided():
    assert further_labels(95, 100, 0.95) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 150), st.integers(0, 30))
def test_further_labels_at_the_observed_rate_decide_and_one_less_do_not(successes, misses):
    trials = successes + misses
    more = further_labels(successes, trials, 0.9)
    if more and trials:
        rate = successes / trials
        assert decided(rate * (trials + more), trials + more, 0.9, 0.05) != UNDECIDED
        assert decided(rate * (trials + more - 1), trials + more - 1, 0.9, 0.05) == UNDECIDED
