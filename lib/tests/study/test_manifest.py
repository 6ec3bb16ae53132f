"""A manifest tells every way in which shipped files can differ from those recorded."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.study import StudyError, check_manifest, write_manifest

Write = Callable[..., Path]


def test_writing_twice_gives_the_same_bytes(study_folder: Write) -> None:
    folder = study_folder()
    write_manifest(folder)
    first = (folder / "manifest.json").read_bytes()
    write_manifest(folder)
    assert (folder / "manifest.json").read_bytes() == first
    assert check_manifest(folder) == ()


def test_a_changed_a_new_and_a_missing_file_are_each_named(study_folder: Write) -> None:
    folder = study_folder()
    write_manifest(folder)
    (folder / "items.csv").write_text("changed")
    (folder / "raw").mkdir()
    (folder / "raw" / "new.csv").write_text("new")
    (folder / "answers.csv").unlink()
    assert check_manifest(folder) == (
        "colours/answers.csv: missing",
        "colours/items.csv: changed since the manifest was written",
        "colours/raw/new.csv: not in the manifest",
    )


def test_dot_files_are_no_part_of_a_study(study_folder: Write) -> None:
    folder = study_folder()
    write_manifest(folder)
    (folder / ".DS_Store").write_text("")
    assert check_manifest(folder) == ()


@pytest.mark.parametrize("content", [None, "{", "[]", '{"items.csv": 1}', "[" * 100_000])
def test_a_manifest_that_is_none_is_an_error(study_folder: Write, content: str | None) -> None:
    folder = study_folder()
    if content is not None:
        (folder / "manifest.json").write_text(content)
    with pytest.raises(StudyError, match=r"^colours/manifest\.json: "):
        check_manifest(folder)
