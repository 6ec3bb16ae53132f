"""A named table in hand and the columns taken from it.

Files, log exports and frames name their columns as they please. A `ColumnSource` says which of them holds what is
wanted, and `Table` fetches it: as text that keeps ids and labels as they were written, or as numbers. A fault names the
table, the row (counted from 1, a header not counted) and the column.
"""

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from assay.rules.taxonomy import composed
from assay.study.errors import StudyError, listed, nearest, shown, to_declare
from assay.study.floats import widened
from assay.study.spreadsheets import has_decimal_commas, pointed

_EXACT_IN_A_DOUBLE = 2**53
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ColumnSource:
    """Where a column comes from: a column of the table, or one part of it between separators.

    Parameters
    ----------
    column : str
    split : str or None
        A separator. With it, the value is the `part`-th piece of the text between separators, counted from 1:
        part 1 of ``kopka-mar25`` split at ``-`` is ``kopka``.
    part : int, at least 1
    """

    column: str
    split: str | None = None
    part: int = 1


@dataclass(frozen=True)
class Table:
    """Rows read from one place.

    Parameters
    ----------
    name : str
        What messages call it: a file name, or the name of a frame.
    frame : DataFrame
        Row labels 0..n-1; column names are distinct strings.
    header : bool
        Whether a header stands above the rows, which messages then say is not counted.
    decimal : {".", ","}
        What stands before the fraction of a number that is written as text.
    options : bool
        As in `FileSource`.
    """

    name: str
    frame: pd.DataFrame
    header: bool = False
    decimal: str = "."
    options: bool = False

    def __len__(self) -> int:
        return len(self.frame)

    def at(self, row: int) -> str:
        """Return what messages call the row at position `row`, counted there from 1."""
        return f"{self.name}, data row {row + 1} (header not counted)" if self.header else f"{self.name}, row {row + 1}"

    def has(self, source: ColumnSource) -> bool:
        """Tell whether the column that `source` names is here."""
        return source.column in self.frame.columns

    def raw(self, source: ColumnSource, purpose: str) -> pd.Series:
        """Return the column as it was read, or the part of it that `source` asks for.

        Raises
        ------
        StudyError
            If there is no such column, or a row has too few parts.
        """
        if not self.has(source):
            names = [str(name) for name in self.frame.columns]
            hint = nearest(source.column, names) or f" (the columns are {listed(names)})"
            raise StudyError(
                f"{self.name}: no column {shown(source.column)} for {purpose}{hint}", kind="missing_column"
            )
        values = self.frame[source.column]
        if source.split is None:
            return widened(values)
        text = as_text(values, self, source.column)
        codes, whole = pd.factorize(text)
        pieces = [one.split(source.split)[source.part - 1 : source.part] for one in whole]
        parts = pd.Series(np.array([*(piece[0] if piece else None for piece in pieces), None], dtype=object)[codes])
        short = np.flatnonzero((parts.isna() & text.notna()).to_numpy())
        if len(short):
            raise StudyError(
                f"{self.at(short[0])}, column {shown(source.column)}: {shown(text.iloc[short[0]])} "
                f"has no part {source.part} when split at {shown(source.split)}"
            )
        return parts.astype("str")

    def text(self, source: ColumnSource, purpose: str) -> pd.Series:
        """Return a column that people wrote as text; an empty cell is missing (NaN)."""
        return as_text(self.raw(source, purpose), self, source.column)

    def labels(self, source: ColumnSource, purpose: str) -> pd.Series:
        """Return a column of classes that people gave, as `text` does and in the form in which a taxonomy keeps them."""
        values = self.text(source, purpose)
        distinct = values.drop_duplicates().dropna()
        spelled = {one: composed(one) for one in distinct if one != composed(one)}
        return values.replace(spelled) if spelled else values

    def identifiers(self, source: ColumnSource, purpose: str) -> pd.Series:
        """Return a column of ids as text, none of them missing."""
        values = self.text(source, purpose)
        missing = np.flatnonzero(values.isna().to_numpy())
        if len(missing):
            raise StudyError(f"{self.at(missing[0])}, column {shown(source.column)}: {purpose} is missing")
        return values

    def figures(self, source: ColumnSource, purpose: str) -> pd.Series:
        """Return a column of numbers as `raw` does, those that are written with a decimal comma with a point.

        Raises
        ------
        StudyError
            If a file has decimal commas throughout that were not declared: it is the spreadsheet's doing, not an answer
            gone wrong here and there.
        """
        values = self.raw(source, purpose)
        if self.header and self.decimal == "." and has_decimal_commas(values):
            raise StudyError(
                f"{self.name}, column {shown(source.column)}: its numbers are written with a decimal comma; "
                f"{to_declare('decimal', ',', options=self.options)}"
            )
        return pointed(values, self.decimal)

    def numbers(self, source: ColumnSource, purpose: str, *, whole: bool = False) -> pd.Series:
        """Return a measured column as ``Float64``, or as ``Int64`` where it has to be `whole`; empty cells are NA.

        Raises
        ------
        StudyError
            If a cell is no finite number, or not a whole one where that is asked for. The value is not shown, since a
            program or a provider wrote it.
        """
        values = self.figures(source, purpose)
        if is_numeric(values):
            floats = values.to_numpy(dtype=float, na_value=np.nan)
            wrong = np.isinf(floats)
        else:
            codes, distinct = distinct_objects(values)
            read = [_measured(value) for value in distinct]
            floats = np.array([np.nan if number is None else number for number in read])[codes]
            wrong = np.isinf(floats) | np.array([number is not None and number != number for number in read])[codes]
        if whole:
            wrong |= np.isfinite(floats) & ((np.abs(floats) >= _EXACT_IN_A_DOUBLE) | (np.floor(floats) != floats))
        if wrong.any():
            wanted = "a whole number" if whole else "a finite number"
            raise StudyError(
                f"{self.at(int(wrong.argmax()))}, column {shown(source.column)}: {purpose} must be {wanted}"
            )
        cleaned = pd.Series(pd.array(floats, dtype="Float64")).mask(np.isnan(floats))
        return cleaned.astype("Int64") if whole else cleaned


