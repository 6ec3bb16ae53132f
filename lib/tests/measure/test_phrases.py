"""Numbers in sentences."""

import pytest

from assay.measure.intervals import UNKNOWN, Interval
from assay.measure.phrases import counted, in_words, kinds_in_words, only_kind, percent, percent_interval


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


def test_kinds_are_words_with_their_counts_in_the_order_given():
    assert in_words("unknown_class") == "unknown class"
    assert kinds_in_words({"truncated": 1600, "unknown_class": 2}) == "truncated 1,600, unknown class 2"
    assert kinds_in_words({}) == "none"


def test_one_kind_is_told_only_where_there_is_no_other():
    assert only_kind([["not_json"], [], ["not_json", "not_json"]]) == "not json"
    assert only_kind([["not_json"], ["truncated"]]) is None
    assert only_kind([]) is None
