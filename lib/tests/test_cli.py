"""The command line: one line and an exit code for whatever goes wrong."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.__main__ import main

NOTEBOOKS = Path(__file__).parent / "notebooks"
THRESHOLDS = str(NOTEBOOKS / "20_thresholds.ipynb")
KEY = "sk-test-EXAMPLE-0000-not-a-real-key"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty repository."""
    for folder in ("notebooks", "lib/assay", "data"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


MISUSES = {
    "no command": ([], "the following arguments are required: COMMAND"),
    "unknown command": (["frobnicate"], "invalid choice: 'frobnicate'"),
    "unknown option": (["run", "x", "--frob"], "unrecognized arguments: --frob"),
    "no notebook": (["run"], "the following arguments are required: notebook"),
    "missing file": (["run", "nowhere.ipynb"], "no notebook 'nowhere.ipynb'"),
    "misspelt parameter": (["run", THRESHOLDS, "-p", "studdy=triage"], "unknown parameter 'studdy' for 20_thresholds; did you"),
    "wrong type": (["run", THRESHOLDS, "-p", "tie_margin=oops"], "tie_margin must be a number from 0 to 1"),
    "out of range": (["run", THRESHOLDS, "-p", "tie_margin=1.5"], "tie_margin must be a number from 0 to 1"),
    "no sign": (["run", THRESHOLDS, "-p", KEY], "-p takes NAME=VALUE"),
    "given twice": (["run", THRESHOLDS, "-p", "grid=11", "-p", "grid=12"], "-p gives grid twice"),
    "key as value": (["run", THRESHOLDS, "-p", f"model={KEY}"], "was refused; set keys in the environment"),
    "key as parameter": (["run", THRESHOLDS, "-p", f"api_key={KEY}"], "looks like a key"),
    "key as option": (["run", THRESHOLDS, f"--api-key={KEY}"], "unrecognized arguments: --api-key=[key removed]"),
    "no kernel": (["run", THRESHOLDS, "--kernel", "nope"], "asks for kernel 'nope', which is not installed; installed: "),
    "unwritable output": (["run", THRESHOLDS, "--output", "/proc/x/out.ipynb"], "cannot write /proc/x/out.ipynb"),
    "output not a notebook": (["run", THRESHOLDS, "--output", "out.html"], "output must end in .ipynb, got out.html"),
    "no time": (["run", THRESHOLDS, "--cell-timeout", "-1"], "cell_timeout must be a number of seconds above 0, got -1"),
    "time no number": (["run", THRESHOLDS, "--run-timeout", "soon"], "argument --run-timeout: invalid float value: 'soon'"),
    "unknown study": (["run", THRESHOLDS, "-p", "study=triaje"], "there is no study 'triaje'; did you mean triage?"),
    "report on an unknown study": (["report", "nope"], "there is no study 'nope'; studies found: "),
    "no study at all": (["report"], "there is no study in data/"),
    "no workers": (["report", "--workers", "0"], "must be a whole number from 1, got '0'"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSES)
def test_a_misuse_exits_with_2_and_one_line(case: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, message = MISUSES[case]
    try:
        code = main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("assay: ")
    assert said.err.count("\n") == 1
    assert message in said.err
    assert "EXAMPLE" not in said.err
    assert files(repository) == []


def test_a_run_says_what_it_left(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "data" / "of_tests").mkdir()
    (repository / "data" / "of_tests" / "study.toml").touch()
    assert main(["run", THRESHOLDS, "-p", "study=data/of_tests", "-p", "threshold=1", "--html", "page.html"]) == 0
    said = capsys.readouterr().out
    name = re.search(r"notebook: reports/notebooks/(20_thresholds-of_tests-[0-9a-f]{12}).ipynb", said)
    assert name is not None
    assert said.splitlines()[1:] == ["page: page.html", f"record: reports/records/{name[1]}.json"]
    record = json.loads((repository / "reports" / "records" / f"{name[1]}.json").read_text())
    assert record["settings"]["study"] == "data/of_tests"
    assert record["settings"]["threshold"] == 1


def test_a_run_that_fails_exits_with_1_and_one_line(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(NOTEBOOKS / "fails.ipynb")]) == 1
    said = capsys.readouterr()
    assert said.err == "assay: fails.ipynb, cell 4 (numerator = share): ZeroDivisionError: float division by zero\n"
    assert said.out == ""
    assert files(repository) == ["reports/notebooks/fails.partial.ipynb"]


def test_an_internal_error_is_one_line_unless_debugged(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("assay.run.run_notebook", broken)
    assert main(["run", THRESHOLDS]) == 1
    assert capsys.readouterr().err == "assay: internal error, KeyError: 'x' (--debug shows where)\n"
    assert main(["run", THRESHOLDS, "--debug"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("KeyError: 'x'\n")


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = "import sys; from assay.__main__ import main\ntry: main(['--help'])\nfinally: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert {"run", "report"} <= set(re.findall(r"^    (\w+)", done.stdout, flags=re.MULTILINE))
    for heavy in ("pandas", "numpy", "pydantic", "nbclient", "nbformat", "matplotlib"):
        assert f"'{heavy}'" not in done.stdout


def test_the_package_runs_as_a_module() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("assay ")
    assert time.monotonic() - began < 10
