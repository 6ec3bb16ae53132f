"""Files as people and programs write them, and files that are broken."""

import codecs
import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.study import Study, StudyError
from assay.study.columns import Table
from assay.study.reading import FileSource, read_table

TEXT = "id,text\n1,über\n2,naïve\n"


def read(path: Path, content: bytes | str, **settings: object) -> Table:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(FileSource(path, path.name, **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-16"), "utf-16"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-32"), "utf-32"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8-sig"),
        (TEXT.encode("latin-1"), "latin-1"),
        (TEXT.encode("cp1252"), "cp1252"),
        (TEXT.replace("\n", "\r\n").encode(), "utf-8"),
        (TEXT.replace("\n", "\r").encode(), "utf-8"),
        (TEXT.rstrip("\n").encode(), "utf-8"),
        (TEXT.replace("\n", "\n\n").encode(), "utf-8"),
    ],
)
def test_csv_reads_the_same_in_any_declared_encoding_and_line_ending(
    tmp_path: Path, content: bytes, encoding: str
) -> None:
    frame = read(tmp_path / "rows.csv", content, encoding=encoding).frame
    assert frame.to_dict("list") == {"id": ["1", "2"], "text": ["über", "naïve"]}


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n", ""])
def test_json_lines_read_the_same_with_a_mark_and_any_line_ending(tmp_path: Path, mark: bytes, ending: str) -> None:
    rows = ['{"id": "1", "text": "über"}', '{"id": "2", "text": "na\\u00efve"}']
    frame = read(tmp_path / "rows.jsonl", mark + ((ending or "\n").join(rows) + ending).encode()).frame
    assert frame.to_dict("list") == {"id": ["1", "2"], "text": ["über", "naïve"]}
    wide = read(tmp_path / "wide.jsonl", "\n".join(rows).encode("utf-16"), encoding="utf-16").frame
    assert wide.equals(frame)


@pytest.mark.parametrize(
    ("content", "declared", "right"),
    [
        (codecs.BOM_UTF8 + TEXT.encode(), "latin-1", "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-16", "utf-8"),
        (TEXT.encode("utf-16"), "utf-8", "utf-16"),
        (TEXT.encode("utf-16"), "cp1252", "utf-16"),
        (TEXT.encode("utf-32"), "utf-8", "utf-32"),
    ],
)
def test_a_byte_order_mark_that_contradicts_the_encoding_is_named(
    tmp_path: Path, content: bytes, declared: str, right: str
) -> None:
    with pytest.raises(StudyError, match=f'the file is {right.upper()}, not .*; set encoding = "{right}"$') as caught:
        read(tmp_path / "rows.csv", content, encoding=declared)
    assert caught.value.kind == "encoding"


