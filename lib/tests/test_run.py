"""Strict runs: what is refused beforehand, what a finished run leaves, and what an unfinished one does."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import psutil  # type: ignore[import-untyped]
import pytest
from nbformat import v4

from assay.kernel import RunError
from assay.notebook import NotebookError, declared_parameters, find_notebook, read_notebook
from assay.parameters import ParameterError
from assay.run import prepare, run_notebook

NOTEBOOKS = Path(__file__).parent / "notebooks"
CANARY = "canary-0123-of-the-environment"


def write_notebook(path: Path, *sources: str, parameters: str = "share = 0.5", kernel: str = "python3") -> Path:
    cells = [v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}), *map(v4.new_code_cell, sources)]
    content = v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": kernel, "display_name": kernel}})
    path.write_text(nbformat.writes(content))
    return path


def outputs(path: Path) -> str:
    return json.dumps([cell.get("outputs") for cell in read_notebook(path).cells])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run_thresholds(folder: Path) -> dict[str, Any]:
    run_notebook(
        NOTEBOOKS / "20_thresholds.ipynb",
        {"study": "triage", "threshold": 0.8, "record": str(folder / "record.json")},
        output=folder / "out.ipynb",
        html=folder / "page.html",
    )
    record = json.loads((folder / "record.json").read_text())
    notebook = re.sub(r'"20\d\d-[^"]+Z"', "", (folder / "out.ipynb").read_text())
    return {"record": {**record, "times": None}, "notebook": notebook, "page": (folder / "page.html").read_text()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "results.json").write_text(json.dumps(run_thresholds(folder)))
    return folder


def test_a_run_leaves_notebook_page_and_record(finished: Path) -> None:
    assert names(finished) == ["out.ipynb", "page.html", "record.json", "results.json"]
    record = json.loads((finished / "record.json").read_text())
    assert record["figures"] == {"headline": "triage at 0.8.", "threshold": 0.8}
    assert record["settings"]["threshold"] == 0.8
    executed = read_notebook(finished / "out.ipynb")
    assert executed.cells[2].metadata.tags == ["injected-parameters"]
    assert "Which threshold?" in (finished / "page.html").read_text()


def test_the_same_parameters_give_the_same_results_but_for_times(finished: Path) -> None:
    first = json.loads((finished / "results.json").read_text())
    second = run_thresholds(finished)
    assert first["record"] == second["record"]
    assert first["page"] == second["page"]
    assert first["notebook"] == second["notebook"]


def test_a_failing_cell_is_named_and_leaves_only_the_partial_notebook(tmp_path: Path) -> None:
    for stale in ("out.ipynb", "page.html"):
        (tmp_path / stale).write_text("of an earlier run")
    with pytest.raises(RunError) as error:
        run_notebook(NOTEBOOKS / "fails.ipynb", output=tmp_path / "out.ipynb", html=tmp_path / "page.html")
    assert str(error.value) == "fails.ipynb, cell 4 (numerator = share): ZeroDivisionError: float division by zero"
    assert not error.value.misuse
    assert names(tmp_path) == ["out.partial.ipynb"]
    assert "before 0.5" in outputs(tmp_path / "out.partial.ipynb")
    assert "never reached" not in outputs(tmp_path / "out.partial.ipynb")


def test_a_cell_is_numbered_as_its_author_counts_whatever_was_given(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^fails.ipynb, cell 4 \(numerator = share\): ZeroDivisionError"):
        run_notebook(NOTEBOOKS / "fails.ipynb", {"share": 1.5}, output=tmp_path / "out.ipynb")


def test_a_cell_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(
        RunError, match=r"hangs.ipynb, cell 1 \(import time\): stopped after 0.5 s, the limit of a cell"
    ):
        run_notebook(NOTEBOOKS / "hangs.ipynb", output=tmp_path / "out.ipynb", cell_timeout=0.5)
    assert time.monotonic() - began < 30
    assert names(tmp_path) == ["out.partial.ipynb"]


def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="stopped after 1 s, the limit of a run"):
        run_notebook(NOTEBOOKS / "hangs.ipynb", output=tmp_path / "out.ipynb", run_timeout=1)
    assert names(tmp_path) == ["out.partial.ipynb"]


def test_a_kernel_that_dies_is_told_from_a_cell_that_fails(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"dies.ipynb, cell 2 \(os.kill\(.*\): the kernel died"):
        run_notebook(NOTEBOOKS / "dies.ipynb", output=tmp_path / "out.ipynb")
    assert names(tmp_path) == ["out.partial.ipynb"]


def test_a_kernel_that_does_not_start_is_said_not_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "kernels" / "broken"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-c", "import sys; sys.exit('no such thing')"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "broken", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    with pytest.raises(RunError, match="kernel 'broken' did not start; it last said: no such thing") as error:
        run_notebook(NOTEBOOKS / "fails.ipynb", output=tmp_path / "out.ipynb", kernel="broken")
    assert error.value.misuse


def test_no_kernel_and_no_socket_outlives_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(RunError):
        run_notebook(NOTEBOOKS / "fails.ipynb", output=tmp_path / "out.ipynb")
    assert names(tmp_path / "temporary") == []
    assert not [one for one in psutil.Process().children(recursive=True) if "ipykernel" in " ".join(one.cmdline())]


def test_a_kernel_is_reached_over_sockets_of_the_file_system(tmp_path: Path) -> None:
    look = "from ipykernel.connect import get_connection_info\nprint(get_connection_info(unpack=True)['transport'])"
    run_notebook(write_notebook(tmp_path / "n.ipynb", look), output=tmp_path / "out.ipynb")
    assert '"text": "ipc\\n"' in outputs(tmp_path / "out.ipynb")


def test_an_interrupted_run_leaves_the_partial_notebook_and_no_kernel(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        str(NOTEBOOKS / "hangs.ipynb"),
        "--output",
        str(tmp_path / "o.ipynb"),
    ]
    runner = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    kernel: list[psutil.Process] = []
    deadline = time.monotonic() + 30
    while not any("ipykernel" in " ".join(one.cmdline()) for one in kernel) and time.monotonic() < deadline:
        time.sleep(0.1)
        kernel = psutil.Process(runner.pid).children()
    time.sleep(1)
    runner.send_signal(signal.SIGINT)
    _, said = runner.communicate(timeout=30)
    assert said.strip() == "assay: interrupted"
    assert runner.returncode == 130
    assert names(tmp_path) == ["o.partial.ipynb"]
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in kernel)


def test_keys_reach_neither_notebook_nor_page_nor_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    notebook = write_notebook(
        tmp_path / "leaks.ipynb",
        "import os\nfrom IPython.display import HTML, display\nfrom pathlib import Path\nkey = os.environ['OPENAI_API_KEY']",
        "print(key); display(HTML(f'<p>{key}</p>')); display({'key': key}); print(Path.home())",
        "if share < 1:\n    raise RuntimeError(f'refused: {key}')",
    )
    with pytest.raises(RunError) as error:
        run_notebook(notebook, output=tmp_path / "a.ipynb")
    run_notebook(notebook, {"share": 1.0}, output=tmp_path / "b.ipynb", html=tmp_path / "b.html")
    assert CANARY not in str(error.value)
    for path in ("a.partial.ipynb", "b.ipynb", "b.html"):
        text = (tmp_path / path).read_text()
        assert "[key removed]" in text
        assert CANARY not in text
        assert f'"{Path.home()}\\n"' not in text


def test_a_run_can_be_started_where_an_event_loop_runs_already(tmp_path: Path) -> None:
    async def within() -> Any:
        return run_notebook(write_notebook(tmp_path / "n.ipynb", "share"), output=tmp_path / "out.ipynb")

    assert asyncio.run(within()).notebook == tmp_path / "out.ipynb"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"studdy": "triage"}, "unknown parameter 'studdy' for 20_thresholds; did you mean study"),
        ({"tie_margin": "oops"}, "tie_margin must be a number from 0 to 1"),
        ({"study": "triage", "model": "sk-test-EXAMPLE-0000"}, "looks like a key"),
    ],
)
def test_a_bad_parameter_is_refused_before_a_kernel_starts(
    given: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.run.run_cells", None)
    with pytest.raises(ParameterError, match=message):
        run_notebook(NOTEBOOKS / "20_thresholds.ipynb", given, output=tmp_path / "out.ipynb")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": "out.html"}, "output must end in .ipynb, got out.html"),
        ({"output": "folder.ipynb"}, "it is a folder"),
        ({"output": "file/out.ipynb"}, "cannot write"),
        ({"html": "file/out.html"}, "cannot write"),
        ({"cell_timeout": 0.0}, "cell_timeout must be a number of seconds above 0, got 0"),
        ({"run_timeout": float("nan")}, "run_timeout must be a number of seconds above 0, got nan"),
        ({"kernel": "nope"}, "asks for kernel 'nope', which is not installed; installed: .*python3.*--kernel"),
    ],
)
def test_what_cannot_work_is_refused_beforehand(
    changes: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=message) as error:
        prepare(NOTEBOOKS / "fails.ipynb", **{"output": "out.ipynb", **changes})
    assert error.value.misuse


def test_a_notebook_is_never_its_own_output(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb")
    with pytest.raises(RunError, match=r"output would overwrite .*n\.ipynb, which is read here"):
        prepare(notebook, output=notebook)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(RunError, match=r"cannot write .*closed/out\.ipynb: Permission denied"):
        prepare(NOTEBOOKS / "fails.ipynb", output=tmp_path / "closed" / "out.ipynb")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}', '{"nbformat": 4, "cells": []}', "\x00\xff"])
def test_a_file_that_is_no_notebook_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(content)
    with pytest.raises(NotebookError, match=r"n\.ipynb is not a valid notebook"):
        read_notebook(tmp_path / "n.ipynb")


def test_a_notebook_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib" / "assay").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    write_notebook(tmp_path / "notebooks" / "10_calibrate.ipynb")
    monkeypatch.chdir(tmp_path)
    assert find_notebook("10_calibrate") == tmp_path / "notebooks" / "10_calibrate.ipynb"
    with pytest.raises(NotebookError, match=r"no notebook '11_x'; notebooks/ holds 10_calibrate"):
        find_notebook("11_x")


def test_two_parameters_cells_are_refused(tmp_path: Path) -> None:
    content = read_notebook(write_notebook(tmp_path / "n.ipynb"))
    content.cells.append(content.cells[0])
    with pytest.raises(ParameterError, match="has 2 cells tagged parameters; it must have one"):
        declared_parameters(content)


def test_only_literals_can_be_given(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb", parameters="free = None")
    with pytest.raises(ParameterError, match="free must be a plain literal, got float"):
        prepare(notebook, {"free": float("nan")}, output=tmp_path / "out.ipynb")
    with pytest.raises(ParameterError, match="free must be a plain literal, got object"):
        prepare(notebook, {"free": object()}, output=tmp_path / "out.ipynb")


def test_values_given_reach_the_notebook_as_they_are(tmp_path: Path) -> None:
    tricky = "a'b\"c\\n\nd ${x} é"
    notebook = write_notebook(tmp_path / "n.ipynb", "print(ascii(free))", parameters="free = None")
    run_notebook(notebook, {"free": [tricky, None, True, 1e-300]}, output=tmp_path / "out.ipynb")
    printed = read_notebook(tmp_path / "out.ipynb").cells[-1].outputs[0].text
    assert printed.strip() == ascii([tricky, None, True, 1e-300])


def papermill(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "papermill", str(NOTEBOOKS / "20_thresholds.ipynb"), str(folder / "out.ipynb")]
    return subprocess.run([*command, "--no-progress-bar", *words], capture_output=True, text=True, check=False)


def test_plain_papermill_writes_the_record_too(tmp_path: Path) -> None:
    done = papermill("-p", "study", "triage", "-p", "record", str(tmp_path / "record.json"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "record.json").read_text())["settings"]["study"] == "triage"


@pytest.mark.long
def test_plain_papermill_stops_at_a_bad_value_with_one_clear_message(tmp_path: Path) -> None:
    done = papermill("-p", "study", "triage", "-p", "tie_margin", "1.5", folder=tmp_path)
    assert done.returncode != 0
    assert "ParameterError: tie_margin must be a number from 0 to 1" in done.stderr
    assert "pydantic" not in done.stderr
