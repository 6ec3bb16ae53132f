"""Frames as tables that people can read: HTML that a screen reader follows, and CSV that a spreadsheet does not run.

Every cell is escaped on its way into HTML. On its way into CSV a text that a spreadsheet would take for a formula gets
an apostrophe in front; numbers are written as they are.
"""

import base64
import csv
import html
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

Format = str | Callable[[Any], str]

# The last four are full-width forms, which some spreadsheets read like the plain ones.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NOTHING = "–"
_SHORT = 24  # characters; a column of no more is not broken over lines
_LONG = 60  # characters; a column of more gets room to be read
_MANY = 8  # columns; a table of more is set closer on a page

NOTEBOOK_STYLE = (
    "<style>"
    ".table-region{overflow-x:auto;line-height:1.4;margin:.75em 0}"
    ".table-region.table-region table{border-collapse:collapse;border:0;margin:0;table-layout:auto;font-size:inherit;"
    "font-variant-numeric:tabular-nums lining-nums}"
    ".table-region.table-region caption{caption-side:top;text-align:left;font-weight:600;padding:0 0 .5em;color:inherit}"
    ".table-region.table-region tr,.table-region.table-region tbody tr:nth-child(odd){background:none}"
    ".table-region.table-region th,.table-region.table-region td{padding:.3em 1em .3em 0;text-align:left;"
    "vertical-align:top;border:0;border-top:1px solid #8886;max-width:34rem;line-height:1.4;white-space:normal}"
    ".table-region.table-region thead th{vertical-align:bottom;border-bottom:1px solid;font-weight:600}"
    ".table-region.table-region tbody th{font-weight:500}"
    ".table-region.table-region .number.number{text-align:right}"
    ".table-region.table-region tbody .number,.table-region.table-region tbody .short{white-space:nowrap}"
    "figure.assay-figure{margin:.75em 0;line-height:1.4}"
    ".assay-figure .picture{overflow-x:auto}.assay-figure img{max-width:100%;height:auto}"
    ".assay-figure figcaption{font-weight:600;margin:.5em 0}"
    "</style>"
)
"""The look of tables and figures where a notebook has its own ideas of them; a page drops it and has a style for all."""


