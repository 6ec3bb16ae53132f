"""Columns that loading takes by their own name: which of them a new study takes, and which it leaves out.

A file has an `error`, a `latency_s` or an `elicitation` that is something else than the study's own of that name. Each of
them is decided on here, once, and said; `study.toml` gets what was decided as `leave_out`, so that loading agrees.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from assay.study.answers import MEASURED
from assay.study.columns import ColumnSource, Table, distinct_objects, is_numeric
from assay.study.errors import StudyError, listed, shown
from assay.study.likely import fold
from assay.study.roles import Roles

OF_ITEMS = ("text",)
"""What is looked for among the columns of items under its own name."""

CHOSEN = ("model", "prompt", "run", "elicitation")
"""What is looked for in a file of answers under its own name, and chosen by its purpose before."""

_CANNOT = "what it holds cannot be that"
_TEXTS = ("requested_model", "asked_at")
_NO_ERROR = ("", "0", "1", "none", "null", "nan", "n_a", "na", "no", "yes", "ok", "okay", "success", "false", "true")


@dataclass(frozen=True)
class LeftOut:
    """Names that `study.toml` is to say hold something else, for `[items]` and for `[[answers]]`."""

    items: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def settle_known(
    roles: Roles, taken: Iterable[str], constants: Iterable[str], options: Mapping[str, str], decimal: str
) -> LeftOut:
    """Decide on every column that loading would take by its own name, and say what was decided.

    Parameters
    ----------
    roles : Roles
        With the purposes that are settled already.
    taken : iterable of str
        Columns that serve as something else: a class's probability, say.
    constants : iterable of str
        What is the same for every row, and so looked for in no column.
    options : mapping of str to str
        What a person said in place of a column, by the name of the column: the option.
    decimal : {".", ","}
        What stands before the fraction of a number.
    """
    table = replace(roles.table, decimal=decimal)
    used = {*taken, *roles.columns.values()}
    unused = [
        name
        for name in (*OF_ITEMS, *CHOSEN)
        if table.has(ColumnSource(name)) and name not in roles and name not in constants
    ]
    left = {name: f"{options[name]} says it" if name in options else _CANNOT for name in unused}
    read: list[str] = []
    for name in ("error", *_TEXTS, *MEASURED):
        if not table.has(ColumnSource(name)):
            continue
        why = "" if name in used else _objection(table, name)
        if name in used or why:
            left[name] = why
        else:
            read.append(name)
    if read:
        roles.say("also read", f"columns {listed(map(shown, read))}")
    for name, why in left.items():
        if name not in used:
            roles.say("not read", f"column {shown(name)}: {why} (leave_out in study.toml)")
    return LeftOut(
        tuple(name for name in left if name in OF_ITEMS), tuple(name for name in left if name not in OF_ITEMS)
    )


def _objection(table: Table, name: str) -> str:
    """Return why a column cannot be what its name says, in words; empty where it can."""
    source = ColumnSource(name)
    try:
        if name in MEASURED:
            table.numbers(source, name.replace("_", " "), whole=MEASURED[name])
            return ""
        if name in _TEXTS:
            table.text(source, name.replace("_", " "))
            return ""
    except StudyError as error:
        return str(error).removeprefix(f"{table.name}, ").removeprefix(f"column {shown(name)}: ")
    return _no_errors(table)


def _no_errors(table: Table) -> str:
    """Tell what speaks against a column of failed calls, in which a cell that is not empty is a failure."""
    values = table.frame["error"]
    codes, distinct = distinct_objects(values)
    filled = [value is not None and (not isinstance(value, str) or bool(value.strip())) for value in distinct]
    if not any(filled):
        return ""
    rows = sum(filled[code] for code in codes.tolist())
    usual = [value for value, given in zip(distinct, filled, strict=True) if given]
    if is_numeric(values) or any(not isinstance(value, str) or fold(value) in _NO_ERROR for value in usual):
        return "a call that failed is told by a cell that is not empty, and here are numbers, true and false, or words for none"
    if rows == len(values):
        return "a call that failed is told by a cell that is not empty, and here none is empty"
    return ""
