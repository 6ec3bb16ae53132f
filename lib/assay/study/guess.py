"""Guessing how a table of answers is to be read: which column holds what, the scale of its confidences, the classes.

Everything that is guessed is said, so that a person can object, and may be given instead. What cannot be guessed safely
is refused: a label column that is not there, confidences on no known scale, predictions that are never a label.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from assay.rules import Gate, Taxonomy
from assay.rules.answers import Calibration, Elicitation
from assay.rules.taxonomy import fold as fold_class
from assay.study.columns import ColumnSource, Table, distinct_objects, label_text
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.frames import inferred_taxonomy
from assay.study.identity import LONGEST_NAME, settle_items, settle_prompt, settle_runs
from assay.study.known import LeftOut, settle_known
from assay.study.likely import (
    ABSTENTIONS,
    describes_items,
    fold,
    numbers_of,
    scale_of,
)
from assay.study.roles import Roles
from assay.study.spreadsheets import has_decimal_commas, pointed

USUAL_GATE = Gate("accepted_accuracy", (), 0.90, 0.05)
"""What a policy has to show where nobody says."""

DANGEROUS = ("class_accuracy", 0.95, 0.05)
"""Metric, target and delta for classes that are named as dangerous."""

_MOST_FURTHER = 50
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
    labels = _labels(roles)
    by_class = roles.by_class(labels)
    roles.refuse_missing(by_class)
    taxonomy = _taxonomy(roles, labels, by_class, asked.abstain)
    _say_look_alikes(roles, taxonomy)
    settle_prompt(roles)
    ids = settle_items(roles, labels)
    number_runs = settle_runs(roles, ids)
    _say_series(roles, asked.constants)
    scale, decimal = _scale(roles, by_class, asked.scale)
    tags = _tags(roles, ids, asked.tags)
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
        taxonomy=replace(taxonomy, gates=_gates(roles, taxonomy, asked)),
        calibration=calibration,
        elicitation=elicitation,
        left_out=left_out,
        said=tuple(roles.said),
    )


def _labels(roles: Roles) -> pd.Series:
    """Return the labels as text, NaN where there is none; nothing without such a column."""
    if "label" not in roles:
        return pd.Series(dtype="str")
    where = f"{roles.table.name}, column {shown(roles.columns['label'])}"
    labels = roles.table.labels(ColumnSource(roles.columns["label"]), "the label")
    known = labels.dropna()
    if known.empty:
        raise StudyError(f"{where}: no row has a label", kind="empty_file")
    distinct = known.nunique()
    if len(known) >= 20 and distinct > len(known) / 2:
        raise StudyError(
            f"{where}: {distinct:,} different labels in {len(known):,} rows are no classes; name the column that holds the "
            "class with --label-column"
        )
    missing = f"; {len(labels) - len(known):,} rows have none and are left out" if len(known) < len(labels) else ""
    classes = listed(sorted(known.unique()), at_most=6)
    roles.say("label", f"column {shown(roles.columns['label'])}, {distinct:,} classes: {classes}{missing}")
    return labels


def _taxonomy(roles: Roles, labels: pd.Series, by_class: Mapping[str, str], abstain: str | None) -> Taxonomy:
    """Return the classes that occur, none safer than another."""
    known = labels.dropna()
    name = roles.table.name
    given = distinct_objects(roles.raw("predicted"))[1] if "predicted" in roles else list(by_class)
    said = [text for one in given if (text := label_text(one)) is not None and text.strip()]
    abstain = _abstain(roles, said, {fold(one): one for one in known.unique()}, abstain)
    taxonomy = inferred_taxonomy(known, pd.Series(dtype=object), name, abstain)
    if "predicted" not in roles:
        roles.say("predicted class", "no such column: the most probable class")
        return taxonomy
    column = shown(roles.columns["predicted"])
    others = [one for one in said if taxonomy.resolve(one) is None]
    if len(others) == len(said):
        raise StudyError(
            f"{name}: no prediction in column {column} is one of the labels ({listed(taxonomy.names, at_most=6)}); both must "
            "be written in one spelling",
            kind="unknown_label",
        )
    if not others:
        roles.say("predicted class", f"column {column}")
        return taxonomy
    if len(others) > _MOST_FURTHER or any(len(one) > LONGEST_NAME for one in others):
        roles.say(
            "predicted class", f"column {column}; {len(others):,} predictions are no label and count as unreadable"
        )
        return taxonomy
    roles.say("predicted class", f"column {column}; {len(others):,} predictions are no label, and classes all the same")
    return inferred_taxonomy(known, pd.Series(others, dtype=object), name, abstain)


def _abstain(roles: Roles, said: list[str], labels: Mapping[str, str], asked: str | None) -> str:
    if asked is not None:
        name = labels.get(fold(asked), asked)
        roles.say("abstaining", f"is called {shown(name)}")
        return name
    spelled = {fold(one): one.strip() for one in said}
    found = next((spelled[one] for one in ABSTENTIONS if one in spelled and one not in labels), None)
    if found is not None:
        roles.say("abstaining", f"the prediction {shown(found)}, which no item is labelled with (--abstain)")
        return found
    name = labels.get("abstain", "abstain")
    roles.say("abstaining", f"no prediction says so; decisions to abstain are called {shown(name)} (--abstain)")
    return name


def _say_look_alikes(roles: Roles, taxonomy: Taxonomy) -> None:
    """Say which classes a person would hardly tell apart: they differ in the form or width of letters only."""
    alike: dict[str, list[str]] = {}
    for name in taxonomy.names:
        visible = "".join(one for one in name if unicodedata.category(one) != "Cf")
        alike.setdefault(fold_class(unicodedata.normalize("NFKC", visible)), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            written = " and ".join(ascii(name) for name in names)
            roles.say(
                "look alike", f"{written} differ in the form of letters only, and are counted as different classes"
            )


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


def _tags(roles: Roles, ids: pd.Series, asked: tuple[str, ...] | None) -> dict[str, str]:
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


def _gates(roles: Roles, taxonomy: Taxonomy, asked: Asked) -> tuple[Gate, ...]:
    """Return what a policy has to show: what was asked for, else that what is acted on is nearly always right."""

    def known(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_class(roles, taxonomy, name) for name in names)

    gates = [replace(gate, classes=known(gate.classes)) for gate in asked.gates]
    if asked.dangerous:
        metric, target, delta = DANGEROUS
        gates.append(Gate(metric, known(asked.dangerous), target, delta))
    supposed = "" if gates else ", supposed (--gate, --dangerous)"
    gates = gates or [USUAL_GATE]
    roles.say("a policy must show", "; ".join(str(gate) for gate in gates) + supposed)
    roles.say("ranks", "no class is taken to be safer than another; study.toml can say otherwise")
    return tuple(gates)


def _class(roles: Roles, taxonomy: Taxonomy, name: str) -> str:
    known = taxonomy.resolve(name)
    if known is None or known not in taxonomy:
        hint = nearest(name, taxonomy.names) or f" (the classes are {listed(taxonomy.names)})"
        raise StudyError(f"{roles.table.name}: {shown(name)} is not a class{hint}", kind="unknown_label")
    return known
