"""What the answers say: predicted class, confidence, runner-ups and flags for every row of a table.

Distinct values are read once, whatever the number of rows that repeat them, and columns of numbers are taken whole;
both give what reading row by row would.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd

from assay.rules import Taxonomy
from assay.study.cells import MASS_ROUNDING, Flags, as_written, read_names, read_number, read_scores
from assay.study.columns import ColumnSource, Table, distinct_objects, is_numeric, label_text
from assay.study.contract import TableContract, TextContract


@dataclass(frozen=True)
class Readings:
    """What the rows of one table say, as parallel columns of length n.

    Parameters
    ----------
    predicted, error : arrays of str or None
        In every row, one of the two is None.
    confidence : float array
        In [0, 1]; NaN where unreadable.
    alternatives : array of dict or None
        Runner-ups with their confidences; rows share their dicts, which must not be changed.
    missing_context, flags : arrays of tuple of str
    """

    predicted: np.ndarray
    confidence: np.ndarray
    alternatives: np.ndarray
    missing_context: np.ndarray
    flags: np.ndarray
    error: np.ndarray

    def failing(self, errors: np.ndarray) -> "Readings":
        """Return these readings with `errors` (str, or None where there is none) instead of their own.

        What an unreadable row says counts for nothing; its flags stay.
        """
        rows = np.flatnonzero(pd.notna(errors))
        columns = {"predicted": None, "confidence": np.nan, "alternatives": None, "missing_context": ()}
        blanked = {name: getattr(self, name).copy() for name in columns}
        for name, nothing in columns.items():
            blanked[name][rows] = _filled(len(rows), nothing)
        return replace(self, **blanked, error=errors)


def read_completions(
    completions: pd.Series, finish_reasons: pd.Series | None, contract: TextContract, taxonomy: Taxonomy
) -> Readings:
    """Read a column of whole completions, each distinct one (with its finish reason) once.

    A missing completion is read as an empty one.
    """
    codes, texts = distinct_objects(completions)
    reasons: Sequence[Any] = [None]
    reason_codes = np.zeros(len(codes), dtype=np.int64)
    if finish_reasons is not None:
        reason_codes, reasons = distinct_objects(finish_reasons)
    pairs, rows = np.unique(codes * len(reasons) + reason_codes, return_inverse=True)
    readings = []
    for pair in pairs.tolist():
        text, reason = texts[pair // len(reasons)], reasons[pair % len(reasons)]
        readings.append(
            contract.read(text if isinstance(text, str) else "", taxonomy, reason if isinstance(reason, str) else None)
        )
    return Readings(
        predicted=_spread([one.predicted for one in readings], rows),
        confidence=np.array([one.confidence for one in readings], dtype=float)[rows],
        alternatives=_spread([one.alternatives for one in readings], rows),
        missing_context=_spread([one.missing_context for one in readings], rows),
        flags=_spread([one.flags for one in readings], rows),
        error=_spread([one.error for one in readings], rows),
    )


def read_columns(table: Table, contract: TableContract, taxonomy: Taxonomy) -> Readings:
    """Read answers that were already taken apart.

    Where several things are wrong with a row, its error is that of the label, else of the confidence or probabilities,
    else of the alternatives, else of the missing context.

    Raises
    ------
    StudyError
        If a column is missing; whatever stands in it is an answer, which may be unreadable but stops nothing.
    """
    said = _Columns(len(table))
    probabilities = _probabilities(table, contract)
    if contract.label is not None:
        said.read_labels(table.raw(ColumnSource(contract.label), "the predicted class"), taxonomy)
    elif probabilities is not None:
        said.read_labels(_most_probable(probabilities, contract.scale), taxonomy)
    if probabilities is not None:
        said.read_probabilities(probabilities, contract.scale, taxonomy)
    else:
        column = table.figures(ColumnSource(contract.confidence or "confidence"), "the confidence")
        said.read_confidences(column, contract.scale)
    if contract.alternatives:
        column = table.raw(ColumnSource(contract.alternatives), "the alternatives")
        said.read_alternatives(column, contract.scale, taxonomy)
    if contract.missing_context:
        said.read_missing_context(table.raw(ColumnSource(contract.missing_context), "the missing context"))
    return said.finished()


class _Columns:
    """The columns of `Readings` while they are filled; a row keeps the first error it is given."""

    def __init__(self, rows: int) -> None:
        self._rows = np.arange(rows)
        self._labels: list[str | None] = [None]
        self._label_codes = np.zeros(rows, dtype=np.int64)
        self._confidence = np.full(rows, np.nan)
        self._alternatives = _filled(rows, None)
        self._missing_context = _filled(rows, ())
        self._flags = _filled(rows, ())
        self._error = _filled(rows, None)

    def read_labels(self, column: pd.Series, taxonomy: Taxonomy) -> None:
        self._label_codes, written = distinct_objects(column)
        texts = [label_text(value) for value in written]
        self._labels = [None if text is None else taxonomy.resolve(text) for text in texts]
        flags: list[Flags] = []
        errors: list[str | None] = []
        for value, text, label in zip(written, texts, self._labels, strict=True):
            blank = value is None or (isinstance(value, str) and not value.strip())
            flags.append(("label_folded",) if label is not None and label != text else ())
            errors.append(None if label is not None else "missing_field" if blank else "unknown_class")
        self._note(self._rows, self._label_codes, flags, errors)

    def read_confidences(self, column: pd.Series, scale: int) -> None:
        rows = self._rows
        if is_numeric(column):
            numbers = column.to_numpy(dtype=float, na_value=np.nan)
            # What is on the scale beyond doubt needs no look at each value; a number in (0, 1] of 100 gets its flag.
            plain = (numbers >= 0) & (numbers <= scale) & ((scale == 1) | (numbers == 0) | (numbers > 1))
            self._confidence[plain] = np.abs(numbers[plain]) / scale
            rows = np.flatnonzero(~plain)
            distinct, codes = np.unique(numbers[rows], return_inverse=True)
            written: list[Any] = distinct.tolist()
        else:
            codes, written = distinct_objects(column)
        outcomes = [read_number(value, scale) for value in written]
        if isinstance(column.dtype, pd.StringDtype):
            # In a file of nothing but text, a number written as text says nothing about who wrote it.
            outcomes = [
                (number, tuple(flag for flag in flags if flag != "string_number"), error)
                for number, flags, error in outcomes
            ]
        self._confidence[rows] = np.array([number for number, _, _ in outcomes], dtype=float)[codes]
        self._note(rows, codes, [flags for _, flags, _ in outcomes], [error for _, _, error in outcomes])

    def read_probabilities(self, column: pd.Series, scale: int, taxonomy: Taxonomy) -> None:
        self._confidence = self._read_scores(column, scale, taxonomy, most_mass=1 + MASS_ROUNDING)
        without = np.flatnonzero(np.isnan(self._confidence))
        self._fail(without, _filled(len(without), "missing_confidence"))

    def read_alternatives(self, column: pd.Series, scale: int, taxonomy: Taxonomy) -> None:
        own = self._read_scores(column, scale, taxonomy)
        named = np.flatnonzero(~np.isnan(own))
        self._flag(named, _filled(len(named), ("label_among_alternatives",)))
        # The rules take the larger of the two numbers that an answer gives its own choice, so that one has to stay.
        for row in np.flatnonzero(own > self._confidence):
            predicted = self._labels[self._label_codes[row]]
            self._alternatives[row] = {**(self._alternatives[row] or {}), predicted: float(own[row])}

    def read_missing_context(self, column: pd.Series) -> None:
        codes, written = distinct_objects(column)
        outcomes = [read_names(value) for value in written]
        self._missing_context = _spread([names for names, _ in outcomes], codes)
        self._note(self._rows, codes, [()] * len(outcomes), [error for _, error in outcomes])

    def finished(self) -> Readings:
        predicted = _spread(self._labels, self._label_codes)
        said = Readings(
            predicted, self._confidence, self._alternatives, self._missing_context, self._flags, self._error
        )
        return said.failing(self._error)

    def _read_scores(self, column: pd.Series, scale: int, taxonomy: Taxonomy, most_mass: float = np.inf) -> np.ndarray:
        """Set the runner-ups of each row and return what the row gives its own class, NaN where it gives it nothing."""
        codes, written = distinct_objects(column)
        scores = [read_scores(value, scale, taxonomy, most_mass) for value in written]
        self._note(self._rows, codes, [one.flags for one in scores], [one.error for one in scores])
        pairs, pair_of_row = np.unique(codes * len(self._labels) + self._label_codes, return_inverse=True)
        own = np.full(len(pairs), np.nan)
        alternatives: list[dict[str, float] | None] = []
        for place, pair in enumerate(pairs.tolist()):
            by_class = scores[pair // len(self._labels)].by_class
            predicted = self._labels[pair % len(self._labels)]
            own[place] = by_class.get(predicted, np.nan)
            alternatives.append({name: score for name, score in by_class.items() if name != predicted} or None)
        self._alternatives = _spread(alternatives, pair_of_row)
        return own[pair_of_row]

    def _note(self, rows: np.ndarray, codes: np.ndarray, flags: Sequence[Flags], errors: Sequence[str | None]) -> None:
        """Give `rows` the flags and errors of their distinct values."""
        flagged = np.flatnonzero(np.array([bool(some) for some in flags], dtype=bool)[codes])
        if len(flagged):
            self._flag(rows[flagged], _spread(flags, codes[flagged]))
        if any(errors):
            self._fail(rows, _spread(errors, codes))

    def _flag(self, rows: np.ndarray, flags: np.ndarray) -> None:
        joined = (
            tuple(dict.fromkeys(old + new)) if old else new for old, new in zip(self._flags[rows], flags, strict=True)
        )
        self._flags[rows] = np.fromiter(joined, dtype=object, count=len(rows))

    def _fail(self, rows: np.ndarray, errors: np.ndarray) -> None:
        free = pd.isna(self._error[rows])
        self._error[rows[free]] = errors[free]


def _probabilities(table: Table, contract: TableContract) -> pd.Series | None:
    """Return the column of probabilities, put together of one column for each class where the contract names those."""
    if contract.probabilities is None:
        return None
    if isinstance(contract.probabilities, str):
        return table.raw(ColumnSource(contract.probabilities), "the probabilities")
    columns = {
        name: _numbers(table.figures(ColumnSource(column), f"the probability of {name}"))
        for name, column in contract.probabilities.items()
    }
    rows = zip(*columns.values(), strict=True)
    joined = [
        {name: value for name, value in zip(columns, row, strict=True) if value is not None} or None for row in rows
    ]
    return pd.Series(joined, dtype=object)


def _numbers(column: pd.Series) -> list[Any]:
    """Return each cell as a float where it is one; None where it is empty, and anything else as it is, for whoever reads it."""
    codes, written = distinct_objects(column)
    cells: list[Any] = []
    for value in written:
        number, percent = as_written(value)
        blank = isinstance(value, str) and not value.strip()
        cells.append(None if blank else value if percent or np.isnan(number) else number)
    return [cells[code] for code in codes.tolist()]


def _most_probable(probabilities: pd.Series, scale: int) -> pd.Series:
    """Name the class with the largest number of each row, the first of equal ones; None where there is no number."""
    chosen = []
    for row in probabilities:
        written = {name: as_written(value) for name, value in (row or {}).items()}
        numbers = {
            name: number * scale / 100 if percent else number
            for name, (number, percent) in written.items()
            if not np.isnan(number)
        }
        chosen.append(max(numbers, key=lambda name: numbers[name]) if numbers else None)
    return pd.Series(chosen, dtype=object)


def _filled(rows: int, value: object) -> np.ndarray:
    """Return an array of `rows` objects, each of them `value`, which may be a tuple."""
    return np.fromiter(repeat(value, rows), dtype=object, count=rows)


def _spread(distinct: Sequence[Any], codes: np.ndarray) -> np.ndarray:
    """Return the object of each code."""
    return np.fromiter(distinct, dtype=object, count=len(distinct))[codes]
