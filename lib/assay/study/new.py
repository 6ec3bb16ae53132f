"""Making a study of one file of answers or questions: its folder, its `study.toml`, and what was supposed on the way.

The file is taken as it is, byte for byte. The study is made aside, loaded once as anyone else will load it, and only then
put in its place, so that what is there works and nothing is half made.
"""

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.files import naming, repository_root, write_whole
from assay.rules.answers import Calibration
from assay.study.columns import Table
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.guess import Asked, Guess, guess
from assay.study.loading import find_studies, load_study, read_items
from assay.study.manifest import write_manifest
from assay.study.questions import guess_questions
from assay.study.reading import READERS, FileSource, read_table
from assay.study.settings import read_settings
from assay.study.spreadsheets import SEPARATORS
from assay.study.study import Study
from assay.study.tables import check_declared
from assay.study.written import FIRST_PROMPT, first_prompt, questions_toml, study_toml

RESERVED = ("answers", "grids", "notebooks", "policies", "records")
"""Folders of reports that a study's pages would get among."""

_OF_LABELS = ("missing_field", "unknown_class")
_OF_NUMBERS = ("missing_confidence", "bad_confidence", "out_of_scale", "bad_alternatives")
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


Said = tuple[tuple[str, str], ...]
"""What was supposed on the way, each with what it is about."""


@dataclass(frozen=True)
class NewStudy:
    """A study that was made.

    Attributes
    ----------
    folder : Path
    study : Study or None
        As loaded once for a check; None where there are no answers yet.
    said : tuple of (str, str)
        What was supposed, in words.
    """

    folder: Path
    study: Study | None
    said: Said


