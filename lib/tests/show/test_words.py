import pandas as pd

from assay.measure.intervals import UNKNOWN, Interval
from assay.show.words import (
    Words,
    confidence_words,
    count,
    dates,
    listed,
    listed_series,
    percent,
    sentence,
    short_interval,
    with_interval,
)
from assay.study import Series

HALF = Interval(0.5, 0.25, 0.751, 20, 20.0)


def test_shares_are_written_in_percent_with_their_interval():
    assert percent(0.56814) == "56.8 %"
    assert with_interval(HALF) == "50.0 % (95 % interval 25.0 to 75.1)"
    assert short_interval(HALF) == "50.0 (25.0, 75.1)"


def test_what_is_not_defined_is_said_and_never_nan():
    assert with_interval(UNKNOWN) == "not defined (nothing to count)"
    assert short_interval(UNKNOWN) == "none"
    assert percent(float("nan")) == "not defined"


def test_counts_and_lists_read_as_english():
    assert count(1, "item") == "1 item"
    assert count(16950, "answer") == "16,950 answers"
    assert count(2, "policy", "policies") == "2 policies"
    assert listed([]) == "none"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh"), most=3) == "a, b and 6 more"
    assert sentence("so it is") == "So it is."


def test_series_of_one_model_are_named_after_it_together():
    def series(name, model):
        return Series(name, model, "p", "language_model", "verbal", pd.DataFrame())

    named = [series("phi, L1, token", "phi"), series("o3, L1", "o3"), series("phi, L1, verbal", "phi")]
    assert listed_series(named) == "phi (L1, token; L1, verbal) and o3, L1"
    # A name holds what differs alone, which may leave the model out.
    assert listed_series([series("L1", "phi"), series("L2", "phi")]) == "L1 and L2"


def test_words_escape_what_they_are_given_and_drop_empty_paragraphs():
    words = Words("a < b", "", "<script>alert(1)</script>")
    assert words.paragraphs == ("a < b", "<script>alert(1)</script>")
    assert words._repr_html_() == "<p>a &lt; b</p><p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_confidences_are_named_by_where_they_come_from():
    assert confidence_words("language_model", "verbal") == "language model verbal"
    assert confidence_words("classifier", "") == confidence_words("classifier", None) == "classifier"


def test_days_are_told_once_where_they_are_the_same():
    assert dates(["2026-04-28T10:00:00", "2026-04-27T23:59:59"]) == "2026-04-27 to 04-28"
    assert dates(["2025-12-31", "2026-01-01"]) == "2025-12-31 to 2026-01-01"
    assert dates(["2026-04-28T10:00", "2026-04-28T11:00"]) == "2026-04-28"
    assert dates([]) == "not recorded"
