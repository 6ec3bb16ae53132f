"""Tables for reading, and CSV that no spreadsheet runs."""

import base64
import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.show.tables import Table, csv_data, csv_text, html_table

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


class Cells(HTMLParser):
    """Collects the text of the cells of a table, by element."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.elements: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.found.append((tag, ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, text = self.found[-1]
            self.found[-1] = (tag, text + data)


def cells(markup: str, tag: str = "td") -> list[str]:
    parser = Cells()
    parser.feed(markup)
    parser.close()
    return [text for found, text in parser.found if found == tag]


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_a_text_that_starts_like_a_formula_gets_an_apostrophe(start: str) -> None:
    rows = read_csv(csv_text(pd.DataFrame({f"{start}name": [f"{start}1+1"]})))
    assert rows == [[f"'{start}name"], [f"'{start}1+1"]]


def test_a_line_break_inside_a_text_starts_no_row() -> None:
    text = csv_text(pd.DataFrame({"x": ["a\r=1", "b\n=1", "c\r\n=1"]}))
    assert read_csv(text) == [["x"], ["a\r=1"], ["b\n=1"], ["c\r\n=1"]]
    assert text.count('"') == 6


def test_blanks_in_front_hide_no_formula() -> None:
    assert read_csv(csv_text(pd.DataFrame({"x": ["  =1"]})))[1] == ["'  =1"]


def test_negative_numbers_stay_numbers() -> None:
    frame = pd.DataFrame({"x": [-1, 2], "y": [-0.5, np.nan], "z": pd.array([None, -3], "Int64")})
    assert csv_text(frame) == "x,y,z\r\n-1,-0.5,\r\n2,,-3\r\n"


def test_a_number_in_an_object_column_is_still_one() -> None:
    assert csv_text(pd.DataFrame({"x": [-1, "-1", np.float64(-2.0)]}, dtype=object)) == "x\r\n-1\r\n'-1\r\n-2.0\r\n"


@given(st.lists(any_text, min_size=1, max_size=4), any_text)
def test_no_cell_of_a_csv_starts_like_a_formula_and_none_is_lost(texts: list[str], name: str) -> None:
    rows = read_csv(csv_text(pd.DataFrame(list(enumerate(texts)), columns=["n", name])))
    assert len(rows) == len(texts) + 1
    for (_, written), text in zip(rows, [name, *texts], strict=True):
        assert not written.startswith(FORMULA_STARTS)
        assert written in (text, f"'{text}")


def test_the_bytes_of_a_csv_tell_a_spreadsheet_their_encoding() -> None:
    assert csv_data(pd.DataFrame({"é": ["ü"]})) == b"\xef\xbb\xbf" + "é\r\nü\r\n".encode()


@given(any_text, any_text)
def test_any_text_in_a_table_shows_as_that_text(name: str, text: str) -> None:
    markup = html_table(pd.DataFrame([["row", text]], columns=["n", name]), caption="what it shows")
    parser = Cells()
    parser.feed(markup)
    parser.close()
    assert parser.elements == ["div", "table", "caption", "span", "thead", "tr", "th", "th", "tbody", "tr", "th", "td"]
    assert cells(markup) == [text]


def test_a_table_scrolls_in_a_region_that_the_keyboard_reaches() -> None:
    markup = html_table(pd.DataFrame({"x": [1]}), caption='a "caption"')
    assert markup.startswith(
        '<div class="table-region" role="region" tabindex="0" aria-label="Table: a &quot;caption&quot;"><table>'
    )


def test_columns_and_rows_are_headed() -> None:
    markup = html_table(pd.DataFrame({"class": ["em"], "items": [15]}), caption="c")
    assert '<th scope="col" class="short">class</th><th scope="col" class="number">items</th>' in markup
    assert '<tr><th scope="row" class="short">em</th><td class="number">15</td></tr>' in markup


def test_only_a_column_of_short_texts_is_kept_on_one_line() -> None:
    markup = html_table(pd.DataFrame({"n": ["a"], "x": ["x" * 24], "y": ["y" * 25]}), caption="c")
    assert '<td class="short">xx' in markup
    assert "<td>yy" in markup


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1130, "1,130"),
        (0.9066, "0.907"),
        (0.0, "0.000"),
        (0.0001, "1.0e-04"),
        (12345.6, "12,346"),
        (float("inf"), "∞"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (None, "–"),
        (float("nan"), "–"),
        (pd.NA, "–"),
        (("a", 1), "a, 1"),
        ({"a": 0.5}, "a: 0.500"),
        ((), "–"),
    ],
)
def test_values_are_written_for_reading(value: object, shown: str) -> None:
    frame = pd.DataFrame({"n": ["row"], "x": pd.Series([value], dtype=object)})
    assert cells(html_table(frame, caption="c")) == [shown]


def test_a_column_can_have_a_format_of_its_own() -> None:
    frame = pd.DataFrame({"n": ["a", "b"], "share": [0.5, None], "word": ["x", "y"]})
    markup = html_table(frame, caption="c", formats={"share": ".1%", "word": lambda value: f"<{value}>"})
    assert cells(markup) == ["50.0%", "<x>", "–", "<y>"]


def test_rows_left_out_are_said_to_be() -> None:
    frame = pd.DataFrame({"x": range(1000)})
    markup = html_table(frame, caption="c", max_rows=10)
    assert "c (the first 10 of 1,000 rows; the CSV holds all)" in markup
    assert markup.count("<tr>") == 11
    assert csv_text(frame).count("\n") == 1001


def test_a_named_index_becomes_a_column_and_a_leftover_one_does_not() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3]})
    assert csv_text(frame[frame.x > 1]) == "x\r\n2\r\n3\r\n"
    assert csv_text(frame.set_index(pd.Index(["a", "b", "c"], name="row"))) == "row,x\r\na,1\r\nb,2\r\nc,3\r\n"


def test_columns_of_several_levels_are_joined() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "")]))
    assert csv_text(frame) == "a · x,a\r\n1,2\r\n"


def test_columns_of_the_same_name_are_all_shown() -> None:
    frame = pd.DataFrame([["a", "b"]], columns=["x", "x"])
    assert csv_text(frame) == "x,x\r\na,b\r\n"
    assert cells(html_table(frame, caption="c")) == ["b"]


def test_a_table_of_no_rows_is_still_a_table() -> None:
    assert cells(html_table(pd.DataFrame({"x": []}), caption="c"), "th") == ["x"]


def test_a_table_shows_itself_with_its_csv() -> None:
    shown = Table(pd.DataFrame({"x": [1]}), caption="what it shows", name="counts")._repr_html_()
    assert 'download="counts.csv"' in shown
    assert "data:text/csv;base64," in shown


@pytest.mark.parametrize("name", ["", "../x", "a b", "A", "a/b", "x\x00"])
def test_a_download_has_a_plain_name(name: str) -> None:
    with pytest.raises(ValueError, match="name must be small letters and digits"):
        Table(pd.DataFrame(), caption="c", name=name)


def test_a_table_needs_a_caption() -> None:
    with pytest.raises(ValueError, match="caption must say what the table shows"):
        Table(pd.DataFrame(), caption=" ", name="x")


def test_a_hidden_column_is_in_the_csv_alone_and_the_note_stands_below_escaped() -> None:
    table = Table(pd.DataFrame({"a": [1], "b": [0]}), caption="Counts", name="n", hidden=["b"], note="No b < 1.")
    shown = table._repr_html_()
    assert ">a</th>" in shown
    assert ">b</th>" not in shown
    assert shown.index("</table>") < shown.index("No b &lt; 1.")
    encoded = re.search(r"base64,([^\"]+)", shown)
    assert encoded is not None
    assert base64.b64decode(encoded[1]).decode("utf-8-sig").splitlines() == ["a,b", "1,0"]


def test_a_table_of_no_rows_says_so_in_a_sentence() -> None:
    shown = Table(pd.DataFrame(), caption="Counts < 1", name="n", hidden=["b"])._repr_html_()
    assert shown == '<p class="assay-below">Nothing to show: counts &lt; 1.</p>'


def test_a_table_of_many_columns_is_marked_to_be_set_closer() -> None:
    wide = [html_table(pd.DataFrame([range(columns)]), caption="c") for columns in (8, 9)]
    assert ["many-columns" in shown for shown in wide] == [False, True]
