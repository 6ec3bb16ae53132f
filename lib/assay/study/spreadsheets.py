"""What spreadsheets make of a CSV file: another separator, a `sep=` line above the header, and decimal commas.

A spreadsheet writes these by the language of the person at it. What the file itself says, its `sep=` line, is followed;
what only looks so is never guessed at, but the error names what was found and the setting that reads it.
"""

import re

import pandas as pd

from assay.study.errors import StudyError, shown, to_declare

SEPARATORS = (";", "\t", "|", ",")
"""What spreadsheets put between cells."""

DECIMAL_MARKS = (".", ",")
"""What may stand before the fraction of a number."""

_SEPARATOR_LINE = re.compile(r'(?:sep=([!-~\t ])|"sep=([!-~\t ])")(?:\r\n|\n|\r|\Z)', re.IGNORECASE)
_LINE_BREAKS = re.compile(r"[\r\n]+")
_MARKS = str.maketrans(".,", ",.")
_DECIMAL_COMMAS = r"\s*[+-]?[0-9]*,[0-9]+\s*%?\s*"
_WHOLE = r"\s*(?:[+-]?[0-9]+\s*%?\s*)?"
_LONGEST_HEADER = 1_000_000


def check_delimiter(delimiter: str, where: str) -> None:
    """Raise `StudyError` unless a CSV file may be delimited so; messages call the setting `where`."""
    if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise StudyError(f"{where} must be one ASCII character, got {shown(delimiter)}")


def separated(text: str, declared: str | None, name: str) -> tuple[str, str]:
    """Take the `sep=` line off a CSV text that begins with one.

    Parameters
    ----------
    text : str
    declared : str or None
        The delimiter that the study declares; None where it leaves that to the file.
    name : str
        What messages call the file.

    Returns
    -------
    text : str
        Without that line.
    delimiter : str
        A comma where neither says another.

    Raises
    ------
    StudyError
        If the file says one and the study another.
    """
    line = _SEPARATOR_LINE.match(text)
    if line is None:
        return text, declared or ","
    own = line[1] or line[2]
    if declared not in (None, own):
        raise StudyError(
            f"{name}: its first line says that cells end at {shown(own)}, and delimiter is {shown(declared)}"
        )
    return text[line.end() :], own


def refuse_other_separator(text: str, delimiter: str, skip_rows: int, name: str, *, options: bool = False) -> None:
    """Raise `StudyError` where the header holds no `delimiter` but something else that separates cells.

    `options` is as in `FileSource`.
    """
    lines = [line for line in _LINE_BREAKS.split(text[:_LONGEST_HEADER]) if line][skip_rows : skip_rows + 1]
    header = lines[0] if lines else ""
    found = max(SEPARATORS, key=header.count)
    if delimiter not in header and found in header:
        declared = to_declare("delimiter", r"\t" if found == "\t" else found, options=options)
        raise StudyError(
            f"{name}: the header is one cell, {shown(header)}; its names look separated by {shown(found)}: {declared}",
            kind="unreadable_file",
        )


def pointed(values: pd.Series, decimal: str) -> pd.Series:
    """Return a column of numbers with a point before the fraction, where the file has `decimal` there.

    Under a decimal comma a point is no part of a number (``1.234`` may be a thousand), so such a cell stays unreadable.
    """
    if decimal == "." or not isinstance(values.dtype, pd.StringDtype):
        return values
    return values.str.translate(_MARKS)


def has_decimal_commas(values: pd.Series) -> bool:
    """Tell whether every number of a column of text is written without a point and some with a decimal comma."""
    if not isinstance(values.dtype, pd.StringDtype) or not values.str.contains(",", regex=False).any():
        return False
    distinct = values.dropna().drop_duplicates()
    commas = distinct.str.fullmatch(_DECIMAL_COMMAS)
    return bool(commas.any() and (commas | distinct.str.fullmatch(_WHOLE)).all())
