import numpy as np
import pytest

from assay.measure.pairing import MCNEMAR
from assay.measure.permutation import mcnemar
from assay.measure.power import fewest_differing, smallest_difference


def test_at_five_and_eighty_percent_it_is_some_two_point_eight_standard_errors():
    assert smallest_difference(1.0) == pytest.approx(2.8016, abs=1e-3)


def test_more_tests_need_a_larger_difference():
    assert smallest_difference(1.0, 0.05 / 10) > smallest_difference(1.0)


def test_an_unknown_error_gives_an_unknown_difference():
    assert np.isnan(smallest_difference(float("nan")))


@pytest.mark.parametrize(
    ("name", "values"), [("standard_error", (-1.0,)), ("level", (1.0, 0.0)), ("power", (1.0, 0.05, 1.0))]
)
def test_impossible_arguments_are_named(name, values):
    with pytest.raises(ValueError, match=name):
        smallest_difference(*values)


@pytest.mark.parametrize("level", [0.05, 0.05 / 10, 2**-7])
def test_fewer_items_than_the_fewest_cannot_reach_the_level(level):
    fewest = fewest_differing(level)
    assert mcnemar(fewest, 0) <= level < mcnemar(fewest - 1, 0)


@pytest.mark.long
def test_the_smallest_difference_is_found_in_four_of_five_studies():
    rng = np.random.default_rng(0)
    items, discordant = 400, 0.30
    difference = smallest_difference(np.sqrt(discordant / items))
    a_only, b_only = (discordant + difference) / 2, (discordant - difference) / 2
    drawn = rng.multinomial(items, [a_only, b_only, 1 - discordant], size=2000)
    found = np.mean([mcnemar(*row[:2]) <= 0.05 for row in drawn])
    assert found == pytest.approx(0.80, abs=0.05), MCNEMAR