def new_study(
    name: str,
    file: str | Path,
    asked: Asked | None = None,
    *,
    questions: bool = False,
    title: str = "",
    encoding: str = "utf-8",
    delimiter: str | None = None,
    data: Path | None = None,
) -> NewStudy:
    """Make the folder of a study of a file with one row per answer, or per question that no model has answered yet.

    Parameters
    ----------
    name : str
        Letters, digits, ``.``, ``-`` and ``_``, at most 64.
    file : str or Path
        CSV, JSON Lines or parquet; not changed.
    asked : Asked, optional
        What is known and need not be guessed.
    questions : bool
        Whether the file holds labelled questions without answers. The study then gets a first prompt, and names a file for
        the answers, which `assay collect --export` writes.
    title : str
        The name by default.
    encoding, delimiter : str
        Of a CSV file; the delimiter is found out where it is not given.
    data : Path, optional
        Where the folder goes: ``data`` of the repository by default.

    Raises
    ------
    StudyError
        If the name is no name or taken, or the file cannot be read, guessed or loaded; nothing is left behind.
    """
    data = repository_root() / "data" if data is None else data
    _check_name(name, data)
    _check_options(asked or Asked(), title, encoding, delimiter)
    source = Path(file)
    table, how = _read(source, encoding, delimiter)
    aside = data / f".new-{secrets.token_hex(6)}"
    making = _Making(
        aside / name, data / name, source, source.read_bytes(), table, how, asked or Asked(), title or name
    )
    try:
        study, guessed = _of_questions(making) if questions else _of_answers(making)
        with naming(making.place):
            write_manifest(making.folder)
            _check_name(name, data)
            making.folder.rename(making.place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return NewStudy(making.place, study, (*_read_words(table, how), *guessed))


@dataclass(frozen=True)
class _Making:
    """A study that is being made aside, of a file that was read.

    Attributes
    ----------
    folder, place : Path
        Where it is made, and where it will be.
    content : bytes
        Of the file.
    how : dict of str to str
        What `study.toml` has to say of how the file is written.
    """

    folder: Path
    place: Path
    source: Path
    content: bytes
    table: Table
    how: dict[str, str]
    asked: Asked
    title: str

    def write(self, name: str, content: str | bytes) -> None:
        """Write one of its files; an error names the folder that is wanted."""
        with naming(self.place):
            write_whole(self.folder / name, content.encode() if isinstance(content, str) else content)

    def keep(self, stem: str) -> str:
        """Take the file into the study, byte for byte; returns its path there."""
        raw = f"raw/{stem}{self.source.suffix.casefold()}"
        self.write(raw, self.content)
        return raw

    @contextlib.contextmanager
    def naming_the_file(self, raw: str) -> Iterator[None]:
        """Let an error call the file by its name, and not its copy in the study that is made aside and will be gone."""
        try:
            yield
        except StudyError as error:
            raise StudyError(
                str(error).replace(f"{self.folder.name}/{raw}", self.table.name), kind=error.kind
            ) from None


def _of_answers(making: _Making) -> tuple[Study, Said]:
    """Write the files of a study of answers; returns it, and what was supposed."""
    guessed = guess(making.table, making.asked)
    if guessed.decimal != ".":
        making.how["decimal"] = guessed.decimal
    raw = making.keep("answers")
    making.write("study.toml", study_toml(guessed, raw, making.how, title=making.title, source=making.table.name))
    with making.naming_the_file(raw):
        study = load_study(making.folder)
    _refuse_unreadable(study, guessed, making.table.name)
    return study, guessed.said


def _of_questions(making: _Making) -> tuple[None, Said]:
    """Write the files of a study of questions, its first prompt among them; returns what was supposed."""
    guessed = guess_questions(making.table, making.asked)
    raw = making.keep("items")
    making.write("study.toml", questions_toml(guessed, raw, making.how, title=making.title, source=making.table.name))
    making.write(f"prompts/{FIRST_PROMPT}.toml", first_prompt(guessed.taxonomy))
    with making.naming_the_file(raw):
        read_items(read_settings(making.folder))
    return None, guessed.said


def _check_name(name: str, data: Path) -> None:
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise StudyError(f"a study is named by up to 64 letters, digits, '.', '-' and '_', got {shown(name)}")
    if name.casefold() in RESERVED:
        raise StudyError(f"{shown(name)} is the name of a folder of reports; give the study another")
    if (data / name).exists() or name in find_studies():
        raise StudyError(f"there is a study {shown(name)} already; it stays as it is: give the new one another name")


def _refuse_unreadable(study: Study, guessed: Guess, name: str) -> None:
    """Raise `StudyError` where no answer can be read: that is a table misunderstood, and no study."""
    errors = study.answers["error"]
    if not errors.notna().all():
        return
    kind = str(errors.iloc[0])
    roles = ("predicted",) if kind in _OF_LABELS else ("confidence", "probabilities") if kind in _OF_NUMBERS else ()
    columns = [guessed.columns[role] for role in roles if role in guessed.columns]
    if not columns:
        columns = list(guessed.by_class.values()) if roles else ["error"]
    raise StudyError(
        f"{name}, column {listed(map(shown, columns), at_most=4)}: none of {len(errors):,} answers can be read, the first "
        f"for {kind} where {guessed.scale} is certain; --scale and the options that name a column say otherwise"
    )


def _check_options(asked: Asked, title: str, encoding: str, delimiter: str | None) -> None:
    """Raise `StudyError` for what no file has to be read for, naming the option."""
    for option, text in {"title": title, "abstain": asked.abstain or "", **asked.constants}.items():
        if _HALF_A_PAIR.search(text):
            raise StudyError(f"--{option} is not text: {shown(text)} holds bytes that are not UTF-8")
    if asked.abstain is not None and not asked.abstain.strip():
        raise StudyError("--abstain must not be blank")
    check_declared(encoding, delimiter, ".", "--{}".format)
    if asked.calibration == Calibration.CLASSIFIER and asked.elicitation is not None:
        raise StudyError(
            f"--elicitation {asked.elicitation}: a classifier's number is not elicited; leave it out, or --calibration"
        )


def _read(source: Path, encoding: str, delimiter: str | None) -> tuple[Table, dict[str, str]]:
    """Read the file; returns it with what `study.toml` has to say about how it is written."""
    if source.suffix.casefold() not in READERS:
        known = {one.removesuffix(source.suffix): one for one in READERS}
        raise StudyError(
            f"{source.name}: files of this kind are not read{nearest(source.name, known)}, only {', '.join(READERS)}"
        )
    how = {} if encoding == "utf-8" else {"encoding": encoding}
    # A file may be named by bytes that are no text, and its name is said and written down.
    name = _HALF_A_PAIR.sub("\ufffd", source.name)
    try:
        return read_table(FileSource(source, name, encoding, delimiter, options=True)), how | _delimited(delimiter)
    except StudyError as error:
        if delimiter is not None or source.suffix.casefold() != ".csv" or error.kind != "unreadable_file":
            raise
        for other in SEPARATORS:
            try:
                table = read_table(FileSource(source, name, encoding, other, options=True))
            except StudyError:
                continue
            if len(table.frame.columns) > 1:
                return table, how | _delimited(other)
        raise


def _delimited(delimiter: str | None) -> dict[str, str]:
    return {} if delimiter is None else {"delimiter": delimiter}


def _read_words(table: Table, how: Mapping[str, str]) -> Said:
    written = "".join(f", {key} {shown(value)}" for key, value in how.items())
    return ((table.name, f"{len(table):,} rows, {len(table.frame.columns):,} columns{written}"),)