class Table:
    """A frame to be shown in a notebook and in a report, with a caption and its CSV to download.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows. An index that is more than a row count becomes the first columns.
    caption : str
        What the table shows, in words.
    name : str
        Name of the CSV file without its ending: letters, digits and hyphens.
    formats : mapping of str to str or callable, optional
        How a column is written: a format specification such as ``.1%``, or a function from value to text.
    max_rows : int, optional
        Most rows shown, 200 by default; the CSV always holds all, and the caption says so when rows are left out.
    hidden : sequence of str, optional
        Columns that only the CSV holds.
    note : str, optional
        A sentence below the table, such as what the hidden columns would say.

    Raises
    ------
    ValueError
        The caption is blank or the name no file name.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        caption: str,
        name: str,
        formats: Mapping[str, Format] | None = None,
        max_rows: int = 200,
        hidden: Sequence[str] = (),
        note: str = "",
    ) -> None:
        if not caption.strip():
            raise ValueError("caption must say what the table shows, got a blank text")
        self.frame = frame
        self.caption = caption
        self.name = file_name(name)
        self.formats = dict(formats or {})
        self.max_rows = max_rows
        self.hidden = tuple(hidden)
        self.note = note

    def __repr__(self) -> str:
        return f"{self.caption} ({len(self.frame):,} rows)"

    def _repr_html_(self) -> str:
        if self.frame.empty:
            what = self.caption[:1].lower() + self.caption[1:]
            return f'<p class="assay-below">Nothing to show: {html.escape(what)}.</p>'
        shown = self.frame.drop(columns=list(self.hidden))
        table = html_table(shown, caption=self.caption, formats=self.formats, max_rows=self.max_rows)
        note = f'<p class="assay-below">{html.escape(self.note)}</p>' if self.note else ""
        link = download_link("CSV", f"{self.name}.csv", csv_data(self.frame), "text/csv", of=self.caption)
        return f'{NOTEBOOK_STYLE}<div class="assay-table">{table}{note}<p class="assay-downloads">Download: {link}</p></div>'


def blank_columns(frame: pd.DataFrame, among: Iterable[str]) -> list[str]:
    """Name the columns, of those given that are there, in which no row says anything: all 0, missing, or ``none``."""
    return [name for name in among if name in frame and all(_missing(one) or one in (0, "none") for one in frame[name])]


def html_table(
    frame: pd.DataFrame, *, caption: str, formats: Mapping[str, Format] | None = None, max_rows: int | None = None
) -> str:
    """Write a frame as an accessible HTML table.

    Parameters
    ----------
    frame, caption, formats, max_rows
        As for `Table`; all rows are shown without ``max_rows``.

    Returns
    -------
    str
        A focusable region that scrolls sideways, holding one ``table`` whose first cell of each row heads the row.
        Everything in it is escaped. What is missing shows as a dash.
    """
    frame = _with_index(frame)
    shown = frame if max_rows is None else frame.head(max_rows)
    if len(shown) < len(frame):
        caption = f"{caption} (the first {len(shown):,} of {len(frame):,} rows; the CSV holds all)"
    columns = [_Column(shown.iloc[:, position], formats or {}) for position in range(shown.shape[1])]
    heads = "".join(f'<th scope="col"{column.kind}>{html.escape(column.name)}</th>' for column in columns)
    rows = "".join(
        f"<tr>{''.join(map(_cell, columns, texts, [True] + [False] * len(columns)))}</tr>"
        for texts in zip(*(column.texts for column in columns), strict=True)
    )
    label = html.escape(f"Table: {caption}")
    wide = " many-columns" if len(columns) > _MANY else ""
    return (
        f'<div class="table-region{wide}" role="region" tabindex="0" aria-label="{label}"><table>'
        f"<caption><span>{html.escape(caption)}</span></caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def csv_text(frame: pd.DataFrame) -> str:
    """Write a frame as CSV in which no text cell or column name can act as a formula.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows. An index that is more than a row count becomes the first columns.

    Returns
    -------
    str
        Comma-separated, with a header line; missing values are empty cells. A text that starts with ``=``, ``+``,
        ``-``, ``@``, a tab or a line break (after blanks too) has an apostrophe in front.
    """
    frame = _with_index(frame)
    sink = io.StringIO(newline="")
    # With both characters in the line end the writer quotes both: a lone \r would start a row, and a cell, of its own.
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow([_harmless(str(name)) for name in frame.columns])
    for values in frame.itertuples(index=False, name=None):
        writer.writerow([_csv_cell(value) for value in values])
    return sink.getvalue()


def csv_data(frame: pd.DataFrame) -> bytes:
    """Encode `csv_text` as UTF-8 with a byte-order mark, by which spreadsheets know the encoding."""
    return csv_text(frame).encode("utf-8-sig")


def download_link(label: str, name: str, content: bytes, media_type: str, *, of: str) -> str:
    """Write a link that saves a file held in the page itself.

    Parameters
    ----------
    label : str
        Text of the link, such as ``CSV``.
    name : str
        Name the file is saved under.
    content : bytes
        The file.
    media_type : str
        Its media type.
    of : str
        What it is a file of; a screen reader reads it after the label.

    Returns
    -------
    str
        One ``a`` element.
    """
    address = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    return (
        f'<a download="{html.escape(name)}" href="{address}" aria-label="{html.escape(f"{label}: {of}")}">'
        f"{html.escape(label)}</a>"
    )


def file_name(name: str) -> str:
    """Check the stem of a file to download: small letters, digits and hyphens, as in ``reliability-haiku``.

    Raises
    ------
    ValueError
        The name holds anything else.
    """
    if not re.fullmatch(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*", name):
        raise ValueError(
            f"name must be small letters and digits with single hyphens, dots or underscores, got {name!r}"
        )
    return name


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    if not isinstance(frame.index, pd.RangeIndex):
        names = [str(name) for name in frame.index.names if name is not None]
        # An index without a name is a row label left over from a selection, unless it holds text.
        if names or not pd.api.types.is_integer_dtype(frame.index):
            frame = frame.reset_index()
    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis(
            [" · ".join(str(part) for part in parts if str(part)) for parts in frame.columns], axis=1
        )
    return frame


class _Column:
    """A column as it is shown: its name, its texts, and a class that says how they are set."""

    def __init__(self, values: pd.Series, formats: Mapping[str, Format]) -> None:
        self.name = str(values.name)
        write = _writer(formats.get(self.name))
        self.texts = [write(value) for value in values]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            self.kind = ' class="number"'
        else:
            longest = max(map(len, self.texts), default=0)
            self.kind = ' class="short"' if longest <= _SHORT else ' class="long"' if longest > _LONG else ""


def _cell(column: _Column, text: str, heads_row: bool) -> str:
    if heads_row:
        return f'<th scope="row"{column.kind}>{html.escape(text)}</th>'
    return f"<td{column.kind}>{html.escape(text)}</td>"


def _writer(chosen: Format | None) -> Callable[[object], str]:
    if callable(chosen):
        return lambda value: _NOTHING if _missing(value) else str(chosen(value))
    if chosen is not None:
        return lambda value: _NOTHING if _missing(value) else format(value, chosen)
    return _written


def _written(value: object) -> str:
    """Write one value for reading: counts with separators, decimals to three places, dashes for what is missing."""
    if _missing(value):
        return _NOTHING
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        size = abs(value)
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return f"{value:,.0f}" if size >= 1000 else f"{value:.3f}" if size >= 0.0005 or size == 0 else f"{value:.1e}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_written(part) for part in value) or _NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_written(part)}" for key, part in value.items()) or _NOTHING
    return str(value)


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _csv_cell(value: object) -> object:
    if _missing(value):
        return ""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return value
    return _harmless(value if isinstance(value, str) else _written(value))


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) or text.lstrip().startswith(_FORMULA_STARTS) else text
