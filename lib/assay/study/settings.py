"""What `study.toml` says: where a study comes from, how its files are read, and what is asked of a policy.

The file is read strictly. A key that is not known is refused with the nearest one that is, a path may not leave the
study's folder, and the costs and prevalence, which reweight results, have to make sense on their own.
"""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.rules import Taxonomy, TaxonomyError
from assay.rules.answers import Calibration, Elicitation
from assay.rules.documents import DocumentError, Fields, read_toml
from assay.rules.taxonomy import composed
from assay.study.columns import ColumnSource
from assay.study.contract import Contract, read_contract
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.manifest import MANIFEST
from assay.study.reading import FileSource, read_text
from assay.study.tables import (
    as_table,
    column_sources,
    file_source,
    inside,
    names_left_out,
    one_of,
    open_table,
    open_tables,
    tag_sources,
)

ITEM_COLUMNS = ("item_id", "text", "label")
"""What `[items]` may map."""

ANSWER_COLUMNS = (
    "item_id", "label", "model", "requested_model", "prompt", "run", "elicitation", "completion", "finish_reason",
    "error", "asked_at", "latency_s", "prompt_tokens", "completion_tokens", "cost_usd",
)  # fmt: skip
"""What `[[answers]]` may map; what an answer says is the contract's to name."""

LEFT_OUT_COLUMNS = tuple(name for name in ANSWER_COLUMNS if name not in ("item_id", "label", "completion"))
"""What `[[answers]]` may leave out: a study can do without it."""

ANNOTATION_COLUMNS = ("item_id", "label")
"""What `[[annotators]]` may map."""

_KEYS = (
    "title", "source", "licence", "seed", "certification_share", "taxonomy", "gate", "contract", "items", "answers",
    "annotators", "prompts", "prevalence", "costs",
)  # fmt: skip
_HOW = ("encoding", "delimiter", "skip_rows", "decimal")
_ITEMS = ("columns", "tags", "compare_within", "leave_out", "number_rows")
_ANSWERS = ("calibration", "elicitation", "columns", "model", "prompt", "number_rows", "number_runs", "leave_out")
_PREVALENCE_ROUNDING = 1e-6


@dataclass(frozen=True)
class ItemsFile:
    """Where the items are.

    Parameters
    ----------
    source : FileSource or None
        None where the answer files carry the labels themselves.
    columns : mapping of str to ColumnSource
        By the names of `ITEM_COLUMNS`; one that is left out is looked for under its own name.
    tags : mapping of str to ColumnSource
    compare_within : str
        The tag whose values are data sets of their own, that are never pooled; empty where there is none.
    leave_out : tuple of str
        Names of `ITEM_COLUMNS` that no column is looked for: one that is called so holds something else.
    number_rows : bool
        Whether the id of an item is the number of its row in `source`, counted from 1.
    """

    source: FileSource | None = None
    columns: Mapping[str, ColumnSource] = field(default_factory=dict)
    tags: Mapping[str, ColumnSource] = field(default_factory=dict)
    compare_within: str = ""
    leave_out: tuple[str, ...] = ()
    number_rows: bool = False


@dataclass(frozen=True)
class AnswersFile:
    """One file of answers and where their confidences come from.

    Parameters
    ----------
    source : FileSource
    calibration : Calibration
    elicitation : Elicitation or None
        None for a classifier, and where the file has an `elicitation` column.
    columns : mapping of str to ColumnSource
        By the names of `ANSWER_COLUMNS`; one that is left out is looked for under its own name.
    constants : mapping of str to str
        The `model` or `prompt` of a file that has no such column.
    number_rows : bool
        Whether every row is an item of its own, whose id is the row's number, counted from 1.
    number_runs : bool
        Whether the answers of one series to one item are runs in the order of the rows, counted from 1.
    leave_out : tuple of str
        Names of `ANSWER_COLUMNS` that no column is looked for: one that is called so holds something else.
    """

    source: FileSource
    calibration: Calibration
    elicitation: Elicitation | None
    columns: Mapping[str, ColumnSource] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    number_rows: bool = False
    number_runs: bool = False
    leave_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnnotatorFile:
    """The labels that one more person gave the items."""

    annotator: str
    source: FileSource
    columns: Mapping[str, ColumnSource]