@pytest.mark.parametrize(
    "content", [TEXT.encode(name) for name in ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252")]
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_another_encoding_is_an_error_that_names_the_setting(tmp_path: Path, content: bytes, name: str) -> None:
    with pytest.raises(StudyError, match=rf"^{name}: .*set encoding") as caught:
        read(tmp_path / name, content)
    assert caught.value.kind == "encoding"


cells = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5), st.sampled_from([",", ";", "\t"]))
@settings(max_examples=60, deadline=None)
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory, rows: list[tuple[str, str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerows([("a", "b"), *rows])
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    frame = read(path, stream.getvalue(), delimiter=delimiter).frame
    assert list(frame.itertuples(index=False, name=None)) == rows


@given(
    st.lists(st.fixed_dictionaries({"a": cells, "b": st.none() | st.booleans() | st.integers() | cells}), min_size=1)
)
@settings(max_examples=60, deadline=None)
def test_what_json_says_is_read_back(tmp_path_factory, rows: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "rows.jsonl"
    frame = read(path, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)).frame
    assert frame.astype(object).to_dict("records") == rows


def test_unicode_separators_do_not_end_a_json_line(tmp_path: Path) -> None:
    frame = read(tmp_path / "rows.jsonl", '{"a": "one\u2028two\x85three"}\r\n\n{"a": "four"}').frame
    assert frame["a"].tolist() == ["one\u2028two\x85three", "four"]


def test_a_cell_may_be_longer_than_the_reader_usually_allows(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    frame = read(tmp_path / "rows.csv", f"a\n{'x' * 300_000}\n").frame
    assert len(frame["a"][0]) == 300_000
    assert csv.field_size_limit() == limit


def test_unnamed_empty_columns_at_the_right_are_no_columns(tmp_path: Path) -> None:
    assert list(read(tmp_path / "rows.csv", "id,text,,\n1,a,,\n").frame.columns) == ["id", "text"]


def test_parquet_keeps_long_whole_numbers_beside_a_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([9731470022915603, None])}), tmp_path / "rows.parquet")
    frame = read_table(FileSource(tmp_path / "rows.parquet", "rows.parquet")).frame
    assert frame["id"].astype("str").tolist()[0] == "9731470022915603"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", "", "the file is empty"),
        ("rows.csv", "\n\n", "the file is empty"),
        ("rows.csv", "a,b\n", "there are no rows"),
        ("rows.csv", "a,b,a\n1,2,3\n", "2 columns are called 'a'"),
        ("rows.csv", "a,b\n1,2\n3\n", r"data row 2 \(header not counted\): 1 cells where the header has 2"),
        ("rows.csv", "a,b\n1,2,3\n", r"data row 1 \(header not counted\): 3 cells where the header has 2"),
        ("rows.csv", 'a,b\n1,"2\n', "line 2: not CSV"),
        ("rows.csv", "a,b\n1,\x002\n", "holds NUL characters"),
        ("rows.jsonl", "", "the file is empty"),
        ("rows.jsonl", "\n", "there are no rows"),
        ("rows.jsonl", '{"a": 1}\n{"a": \n', "line 2: not JSON"),
        ("rows.jsonl", '{"a": 1}\n[1]\n', "line 2: must be a JSON object"),
        ("rows.jsonl", '{"a": 1, "a": 2}\n', "line 1: an object gives one key twice"),
        ("rows.jsonl", "[" * 100_000, "line 1: not JSON"),
        ("rows.jsonl", '{"a": ' + "1" * 10_000 + "}", "line 1: not JSON"),
        ("rows.jsonl", '{"\\ud800": 1}', "a key holds a lone surrogate"),
        ("rows.parquet", "", "the file is empty"),
        ("rows.parquet", "PAR1 and no more", r"not a whole parquet file \(truncated or damaged\)"),
        ("rows.json", "{}", r"files of this kind are not read, only \.csv"),
    ],
)
def test_a_broken_file_is_one_line_with_its_name(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(StudyError, match=f"^{name}.*{message}") as caught:
        read(tmp_path / name, content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_parquet_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": range(10_000)}).to_parquet(path)
    content = path.read_bytes()
    with pytest.raises(StudyError, match="truncated or damaged"):
        read(path, content[: int(len(content) * share)])


def test_a_parquet_column_given_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(StudyError, match="2 columns are called 'a'"):
        read_table(FileSource(tmp_path / "rows.parquet", "rows.parquet"))


def test_numbers_that_a_warehouse_keeps_as_decimals_are_numbers(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([Decimal(10**37 + 1), Decimal(2)], pa.decimal128(38, 0)),
            "label": pa.array([Decimal(1), Decimal(0)], pa.decimal128(38, 0)),
            "predicted": pa.array([Decimal("1.0"), None], pa.decimal128(3, 1)),
            "confidence": pa.array([Decimal("0.90"), Decimal("1.00")], pa.decimal128(5, 2)),
            "cost_usd": pa.array([Decimal("0.01"), None], pa.decimal128(5, 2)),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    study = Study.from_frame(read_table(FileSource(tmp_path / "rows.parquet", "rows.parquet")).frame, item_id="id")
    assert study.items["item_id"].tolist() == ["10000000000000000000000000000000000001", "2"]
    assert study.items["label"].tolist() == ["1", "0"]
    assert study.answers["confidence"].fillna(-1).tolist() == [0.9, -1]
    assert study.answers["error"].fillna("").tolist() == ["", "missing_field"]
    assert study.answers["cost_usd"].fillna(-1).tolist() == [0.01, -1]


def test_a_missing_file_and_a_folder_are_no_tracebacks(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "folder.csv", "none.parquet"):
        with pytest.raises(StudyError, match=f"^{name}: cannot be read"):
            read_table(FileSource(tmp_path / name, name))


@given(st.binary(max_size=200), st.sampled_from(["rows.csv", "rows.jsonl", "rows.parquet"]))
@settings(max_examples=200, deadline=None)
def test_no_bytes_give_anything_but_a_table_or_a_study_error(tmp_path_factory, content: bytes, name: str) -> None:
    try:
        table = read(tmp_path_factory.mktemp("any") / name, content)
    except StudyError as error:
        message = str(error)
    else:
        message = ""
        assert len(table) > 0
    assert "\n" not in message
