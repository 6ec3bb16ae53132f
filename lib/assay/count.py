"""Counting answers that are too many for one process: parts of parquet files on workers, added up.

What comes out is what one process gives, number for number: parts are counted in whole numbers, by
`assay.measure.tally`, and every figure is read off their sum.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import assay
from assay.files import Output, require_ending, shown_path, write_whole, writing_whole
from assay.measure.labelled import labels_of
from assay.measure.sweep import OUTCOMES, SweepCounts
from assay.measure.table import AnswerTable
from assay.measure.tally import Tally, sum_tallies, tally
from assay.measure.tally_figures import TallyFigures
from assay.record import plain
from assay.rules import Taxonomy, TaxonomyError
from assay.run import study_folder
from assay.study import StudyError, TableContract
from assay.study.columns import ColumnSource, Table
from assay.study.partitions import Part, find_parts, read_batches
from assay.study.reading import read_text
from assay.study.readings import read_columns
from assay.workers import Lost, spread

COLUMNS: Final = ("label", "predicted", "confidence", "probabilities", "alternatives", "missing_context", "item_id")
"""What a column may be named for, in `Source`."""

ENDINGS: Final = (".json", ".parquet")
"""What counts can be written as."""

_OPTIONAL = ("alternatives", "missing_context", "item_id")


class CountError(ValueError):
    """What is to be counted, or where the counts are to go, is given in a way that cannot be used."""


@dataclass(frozen=True)
class Source:
    """Where the answers are and how they are written.

    Attributes
    ----------
    parts : tuple of Part
    columns : mapping of str to str
        The column of each of `COLUMNS` that is there.
    scale : {1, 100}
    taxonomy : Taxonomy
    thresholds : (T,) float array
        Of the sweep.
    decimals : int or None
        As for `assay.measure.tally.tally`.
    """

    parts: tuple[Part, ...]
    columns: Mapping[str, str]
    scale: int
    taxonomy: Taxonomy
    thresholds: np.ndarray
    decimals: int | None

    @property
    def rows(self) -> int:
        """Rows in all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def files(self) -> int:
        """Files that have a row."""
        return len({part.path for part in self.parts})


def find_source(
    places: Sequence[Path],
    taxonomy: Taxonomy,
    *,
    columns: Mapping[str, str] | None = None,
    scale: int = 1,
    threshold: float | None = None,
    decimals: int | None = None,
) -> Source:
    """Find the answers to count.

    Parameters
    ----------
    places : sequence of pathlib.Path
        Parquet files, or folders of them.
    taxonomy : Taxonomy
    columns : mapping of str to str, optional
        Columns that have other names than those of `COLUMNS`. Needed are label, predicted and confidence, or
        probabilities in place of the last; the others are used where they are.
    scale : {1, 100}
        Of confidences.
    threshold : float in [0, 1], optional
        To be on the grid of the sweep beside 0.00, 0.01, ... 1.00.
    decimals : int, optional

    Raises
    ------
    CountError
        An argument cannot be used.
    assay.study.StudyError
        A file cannot be used.
    """
    given = dict(columns or {})
    for name in given:
        if name not in COLUMNS:
            raise CountError(f"a column may be named for {', '.join(COLUMNS)}, got {name!r}")
    if "probabilities" in given and ("confidence" in given or "alternatives" in given):
        raise CountError("probabilities hold the confidence and the alternatives; leave those two out")
    if threshold is not None and not 0 <= threshold <= 1:
        raise CountError(f"threshold must lie in [0, 1], got {threshold:g}")
    needed = ["label", "predicted", "probabilities" if "probabilities" in given else "confidence"]
    # A column that was named by hand has to be there.
    needed += [name for name in given if name not in needed]
    optional = [
        name for name in _OPTIONAL if name not in needed and not (name == "alternatives" and "probabilities" in given)
    ]
    called = {name: given.get(name, name) for name in (*needed, *optional)}
    parts, there = find_parts(places, [called[name] for name in needed], [called[name] for name in optional])
    grid = np.linspace(0, 1, 101).round(2)
    if threshold is not None:
        grid = np.unique(np.append(grid, threshold))
    kept = {name: column for name, column in called.items() if column in there}
    return Source(tuple(parts), kept, scale, taxonomy, grid, decimals)


