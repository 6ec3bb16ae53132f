"""Guessing how a table of answers is to be read: which column holds what, the scale of its confidences, the classes.

Everything that is guessed is said, so that a person can object, and may be given instead. What cannot be guessed safely
is refused: a label column that is not there, confidences on no known scale, predictions that are never a label.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from assay.rules import Gate, Taxonomy
from assay.rules.answers import Calibration, Elicitation
from assay.study.classes import say_look_alikes, settle_classes, settle_gates, settle_labels
from assay.study.columns import ColumnSource, Table
from assay.study.errors import StudyError, listed, shown
from assay.study.identity import settle_items, settle_prompt, settle_runs
from assay.study.known import LeftOut, settle_known
from assay.study.likely import describes_items, numbers_of, scale_of
from assay.study.roles import Roles
from assay.study.spreadsheets import has_decimal_commas, pointed

_MOST_TAGS = 8
_HOW = {
    Elicitation.VERBAL: "the number it wrote",
    Elicitation.TOKEN: "read off its token probabilities",
    Elicitation.VOTE: "the share of repeated samples",
}


@dataclass(frozen=True)
class Asked:
    """What a person says of the table, in place of a guess.

    Parameters
    ----------
    columns : mapping of str to str
        By the keys of `assay.study.likely.NAMES`.
    constants : mapping of str to str
        The `model` and the `prompt` of all answers, where no column says them.
    tags : tuple of str, optional
        Columns that describe the items; guessed where None.
    scale : {1, 100}, optional
    abstain : str, optional
    dangerous : tuple of str
        Classes that each have to be right nineteen times in twenty.
    gates : tuple of Gate
        In place of the usual one.
    calibration : Calibration, optional
    elicitation : Elicitation, optional
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] | None = None
    scale: int | None = None
    abstain: str | None = None
    dangerous: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    calibration: Calibration | None = None
    elicitation: Elicitation | None = None


@dataclass(frozen=True)
class Guess:
    """How the table is to be read.

    Attributes
    ----------
    columns : dict of str to str
        By the keys of `assay.study.likely.NAMES`, as far as they are used.
    by_class : dict of str to str
        The column of each class's probability; empty where there is another number to go by.
    number_rows, number_runs : bool
        As in `assay.study.settings.AnswersFile`.
    constants : dict of str to str
        The `model` and the `prompt` of all answers, as far as no column says them.
    tags : dict of str to str
        Columns by the name of the tag.
    scale : {1, 100}
    decimal : {".", ","}
    taxonomy : Taxonomy
        With its gates.
    calibration : Calibration
    elicitation : Elicitation or None
        None where a column says it of every row, and for a classifier.
    left_out : LeftOut
        Columns whose names are known, and which hold something else.
    said : tuple of (str, str)
        What was guessed, and how, in words.
    """

    columns: dict[str, str]
    by_class: dict[str, str]
    number_rows: bool
    number_runs: bool
    constants: dict[str, str]
    tags: dict[str, str]
    scale: int
    decimal: str
    taxonomy: Taxonomy
    calibration: Calibration
    elicitation: Elicitation | None
    left_out: LeftOut
    said: tuple[tuple[str, str], ...]


def guess(table: Table, asked: Asked) -> Guess:
    """Guess how a table of one row per answer is to be read.

    Raises
    ------
    StudyError
        If the label, the predicted class or the confidence cannot be found (what was looked for is named), a column that
        was asked for is not there, the confidences are on no known scale, or the labels are no classes.
    """
    options = _said_by_options(asked)
    roles = Roles(table, asked.columns, without=(*asked.constants, *options))
    labels = settle_labels(roles)
    by_class = roles.by_class(labels)
    roles.refuse_missing(_wanted(roles, by_class), _hint(roles))
    taxonomy = settle_classes(roles, labels, by_class, asked.abstain)
    say_look_alikes(roles, taxonomy)
    settle_prompt(roles)
    ids = settle_items(roles, labels)
    number_runs = settle_runs(roles, ids)
    _say_series(roles, asked.constants)
    scale, decimal = _scale(roles, by_class, asked.scale)
    tags = settle_tags(roles, ids, asked.tags)
    calibration, elicitation = _origin(roles, by_class, asked)
    left_out = settle_known(roles, by_class.values(), asked.constants, options, decimal)
    return Guess(
        columns=roles.columns,
        by_class=by_class,
        number_rows="item_id" not in roles,
        number_runs=number_runs,
        constants=dict(asked.constants),
        tags=tags,
        scale=scale,
        decimal=decimal,
        taxonomy=replace(taxonomy, gates=settle_gates(roles, taxonomy, asked.gates, asked.dangerous)),
        calibration=calibration,
        elicitation=elicitation,
        left_out=left_out,
        said=tuple(roles.said),
    )


