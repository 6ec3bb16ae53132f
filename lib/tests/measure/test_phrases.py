"""Numbers in sentences."""

import pytest

from assay.measure.intervals import UNKNOWN, Interval
from assay.measure.phrases import counted, percent, percent_interval


@pytest.mark.parametrize(
    ("share", "digits", "written"),
    [
        (0.5517, 0, "55 %"),
        (0.5517, 1, "55.2 %"),
        (0.001, 0, "under 1 %"),
        (0.9999, 1, "over 99.9 %"),
        (0.0, 0, "0 %"),
        (1.0, 0, "100 %"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(share, digits, written):
    assert percent(share, digits) == written


def test_an_interval_names_both_bounds():
    assert percent_interval(Interval(0.55, 0.53, 0.57, 10, 10.0)) == "55 % (53 to 57 %)"
    assert percent_interval(UNKNOWN) == "unknown"


def test_one_is_singular():
    assert counted(1, "answer") == "1 answer"
    assert counted(1887, "answer") == "1,887 answers"
