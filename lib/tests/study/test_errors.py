"""What every message of the room has in common: one line, values shown safely, the nearest name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.study import StudyError
from assay.study.errors import listed, nearest, shown


@given(st.text())
@settings(deadline=None)
def test_a_message_is_one_line_whatever_it_shows(text: str) -> None:
    message = str(StudyError(f"{text}: {shown(text)}, {listed([text, text])}"))
    assert not {"\n", "\r"} & set(message)
    assert len(shown(text)) <= 60


def test_a_long_list_is_counted_where_it_is_not_named() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(number) for number in range(1_010)], at_most=2) == "0, 1 and 1,008 more"
    assert listed([]) == "none"


@pytest.mark.parametrize(
    ("name", "hint"), [("stduy", " (did you mean 'study'?)"), (" STUDY", " (did you mean 'study'?)"), ("zzz", "")]
)
def test_the_nearest_name_is_suggested_if_it_is_near(name: str, hint: str) -> None:
    assert nearest(name, ["study", "taxonomy"]) == hint


def test_a_million_names_are_no_reason_to_wait() -> None:
    assert nearest("no such label", (f"label-{number}" for number in range(1_000_000))) == ""
    assert (
        nearest("LABEL-999999", (f"label-{number}" for number in range(1_000_000))) == " (did you mean 'label-999999'?)"
    )
