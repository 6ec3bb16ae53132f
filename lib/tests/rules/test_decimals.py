from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules import at_least, below, gap_within, nano

hundredths = st.integers(0, 100).map(lambda value: value / 100)
shares = st.floats(0, 1)


@given(hundredths, hundredths, hundredths)
def test_hundredths_compare_as_the_decimals_they_are_written_as(high, low, margin):
    exact = Decimal(str(high)) - Decimal(str(low)) <= Decimal(str(margin))
    assert gap_within(high, low, margin) == exact


def test_every_pair_of_hundredths_a_tenth_apart_ties_at_a_tenth():
    pairs = [((step + 10) / 100, step / 100) for step in range(91)]
    assert all(gap_within(high, low, 0.10) for high, low in pairs)
    assert sum(not high - low <= 0.10 for high, low in pairs) == 19  # what plain floats would miss


@given(shares, shares)
def test_exactly_one_of_below_and_at_least_holds(value, bound):
    assert at_least(value, bound) != below(value, bound)


def test_vote_shares_compare_as_fractions():
    assert gap_within(2 / 3, 1 / 3, 1 / 3)
    assert at_least(0.1 + 0.2, 0.3)


def test_nan_never_clears_a_bound_and_is_never_below_one():
    nan = float("nan")
    assert not at_least(nan, 0.5)
    assert not at_least(0.5, nan)
    assert not below(nan, 0.5)
    with pytest.raises(ValueError, match="finite"):
        nano(nan)
