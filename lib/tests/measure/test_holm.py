import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.holm import holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(p_values)
def test_an_adjusted_p_value_is_never_below_the_raw_one_nor_above_one(raw):
    adjusted = holm(raw)
    assert (adjusted >= raw).all()
    assert (adjusted <= 1).all()


@given(p_values)
def test_adjusting_keeps_the_order(raw):
    order = np.argsort(raw, kind="stable")
    assert (np.diff(holm(raw)[order]) >= 0).all()


@given(p_values, st.randoms())
def test_the_order_in_which_tests_are_given_does_not_matter(raw, random):
    shuffled = list(range(len(raw)))
    random.shuffle(shuffled)
    assert np.array_equal(holm(raw[shuffled]), holm(raw)[shuffled])


def test_the_smallest_is_multiplied_by_all_the_next_by_one_less():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_test_is_not_adjusted():
    assert holm([0.04]) == pytest.approx([0.04])


def test_a_test_that_could_not_be_made_does_not_count():
    adjusted = holm([0.01, np.nan, 0.02])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.02])
    assert np.isnan(adjusted[1])


def test_none_at_all_gives_none():
    assert len(holm([])) == 0


@pytest.mark.parametrize("outside", [-0.1, 1.1])
def test_a_p_value_outside_the_unit_interval_is_refused(outside):
    with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\]"):
        holm([0.5, outside])
