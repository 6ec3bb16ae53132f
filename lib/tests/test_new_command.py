"""``assay new``: from a file of answers to a study, and on to its review page."""

import csv
import os
import random
import re
import resource
import shutil
import signal
from pathlib import Path

import pytest

from assay.__main__ import main
from assay.study import load_study

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "notebooks"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository with the shipped notebooks and no study, and a file of answers."""
    for folder in ("lib/assay", "data"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copytree(SHIPPED, tmp_path / "notebooks", ignore=shutil.ignore_patterns("grids", ".*"))
    monkeypatch.chdir(tmp_path)
    chance = random.Random(5)
    with (tmp_path / "answers.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "predicted", "confidence"])
        for _ in range(300):
            label = chance.choice(["spam", "ham", "phish"])
            right = chance.random() < 0.85
            said = label if right else chance.choice(["spam", "ham", "phish"])
            writer.writerow([label, said, round(chance.uniform(0.6, 1) if right else chance.uniform(0.3, 0.8), 2)])
    return tmp_path


def test_it_says_what_it_supposed_and_what_to_do_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "of_tests", "--from", "answers.csv"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == "answers.csv: 300 rows, 3 columns"
    assert lines[1] == "label: column 'label', 3 classes: ham, phish, spam"
    assert "each of the 300 rows is an item of its own" in said.out
    assert "a policy must show: accepted accuracy at least 0.9, supposed (--gate, --dangerous)" in lines
    assert lines[-1] == "data/of_tests: made; edit its study.toml, or go on with: assay report of_tests"
    assert len(load_study("of_tests").answers) == 300


def test_the_options_say_otherwise(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "new", "of_tests", "--from", "answers.csv", "--dangerous", "phish", "--gate", "caught:spam=0.8", "--title", 'A "title"',
        "--model", "small", "--elicitation", "vote", "--abstain", "ask", "--scale", "1",
    ]  # fmt: skip
    assert main(words) == 0
    study = load_study("of_tests")
    assert [str(gate) for gate in study.taxonomy.gates] == [
        "caught of spam at least 0.8",
        "class accuracy of phish at least 0.95",
    ]
    assert (study.title, study.taxonomy.abstain) == ('A "title"', "ask")
    assert study.series()[["model", "elicitation"]].to_numpy().tolist() == [["small", "vote"]]
    capsys.readouterr()


MISUSES = {
    "taken": (["of_tests"], "there is a study 'of_tests' already"),
    "a path": (["../of_tests"], "a study is named by up to 64 letters"),
    "no file": (["other", "--from", "nowhere.csv"], "nowhere.csv: cannot be read"),
    "no columns": (["other", "--from", "plain.csv"], "none for the label (looked for label, gold,"),
    "no such class": (["other", "--dangerous", "fish"], "'fish' is not a class (did you mean 'phish'?)"),
    "no such column": (["other", "--label-column", "gold"], "no column 'gold' for the label"),
    "no gate": (["other", "--gate", "accuracy"], "must be METRIC[:CLASS]=TARGET"),
    "no metric": (["other", "--gate", "recall:spam=0.9"], "gate metric must be one of class_accuracy"),
    "gate out of range": (["other", "--gate", "accepted_accuracy=90"], "a target between 0 and 1"),
    "scale": (["other", "--scale", "10"], "invalid choice: 10"),
    "no encoding": (["other", "--encoding", "klingon"], "--encoding: 'klingon' is no text encoding"),
    "no text encoding": (["other", "--encoding", "rot13"], "--encoding: 'rot13' is no text encoding"),
    "a blank encoding": (["other", "--encoding", ""], "--encoding: '' is no text encoding"),
    "an encoding that is not here": (["other", "--encoding", "mbcs"], "--encoding: 'mbcs' is no text encoding"),
    "another encoding": (["other", "--encoding", "utf-16"], 'the file is UTF-8, not UTF-16; give --encoding "utf-8"'),
    "undeclared encoding": (
        ["other", "--from", "latin.csv"],
        "latin.csv: the file is not utf-8 text (byte 28); give --enc",
    ),
    "two delimiters": (["other", "--delimiter", "ab"], "--delimiter must be one ASCII character, got 'ab'"),
    "a blank delimiter": (["other", "--delimiter", ""], "--delimiter must be one ASCII character, got ''"),
    "another delimiter": (["other", "--delimiter", ";"], 'give --delimiter ","'),
    "a title of bytes": (
        ["other", "--title", "\udcff"],
        "--title is not text: '\\udcff' holds bytes that are not UTF-8",
    ),
    "a model of bytes": (["other", "--model", "\udcff"], "--model is not text"),
    "a prompt of bytes": (["other", "--prompt", "\udcff"], "--prompt is not text"),
    "an abstention of bytes": (["other", "--abstain", "\udcff"], "--abstain is not text"),
    "a blank abstention": (["other", "--abstain", " "], "--abstain must not be blank"),
    "a classifier that is asked": (
        ["other", "--calibration", "classifier", "--elicitation", "vote"],
        "--elicitation vote: a classifier's number is not elicited",
    ),
    "a study that does not load": (
        ["other", "--from", "twice.csv", "--item-column", "who"],
        "assay: twice.csv, data row 2 (header not counted): item 'u' has the label 'b' here",
    ),
}


@pytest.mark.parametrize("case", MISUSES)
def test_a_misuse_exits_with_2_and_one_line_and_leaves_nothing(
    case: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "plain.csv").write_text("a,b\n1,2\n")
    (repository / "latin.csv").write_bytes("label,predicted,confidence\né,é,0.5\n".encode("latin-1"))
    (repository / "twice.csv").write_text("who,label,predicted,confidence\nu,a,a,0.5\nu,b,b,0.5\n")
    assert main(["new", "of_tests", "--from", "answers.csv"]) == 0
    capsys.readouterr()
    words, message = MISUSES[case]
    given = words if "--from" in words else [*words, "--from", "answers.csv"]
    try:
        code = main(["new", *given])
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("assay: ")
    assert said.err.count("\n") == 1
    assert message in said.err
    assert [path.name for path in (repository / "data").iterdir()] == ["of_tests"]


def test_a_file_whose_name_is_no_text_is_read_and_shown(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = os.fsdecode(b"an\xffswers.csv")
    Path("answers.csv").rename(odd)
    assert main(["new", "of_tests", "--from", odd]) == 0
    assert capsys.readouterr().out.startswith("an\ufffdswers.csv: 300 rows")
    assert load_study("of_tests").source == "an\ufffdswers.csv"


def test_a_disk_that_is_full_names_the_study_and_not_the_file_it_came_from(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        code = main(["new", "of_tests", "--from", "answers.csv"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, kept)
    assert code == 1
    assert capsys.readouterr().err == f"assay: {(repository / 'data' / 'of_tests').as_posix()}: File too large\n"
    assert list((repository / "data").iterdir()) == []


def test_three_columns_come_to_a_review_page(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "of_tests", "--from", "answers.csv"]) == 0
    assert main(["run", "90_review", "-p", "study=of_tests", "--html", "page.html"]) == 0
    capsys.readouterr()
    page = (repository / "page.html").read_text(encoding="utf-8")
    for words in ("Source: answers.csv", "300 items", "accepted accuracy", "phish", "Sign-off"):
        assert words in page


@pytest.mark.long
def test_a_report_of_ones_own_study_keeps_the_pages_of_the_others(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("theirs", "of_tests"):
        assert main(["new", name, "--from", "answers.csv"]) == 0
        assert main(["report", name, "--workers", "1"]) == 0
    said = capsys.readouterr()
    assert "0 failed" in said.out
    index = (repository / "reports" / "index.html").read_text(encoding="utf-8")
    for name in ("theirs", "of_tests"):
        assert re.search(rf'href="{name}/90_review\.html"', index)
        assert (repository / "reports" / name / "90_review.html").is_file()