def taxonomy_file(name: str) -> Path:
    """Find the TOML file of a taxonomy with its gates: this file, or that of the study of that name or folder."""
    path = Path(name)
    return path if path.is_file() else study_folder(name) / "study.toml"


def read_taxonomy(name: str) -> Taxonomy:
    """Read the taxonomy with its gates of a TOML file, or of the study of that name or folder.

    Raises
    ------
    assay.study.StudyError
        It cannot be used; the file is named.
    """
    path = taxonomy_file(name)
    where = shown_path(path)
    text = read_text(path, where)
    try:
        return Taxonomy.from_toml(text)
    except TaxonomyError as error:
        raise StudyError(f"{where}: {error}") from None


def count_answers(
    source: Source,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    done: Callable[[int], object] = lambda rows: None,
) -> Tally:
    """Count all answers.

    Parameters
    ----------
    source : Source
    workers : int, optional
        How many processes: 1 counts in this one; as many as there are cores by default.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers then count. They need the files under the same paths.
    done : callable
        Told the number of rows of each part that was counted.

    Raises
    ------
    assay.study.StudyError
        A file cannot be used; file, row and column are named.
    assay.measure.tally.TallyError
        There are too many distinct confidences.
    assay.workers.WorkersError
        There are no workers to be had, or they were lost.
    """
    tasks = [_Task(source, part) for part in source.parts]
    return sum_tallies(_counted(tasks, workers, scheduler, done))


@dataclass(frozen=True)
class _Task:
    source: Source
    part: Part


def _counted(
    tasks: Sequence[_Task], workers: int | None, scheduler: str | None, done: Callable[[int], object]
) -> Iterator[Tally]:
    if workers == 1 and scheduler is None:
        for task in tasks:
            yield from _tallies(task)
            done(task.part.rows)
        return
    # Each worker sends a sum, not its batches; the parts alone travel with it.
    for position, result in spread(_count_part, tasks, workers=workers, scheduler=scheduler):
        if isinstance(result, Lost):
            raise CountError(f"{tasks[position].part.path.name} could not be counted: {result.reason}")
        yield result
        done(tasks[position].part.rows)


def _count_part(task: _Task) -> Tally:
    return sum_tallies(_tallies(task))


def _tallies(task: _Task) -> Iterator[Tally]:
    source = task.source
    if not task.part.path.is_file():
        raise StudyError(f"{task.part.path.name}: a worker does not see it; workers need the files under the same path")
    contract = TableContract(
        label=source.columns["predicted"],
        confidence=source.columns.get("confidence"),
        alternatives=source.columns.get("alternatives"),
        probabilities=source.columns.get("probabilities"),
        missing_context=source.columns.get("missing_context"),
        scale=source.scale,
    )
    for batch in read_batches(task.part, tuple(source.columns.values())):
        label = labels_of(batch, ColumnSource(source.columns["label"]), source.taxonomy)
        kept = label.notna().to_numpy()
        said = read_columns(batch, contract, source.taxonomy)
        frame = pd.DataFrame(
            {
                "label": label,
                "predicted": pd.Series(said.predicted, dtype="str"),
                "confidence": said.confidence,
                "alternatives": pd.Series(said.alternatives, dtype=object),
                "missing_context": pd.Series(said.missing_context, dtype=object),
            }
        )
        item_id = _item_ids(batch, source)
        yield tally(
            AnswerTable.from_frame(frame if kept.all() else frame[kept], source.taxonomy),
            thresholds=source.thresholds,
            unlabelled=int((~kept).sum()),
            item_id=None if item_id is None else item_id[kept],
            decimals=source.decimals,
        )


def _item_ids(batch: Table, source: Source) -> pd.Series | None:
    if "item_id" not in source.columns:
        return None
    return batch.identifiers(ColumnSource(source.columns["item_id"]), "the item id")


