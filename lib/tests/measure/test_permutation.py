from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.measure.permutation import mcnemar, permutations_needed, swap_test, swap_test_of

PERMUTATIONS = 20_000
counts = st.integers(0, 60)


@given(counts, counts)
def test_mcnemar_is_the_binomial_test_of_the_pairs_that_differ(a_only, b_only):
    expected = stats.binomtest(a_only, a_only + b_only).pvalue if a_only + b_only else 1.0
    assert mcnemar(a_only, b_only) == pytest.approx(expected)


def test_without_a_pair_that_differs_mcnemar_gives_one():
    assert mcnemar(0, 0) == 1.0


@pytest.mark.parametrize("count", [-1, 5.5, float("nan"), None, "5", 5.0])
def test_what_is_no_count_is_refused(count):
    with pytest.raises(ValueError, match="a_only must be a whole number of at least 0"):
        mcnemar(count, 3)
    with pytest.raises(ValueError, match="b_only must be a whole number of at least 0"):
        mcnemar(np.int64(3), count)


@pytest.mark.parametrize("more", [2**31, 2**33 + 5, 10**15])
def test_counts_beyond_32_bits_are_not_wrapped(more):
    assert mcnemar(more, 3) == mcnemar(3, more) == pytest.approx(0, abs=1e-300)
    assert mcnemar(more, more) == 1.0


def within_simulation_error(got: float, expected: float) -> bool:
    return abs(got - expected) <= 4 * np.sqrt(expected * (1 - expected) / PERMUTATIONS) + 2 / PERMUTATIONS


def exact(differences: np.ndarray) -> float:
    signs = np.array(list(product((-1, 1), repeat=len(differences))))
    return float((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).mean())


@pytest.mark.parametrize("continuous", [False, True], ids=["tenths", "continuous"])
def test_swaps_agree_with_listing_every_pattern_of_swaps(continuous):
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.3, 0.6):
        differences = rng.normal(shift, 1, 11)
        differences = differences if continuous else differences.round(1)
        assert within_simulation_error(swap_test(differences, PERMUTATIONS), exact(differences))


def test_many_distinct_differences_are_swapped_as_few_are():
    rng = np.random.default_rng(4)
    tenths = rng.normal(0.15, 1, 120).round(1)
    # The noise makes all of them distinct, and moves no sum past another.
    noisy = tenths + rng.normal(0, 1e-7, 120) * (tenths != 0)
    assert swap_test(noisy, PERMUTATIONS) == pytest.approx(swap_test(tenths, PERMUTATIONS), abs=0.02)


@given(st.integers(1, 25), st.integers(0, 25))
def test_without_repeats_swaps_agree_with_mcnemar(a_only, b_only):
    differences = np.repeat([1.0, -1.0, 0.0], [a_only, b_only, 40])
    assert within_simulation_error(swap_test(differences, PERMUTATIONS), mcnemar(a_only, b_only))


def test_neither_sign_nor_scale_matters():
    differences = np.random.default_rng(5).normal(0.2, 1, 40).round(1)
    p_value = swap_test(differences)
    assert swap_test(-differences) == p_value
    assert swap_test(1000 * differences) == p_value


def test_items_that_do_not_differ_say_nothing():
    differences = np.random.default_rng(6).normal(0.2, 1, 40).round(1)
    assert swap_test(np.append(differences, np.zeros(500))) == swap_test(differences)


@pytest.mark.parametrize("differences", [[], [0.0, 0.0]])
def test_nothing_that_differs_gives_one(differences):
    assert swap_test(differences) == 1.0


def test_the_data_count_as_a_permutation():
    assert swap_test(np.ones(60), 999) == 0.001


def test_sums_that_are_equal_but_for_rounding_count_as_reached():
    # 0.1 + 0.2 is not 0.3 in doubles; every swap gives the same size of sum here.
    assert swap_test([0.1, 0.2, -0.3, 0.1 + 0.2]) == swap_test([1.0, 2.0, -3.0, 3.0])


def test_any_statistic_can_be_tested():
    differences = np.random.default_rng(7).normal(0.4, 1, 30)
    total = differences.sum()
    p_value = swap_test_of(lambda swapped: total - 2 * swapped @ differences, 30, PERMUTATIONS)
    assert p_value == pytest.approx(swap_test(differences, PERMUTATIONS), abs=0.01)


def test_permutations_grow_with_the_tests_they_have_to_carry():
    assert permutations_needed(1) == 1000
    assert permutations_needed(45) == 18_000
