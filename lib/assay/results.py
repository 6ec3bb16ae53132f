"""The records of many runs as one table: a row for each record, a column for each setting, scalar figure and hash.

Names of columns say where a value stands in the record: ``settings.delta``, ``figures.headline``, ``hashes.data``. A
figure that is a list or a table of its own has no place in a row and is left to the record. Nothing that a model wrote
is trusted: texts are neutralised in CSV and kept to what a terminal can print.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.files import Output, repository_root, require_ending, shown_path, write_whole

if TYPE_CHECKING:
    import pandas as pd

ENDINGS: Final = (".csv", ".parquet")
"""What a table can be written as."""

_PARTS = ("settings", "figures", "hashes")
_HEADLINE = "figures.headline"
_WIDEST = 100


class ResultsError(ValueError):
    """A record or a place to look for records cannot be used."""


def find_records(places: Sequence[Path] = ()) -> list[Path]:
    """List record files.

    Parameters
    ----------
    places : sequence of pathlib.Path
        Folders, whose ``*.json`` files are taken, and files; ``reports/records`` under the repository root if empty.

    Returns
    -------
    list of pathlib.Path
        Each once, by folder in the order of their names.

    Raises
    ------
    ResultsError
        A place is not there, or there is no record in it.
    """
    found: dict[Path, Path] = {}
    for place in places or [repository_root() / "reports" / "records"]:
        if place.is_dir():
            files = sorted(file for file in place.glob("*.json") if not file.name.startswith("."))
        else:
            files = [place] if place.is_file() else []
        if not files:
            what = "there is no record in it" if place.is_dir() else "no such file or folder"
            raise ResultsError(f"{shown_path(place)}: {what}")
        found |= {file.resolve(): file for file in files if file.resolve() not in found}
    return list(found.values())


def results_table(records: Iterable[Path]) -> "pd.DataFrame":
    """Collect records into one table.

    Parameters
    ----------
    records : iterable of pathlib.Path
        Record files, as `assay.record.Run.record` writes them.

    Returns
    -------
    pandas.DataFrame
        A row for each record in the order given. Columns: ``record`` (the file's name), ``notebook``, then settings,
        figures and hashes under dotted names, in the order in which they first occur; missing where a record has none.

    Raises
    ------
    ResultsError
        A file is no record; the message names it.
    """
    import pandas as pd

    rows = [{"record": file.name, **_row(_read(file))} for file in records]
    ordered = ["record", "notebook"]
    for part in _PARTS:
        named = dict.fromkeys(name for row in rows for name in row if name.startswith(f"{part}."))
        ordered += named
    return pd.DataFrame([[row.get(name) for name in ordered] for row in rows], columns=ordered, dtype=object)


def write_results(frame: "pd.DataFrame", place: Path) -> None:
    """Write a table as CSV (texts neutralised) or parquet, as its ending says, whole or not at all.

    Raises
    ------
    assay.files.OutputError
        The ending is another one.
    OSError
        The file cannot be written.
    """
    require_ending(Output("--output", place, ENDINGS))
    if place.suffix == ".csv":
        # The pages' own writer, so that there is one rule for what a spreadsheet would run.
        from assay.show.tables import csv_data

        write_whole(place, csv_data(frame))
        return
    sink = io.BytesIO()
    frame.apply(_one_type).to_parquet(sink, index=False)
    write_whole(place, sink.getvalue())


def results_text(frame: "pd.DataFrame") -> str:
    """Write a table for a terminal, a block for each notebook: the columns in which its rows differ, and the headline.

    Settings and figures that are the same in every row stand above the block, once. File names, hashes and prose other
    than the headline are left out.
    """
    return "\n\n".join(_block(frame[frame["notebook"] == name]) for name in frame["notebook"].unique())


def _block(frame: "pd.DataFrame") -> str:
    columns = [name for name in frame.columns if name != "record" and not name.startswith("hashes.")]
    columns = [name for name in columns if name == _HEADLINE or not _is_prose(frame[name])]
    texts = {name: [_written(value) for value in frame[name]] for name in columns}
    differ = [name for name in columns if len(set(texts[name])) > 1 or (name == _HEADLINE and any(texts[name]))]
    same = [name for name in columns if name not in differ and texts[name][0]]
    lines = [f"{_short_name(name, columns)}: {texts[name][0]}" for name in same]
    # The headline is the longest and stands last.
    differ.sort(key=lambda name: name == _HEADLINE)
    if differ:
        cells = [[_short_name(name, columns), *texts[name]] for name in differ]
        widths = [max(map(len, column)) for column in cells]
        padded = ([text.ljust(width) for text in column] for column, width in zip(cells, widths, strict=True))
        lines += ["", *("  ".join(row).rstrip() for row in zip(*padded, strict=True))]
    return "\n".join(lines)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{shown_path(file)} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ResultsError(f"{shown_path(file)} is not JSON, so no record of a run") from None
    whole = isinstance(content, dict) and isinstance(content.get("notebook"), str)
    if not whole or not all(isinstance(content.get(part), dict) for part in _PARTS):
        raise ResultsError(f"{shown_path(file)} is no record of a run: it lacks notebook, {', '.join(_PARTS)}")
    return dict(content)


def _row(content: Mapping[str, Any]) -> dict[str, object]:
    row: dict[str, object] = {"notebook": content["notebook"]}
    for part in _PARTS:
        row.update(_flat(content[part], part, lists=part == "settings"))
    return row


def _flat(value: object, name: str, *, lists: bool) -> dict[str, object]:
    """Give the scalars of a value under dotted names; a list of a setting is one text, any other is left out."""
    if isinstance(value, Mapping):
        flat: dict[str, object] = {}
        for key, part in value.items():
            flat |= _flat(part, f"{name}.{key}", lists=lists)
        return flat
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))} if lists else {}
    return {name: value}


def _one_type(column: "pd.Series") -> "pd.Series":
    """Make a column one that parquet can hold: where its values are of several types, all of them are text."""
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {int, float} or len(kinds) < 2:
        return column.astype("float64") if kinds == {int, float} else column
    return column.map(lambda value: None if value is None else str(value))


def _is_prose(column: "pd.Series") -> bool:
    return any(isinstance(value, str) and len(value) > _WIDEST for value in column)


def _short_name(name: str, columns: Sequence[str]) -> str:
    """Leave out where a column comes from, if no other then has its name."""
    short = name.partition(".")[2] or name
    return short if sum((other.partition(".")[2] or other) == short for other in columns) == 1 else name


def _written(value: object) -> str:
    if value is None or value == "":
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    # A model may have written it: no control characters reach the terminal.
    text = "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
