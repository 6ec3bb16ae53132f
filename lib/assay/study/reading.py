"""Reading the files of a study: CSV, JSON Lines and parquet.

Nothing is converted on the way in. Every CSV cell stays the text it is (``0042`` is no number), quoted line breaks stay
inside their cell, and a byte-order mark is dropped. A file that is damaged, in another encoding or ragged is refused
with its name and the first row that shows it; rows are never skipped, except lines with nothing on them.
"""

import codecs
import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from assay.study.columns import Table
from assay.study.errors import StudyError, listed, shown, to_declare
from assay.study.floats import widened_lists
from assay.study.spreadsheets import refuse_other_separator, separated

READERS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""File endings that are read."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte-order marks; that of UTF-32 begins with that of UTF-16 and is tried first."""

_NULLABLE_INTEGERS = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""Arrow types that would turn to floats or objects beside a null; a 16-digit id does not survive a float."""


@dataclass(frozen=True)
class FileSource:
    """A file and how it is written.

    Parameters
    ----------
    path : Path
    name : str
        What messages call it.
    encoding : str
        Of a CSV or JSON Lines file.
    delimiter : str, optional
        One character between the cells of a CSV file; if none is given, what its `sep=` line says, else a comma.
    skip_rows : int
        Rows of a CSV file above its header, such as a title that a spreadsheet put there; a `sep=` line is none.
    decimal : {".", ","}
        What stands before the fraction of a number in a CSV file.
    options : bool
        Whether all this is given by options of a command, which messages then name, and not set in a study.
    """

    path: Path
    name: str
    encoding: str = "utf-8"
    delimiter: str | None = None
    skip_rows: int = 0
    decimal: str = "."
    options: bool = False


def read_table(source: FileSource) -> Table:
    """Read one file as it is.

    Returns
    -------
    Table
        CSV cells are all text; JSON Lines values are what JSON says; parquet columns keep their types.

    Raises
    ------
    StudyError
        If the file is missing, empty, damaged, of an unknown kind or in another encoding, or has a column twice or
        ragged rows.
    """
    ending = source.path.suffix.casefold()
    if ending not in READERS:
        hint = "; save a spreadsheet as CSV with its ids as text" if ending in (".xlsx", ".xls", ".ods") else ""
        raise StudyError(f"{source.name}: files of this kind are not read, only {', '.join(READERS)}{hint}")
    try:
        if source.path.stat().st_size == 0:
            raise StudyError(f"{source.name}: the file is empty", kind="empty_file")
        if ending == ".parquet":
            frame = _parquet(source)
        elif ending in (".jsonl", ".ndjson"):
            frame = _json_lines(source)
        else:
            frame = _csv(source, "\t" if ending == ".tsv" else source.delimiter)
            return Table(
                source.name, _not_empty(frame, source), header=True, decimal=source.decimal, options=source.options
            )
    except OSError as error:
        raise StudyError(
            f"{source.name}: cannot be read ({error.strerror or 'I/O error'})", kind="unreadable_file"
        ) from None
    return Table(source.name, _not_empty(frame, source))


def read_text(path: Path, name: str, encoding: str = "utf-8", *, options: bool = False) -> str:
    """Read a text file without its byte-order mark; `options` is as in `FileSource`.

    Raises
    ------
    StudyError
        If its bytes are not text of that encoding; the message says which setting names another one.
    """
    setting = "give --encoding with" if options else "set encoding to"
    content = path.read_bytes()
    marked = next((one for mark, one in _MARKS.items() if content.startswith(mark)), None)
    # UTF-16 without more ("utf-16-le" is more) reads its mark itself; the mark of any other is a character of the text.
    if marked is not None and not codecs.lookup(encoding).name.startswith(marked):
        raise StudyError(
            f"{name}: the file is {marked.upper()}, not {encoding.upper()}; "
            f"{to_declare('encoding', marked, options=options)}",
            kind="encoding",
        )
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except (UnicodeError, ValueError) as error:
        at = f" (byte {error.start + 1:,})" if isinstance(error, UnicodeDecodeError) else ""
        raise StudyError(
            f"{name}: the file is not {encoding} text{at}; {setting} what it is, such as "
            '"utf-8", "utf-16", "latin-1" or "cp1252"',
            kind="encoding",
        ) from None
    if "\0" in text:
        raise StudyError(
            f'{name}: holds NUL characters, so it is damaged or in another encoding; {setting} that, such as "utf-16-le"',
            kind="encoding",
        )
    return text


def check_encoding(name: str, where: str) -> None:
    """Raise `StudyError` unless there is a text encoding of that name; messages call the setting `where`."""
    try:
        known = codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise StudyError(f'{where}: {shown(name)} is no text encoding; "utf-8", "latin-1" and so on are')


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _not_empty(frame: pd.DataFrame, source: FileSource) -> pd.DataFrame:
    if frame.empty:
        raise StudyError(f"{source.name}: there are no rows", kind="empty_file")
    return frame


def _text(source: FileSource) -> str:
    return read_text(source.path, source.name, source.encoding, options=source.options)


def _csv(source: FileSource, declared: str | None) -> pd.DataFrame:
    text, delimiter = separated(_text(source), declared, source.name)
    refuse_other_separator(text, delimiter, source.skip_rows, source.name, options=source.options)
    with _cells_of_any_length():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            rows = [row for row in reader if row]
        except csv.Error as error:
            raise StudyError(
                f"{source.name}, line {reader.line_num}: not CSV ({error})", kind="unreadable_file"
            ) from None
    if len(rows) <= source.skip_rows:
        raise StudyError(f"{source.name}: the file is empty", kind="empty_file")
    header, body = rows[source.skip_rows], rows[source.skip_rows + 1 :]
    for number, row in enumerate(body, start=1):
        if len(row) != len(header):
            raise StudyError(
                f"{source.name}, data row {number} (header not counted): {len(row)} cells where the header has "
                f"{len(header)}",
                kind="unreadable_file",
            )
    columns = list(zip(*body, strict=True)) if body else [()] * len(header)
    # A spreadsheet leaves columns without name or content at the right: those are no columns.
    kept = [(name, cells) for name, cells in zip(header, columns, strict=True) if name.strip() or any(cells)]
    _refuse_repeated([name for name, _ in kept], source.name)
    return pd.DataFrame({name: pd.array(cells, dtype="str") for name, cells in kept}, index=pd.RangeIndex(len(body)))


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lift the reader's limit of 128 KiB a cell, which is one of the whole process, for as long as a file is read."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _json_lines(source: FileSource) -> pd.DataFrame:
    text = _text(source)
    rows: list[dict[str, Any]] = []
    # Not splitlines: JSON may hold U+2028 and other separators unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except _RepeatedKeyError:
            raise StudyError(f"{source.name}, line {number}: an object gives one key twice") from None
        except (ValueError, RecursionError):
            raise StudyError(f"{source.name}, line {number}: not JSON", kind="unreadable_file") from None
        if not isinstance(row, dict):
            raise StudyError(f"{source.name}, line {number}: must be a JSON object, one row", kind="unreadable_file")
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if any(0xD800 <= ord(letter) <= 0xDFFF for name in names for letter in name):
        raise StudyError(f"{source.name}: a key holds a lone surrogate, which is not text", kind="unreadable_file")
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names}
    return pd.DataFrame(
        {name: _plain_column(values) for name, values in columns.items()}, index=pd.RangeIndex(len(rows))
    )


class _RepeatedKeyError(ValueError):
    """A JSON object with one key twice, the first of which a plain reader would lose in silence."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise _RepeatedKeyError
    return row


