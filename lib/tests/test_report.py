"""The report: which runs it holds, what it repeats, and what it shows of those that fail."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay.__main__ import main
from assay.report import ReportError, list_jobs, make_report
from assay.settings import NOTEBOOKS
from assay.study import StudyError

FIXTURES = Path(__file__).parent / "notebooks"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository of one notebook and two studies."""
    for folder in ("notebooks", "lib/assay", "data/one", "data/two"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(FIXTURES / "20_thresholds.ipynb", tmp_path / "notebooks")
    (tmp_path / "data/one/study.toml").write_text('title = "The first <study>"')
    (tmp_path / "data/two/study.toml").write_text("broken = = toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def break_notebook(repository: Path) -> None:
    path = repository / "notebooks" / "20_thresholds.ipynb"
    content = json.loads(path.read_text())
    content["cells"][3]["source"] = "if study == 'one':\n    1 / 0"
    path.write_text(json.dumps(content))


def test_a_report_makes_a_page_for_each_job_and_an_index_that_links_them(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--workers", "2"]) == 0
    said = capsys.readouterr()
    assert said.out == "reports/index.html: 2 pages (0 unchanged), 0 failed\n"
    assert sorted(re.findall(r"^\[\d/2\] (.*): [0-9.]+ s$", said.err, re.MULTILINE)) == [
        "20_thresholds on one",
        "20_thresholds on two",
    ]
    index = (repository / "reports" / "index.html").read_text()
    for study in ("one", "two"):
        assert f'href="{study}/20_thresholds.html"' in index
        assert f"{study} at None." in index
        page = (repository / "reports" / study / "20_thresholds.html").read_text()
        assert 'href="../index.html"' in page
    assert "The first &lt;study&gt;" in index

    assert main(["report"]) == 0
    assert capsys.readouterr().out == "reports/index.html: 2 pages (2 unchanged), 0 failed\n"
    assert (repository / "reports" / "index.html").read_text() == index

    (repository / "data" / "one" / "answers.csv").write_text("changed")
    assert [outcome.unchanged for outcome in make_report(list_jobs(["two"]))] == [True]
    assert (repository / "reports" / "index.html").read_text() == index
    assert [outcome.unchanged for outcome in make_report(list_jobs(["one"]))] == [False]
    assert (repository / "reports" / "index.html").read_text() == index


def test_a_failure_is_told_on_the_index_and_by_the_exit_code_and_the_rest_is_made(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_notebook(repository)
    (repository / "reports" / "one").mkdir(parents=True)
    (repository / "reports" / "one" / "20_thresholds.html").write_text("of an earlier run")
    assert main(["report"]) == 1
    said = capsys.readouterr()
    assert said.out == "reports/index.html: 1 pages (0 unchanged), 1 failed\n"
    failure = "20_thresholds.ipynb, cell 4 (if study == 'one':): ZeroDivisionError: division by zero"
    assert f"assay: 20_thresholds on one: {failure}\n" in said.err
    index = (repository / "reports" / "index.html").read_text()
    assert "cell 4" in index
    assert 'href="one/' not in index
    assert 'href="two/20_thresholds.html"' in index
    assert not (repository / "reports" / "one" / "20_thresholds.html").exists()
    # What failed is tried again; what did not is not.
    assert [outcome.unchanged for outcome in make_report(list_jobs())] == [False, True]


def test_a_run_that_is_refused_leaves_no_older_page(repository: Path) -> None:
    page = repository / "reports" / "one" / "20_thresholds.html"
    page.parent.mkdir(parents=True)
    page.write_text("of an earlier run")
    (job,) = list_jobs(["one"])
    (outcome,) = make_report([replace(job, parameters={"tie_margin": 2})])
    assert outcome.failure.startswith("tie_margin must be a number from 0 to 1")
    assert outcome.misuse
    assert not page.exists()


def test_a_study_can_be_given_by_its_folder(repository: Path) -> None:
    (job,) = list_jobs(["data/one"])
    assert job.folder == repository / "data" / "one"
    with pytest.raises(ReportError, match="several studies are named 'one'"):
        list_jobs(["one", "data/one"])


def test_an_unknown_study_is_refused_with_the_nearest_one(repository: Path) -> None:
    with pytest.raises(StudyError, match=r"there is no study 'on'; did you mean one\?"):
        list_jobs(["on"])


def test_a_study_may_set_parameters_of_its_report_or_leave_a_notebook_out(repository: Path) -> None:
    file = repository / "data" / "one" / "report.toml"
    file.write_text('[20_thresholds]\ntags = "set=a"\n')
    assert [job.parameters for job in list_jobs(["one"])] == [{"tags": "set=a"}]
    file.write_text("20_thresholds = false\n")
    assert list_jobs(["one"]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = b", "one/report.toml cannot be read: "),
        ("[21_thresholds]", "one/report.toml names an unknown notebook '21_thresholds'"),
        ("20_thresholds = 3", "one/report.toml: 20_thresholds must be a table of parameters or false, got 3"),
        ('[00_collect]\nask = true\nbase_url = "https://a.example/v1"', "one/report.toml: 00_collect may not set ask"),
        ('[00_collect]\nstore = "../elsewhere.sqlite"', "one/report.toml: 00_collect may not set store"),
    ],
)
def test_report_settings_that_cannot_be_used_are_refused(text: str, message: str, repository: Path) -> None:
    (repository / "data" / "one" / "report.toml").write_text(text)
    with pytest.raises(ReportError, match=message):
        list_jobs()


def test_a_notebook_that_does_not_belong_in_a_report_is_left_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NOTEBOOKS["20_thresholds"], "in_report", False)
    with pytest.raises(ReportError, match="there is no notebook to run"):
        list_jobs()