@dataclass(frozen=True)
class Costs:
    """What errors cost, each per question and at least 0, in `unit`.

    Parameters
    ----------
    misroute : float
        A dangerous misroute.
    abstention : float
        A question sent to a person.
    over_restriction : float
        A question answered more restrictively than it needed.
    unit : str
    """

    misroute: float
    abstention: float
    over_restriction: float
    unit: str = ""


@dataclass(frozen=True)
class StudySettings:
    """Everything `study.toml` says."""

    title: str
    source: str
    licence: str
    seed: int
    certification_share: float
    taxonomy: Taxonomy
    contract: Contract
    items: ItemsFile
    answers: tuple[AnswersFile, ...]
    annotators: tuple[AnnotatorFile, ...] = ()
    prompts: Mapping[str, Path] = field(default_factory=dict)
    prevalence: Mapping[str, float] | None = None
    costs: Costs | None = None


def read_settings(folder: Path) -> StudySettings:
    """Read the `study.toml` of a study folder.

    Raises
    ------
    StudyError
        If it is missing, not TOML (the line is named), has an unknown key, lacks one, or holds a value not allowed.
    """
    name = f"{folder.name}/study.toml"
    path = folder / "study.toml"
    try:
        text = read_text(path, name)
    except OSError as error:
        raise StudyError(f"{name}: cannot be read ({error.strerror or 'I/O error'})") from None
    try:
        return _settings(read_toml(text, name), folder, name)
    except (DocumentError, TaxonomyError) as error:
        raise StudyError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def study_files(folder: Path) -> list[Path]:
    """List the files that a study is read from, as far as they can be told where its `study.toml` cannot be read."""
    files = [folder / "study.toml", folder / "report.toml", folder / MANIFEST]
    with contextlib.suppress(StudyError):
        settings = read_settings(folder)
        files += [] if settings.items.source is None else [settings.items.source.path]
        files += [answers.source.path for answers in settings.answers]
        files += [annotator.source.path for annotator in settings.annotators]
        files += settings.prompts.values()
    return files