def _plain_column(values: pd.Series) -> pd.Series:
    """Give a column of nothing but text, or nothing but decimals, its own type; leave any other as what JSON gave."""
    types = set(map(type, values))
    try:
        return values.astype("str" if types == {str} else float) if types in ({str}, {float}) else values
    except UnicodeEncodeError:
        return values  # Half a surrogate pair: whoever takes the column decides.


def parquet_frame(table: pa.Table, name: str) -> pd.DataFrame:
    """Turn rows of a parquet file, which messages call `name`, into a frame whose columns keep their types.

    Raises
    ------
    StudyError
        If a column stands there twice.
    """
    names = table.column_names
    nested = (widened_lists(column) if pa.types.is_nested(column.type) else column for column in table.columns)
    columns = pa.table({str(place): column for place, column in enumerate(nested)})
    frame: pd.DataFrame = columns.to_pandas(ignore_metadata=True, types_mapper=_NULLABLE_INTEGERS.get)
    _refuse_repeated(names, name)
    for place, kind in enumerate(table.schema.types):
        if pa.types.is_struct(kind):
            frame[str(place)] = frame[str(place)].map(_fields_given, na_action="ignore")
    return frame.set_axis(names, axis="columns").reset_index(drop=True)


@contextmanager
def whole_parquet(name: str) -> Iterator[None]:
    """Turn what goes wrong while a parquet file is read into a `StudyError` that calls the file `name`."""
    try:
        yield
    except StudyError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise StudyError(f"{name}: not a whole parquet file (truncated or damaged)", kind="unreadable_file") from None


def _parquet(source: FileSource) -> pd.DataFrame:
    with whole_parquet(source.name), pq.ParquetFile(source.path) as file:
        return parquet_frame(file.read(), source.name)


def _fields_given(struct: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a row has: in a struct column every row has every field, if only as a null."""
    return {name: value for name, value in struct.items() if value is not None}


def _refuse_repeated(names: list[str], where: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise StudyError(f"{where}: {count} columns are called {shown(name)} (all columns: {listed(names)})")
