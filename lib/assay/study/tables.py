"""Tables of `study.toml`, opened so that a key nobody knows is found before one that is missing for it."""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, cast

from assay.rules.documents import Fields
from assay.study.columns import ColumnSource
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.reading import FileSource, check_encoding
from assay.study.spreadsheets import DECIMAL_MARKS, check_delimiter


def open_table(value: object, where: str, *known: str) -> Fields:
    """Return the fields of a table that may have the keys `known` and no others.

    Raises
    ------
    StudyError
        If it is no table, or has another key; the nearest of those allowed is suggested.
    """
    table = as_table(value, where)
    for key in table:
        if key not in known:
            hint = nearest(key, known) or f" (known are {listed(known, at_most=20)})"
            raise StudyError(f"{where}: unknown key {shown(key)}{hint}")
    return Fields(table, where)


def as_table(value: object, where: str) -> dict[str, Any]:
    """Return a table whose keys are free, or raise `StudyError`."""
    if not isinstance(value, dict):
        raise StudyError(f"{where} must be a table, got {shown(value)}")
    return value


def open_tables(value: object, where: str, *known: str) -> list[Fields]:
    """Return the fields of each table of an array of tables, each known by its position, counted from 1."""
    if not isinstance(value, list):
        raise StudyError(f"{where} must be an array of tables, [[{where.rpartition('.')[2]}]], got {shown(value)}")
    return [open_table(one, f"{where}[{place}]", *known) for place, one in enumerate(value, start=1)]


def one_of(fields: Fields, key: str, allowed: list[Any]) -> str:
    """Take a string that has to be one of those allowed."""
    value = fields.text(key)
    if value not in allowed:
        raise StudyError(
            f"{fields.where}.{key} must be one of {listed(allowed)}, got {shown(value)}{nearest(value, allowed)}"
        )
    return cast(str, value)


def file_source(fields: Fields, folder: Path, given: str) -> FileSource:
    """Take how the file that a table names is written; `given` is its path inside the study's folder."""
    encoding = fields.text("encoding", "utf-8")
    delimiter = fields.text("delimiter", None)
    decimal = fields.text("decimal", ".")
    skip_rows = fields.whole("skip_rows", 0)
    check_declared(encoding, delimiter, decimal, lambda setting: f"{fields.where}.{setting}")
    path = inside(folder, given, f"{fields.where}.file")
    return FileSource(path, f"{folder.name}/{given}", encoding, delimiter, skip_rows, decimal)


def check_declared(encoding: str, delimiter: str | None, decimal: str, called: Callable[[str], str]) -> None:
    """Raise `StudyError` unless a file may be written so; `called` gives what messages call a setting."""
    check_encoding(encoding, called("encoding"))
    if delimiter is not None:
        check_delimiter(delimiter, called("delimiter"))
    if decimal not in DECIMAL_MARKS:
        raise StudyError(called("decimal") + f' must be "." or ",", got {shown(decimal)}')


def inside(folder: Path, given: str, where: str) -> Path:
    """Return the path of a file of the study; one that leads out of its folder is refused."""
    parts = PurePosixPath(given).parts
    if not parts or given.startswith("/") or ".." in parts or "\\" in given or ":" in parts[0] or "\0" in given:
        raise StudyError(f"{where} must be a path inside the study's folder, got {shown(given)}")
    path = folder.joinpath(*parts)
    try:
        leaves = not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links that go round in a circle
        leaves = True
    if leaves:
        raise StudyError(
            f"{where}: {shown(given)} leads out of the study's folder by a symbolic link; copy the file there"
        )
    return path


def column_sources(fields: Fields, allowed: tuple[str, ...]) -> dict[str, ColumnSource]:
    """Take the mapping `columns` of a table: what is wanted, and the column that has it."""
    where = f"{fields.where}.columns"
    table = fields.take("columns", {})
    open_table(table, where, *allowed)
    return {key: _column_source(value, f"{where}.{key}") for key, value in table.items()}


def names_left_out(fields: Fields, allowed: tuple[str, ...], columns: Mapping[str, ColumnSource]) -> tuple[str, ...]:
    """Take the list `leave_out` of a table: what no column is looked for, although one is called so."""
    where = f"{fields.where}.leave_out"
    given = fields.take("leave_out", [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise StudyError(f"{where} must be a list of names, got {shown(given)}")
    for name in given:
        if name not in allowed:
            hint = nearest(name, allowed) or f" (known are {listed(allowed, at_most=20)})"
            raise StudyError(f"{where}: unknown name {shown(name)}{hint}")
        if name in columns:
            raise StudyError(f"{where}: {shown(name)} is named as a column, too")
    return tuple(given)


def tag_sources(fields: Fields) -> dict[str, ColumnSource]:
    """Take the tags of a table: a list of columns, or a mapping of tag to column."""
    where = f"{fields.where}.tags"
    given = fields.take("tags", {})
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        given = {name: name for name in given}
    tags = {}
    for name, value in as_table(given, where).items():
        if not name.isidentifier():
            raise StudyError(f"{where}: a tag is named by letters, digits and _, got {shown(name)}")
        tags[name] = _column_source(value, f"{where}.{name}")
    return tags


def _column_source(value: object, where: str) -> ColumnSource:
    if isinstance(value, str):
        return ColumnSource(value)
    fields = open_table(value, where, "column", "split", "part")
    column, split, part = fields.text("column"), fields.text("split"), fields.whole("part")
    if not split or part < 1:
        raise StudyError(f"{where}: split must not be empty and part counts from 1")
    return ColumnSource(column, split, part)
