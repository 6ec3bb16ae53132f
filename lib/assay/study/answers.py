"""The tidy frame of answers: one row for each answer, the same columns for every study.

An answer that cannot be read stays, with the kind of its fault; one to an item that is not known, or that has no label,
is left out and counted. The same answer given twice stops the load.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.rules import Taxonomy
from assay.rules.answers import Elicitation
from assay.study.columns import ColumnSource, Table, distinct_objects
from assay.study.contract import Contract, TableContract
from assay.study.errors import StudyError, listed, shown
from assay.study.exclusions import Exclusions
from assay.study.items import TAG_PREFIX, Items, column_source, locate, row_numbers
from assay.study.matching import match_items
from assay.study.readings import Readings, read_columns, read_completions
from assay.study.series import KEYS
from assay.study.settings import AnswersFile

UNNAMED = "unnamed"
"""The model or prompt of answers that do not say theirs."""

SEVERAL_MODELS = "several_models_under_one_alias"
"""Flag of answers asked of one model name under which replies of more than one model came."""

CALL_FAILED = "call_failed"
"""Error of an answer whose call failed in a way that the study does not name in one word."""

_SAID = {
    "predicted": "str",
    "confidence": "float64",
    "alternatives": "object",
    "missing_context": "object",
    "error": "str",
    "flags": "object",
}

MEASURED = {"prompt_tokens": True, "completion_tokens": True, "cost_usd": False, "latency_s": False}
"""Figures of a call, and whether they are whole numbers."""

_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class AnswerSource:
    """One table of answers, how it is to be taken, and the item id of each of its rows."""

    table: Table
    spec: AnswersFile
    item_ids: pd.Series


def answer_source(table: Table, spec: AnswersFile) -> AnswerSource:
    """Take the item ids of a table of answers; a missing one is a `StudyError`."""
    if spec.number_rows:
        return AnswerSource(table, spec, row_numbers(table))
    return AnswerSource(table, spec, table.identifiers(column_source(spec.columns, "item_id"), "the item id"))


def tidy_answers(
    tables: Sequence[AnswerSource], items: Items, contract: Contract, taxonomy: Taxonomy, exclusions: Exclusions
) -> pd.DataFrame:
    """Read and join all answers of a study.

    Returns
    -------
    DataFrame
        In the order of the files; the columns are those that `Study.answers` documents.

    Raises
    ------
    StudyError
        If a column is missing or holds what it may not, ids do not match those of the items, or one item was answered
        twice in the same run of one series.
    """
    frames, kept_rows = [], []
    offset = 0
    for one in tables:
        place = match_items(one.item_ids, one.table.name, items, exclusions)
        kept = np.flatnonzero(place >= 0)
        frame = _answers(one, items, place, contract, taxonomy)
        frames.append(frame if len(kept) == len(frame) else frame.iloc[kept])
        kept_rows.append(kept + offset)
        offset += len(one.table)
    answers = frames[0].reset_index(drop=True) if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    if answers.empty:
        where = listed(one.table.name for one in tables)
        raise StudyError(f"{where}: there is no answer to an item with a label", kind="empty_file")
    _refuse_repeated(answers, np.concatenate(kept_rows), [one.table for one in tables])
    return _flag_aliases(answers)


def series_codes(answers: pd.DataFrame, *more: str) -> np.ndarray:
    """Return an integer for each row: equal where the rows agree on the series and on the columns `more`."""
    codes = np.zeros(len(answers), dtype=np.int64)
    for name in (*KEYS, *more):
        column, distinct = pd.factorize(answers[name])
        codes = codes * len(distinct) + column
        if len(distinct) > 1:
            codes = pd.factorize(codes)[0]
    return codes


def _answers(
    one: AnswerSource, items: Items, place: np.ndarray, contract: Contract, taxonomy: Taxonomy
) -> pd.DataFrame:
    table, spec, rows = one.table, one.spec, pd.RangeIndex(len(one.table))
    # A row whose item is not known (place -1) borrows the last item's label here; the caller drops it.
    label = items.frame["label"].take(place).set_axis(rows)
    _check_own_labels(one, label, place, contract)
    columns = {"item_id": one.item_ids, "label": label, **_series_columns(one)}
    completion = None
    if isinstance(contract, TableContract):
        said = read_columns(table, contract, taxonomy)
    else:
        completion = table.raw(column_source(spec.columns, "completion"), "the completion")
        reason = column_source(spec.columns, "finish_reason")
        reasons = table.raw(reason, "the finish reason") if _given(one, "finish_reason") else None
        said = read_completions(completion, reasons, contract, taxonomy)
    said = _with_call_errors(one, said)
    for name, dtype in _SAID.items():
        columns[name] = pd.Series(getattr(said, name), dtype=dtype)
    columns["correct"] = (columns["predicted"] == label).astype("boolean").mask(columns["error"].notna())
    for name, whole in MEASURED.items():
        columns[name] = _measured(one, name, whole=whole)
    columns["asked_at"] = _optional_text(one, "asked_at")
    for name in items.frame.columns:
        if name.startswith(TAG_PREFIX):
            columns[name] = items.frame[name].take(place).set_axis(rows)
    if completion is not None:
        columns["completion"] = _storable(completion)
    return pd.DataFrame(columns)


def _series_columns(one: AnswerSource) -> dict[str, pd.Series]:
    """Return model, prompt, run, calibration and elicitation, and the model asked for where that is known apart."""
    columns: dict[str, pd.Series] = {}
    rows = pd.RangeIndex(len(one.table))
    asked = _optional_text(one, "requested_model") if _given(one, "requested_model") else None
    served = _named(one, "model")
    columns["model"] = served if asked is None else served.mask(served == UNNAMED, asked.fillna(UNNAMED))
    columns["prompt"] = _named(one, "prompt")
    columns["run"] = pd.Series(1, rows, dtype="int64")
    columns["calibration"] = pd.Series(str(one.spec.calibration), rows, dtype="str")
    columns["elicitation"] = _elicitations(one)
    columns["run"] = _numbered_runs(one, columns) if one.spec.number_runs else _runs(one)
    if asked is not None:
        columns["requested_model"] = asked
    return columns


def _named(one: AnswerSource, name: str) -> pd.Series:
    rows = pd.RangeIndex(len(one.table))
    if name in one.spec.constants:
        return pd.Series(one.spec.constants[name], rows, dtype="str")
    if not _given(one, name):
        return pd.Series(UNNAMED, rows, dtype="str")
    return one.table.text(column_source(one.spec.columns, name), f"the {name}").fillna(UNNAMED)


def _runs(one: AnswerSource) -> pd.Series:
    if not _given(one, "run"):
        return pd.Series(1, pd.RangeIndex(len(one.table)), dtype="int64")
    source = column_source(one.spec.columns, "run")
    runs = one.table.numbers(source, "the run", whole=True)
    missing = np.flatnonzero(runs.isna().to_numpy())
    if len(missing):
        raise StudyError(f"{one.table.at(missing[0])}, column {shown(source.column)}: the run is missing")
    return runs.astype("int64")


def _numbered_runs(one: AnswerSource, columns: dict[str, pd.Series]) -> pd.Series:
    """Number the answers of each series to each item in the order of the rows."""
    keys = pd.DataFrame({"item_id": one.item_ids, **{name: columns[name] for name in KEYS}})
    return keys.groupby(list(keys.columns), sort=False).cumcount() + 1


def _elicitations(one: AnswerSource) -> pd.Series:
    rows = pd.RangeIndex(len(one.table))
    usual = str(one.spec.elicitation or "")
    if one.spec.calibration == "classifier":
        return pd.Series("", rows, dtype="str")
    if not _given(one, "elicitation"):
        if not usual:
            raise StudyError(f"{one.table.name}: its elicitation is neither in study.toml nor in a column")
        return pd.Series(usual, rows, dtype="str")
    source = column_source(one.spec.columns, "elicitation")
    values = one.table.text(source, "the elicitation").fillna(usual)
    wrong = np.flatnonzero(~values.isin([str(name) for name in Elicitation]).to_numpy())
    if len(wrong):
        raise StudyError(
            f"{one.table.at(wrong[0])}, column {shown(source.column)}: the elicitation must be one of "
            f"{listed(Elicitation)}, got {shown(values.iloc[wrong[0]])}"
        )
    return values


def _given(one: AnswerSource, name: str) -> bool:
    """Tell whether a column is mapped, or stands in the table under its own name and is not left out."""
    return name in one.spec.columns or (name not in one.spec.leave_out and one.table.has(ColumnSource(name)))


def _optional_text(one: AnswerSource, name: str) -> pd.Series:
    if not _given(one, name):
        return pd.Series(None, pd.RangeIndex(len(one.table)), dtype="str")
    return one.table.text(column_source(one.spec.columns, name), name.replace("_", " "))


def _measured(one: AnswerSource, name: str, *, whole: bool) -> pd.Series:
    if not _given(one, name):
        return pd.Series(pd.NA, pd.RangeIndex(len(one.table)), dtype="Int64" if whole else "Float64")
    return one.table.numbers(column_source(one.spec.columns, name), name.replace("_", " "), whole=whole)


def _with_call_errors(one: AnswerSource, said: Readings) -> Readings:
    """Let what went wrong with a call, where the table says it, go before what is wrong with its answer."""
    if not _given(one, "error"):
        return said
    codes, stated = distinct_objects(one.table.raw(column_source(one.spec.columns, "error"), "the error"))
    # Anything but a short name may be a provider's message, which could quote the question or the key.
    kinds = [
        None if value is None or not str(value).strip() else value if _is_kind(value) else CALL_FAILED
        for value in stated
    ]
    errors = np.array([*kinds, None], dtype=object)[codes]
    return said.failing(np.where(pd.isna(errors), said.error, errors)) if any(kinds) else said


def _is_kind(value: object) -> bool:
    return isinstance(value, str) and _KIND.fullmatch(value) is not None


def _storable(completion: pd.Series) -> pd.Series:
    """Return completions as text; a lone surrogate, which cannot be stored, shows as the replacement character."""
    try:
        return completion.astype("str").reset_index(drop=True)
    except UnicodeEncodeError:
        safe = completion.map(lambda one: one.encode("utf-8", "replace").decode() if isinstance(one, str) else one)
        return safe.astype("str").reset_index(drop=True)


def _check_own_labels(one: AnswerSource, label: pd.Series, place: np.ndarray, contract: Contract) -> None:
    """Refuse answers that carry a label column of their own which says otherwise than the items."""
    source = column_source(one.spec.columns, "label")
    taken = isinstance(contract, TableContract) and contract.label == source.column
    if taken or not one.table.has(source):
        return
    own = one.table.labels(source, "the label")
    differs = (place >= 0) & own.notna().to_numpy() & (own != label).to_numpy()
    if differs.any():
        row = int(differs.argmax())
        raise StudyError(
            f"{one.table.at(row)}, column {shown(source.column)}: the label {shown(own[row])} of item "
            f"{shown(one.item_ids[row])} is {shown(label[row])} among the items",
            kind="labels_differ",
        )


def _refuse_repeated(answers: pd.DataFrame, rows: np.ndarray, tables: Sequence[Table]) -> None:
    key = series_codes(answers, "item_id", "run")
    again = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if len(again):
        later = int(again[0])
        first = int((key == key[later]).argmax())
        said = answers.iloc[later]
        raise StudyError(
            f"{locate(tables, rows[later])}: item {shown(said['item_id'])} has a second answer of model "
            f"{shown(said['model'])}, prompt {shown(said['prompt'])}, run {said['run']} (the first: "
            f"{locate(tables, rows[first])}); number repeated answers in a column `run`",
            kind="duplicate_ids",
        )


def _flag_aliases(answers: pd.DataFrame) -> pd.DataFrame:
    """Flag answers asked of one name that several models answered to."""
    if "requested_model" not in answers:
        return answers
    models = answers.groupby("requested_model", dropna=True)["model"].transform("nunique")
    rows = np.flatnonzero((models > 1).to_numpy())
    flags = answers["flags"].to_numpy(copy=True)
    flags[rows] = np.fromiter(((*flags[row], SEVERAL_MODELS) for row in rows), dtype=object, count=len(rows))
    return answers.assign(flags=pd.Series(flags, dtype=object))
