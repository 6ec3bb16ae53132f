"""Evidence that may be looked at after every label: it errs as seldom as it says, and finds what it has to.

Streams of labels are drawn at a true rate and looked at after each. Counts are printed (``pytest -s``); the ordinary
suite draws 200 streams, the long one 2,000.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from assay.measure.anytime import anytime_bounds, log_evidence_above, log_evidence_below
from assay.measure.intervals import exact_lower, exact_upper

TARGET, DELTA = 0.95, 0.05
ENOUGH = np.log(1 / DELTA)

STREAMS = pytest.mark.parametrize("streams", [200, pytest.param(2000, marks=pytest.mark.long)])


def looks(rate, streams, labels, seed):
    """Successes so far at every look, one row per stream, and the number of labels then."""
    successes = (np.random.default_rng(seed).random((streams, labels)) < rate).cumsum(axis=1)
    return successes, np.arange(1, labels + 1)


def at_most(share, streams):
    """The largest count that a true share of `share` gives in 99 of 100 simulations."""
    return stats.binom.isf(0.01, streams, share)


@STREAMS
def test_a_rate_at_the_target_hardly_ever_looks_violated_and_a_fixed_bound_often_does(streams):
    successes, labels = looks(TARGET, streams, 1000, seed=31)
    alarms = (log_evidence_below(successes, labels, TARGET) >= ENOUGH).any(axis=1).sum()
    fixed = (exact_upper(successes, labels, DELTA) < TARGET).any(axis=1).sum()
    print(f"\ntrue rate 0.95: {alarms} false alarms in {streams} streams; with the bound of one sample size {fixed}")
    assert alarms <= at_most(0.05, streams)
    assert fixed > at_most(0.05, streams)


@STREAMS
def test_a_rate_just_below_the_target_hardly_ever_seems_to_hold_and_by_a_fixed_bound_often_does(streams):
    successes, labels = looks(0.949, streams, 1000, seed=32)
    held = (log_evidence_above(successes, labels, TARGET) >= ENOUGH).any(axis=1).sum()
    fixed = (exact_lower(successes, labels, DELTA) >= TARGET).any(axis=1).sum()
    print(f"\ntrue rate 0.949: {held} false holds in {streams} streams; with the bound of one sample size {fixed}")
    assert held <= at_most(0.05, streams)
    assert fixed > at_most(0.05, streams)


@STREAMS
@pytest.mark.parametrize(("rate", "labels", "share"), [(0.80, 100, 0.90), (0.90, 500, 0.85)])
def test_a_violation_is_found_in_time(rate, labels, share, streams):
    successes, trials = looks(rate, streams, labels, seed=33)
    found = (log_evidence_below(successes, trials, TARGET) >= ENOUGH).any(axis=1).sum()
    print(f"\ntrue rate {rate}: violated within {labels} labels in {found} of {streams} streams")
    assert found >= share * streams


@STREAMS
def test_a_policy_well_above_its_target_is_soon_shown_to_hold(streams):
    successes, trials = looks(0.998, streams, 200, seed=34)
    found = (log_evidence_above(successes, trials, TARGET) >= ENOUGH).any(axis=1).sum()
    print(f"\ntrue rate 0.998: holds within 200 labels in {found} of {streams} streams")
    assert found >= 0.9 * streams


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.05, 0.98))
def test_evidence_is_the_likelihood_ratio_averaged_over_one_side_of_a_beta_distribution(hits, misses, target):
    prior = stats.beta(target / (1 - target), 1)

    def ratio(rate):
        return np.exp(
            special.xlogy(hits, rate / target) + special.xlogy(misses, (1 - rate) / (1 - target)) + prior.logpdf(rate)
        )

    for evidence, (low, high) in ((log_evidence_below, (0, target)), (log_evidence_above, (target, 1))):
        share = prior.cdf(high) - prior.cdf(low)
        averaged = integrate.quad(
            ratio, low, high, limit=200, points=[min(max(hits / max(hits + misses, 1), low), high)]
        )
        assert np.exp(evidence(hits, hits + misses, target)) == pytest.approx(averaged[0] / share, rel=1e-5, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.integers(0, 40), st.integers(0, 40))
def test_evidence_is_never_expected_to_grow_where_it_has_to_be_fair(rate, target, hits, misses):
    trials = hits + misses
    for evidence, fair in ((log_evidence_below, rate >= target), (log_evidence_above, rate <= target)):
        if fair:
            right, wrong = evidence(np.array([hits + 1, hits]), trials + 1, target)
            expected = np.logaddexp(np.log(rate) + right, np.log1p(-rate) + wrong)
            assert expected <= evidence(hits, trials, target) + 1e-9


def test_no_labels_are_no_evidence():
    assert log_evidence_below(0, 0, TARGET) == pytest.approx(0)
    assert log_evidence_above(0, 0, TARGET) == pytest.approx(0)
    assert anytime_bounds(0, 0, DELTA, DELTA) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("given_to_it", "said"),
    [
        ((float("nan"), 300, DELTA, DELTA), "successes must be a whole number"),
        ((None, 300, DELTA, DELTA), "successes must be a whole number"),
        ((-1, 300, DELTA, DELTA), "successes must be a whole number of at least 0"),
        ((3, 2.5, DELTA, DELTA), "trials must be a whole number"),
        ((301, 300, DELTA, DELTA), r"successes must be at most trials \(300\), got 301"),
        ((3, 300, 0.0, DELTA), r"delta_lower must lie in \(0, 1\)"),
        ((3, 300, DELTA, float("nan")), r"delta_upper must lie in \(0, 1\)"),
    ],
)
def test_bounds_of_what_is_no_count_are_refused(given_to_it, said):
    with pytest.raises(ValueError, match=said):
        anytime_bounds(*given_to_it)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 400), st.integers(0, 100), st.floats(0.02, 0.99))
def test_bounds_say_what_the_evidence_says(hits, misses, target):
    trials = hits + misses
    lower, upper = anytime_bounds(hits, trials, DELTA, DELTA)
    assert 0 <= lower <= upper <= 1
    if abs(target - lower) > 1e-6:
        assert (target < lower) == bool(log_evidence_above(hits, trials, target) >= ENOUGH)
    if abs(target - upper) > 1e-6:
        assert (target > upper) == bool(log_evidence_below(hits, trials, target) >= ENOUGH)


def test_a_hundred_million_labels_overflow_nothing():
    for hits in (0, 10**6, 95 * 10**6, 10**8):
        for evidence in (log_evidence_below, log_evidence_above):
            assert not np.isnan(evidence(hits, 10**8, TARGET))