def as_text(values: pd.Series, table: Table, column: str) -> pd.Series:
    """Turn a column of ids or labels that people wrote into text, each value in one spelling.

    Text stays as it is (``0042`` keeps its zeros). Whole numbers lose a decimal point that a missing neighbour gave
    them (``1.0`` is ``1``), true and false are written so, a time that names its zone is written in UTC, and an empty
    cell is missing.

    Parameters
    ----------
    values : Series of any dtype, nullable and categorical ones included
    table, column
        Named in messages.

    Returns
    -------
    Series of str
        NaN where a value is missing.

    Raises
    ------
    StudyError
        If values of more than one type stand in the column (1, "1" and true may or may not be the same label: nothing
        is guessed), are of a type that is no label, or are not text that can be written down.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories = as_text(pd.Series(values.cat.categories), table, column)
        codes = values.cat.codes.to_numpy()
        return pd.Series(np.array([*categories, None], dtype=object)[codes]).astype("str")
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.map({True: "true", False: "false"}).astype("str").reset_index(drop=True)
    if pd.api.types.is_integer_dtype(values.dtype):
        return _keep_missing(values.astype("str"), values)
    if pd.api.types.is_float_dtype(values.dtype):
        distinct = values.drop_duplicates().dropna()
        return (
            values.map({number: float_text(float(number)) for number in distinct}).astype("str").reset_index(drop=True)
        )
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _keep_missing(values.map(label_text, na_action="ignore"), values)
    if isinstance(values.dtype, pd.StringDtype):
        text = values.astype("str").reset_index(drop=True)
        return text.mask(text == "")
    return _objects_as_text(values, table, column)


def is_numeric(values: pd.Series) -> bool:
    """Tell whether a column is one of real numbers by its type; true and false are no numbers."""
    dtype = values.dtype
    return pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_float_dtype(dtype)


def float_text(number: float) -> str:
    """Return a float label as text: ``1`` for 1.0, ``0.5`` for 0.5."""
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT_IN_A_DOUBLE else repr(number)


def label_text(value: object) -> str | None:
    """Return a label that a model gave, whatever its type, as text in the spelling of `as_text`.

    None if it is no label: of another type, or with half a surrogate pair in it, which cannot be written down.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, str):
        return value if value.isascii() or not _HALF_A_PAIR.search(value) else None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int) else None


def type_word(value: object) -> str:
    """Return what messages call the type of a label: text, a number, true/false, or a date."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "true/false"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    if isinstance(value, date):
        return "date"
    return type(value).__name__


def positions(values: pd.Series, among: pd.Series) -> np.ndarray:
    """Return where each value stands among distinct others, -1 where it does not; several times faster than an index."""
    found = pc.index_in(pa.array(values), value_set=pa.array(among))
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def distinct_objects(values: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Factorize a column that may hold anything, so that each distinct value is looked at once.

    Returns
    -------
    codes : int array, one per row
    distinct : list
        The values by code, a missing one as None. ``1``, ``1.0``, ``"1"`` and ``True`` are four different values.
    """
    if values.dtype != object:
        codes, uniques = pd.factorize(values)
        distinct = [*_plain(pd.Series(uniques)), None]
        return np.where(codes < 0, len(distinct) - 1, codes), distinct
    seen: dict[Hashable, int] = {}
    distinct = []
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(_plain(values)):
        key: Hashable = (type(value), value if isinstance(value, str | int | float) else repr(value))
        code = seen.get(key)
        if code is None:
            code = seen[key] = len(distinct)
            distinct.append(value)
        codes[row] = code
    return codes, distinct


def _measured(value: object) -> float | None:
    """Return the number in a cell of a measured column, None for an empty one, NaN for what is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, str) and "_" in value):
        return np.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return np.nan


def _plain(values: pd.Series) -> Iterator[Any]:
    """Yield the values as Python objects, any kind of missing one as None."""
    for value in values.astype(object):
        if (
            value is None
            or value is pd.NA
            or value is pd.NaT
            or (isinstance(value, float | Decimal) and value != value)
        ):
            yield None
        elif isinstance(value, Decimal):
            # A warehouse keeps whole numbers as decimals of up to 38 digits, ids among them.
            yield int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
        else:
            yield value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _keep_missing(text: pd.Series, values: pd.Series) -> pd.Series:
    return text.astype("str").mask(values.isna()).reset_index(drop=True)


def _objects_as_text(values: pd.Series, table: Table, column: str) -> pd.Series:
    codes, distinct = distinct_objects(values)
    words = {type_word(value) for value in distinct if value is not None}
    if len(words) > 1:
        raise StudyError(
            f"{table.name}, column {shown(column)}: mixed label types ({', '.join(sorted(words))}); write every value "
            "as one type, best as text",
            kind="mixed_label_types",
        )
    if not words <= {"text", "true/false", "number", "date"}:
        raise StudyError(
            f"{table.name}, column {shown(column)}: a value must be text, a number, a date or true/false, got {words.pop()}"
        )
    spelled = [None if value is None or value == "" else label_text(value) for value in distinct]
    if any(text is None and isinstance(value, str) and value for text, value in zip(spelled, distinct, strict=True)):
        raise StudyError(f"{table.name}, column {shown(column)}: holds a lone surrogate, which is not text")
    return pd.Series(np.array([*spelled, None], dtype=object)[codes]).astype("str")
