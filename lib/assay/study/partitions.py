"""Answers in parquet files that are too many to hold: the files, cut into parts, and the rows of a part, batch by batch.

A part is some row groups of one file, about as many rows in each, so that parts can be read by different workers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from assay.files import identity
from assay.study.columns import Table
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.reading import parquet_frame, whole_parquet

BATCH: Final = 1 << 17
"""Rows that are held at a time."""

PART_ROWS: Final = 1 << 19
"""Rows of a part, as nearly as the row groups allow."""


@dataclass(frozen=True)
class Part:
    """Row groups of one parquet file.

    Attributes
    ----------
    path : pathlib.Path
        Absolute.
    groups : tuple of int
    first : int
        Rows of the file above them.
    rows : int
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    rows: int


def find_parts(
    places: Sequence[Path], needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[list[Part], tuple[str, ...]]:
    """Find parquet files and cut them into parts.

    Parameters
    ----------
    places : sequence of pathlib.Path
        Files, and folders in which every ``*.parquet`` is meant, at any depth; names with a dot or an underscore in
        front, which other programs keep their own things under, are passed over.
    needed : sequence of str
        Columns that every file must have.
    optional : sequence of str
        Columns that every file must have if any has them.

    Returns
    -------
    parts : list of Part
        In the order of the places, then of the file names. A file without rows has no part.
    columns : tuple of str
        Those needed, then the optional ones that are there.

    Raises
    ------
    StudyError
        If a place is not there or holds no such file, a file is damaged or lacks a column, or there are no rows.
    """
    parts: list[Part] = []
    files: dict[Path, list[str]] = {}
    seen: dict[object, Path] = {}
    for path in parquet_files(places):
        same = seen.setdefault(identity(path), path)
        if path in files or same != path:
            as_what = "" if same.name == path.name else f", here and as {same.name}"
            raise StudyError(f"{path.name} is given twice{as_what}; its answers would count twice")
        try:
            with whole_parquet(path.name), pq.ParquetFile(path) as file:
                files[path] = file.schema_arrow.names
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        except OSError as error:
            raise StudyError(f"{path.name}: cannot be read ({error.strerror or 'I/O error'})") from None
        parts += _cut(path, sizes)
    columns = (*needed, *(name for name in optional if any(name in names for names in files.values())))
    for path, names in files.items():
        for column in columns:
            if column not in names:
                hint = nearest(column, names) or f" (the columns are {listed(names)})"
                raise StudyError(f"{path.name}: no column {shown(column)}{hint}", kind="missing_column")
    if not parts:
        raise StudyError("there are no rows in these files", kind="empty_file")
    return parts, columns


def read_batches(part: Part, columns: Sequence[str]) -> Iterator[Table]:
    """Read some columns of a part, at most `BATCH` rows at a time.

    Raises
    ------
    StudyError
        If the file is damaged, or a column stands there twice.
    """
    row = part.first
    with whole_parquet(part.path.name), pq.ParquetFile(part.path) as file:
        for batch in file.iter_batches(BATCH, row_groups=list(part.groups), columns=list(columns)):
            # The rows of a batch count from 1; the name says where it begins.
            name = f"{part.path.name}, rows from {row + 1:,}" if row else part.path.name
            yield Table(name, parquet_frame(pa.Table.from_batches([batch]), name))
            row += batch.num_rows


def parquet_files(places: Sequence[Path]) -> Iterator[Path]:
    """Yield the absolute paths of the files that `find_parts` reads, as often as they are given.

    Raises
    ------
    StudyError
        If a place is not there or holds no such file.
    """
    for place in places:
        if place.is_dir():
            found = sorted(
                path
                for path in place.rglob("*.parquet")
                if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(place).parts)
            )
            if not found:
                raise StudyError(f"{place.as_posix()}: there is no parquet file in this folder", kind="empty_file")
            yield from (path.absolute() for path in found)
        elif place.is_file() and place.suffix == ".parquet":
            yield place.absolute()
        else:
            what = "is no .parquet file" if place.is_file() else "no such file or folder"
            raise StudyError(f"{place.as_posix()}: {what}", kind="unreadable_file")


def _cut(path: Path, sizes: Sequence[int]) -> list[Part]:
    parts: list[Part] = []
    groups: list[int] = []
    first = rows = 0
    for group, size in enumerate(sizes):
        groups.append(group)
        rows += size
        if rows and (rows >= PART_ROWS or group == len(sizes) - 1):
            parts.append(Part(path, tuple(groups), first, rows))
            first, rows, groups = first + rows, 0, []
    return parts
