"""Ids, labels and numbers out of columns of any type."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.study import StudyError
from assay.study.columns import ColumnSource, Table, distinct_objects, label_text, positions

plain = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from(["1", "1.0", "True", ""])


def text(values: pd.Series) -> list[object]:
    table = Table("rows.csv", pd.DataFrame({"x": values}))
    return table.text(ColumnSource("x"), "the label").astype(object).where(lambda one: one.notna(), None).tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series(["0042", "55810e05", ""], dtype="str"), ["0042", "55810e05", None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series(["a", None], dtype=object), ["a", None]),
        (pd.Series(["b", "a", None], dtype="category"), ["b", "a", None]),
        (pd.Series([1, 0]), ["1", "0"]),
        (pd.Series([1, None], dtype="Int64"), ["1", None]),
        (pd.Series([1, 0], dtype="category"), ["1", "0"]),
        (pd.Series([1.0, np.nan, 0.5]), ["1", None, "0.5"]),
        (pd.Series([1.0, None], dtype="Float64"), ["1", None]),
        (pd.Series([1, 2.0, None], dtype=object), ["1", "2", None]),
        (pd.Series([True, False]), ["true", "false"]),
        (pd.Series([True, None], dtype="boolean"), ["true", None]),
        (pd.Series([9731470022915603, 9731470022915604]), ["9731470022915603", "9731470022915604"]),
        (pd.Series(pd.to_datetime(["2026-05-02T10:00:00", None])), ["2026-05-02T10:00:00", None]),
        (pd.Series(pd.to_datetime(["2026-05-02T10:00:00+02:00", None])), ["2026-05-02T08:00:00+00:00", None]),
        (pd.Series([date(2026, 5, 2), None]), ["2026-05-02", None]),
        (pd.Series([Decimal("1.00"), Decimal("0.50"), None]), ["1", "0.5", None]),
        (pd.Series([None, None], dtype=object), [None, None]),
    ],
)
def test_a_label_has_one_spelling_whatever_its_type(values: pd.Series, expected: list[object]) -> None:
    assert text(values) == expected
    # A prediction is read value by value, and has to come out as the label does.
    codes, distinct = distinct_objects(values)
    assert [None if distinct[code] in (None, "") else label_text(distinct[code]) for code in codes] == expected


@pytest.mark.parametrize("values", [[1, "1"], [True, 1], [True, "true"], ["a", 0.5]])
def test_values_of_several_types_are_not_matched_by_guess(values: list[object]) -> None:
    with pytest.raises(StudyError, match=r"rows\.csv, column 'x': mixed label types"):
        text(pd.Series(values, dtype=object))


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"a"])
def test_a_label_of_no_such_type_is_refused(value: object) -> None:
    with pytest.raises(StudyError, match="must be text, a number, a date or true/false"):
        text(pd.Series([value, value], dtype=object))


def test_half_a_character_is_no_label() -> None:
    with pytest.raises(StudyError, match="lone surrogate"):
        text(pd.Series(["a", "\ud800"], dtype=object))


def test_a_missing_id_is_named_by_row() -> None:
    table = Table("rows.csv", pd.DataFrame({"id": pd.Series(["1", "", "3"], dtype="str")}), header=True)
    with pytest.raises(
        StudyError, match=r"^rows\.csv, data row 2 \(header not counted\), column 'id': the id is missing"
    ):
        table.identifiers(ColumnSource("id"), "the id")


def test_a_missing_column_is_named_with_the_nearest() -> None:
    table = Table("rows.csv", pd.DataFrame({"item": ["1"], "labels": ["a"]}))
    with pytest.raises(StudyError, match=r"no column 'label' for the label \(did you mean 'labels'\?\)"):
        table.text(ColumnSource("label"), "the label")
    with pytest.raises(StudyError, match=r"no column 'zzz' for x \(the columns are item, labels\)"):
        table.text(ColumnSource("zzz"), "x")


def test_a_part_of_a_column_counts_from_one() -> None:
    table = Table("rows.csv", pd.DataFrame({"prompt": ["kopka-mar25", "semigran-jul25"]}))
    assert table.text(ColumnSource("prompt", "-", 1), "set").tolist() == ["kopka", "semigran"]
    assert table.text(ColumnSource("prompt", "-", 2), "month").tolist() == ["mar25", "jul25"]
    with pytest.raises(StudyError, match=r"row 1, column 'prompt': 'kopka-mar25' has no part 3 when split at '-'"):
        table.text(ColumnSource("prompt", "-", 3), "none")


@pytest.mark.parametrize("values", [["1", " 2 ", "", "1e3"], [1, 2.0, None, 1000], pd.array([1, 2, None, 1000])])
def test_numbers_may_be_written_as_text(values: object) -> None:
    table = Table("rows.csv", pd.DataFrame({"n": pd.Series(values)}))
    assert table.numbers(ColumnSource("n"), "n").fillna(-1).tolist() == [1, 2, -1, 1000]
    assert str(table.numbers(ColumnSource("n"), "n", whole=True).dtype) == "Int64"


@pytest.mark.parametrize(
    "value", ["secret", "1e400", "nan", "0x10", "1_0", True, float("inf"), [1], {"a": 1}, 10**400, 1j, pd.Timestamp(0)]
)
def test_what_is_no_number_is_named_by_row_and_never_shown(value: object) -> None:
    table = Table("rows.csv", pd.DataFrame({"cost": pd.Series([1.0, value], dtype=object)}))
    with pytest.raises(StudyError, match=r"row 2, column 'cost': the cost must be a finite number$") as caught:
        table.numbers(ColumnSource("cost"), "the cost")
    assert "secret" not in str(caught.value)


def test_a_whole_number_is_whole() -> None:
    table = Table("rows.csv", pd.DataFrame({"run": [1.0, 1.5]}))
    with pytest.raises(StudyError, match="row 2, column 'run': the run must be a whole number"):
        table.numbers(ColumnSource("run"), "the run", whole=True)


@given(st.lists(plain, max_size=20))
@settings(deadline=None)
def test_each_distinct_object_is_met_once_and_in_its_place(values: list[object]) -> None:
    codes, distinct = distinct_objects(pd.Series(values, dtype=object))
    said = [distinct[code] for code in codes]
    wanted = [None if value is None or value != value else value for value in values]
    assert [(type(one), one) for one in said] == [(type(one), one) for one in wanted]
    assert len({(type(one), repr(one)) for one in distinct}) <= len({(type(one), repr(one)) for one in wanted}) + 1


@given(st.lists(st.text(max_size=2), unique=True, max_size=8), st.lists(st.text(max_size=2), max_size=20))
@settings(deadline=None)
def test_positions_are_those_of_a_list(among: list[str], values: list[str]) -> None:
    found = positions(pd.Series(values, dtype="str"), pd.Series(among, dtype="str"))
    assert found.tolist() == [among.index(value) if value in among else -1 for value in values]