def write_counts(place: Path, counted: Tally, figures: TallyFigures, source: Source) -> None:
    """Write what was counted, whole or not at all.

    Parameters
    ----------
    place : pathlib.Path
        ``.json``: the figures, and what they were counted from. ``.parquet``: every count, a row each; see `count_tables`.

    Raises
    ------
    assay.files.OutputError
        The ending is another one.
    OSError
        The file cannot be written.
    """
    require_ending(Output("--output", place, ENDINGS))
    if place.suffix == ".json":
        content = {
            "figures": figures.record(),
            "source": {
                "files": source.files,
                "rows": source.rows,
                "columns": dict(source.columns),
                "scale": source.scale,
                "decimals": source.decimals,
            },
            "taxonomy": {**source.taxonomy.to_dict(), "sha256": source.taxonomy.digest()},
            "version": assay.__version__,
        }
        text = json.dumps(plain(content, "counts"), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(place, (text + "\n").encode())
        return
    with writing_whole(place) as file, pq.ParquetWriter(file, _SCHEMA, compression="zstd") as writer:
        for table in count_tables(counted):
            writer.write_table(table)


_SCHEMA = pa.schema(
    [
        ("count", pa.string()),
        ("label", pa.string()),
        ("outcome", pa.string()),
        ("threshold", pa.float64()),
        ("tie_margin", pa.float64()),
        ("confidence", pa.float64()),
        ("answers", pa.int64()),
    ]
)
_ROWS_AT_A_TIME = 1 << 20


def count_tables(counted: Tally) -> Iterator[pa.Table]:
    """Give every count as rows of one long table, in pieces.

    Yields
    ------
    pyarrow.Table
        Columns: ``count`` (``decision``: answers of a label by outcome at a threshold and tie margin; ``decided``:
        answers acted on as a class; ``confidence``: readable answers by confidence, outcome right or wrong;
        ``unreadable`` and ``unlabelled``), ``label``, ``outcome``, ``threshold``, ``tie_margin``, ``confidence`` and
        ``answers``. What does not apply is null; counts of nothing are left out.
    """
    yield from _sweep_tables(counted.sweep)
    cells = counted.cells
    for outcome, counts in (("right", cells.right), ("wrong", cells.wrong)):
        for begin in range(0, len(cells), _ROWS_AT_A_TIME):
            some = slice(begin, begin + _ROWS_AT_A_TIME)
            held = counts[some] > 0
            yield _rows("confidence", counts[some][held], outcome=outcome, confidence=cells.confidence[some][held])
    yield _rows("unreadable", np.array([counted.unreadable]))
    yield _rows("unlabelled", np.array([counted.unlabelled]))


def _sweep_tables(sweep: SweepCounts) -> Iterator[pa.Table]:
    taxonomy = sweep.taxonomy
    slots: Iterable[str | None] = (*sweep.classes, None, taxonomy.abstain)
    for label, by_outcome in zip(slots, sweep.outcomes, strict=True):
        for outcome, plane in zip(OUTCOMES, by_outcome, strict=True):
            yield _plane("decision", label, outcome, plane, sweep)
    for label, plane in zip(sweep.classes, sweep.decided, strict=True):
        yield _plane("decided", label, None, plane, sweep)


def _plane(count: str, label: str | None, outcome: str | None, plane: np.ndarray, sweep: SweepCounts) -> pa.Table:
    row, column = np.nonzero(plane)
    points = {"threshold": sweep.thresholds[row], "tie_margin": sweep.margins[column]}
    return _rows(count, plane[row, column].astype(np.int64), label=label, outcome=outcome, **points)


def _rows(count: str, answers: np.ndarray, **columns: object) -> pa.Table:
    size = len(answers)
    given = {"count": count, **columns}
    arrays = []
    for field in _SCHEMA:
        value = answers.astype(np.int64) if field.name == "answers" else given.get(field.name)
        arrays.append(
            pa.array(value, type=field.type)
            if isinstance(value, np.ndarray)
            else pa.repeat(pa.scalar(value, type=field.type), size)
        )
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)
