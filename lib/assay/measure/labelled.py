"""Labelled answers from a file: what `assay check` reads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from assay.rules import Taxonomy
from assay.rules.parsing import AnswerFields
from assay.study import ClassificationContract, StudyError, TableContract, load_study
from assay.study.columns import ColumnSource, Table
from assay.study.errors import listed, nearest, shown
from assay.study.reading import FileSource, read_table
from assay.study.readings import Readings, read_columns, read_completions
from assay.study.tables import check_declared

_ORIGIN = ("calibration", "elicitation", "model", "prompt", "prompt_sha256")


def read_labelled(
    path: Path, taxonomy: Taxonomy, *, encoding: str = "utf-8", delimiter: str | None = None, decimal: str = "."
) -> pd.DataFrame:
    """Read answers with their labels, in the order of the file.

    Parameters
    ----------
    path : Path
        A CSV, JSON Lines or parquet file with the columns ``label`` (empty: not labelled yet), ``calibration``, and
        either ``predicted`` and ``confidence`` in [0, 1], or ``completion``, the text that the model wrote. Used where
        present: ``item_id``, ``run``, ``alternatives``, ``missing_context``, ``elicitation``, ``model``, ``prompt``,
        ``prompt_sha256``. Or the folder of a study, whose own settings then say how its answers are written.
    taxonomy : Taxonomy
        Of the policy to be checked; every label must be one of its classes or its abstain name.
    encoding, delimiter, decimal : str
        How a file is written, as in `FileSource`; not for the folder of a study, which says so itself.

    Returns
    -------
    DataFrame
        Tidy, as `Study.answers`; labels are missing where the file has none.

    Raises
    ------
    StudyError
        If the file cannot be read, lacks a column, or a label is unknown; file, row and column are named.
    """
    check_declared(encoding, delimiter, decimal, lambda setting: f"--{setting}")
    if path.is_dir():
        given = {"encoding": encoding != "utf-8", "delimiter": delimiter is not None, "decimal": decimal != "."}
        if own := [f"--{name}" for name, one in given.items() if one]:
            raise StudyError(f"{path.name}: its study.toml says how its files are written; leave out {listed(own)}")
        return _labelled_as(load_study(path).answers, path.name, taxonomy)
    table = read_table(FileSource(path, path.name, encoding, delimiter, decimal=decimal, options=True))
    _refuse_missing(table)
    columns = {"label": labels_of(table, ColumnSource("label"), taxonomy, "the policy")}
    if table.has(ColumnSource("item_id")):
        columns["item_id"] = table.identifiers(ColumnSource("item_id"), "the item id")
    if table.has(ColumnSource("run")):
        columns["run"] = table.numbers(ColumnSource("run"), "the run", whole=True).fillna(1).astype("int64")
    for name in _ORIGIN:
        if name == "calibration" or table.has(ColumnSource(name)):
            columns[name] = table.text(ColumnSource(name), f"the {name}")
    said = _readings(table, taxonomy)
    columns["predicted"] = pd.Series(said.predicted, dtype="str")
    columns["confidence"] = pd.Series(said.confidence)
    columns["alternatives"] = pd.Series(said.alternatives, dtype=object)
    columns["missing_context"] = pd.Series(said.missing_context, dtype=object)
    return pd.DataFrame(columns)


def row_names(path: Path, answers: pd.DataFrame) -> Callable[[int], str]:
    """Return what names a row of what `read_labelled` gave, by its position from 0, in messages."""
    if path.is_dir():
        return lambda row: f"{path.name}, item {shown(answers['item_id'].iloc[row])}"
    return Table(path.name, answers, header=path.suffix.casefold() in (".csv", ".tsv")).at


def _labelled_as(answers: pd.DataFrame, name: str, taxonomy: Taxonomy) -> pd.DataFrame:
    """Return the answers of a study whose labels are classes of another taxonomy, too; a StudyError names one not so."""
    known = (*taxonomy.names, taxonomy.abstain)
    strange = answers[answers["label"].notna() & ~answers["label"].isin(known)]
    if len(strange):
        item, label = strange["item_id"].iloc[0], strange["label"].iloc[0]
        raise StudyError(
            f"{name}, item {shown(item)}: the label {shown(label)} is not a class of the policy{nearest(label, known)}",
            kind="unknown_label",
        )
    return answers


def labels_of(table: Table, source: ColumnSource, taxonomy: Taxonomy, whose: str = "the taxonomy") -> pd.Series:
    """Return a column of labels, missing where there is none; a StudyError names the first that is no class of `whose`."""
    labels = table.labels(source, "the label")
    known = (*taxonomy.names, taxonomy.abstain)
    unknown = (labels.notna() & ~labels.isin(known)).to_numpy()
    if unknown.any():
        row = int(np.argmax(unknown))
        label = labels.iloc[row]
        raise StudyError(
            f"{table.at(row)}, column {shown(source.column)}: {shown(label)} is not a class of {whose}"
            f"{nearest(label, known)}",
            kind="unknown_label",
        )
    return labels


def _refuse_missing(table: Table) -> None:
    """Name all the columns that are needed and not there in one short line."""
    names = [str(name) for name in table.frame.columns]
    read = (
        ["label", "calibration"] if _holds_completions(table) else ["label", "calibration", "predicted", "confidence"]
    )
    missing = [name for name in read if name not in names]
    if missing:
        said = listed(f"{name}{nearest(name, names)}" for name in missing)
        instead = " (or completion for the last two)" if missing[-2:] == read[2:] != [] else ""
        raise StudyError(f"{table.name}: no column {said}{instead}; it has {listed(names)}", kind="missing_column")


def _holds_completions(table: Table) -> bool:
    return table.has(ColumnSource("completion")) and not table.has(ColumnSource("predicted"))


def _readings(table: Table, taxonomy: Taxonomy) -> Readings:
    completion = ColumnSource("completion")
    if _holds_completions(table):
        return read_completions(
            table.raw(completion, "the completion"), None, ClassificationContract(AnswerFields()), taxonomy
        )
    contract = TableContract(
        alternatives=_name_of(table, "alternatives"), missing_context=_name_of(table, "missing_context")
    )
    return read_columns(table, contract, taxonomy)


def _name_of(table: Table, column: str) -> str | None:
    return column if table.has(ColumnSource(column)) else None