def _wanted(roles: Roles, by_class: Mapping[str, str]) -> list[str]:
    """Name what a study of answers cannot be without."""
    wanted = ["label"]
    wanted += [] if by_class else ["predicted"]
    wanted += [] if by_class or roles.has_number else ["confidence"]
    return wanted


def _hint(roles: Roles) -> str:
    """Say what else the table may be."""
    answered = "predicted" in roles or roles.has_number
    questions = not answered and "label" in roles and "text" in roles
    return "; if no model has answered these questions yet, give --questions" if questions else ""


def _say_series(roles: Roles, constants: Mapping[str, str]) -> None:
    for role in ("model", "prompt", "run"):
        if role in roles:
            distinct = roles.text(role).dropna().unique()
            roles.say(role, f"column {shown(roles.columns[role])}: {listed(sorted(distinct), at_most=4)}")
        elif role in constants:
            roles.say(role, f"{shown(constants[role])} throughout")
    without = [role for role in ("text", "model", "prompt") if role not in roles and role not in constants]
    if without:
        roles.say("not found", f"{listed(without)}, which a study can do without")


def _scale(roles: Roles, by_class: Mapping[str, str], asked: int | None) -> tuple[int, str]:
    """Return the scale of the confidences, and what stands before their fraction."""
    table = roles.table
    role = "probabilities" if "probabilities" in roles else "confidence"
    columns = [roles.columns[role]] if role in roles else list(by_class.values())
    what = f"the class probabilities in {listed(columns, at_most=4)}" if by_class else f"column {shown(columns[0])}"
    if role == "probabilities":
        what = f"the class probabilities in {what}"
    raw = [table.frame[name] for name in columns]
    decimal = "," if table.header and any(has_decimal_commas(one) for one in raw) else table.decimal
    numbers = pd.concat([numbers_of(pointed(one, decimal)) for one in raw], ignore_index=True).dropna()
    if numbers.empty:
        raise StudyError(f"{table.name}, {what}: holds no numbers; --{role}-column names another")
    scale = asked or scale_of(numbers, f"{table.name}, {what}")
    comma = ", with a decimal comma" if decimal == "," else ""
    least, most = numbers["number"].min(), numbers["number"].max()
    reach = f"from {least:.6g} to {most:.6g}{comma}"
    roles.say("confidence", f"{what}, {reach}: {scale} is certain (--scale)")
    return scale, decimal


def settle_tags(roles: Roles, ids: pd.Series, asked: tuple[str, ...] | None) -> dict[str, str]:
    """Return the columns that describe items, by the name of the tag."""
    if asked is None:
        chosen = [name for name in roles.table.frame.columns if _describes(roles, name, ids)][:_MOST_TAGS]
    else:
        chosen = list(asked)
        for name in chosen:
            roles.require(name, "a tag")
    tags: dict[str, str] = {}
    for name in chosen:
        spelled = re.sub(r"\W+", "_", name).strip("_")
        tags[spelled if spelled.isidentifier() and spelled not in tags else f"tag_{len(tags) + 1}"] = name
    if tags:
        roles.say("tags", f"for subgroups: {listed(tags.values())} (--tag)")
    return tags


def _describes(roles: Roles, name: str, ids: pd.Series) -> bool:
    if name in roles.columns.values():
        return False
    try:
        return describes_items(name, roles.table.text(ColumnSource(name), "a tag"), ids)
    except StudyError:
        return False


def _origin(roles: Roles, by_class: Mapping[str, str], asked: Asked) -> tuple[Calibration, Elicitation | None]:
    """Return where the confidences come from, which hardly any table says by itself."""
    if asked.calibration == Calibration.CLASSIFIER:
        roles.say("kind of confidence", "a trained classifier's")
        return Calibration.CLASSIFIER, None
    usual = Elicitation.TOKEN if by_class or "probabilities" in roles else Elicitation.VERBAL
    if "elicitation" in roles:
        empty = int(roles.text("elicitation").isna().sum())
        otherwise = f", and where it is empty ({empty:,} rows) it is supposed: {_HOW[usual]}" if empty else ""
        column = shown(roles.columns["elicitation"])
        roles.say("kind of confidence", f"a language model's; column {column} says which{otherwise}")
        return Calibration.LANGUAGE_MODEL, usual if empty else None
    elicitation = asked.elicitation or usual
    supposed = "" if asked.elicitation else ", supposed (--elicitation, --calibration)"
    roles.say("kind of confidence", f"a language model's, {_HOW[elicitation]}{supposed}")
    return Calibration.LANGUAGE_MODEL, elicitation


def _said_by_options(asked: Asked) -> dict[str, str]:
    """Return what a person said that a column might say, too, and by which option."""
    if asked.calibration == Calibration.CLASSIFIER:
        return {"elicitation": "--calibration"}
    return {} if asked.elicitation is None else {"elicitation": "--elicitation"}
