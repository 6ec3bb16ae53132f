"""Finding a study and reading it from its folder."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

import assay
from assay.rules import Taxonomy
from assay.rules.answers import Calibration
from assay.study.answers import AnswerSource, answer_source, tidy_answers
from assay.study.columns import Table
from assay.study.contract import TableContract
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.exclusions import (
    ANNOTATION_OF_UNKNOWN,
    ANNOTATION_WITHOUT_ITEM,
    ANNOTATION_WITHOUT_LABEL,
    Exclusions,
)
from assay.study.items import Items, column_source, items_of_answers, items_of_file, refuse_unknown_labels
from assay.study.parts import Split
from assay.study.reading import FileSource, file_sha256, read_table
from assay.study.settings import AnnotatorFile, AnswersFile, StudySettings, read_settings
from assay.study.study import Study, no_annotations

DATA_VARIABLE = "ASSAY_DATA"
"""Environment variable that names a folder of studies."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def load_study(name_or_path: str | os.PathLike[str], *, answers: Path | None = None) -> Study:
    """Load a study.

    Parameters
    ----------
    name_or_path : str or path-like
        The name of a study (letters, digits, ``.``, ``-`` and ``_``), or the path of a folder with a `study.toml`. A
        name is looked for in the folder `data` of the working directory and of those above it, then in the folder
        that the environment variable ``ASSAY_DATA`` names, then in the `data` of the checkout this package runs from.
    answers : Path, optional
        A file of answers to take in place of the study's own, as `assay.ask.export.export_answers` writes it.

    Raises
    ------
    StudyError
        If there is no such study (those there are and the nearest name are given), or it cannot be read or trusted.
    """
    folder = _find(name_or_path)
    settings = read_settings(folder)
    return _load(folder, settings if answers is None else _with_answers(settings, answers))


def read_items(settings: StudySettings) -> pd.DataFrame:
    """Read the items of a study, and its answers only where they carry the items themselves.

    Returns
    -------
    DataFrame
        As `Study.items`.

    Raises
    ------
    StudyError
        As `load_study` does for the files that are read.
    """
    sources = _answer_sources(settings) if settings.items.source is None else []
    return _items(settings, sources, Exclusions()).frame


def find_folder(name_or_path: str | os.PathLike[str]) -> Path | None:
    """Find the folder of a study, as `load_study` does, without reading it; None where there is none."""
    if _is_name(name_or_path):
        return next((data / name_or_path for data in _data_folders() if _is_study(data / name_or_path)), None)
    # The name of a study is that of its folder, which "." and ".." do not spell.
    return Path(name_or_path).resolve() if _is_study(Path(name_or_path)) else None


def find_studies() -> dict[str, Path]:
    """Return the folder of every study that can be loaded by name, in the order of the names."""
    found: dict[str, Path] = {}
    for data in _data_folders():
        try:
            folders = [path for path in data.iterdir() if _is_study(path)]
        except OSError:
            continue
        for folder in folders:
            found.setdefault(folder.name, folder)
    return dict(sorted(found.items()))


def _find(name_or_path: str | os.PathLike[str]) -> Path:
    folder = find_folder(name_or_path)
    if folder is not None:
        return folder
    given, found = os.fspath(name_or_path), find_studies()
    what = (
        f"there is no study {shown(given)}"
        if _is_name(name_or_path)
        else f"{shown(given)} is neither the name of a study nor a folder with a study.toml"
    )
    raise StudyError(f"{what}{nearest(given, found)}; studies found: {listed(found)}", kind="unknown_study")


def _is_name(name_or_path: str | os.PathLike[str]) -> bool:
    return isinstance(name_or_path, str) and _NAME.fullmatch(name_or_path) is not None


def _is_study(folder: Path) -> bool:
    try:
        return (folder / "study.toml").is_file()
    except (OSError, ValueError):  # a name too long, or one that no file can have
        return False


def _data_folders() -> Iterator[Path]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield folder / "data"
    if named := os.environ.get(DATA_VARIABLE):
        yield Path(named)
    yield Path(assay.__file__).resolve().parents[2] / "data"


