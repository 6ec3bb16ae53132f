"""Standard output that is closed, full or cannot hold a letter, and a folder that is gone: never an internal error.

A monitor reads the exit code of `assay check`: 1 is a violation and nothing else.
"""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from repositories import make_policy

CHECK = ("check", "policy.json", "answers.csv")
NEW = ("new", "mine", "--from", "letters.csv")
CLOSED = 'exec "$@" >&-'
ERROR_CLOSED = 'exec "$@" 2>&-'
BOTH_CLOSED = 'exec "$@" >&- 2>&- <&-'
FULL = 'exec "$@" >/dev/full'
BOTH_FULL = 'exec "$@" >/dev/full 2>/dev/full'
READ_ONLY = 'exec "$@" 1</dev/null'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a policy that holds on the answers beside it."""
    place = tmp_path_factory.mktemp("streams")
    for name in ("data", "lib/assay", "notebooks"):
        (place / name).mkdir(parents=True)
    answers = make_policy(place / "policy.json")
    answers.to_csv(place / "answers.csv", index=False)
    answers.assign(predicted="ne").to_csv(place / "worse.csv", index=False)
    letters = ["é", "日本"] * 60
    pd.DataFrame({"label": letters, "predicted": letters, "confidence": 0.9}).to_csv(place / "letters.csv", index=False)
    return place


def call(
    folder: Path, *words: str, through: str = 'exec "$@"', environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = ["sh", "-c", through, "sh", sys.executable, "-m", "assay", *words]
    given = {**os.environ, "PYTHONUNBUFFERED": "", **(environment or {})}
    return subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, errors="backslashreplace", check=False
    )


@pytest.mark.parametrize("through", [CLOSED, ERROR_CLOSED, BOTH_CLOSED])
def test_a_check_whose_streams_are_closed_still_gives_its_verdict(folder: Path, through: str) -> None:
    done = call(folder, *CHECK, through=through)
    assert (done.returncode, done.stderr) == (0, "")
    assert call(folder, "check", "policy.json", "worse.csv", through=through).returncode == 1


@pytest.mark.parametrize(
    ("through", "said"),
    [
        (FULL, "assay: standard output: No space left on device\n"),
        (READ_ONLY, "assay: standard output: Bad file descriptor\n"),
        (BOTH_FULL, ""),
    ],
)
def test_a_verdict_that_cannot_be_printed_is_no_violation(folder: Path, through: str, said: str) -> None:
    done = call(folder, *CHECK, through=through)
    assert (done.returncode, done.stderr) == (4, said)
    assert call(folder, *CHECK, through=through, environment={"PYTHONUNBUFFERED": "1"}).returncode == 4


def test_a_check_that_fails_by_itself_is_no_violation(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from assay.__main__ import main

    def broken(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.chdir(folder)
    monkeypatch.setattr("assay.measure.drift.check_files", broken)
    assert main(list(CHECK)) == 4
    assert capsys.readouterr().err.startswith("assay: internal error, MemoryError")


def test_input_that_cannot_be_used_is_2_wherever_it_is_said(folder: Path) -> None:
    assert call(folder, "check", "policy.json", "nowhere.csv", through=BOTH_FULL).returncode == 2
    assert call(folder, "check", "policy.json", "nowhere.csv", through=BOTH_CLOSED).returncode == 2


def test_a_file_that_is_opened_does_not_get_the_number_of_a_closed_stream(folder: Path) -> None:
    code = (
        "import os\nfrom assay.commands.streams import ready_streams\nready_streams()\nprint('lost')\n"
        "with open('letters.csv') as file: os.write(2, str(file.fileno()).encode())\n"
        "os.system('echo lost')"
    )
    command = ["sh", "-c", 'exec "$@" >&- <&-', "sh", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert int(done.stderr) > 2


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_letter_that_the_output_cannot_hold_is_escaped(environment: dict[str, str], folder: Path) -> None:
    name = f"mine{len(list((folder / 'data').iterdir()))}"
    done = call(folder, "new", name, *NEW[2:], environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u65e5\u672c" in done.stdout
    assert f"data/{name}: made" in done.stdout


@pytest.mark.parametrize(("words", "code"), [(CHECK, 4), (NEW, 1), (("results",), 1)])
def test_a_folder_that_is_gone_is_said_in_one_line(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = call(gone, *words, through='rmdir "$PWD" && exec "$@"')
    assert done.returncode == code
    said = "assay: the working directory cannot be used (No such file or directory): go to one that is there\n"
    assert done.stderr == said