def check_share(value: object, name: str) -> float:
    """Return a certification share, which lies strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise StudyError(f"{name} must lie strictly between 0 and 1, got {shown(value)}")
    return float(value)


def _settings(document: dict[str, Any], folder: Path, name: str) -> StudySettings:
    fields = open_table(document, name, *_KEYS)
    title, source, licence = fields.text("title"), fields.text("source"), fields.text("licence")
    seed = fields.whole("seed")
    share = check_share(fields.take("certification_share", 0.5), f"{name}.certification_share")
    taxonomy = Taxonomy.from_dict({key: document[key] for key in ("taxonomy", "gate") if key in document})
    answers = open_tables(fields.take("answers"), f"{name}.answers", "file", *_HOW, *_ANSWERS)
    annotators = open_tables(fields.take("annotators", []), f"{name}.annotators", "file", *_HOW, "name", "columns")
    if not answers:
        raise StudyError(f"{name}.answers: at least one file of answers is needed")
    items = _items_file(open_table(fields.take("items", {}), f"{name}.items", "file", *_HOW, *_ITEMS), folder)
    files = tuple(_answers_file(one, folder) for one in answers)
    if any(one.number_rows for one in files) and (len(files) > 1 or items.source is not None):
        raise StudyError(
            f"{name}.answers: number_rows is for a study of one file, which holds items and answers together"
        )
    return StudySettings(
        title=title,
        source=source,
        licence=licence,
        seed=seed,
        certification_share=share,
        taxonomy=taxonomy,
        contract=read_contract(fields.take("contract"), f"{name}.contract", taxonomy),
        items=items,
        answers=files,
        annotators=tuple(_annotator_file(one, folder) for one in annotators),
        prompts=_prompts(fields.take("prompts", {}), folder, f"{name}.prompts"),
        prevalence=_prevalence(fields.take("prevalence", None), taxonomy, f"{name}.prevalence"),
        costs=_costs(fields.take("costs", None), f"{name}.costs"),
    )


def _items_file(fields: Fields, folder: Path) -> ItemsFile:
    file = fields.text("file", None)
    source = None if file is None else file_source(fields, folder, file)
    columns = column_sources(fields, ITEM_COLUMNS)
    tags = tag_sources(fields)
    within = fields.text("compare_within", "")
    if within and within not in tags:
        raise StudyError(f"{fields.where}.compare_within: {shown(within)} is not a tag (the tags are {listed(tags)})")
    numbered = _flag(fields, "number_rows")
    if numbered and source is None:
        raise StudyError(f"{fields.where}.number_rows is for items in a file of their own")
    if numbered and "item_id" in columns:
        raise StudyError(f"{fields.where}.number_rows: the item id is named as a column, too")
    return ItemsFile(source, columns, tags, within, names_left_out(fields, ("text",), columns), numbered)


def _answers_file(fields: Fields, folder: Path) -> AnswersFile:
    source = file_source(fields, folder, fields.text("file"))
    calibration = Calibration(one_of(fields, "calibration", list(Calibration)))
    elicitation = fields.text("elicitation", None)
    columns = column_sources(fields, ANSWER_COLUMNS)
    constants = {key: value for key in ("model", "prompt") if (value := fields.text(key, None)) is not None}
    if elicitation is not None and elicitation not in list(Elicitation):
        raise StudyError(f"{fields.where}.elicitation must be one of {listed(Elicitation)}, got {shown(elicitation)}")
    if calibration is Calibration.CLASSIFIER and elicitation is not None:
        raise StudyError(f"{fields.where}.elicitation: a classifier's number is not elicited; leave it out")
    for key in constants:
        if key in columns:
            raise StudyError(f"{fields.where}.{key}: named both as a column and as the same for every row")
    numbered = {key: _flag(fields, key) for key in ("number_rows", "number_runs")}
    for key, column in (("number_rows", "item_id"), ("number_runs", "run")):
        if numbered[key] and column in columns:
            raise StudyError(f"{fields.where}.{key}: the {column.replace('_', ' ')} is named as a column, too")
    return AnswersFile(
        source,
        calibration,
        Elicitation(elicitation) if elicitation else None,
        columns,
        constants,
        **numbered,
        leave_out=names_left_out(fields, LEFT_OUT_COLUMNS, columns),
    )


def _flag(fields: Fields, key: str) -> bool:
    value = fields.take(key, False)
    if not isinstance(value, bool):
        raise StudyError(f"{fields.where}.{key} must be true or false, got {shown(value)}")
    return value


def _annotator_file(fields: Fields, folder: Path) -> AnnotatorFile:
    source = file_source(fields, folder, fields.text("file"))
    return AnnotatorFile(fields.text("name"), source, column_sources(fields, ANNOTATION_COLUMNS))


def _prompts(table: object, folder: Path, where: str) -> dict[str, Path]:
    prompts = {}
    for name, given in as_table(table, where).items():
        if not isinstance(given, str):
            raise StudyError(f"{where}.{name} must be a file name, got {shown(given)}")
        prompts[name] = inside(folder, given, f"{where}.{name}")
        if not prompts[name].is_file():
            raise StudyError(f"{where}.{name}: there is no file {shown(given)} in the study's folder")
    return prompts


def _prevalence(table: object, taxonomy: Taxonomy, where: str) -> dict[str, float] | None:
    if table is None:
        return None
    shares = {}
    for name, value in as_table(table, where).items():
        name = composed(name)
        if name not in taxonomy:
            raise StudyError(f"{where}: {shown(name)} is not a class{nearest(name, taxonomy.names)}")
        shares[name] = _number(value, f"{where}.{name}")
    if not math.isclose(math.fsum(shares.values()), 1, abs_tol=_PREVALENCE_ROUNDING):
        raise StudyError(f"{where}: the shares must sum to 1, got {math.fsum(shares.values()):.6g}")
    return shares


def _costs(table: object, where: str) -> Costs | None:
    if table is None:
        return None
    fields = open_table(table, where, "misroute", "abstention", "over_restriction", "unit")
    numbers = {
        key: _number(fields.take(key), f"{where}.{key}") for key in ("misroute", "abstention", "over_restriction")
    }
    return Costs(**numbers, unit=fields.text("unit", ""))


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise StudyError(f"{where} must be a number of at least 0, got {shown(value)}")
    return float(value)