def _with_answers(settings: StudySettings, file: Path) -> StudySettings:
    """Put an exported file in the place of the study's own answers; its answers were taken apart already."""
    exported = AnswersFile(FileSource(file, file.name), Calibration.LANGUAGE_MODEL, None)
    contract = TableContract(alternatives="alternatives", missing_context="missing_context")
    return replace(settings, answers=(exported,), contract=contract)


def _load(folder: Path, settings: StudySettings) -> Study:
    exclusions = Exclusions()
    sources = _answer_sources(settings)
    items = _items(settings, sources, exclusions)
    spec = settings.items
    answers = tidy_answers(sources, items, settings.contract, settings.taxonomy, exclusions)
    annotations = [_annotations(one, items, settings.taxonomy, exclusions) for one in settings.annotators]
    files = [*([spec.source] if spec.source else []), *(one.source for one in settings.answers)]
    return Study(
        name=folder.name,
        title=settings.title,
        source=settings.source,
        licence=settings.licence,
        folder=folder,
        taxonomy=settings.taxonomy,
        contract=settings.contract,
        items=items.frame,
        answers=answers,
        excluded=exclusions.frame(),
        annotations=pd.concat(annotations, ignore_index=True) if annotations else no_annotations(),
        split=Split(items.frame["item_id"], items.frame["label"], settings.seed, settings.certification_share),
        data_sha256=_files_sha256([file.path for file in files]),
        prompts=settings.prompts,
        prevalence=settings.prevalence,
        costs=settings.costs,
        compare_within=spec.compare_within,
    )


def _answer_sources(settings: StudySettings) -> list[AnswerSource]:
    for file in (spec.source for spec in settings.answers):
        if settings.prompts and not file.path.exists():
            raise StudyError(
                f"{file.name}: there is no such file yet; `assay collect` asks a model with a prompt of the study, and its "
                "--export writes the answers there",
                kind="unreadable_file",
            )
    return [answer_source(read_table(spec.source), spec) for spec in settings.answers]


def _items(settings: StudySettings, sources: Sequence[AnswerSource], exclusions: Exclusions) -> Items:
    """Take the items from their own file, or from the answers where there is none."""
    spec = settings.items
    if spec.source is not None:
        items = items_of_file(
            read_table(spec.source), spec.columns, spec.tags, exclusions, spec.leave_out, number_rows=spec.number_rows
        )
    else:
        items = items_of_answers(
            [one.table for one in sources],
            [one.item_ids for one in sources],
            spec.columns.get("label") or column_source(settings.answers[0].columns, "label"),
            spec.columns,
            spec.tags,
            exclusions,
            spec.leave_out,
        )
    refuse_unknown_labels(items.frame["label"], items.frame["item_id"], settings.taxonomy, items.source)
    return items


def _annotations(spec: AnnotatorFile, items: Items, taxonomy: Taxonomy, exclusions: Exclusions) -> pd.DataFrame:
    """Read the labels of one annotator; rows of a spreadsheet that hold no item, such as its headings, are counted."""
    table: Table = read_table(spec.source)
    ids = table.text(column_source(spec.columns, "item_id"), "the item id")
    labels = table.labels(column_source(spec.columns, "label"), "the label")
    exclusions.add(table.name, ANNOTATION_WITHOUT_ITEM, ids[ids.isna()])
    known = ids.isin(items.frame["item_id"])
    exclusions.add(table.name, ANNOTATION_OF_UNKNOWN, ids[ids.notna() & ~known])
    exclusions.add(table.name, ANNOTATION_WITHOUT_LABEL, ids[known & labels.isna()])
    kept = (known & labels.notna()).to_numpy()
    frame = pd.DataFrame({"item_id": ids[kept], "annotator": spec.annotator, "label": labels[kept]}).reset_index(
        drop=True
    )
    repeated = frame["item_id"][frame["item_id"].duplicated()]
    if len(repeated):
        raise StudyError(f"{table.name}: item {shown(repeated.iloc[0])} is annotated twice", kind="duplicate_ids")
    refuse_unknown_labels(frame["label"], frame["item_id"], taxonomy, table.name)
    return frame.astype({"annotator": "str"})


def _files_sha256(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in dict.fromkeys(paths):
        digest.update(f"{file_sha256(path)}  {path.name}\n".encode())
    return digest.hexdigest()
