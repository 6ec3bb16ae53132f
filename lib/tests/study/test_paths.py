"""A study reads the files of its folder and no others, however its `study.toml` or its links put it."""

import shutil
from pathlib import Path

import pytest
from repositories import make_repository

from assay.report import ReportError, list_jobs
from assay.run import study_folder
from assay.study import StudyError, load_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "secret.jsonl").write_text('{"item_id": "i1", "completion": "secret", "model": "m"}\n')
    return make_repository(tmp_path / "r") / "data" / "small"


def replaced(study: Path, old: str, new: str) -> Path:
    text = (study / "study.toml").read_text()
    assert old in text
    (study / "study.toml").write_text(text.replace(old, new))
    return study


@pytest.mark.parametrize("what", ['items.file = "items.jsonl"', 'file = "answers.jsonl"', 'prompts.good = "good.toml"'])
@pytest.mark.parametrize(
    "path",
    [
        "../secret.jsonl",
        "../../secret.jsonl",
        "raw/../../../secret.jsonl",
        "/etc/passwd",
        "~/secret.jsonl",
        "C:/secret.jsonl",
        "..\\\\secret.jsonl",
        "\\\\\\\\host\\\\share",
        "file:///etc/passwd",
        "",
        ".",
        "a\\u0000b",
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(what: str, path: str, study: Path, record_tried) -> None:
    key = what.partition(" = ")[0]
    replaced(study, what, f'{key} = "{path}"')
    with pytest.raises(StudyError) as raised:
        load_study(study)
    record_tried("paths that lead out of a study or of reports", 1)
    message = str(raised.value)
    assert message.startswith("small/")
    assert "secret" not in message.replace(path.replace("\\\\", "\\"), "").replace(path, "")
    assert "root:" not in message


@pytest.mark.parametrize("name", ["items.jsonl", "answers.jsonl", "good.toml"])
def test_a_link_that_leaves_the_folder_is_refused(name: str, study: Path, record_tried) -> None:
    (study / name).unlink()
    (study / name).symlink_to(study.parents[2] / "secret.jsonl")
    with pytest.raises(StudyError, match=f"'{name}' leads out of the study's folder by a symbolic link"):
        load_study(study)
    record_tried("paths that lead out of a study or of reports", 1)


def test_a_folder_that_is_a_link_out_and_links_in_a_circle_are_refused(study: Path, record_tried) -> None:
    (study / "raw").symlink_to(study.parents[2])
    replaced(study, 'file = "answers.jsonl"', 'file = "raw/secret.jsonl"')
    with pytest.raises(StudyError, match="leads out of the study's folder"):
        load_study(study)
    (study / "raw").unlink()
    (study / "raw").symlink_to("raw")
    with pytest.raises(StudyError, match=r"raw/secret\.jsonl"):
        load_study(study)
    record_tried("paths that lead out of a study or of reports", 2)


def test_links_inside_the_folder_and_to_the_folder_are_followed(study: Path, tmp_path: Path) -> None:
    shutil.move(study / "items.jsonl", study / "real.jsonl")
    (study / "items.jsonl").symlink_to("real.jsonl")
    (tmp_path / "linked").symlink_to(study)
    assert len(load_study(tmp_path / "linked").items) == 60


@pytest.mark.parametrize("key", ["study", "record", "policy"])
def test_a_study_does_not_say_which_files_its_report_writes(key: str, study: Path, monkeypatch, record_tried) -> None:
    monkeypatch.chdir(study.parents[1])
    (study / "report.toml").write_text(f'[20_thresholds]\n{key} = "../../../elsewhere.json"\n')
    with pytest.raises(ReportError, match=f"small/report.toml: 20_thresholds may not set {key}"):
        list_jobs(["small"])
    record_tried("paths that lead out of a study or of reports", 1)


def test_a_study_named_by_dots_has_the_name_of_its_folder(study: Path, monkeypatch, record_tried) -> None:
    (study / "raw").mkdir()
    monkeypatch.chdir(study / "raw")
    assert study_folder("..") == study
    assert [job.address for job in list_jobs([".."])] == ["small/20_thresholds.html"]
    record_tried("paths that lead out of a study or of reports", 1)
