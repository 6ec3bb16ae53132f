"""Grids: what a file may say, what is run and what is not run again, and what is left when something is killed."""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import psutil  # type: ignore[import-untyped]
import pytest
from assay_test_cluster import cluster, until

from assay import grid as module
from assay.__main__ import main
from assay.commands.grid import speed
from assay.files import digest
from assay.grid import GridError, RunOutcome, read_grid, run_grid
from assay.stamp import Stamp

ROOT = Path(__file__).parents[2]
NOTEBOOK = Path(__file__).parent / "notebooks" / "20_thresholds.ipynb"
KEY = "sk-test-EXAMPLE-0000-not-a-real-key"
GRID = """
notebook: 20_thresholds
parameters: {part: all}
list:
  - {study: one}
  - {study: two, model: m}
product:
  threshold: [0.5, 1e-1]
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository of one notebook, which keeps count of its runs, and two studies."""
    for folder in ("notebooks/grids", "lib/assay", "data/one", "data/two", "starts"):
        (tmp_path / folder).mkdir(parents=True)
    content = json.loads(NOTEBOOK.read_text())
    note = "from pathlib import Path\nPath('starts', f'{study}-{threshold}').open('a').write('x')"
    content["cells"][2]["source"] = [note, "\n", *content["cells"][2]["source"]]
    (tmp_path / "notebooks" / NOTEBOOK.name).write_text(json.dumps(content))
    for study in ("one", "two"):
        (tmp_path / "data" / study / "study.toml").write_text(f'title = "{study}"')
    (tmp_path / "notebooks" / "grids" / "small.yaml").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    # The package may be edited while its tests run.
    monkeypatch.setattr(module, "code_digest", lambda: "as it is")
    return tmp_path


def starts() -> Counter[str]:
    return Counter({path.name: len(path.read_text()) for path in Path("starts").iterdir()})


def records(folder: Path) -> dict[str, Any]:
    """Read the records of a repository, times apart; each must be whole."""
    found = {}
    for path in sorted((folder / "reports" / "records").glob("[!.]*.json")):
        content = json.loads(path.read_text())
        assert content.pop("times")["seconds"] >= 0
        found[path.name] = content
    return found


def finished() -> set[str]:
    """Names of the runs whose record and stamp agree."""
    folder = Path("reports/records")
    stamps = {path: json.loads(path.read_text()) for path in folder.glob(".*.json") if path.suffix == ".json"}
    done = {path.name[1:] for path, stamp in stamps.items() if stamp["record"] == digest(folder / path.name[1:])}
    settings = [json.loads((folder / name).read_text())["settings"] for name in done]
    return {f"{one['study']}-{one['threshold']}" for one in settings}


def edit_notebook(repository: Path, source: str) -> None:
    path = repository / "notebooks" / NOTEBOOK.name
    content = json.loads(path.read_text())
    last = content["cells"][-1]["source"]
    content["cells"][-1]["source"] = [source, "\n", *last]
    path.write_text(json.dumps(content))


def test_a_grid_is_its_list_times_its_product_in_order(repository: Path) -> None:
    grid = read_grid("small")
    assert grid.runs == (
        {"part": "all", "study": "one", "threshold": 0.5},
        {"part": "all", "study": "one", "threshold": 0.1},
        {"part": "all", "study": "two", "model": "m", "threshold": 0.5},
        {"part": "all", "study": "two", "model": "m", "threshold": 0.1},
    )
    assert grid.words(2) == "run 3 of 4 (study=two, model=m, threshold=0.5)"


@pytest.mark.parametrize(
    ("took", "alone", "said"),
    [
        (10.0, 10.4, "took 10.0 s, no less than one by one"),
        (10.0, 9.0, "took 10.0 s, no less than one by one"),
        (10.0, 18.0, "took 10.0 s instead of 18.0 s one by one: 1.8 times as fast"),
    ],
)
def test_side_by_side_is_called_faster_only_where_it_was(took: float, alone: float, said: str) -> None:
    assert speed(took, alone) == said


def test_every_run_is_a_row_and_the_second_call_runs_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grid", "small", "--workers", "1"]) == 0
    said = capsys.readouterr()
    assert "reports/grids/small.csv: 4 runs: 4 run, 0 unchanged, 0 failed\n" in said.out
    assert re.search(r"^took [\d.]+ s(, no less than| instead of [\d.]+ s) one by one", said.out, re.MULTILINE)
    assert len(re.findall(r"^\[\d/4\] run \d of 4 \(study=.*\): [\d.]+ s$", said.err, re.MULTILINE)) == 4
    table = pd.read_csv("reports/grids/small.csv")
    assert table[["settings.study", "settings.threshold", "figures.headline"]].to_numpy().tolist() == [
        ["one", 0.5, "one at 0.5."],
        ["one", 0.1, "one at 0.1."],
        ["two", 0.5, "two at 0.5."],
        ["two", 0.1, "two at 0.1."],
    ]
    first = (starts(), (repository / "reports/grids/small.csv").read_bytes())
    assert first[0] == {"one-0.5": 1, "one-0.1": 1, "two-0.5": 1, "two-0.1": 1}

    assert main(["grid", "small"]) == 0
    said = capsys.readouterr()
    assert "4 runs: 0 run, 4 unchanged, 0 failed\n" in said.out
    assert "one by one" not in said.out
    assert (starts(), (repository / "reports/grids/small.csv").read_bytes()) == first

    # A record that is gone and one that was changed are made again, and nothing else is run.
    gone, changed = sorted((repository / "reports/records").glob("20_thresholds-two-*"))
    gone.unlink()
    changed.write_text(changed.read_text() + " ")
    assert main(["grid", "small", "--workers", "1"]) == 0
    assert "4 runs: 2 run, 2 unchanged, 0 failed\n" in capsys.readouterr().out
    assert starts() == {"one-0.5": 1, "one-0.1": 1, "two-0.5": 2, "two-0.1": 2}


@pytest.mark.parametrize("change", ["data", "notebook", "code", "force"])
def test_a_run_with_other_inputs_is_a_run_to_make(
    change: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    def spread(_work: object, tasks: Sequence[Any], **_: object) -> Iterator[tuple[int, RunOutcome]]:
        given[:] = [task.number for task in tasks]
        for position, task in enumerate(tasks):
            task.record.parent.mkdir(parents=True, exist_ok=True)
            task.record.write_text("{}")
            Stamp(task.inputs, seconds=1, record=digest(task.record) or "").write(module._stamp_path(task.record))
            yield position, RunOutcome(task.number, task.record)

    monkeypatch.setattr(module, "spread", spread)
    grid = read_grid("small")
    run_grid(grid)
    assert given == [0, 1, 2, 3]
    run_grid(grid)
    assert given == []
    if change == "data":
        (repository / "data" / "one" / "items.csv").touch()
    elif change == "notebook":
        edit_notebook(repository, "pass")
    elif change == "code":
        monkeypatch.setattr(module, "code_digest", lambda: "another")
    run_grid(grid, force=change == "force")
    assert given == ([0, 1] if change == "data" else [0, 1, 2, 3])


def test_failures_are_counted_and_the_rest_is_run(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_notebook(repository, "if study == 'one' and threshold == 0.5:\n    1 / 0")
    assert main(["grid", "small", "--output", "table.parquet", "--workers", "1"]) == 1
    said = capsys.readouterr()
    assert "table.parquet: 4 runs: 3 run, 0 unchanged, 1 failed\n" in said.out
    failure = (
        "run 1 of 4 (study=one, threshold=0.5): 20_thresholds.ipynb, cell 4 (if study == 'one' and threshold == 0.5:)"
    )
    assert f"assay: {failure}: ZeroDivisionError: division by zero\n" in said.err
    assert pd.read_parquet("table.parquet")["figures.threshold"].tolist() == [0.1, 0.5, 0.1]


def test_a_dask_cluster_gives_the_same_records(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (repository / "notebooks" / "grids" / "small.yaml").write_text(
        "notebook: 20_thresholds\nproduct: {study: [one, two], threshold: [0.5]}"
    )
    run_grid(read_grid("small"), workers=1)
    here = records(repository)
    shutil.rmtree("reports")
    with cluster(tmp_path_factory.mktemp("dask")) as started:

        def kill_one(outcome: RunOutcome) -> None:
            if all(one.poll() is None for one in started.workers):
                started.workers[0].kill()

        outcomes = run_grid(read_grid("small"), scheduler=started.address, done=kill_one)
    assert [outcome.failure for outcome in outcomes] == [""] * 2
    assert records(repository) == here
    assert len(here) == 2
    assert all(outcome.unchanged for outcome in run_grid(read_grid("small")))


def test_a_worker_killed_in_the_middle_costs_nothing_but_its_time(repository: Path) -> None:
    edit_notebook(repository, "import time; time.sleep(0.5)")
    killed: list[psutil.Process] = []

    def kill_one(outcome: RunOutcome) -> None:
        for child in [] if killed else psutil.Process().children():
            kernels = child.children()
            if "spawn_main" in " ".join(child.cmdline()) and kernels:
                child.kill()
                killed.extend([child, *kernels])
                break

    outcomes = run_grid(read_grid("small"), workers=2, done=kill_one)
    assert killed
    assert [outcome.failure for outcome in outcomes] == [""] * 4
    assert len(records(repository)) == 4
    # The kernel of a killed worker leaves by itself.
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in killed), seconds=10)


def killed_and_continued(repository: Path, kills: int, seed: int, record_tried: Any) -> None:
    """Kill a grid at random moments; each call after that must run only what was not finished."""
    values = ", ".join(f"0.{number:02d}" for number in range(1, 4))
    (repository / "notebooks" / "grids" / "small.yaml").write_text(
        f"notebook: 20_thresholds\nproduct: {{study: [one, two], threshold: [{values}]}}"
    )
    command = [sys.executable, "-m", "assay", "grid", "small", "--workers", "2"]
    moments = random.Random(seed)
    hit = lost = 0
    while hit < kills:
        before, good = starts(), finished() if Path("reports/records").is_dir() else set()
        if len(good) == 6:  # all done: begin anew, to be killed again
            shutil.rmtree("reports")
            good = set()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        # The moments lie within the work, from the first line on.
        process.stderr.readline()
        time.sleep(moments.uniform(0, 2.5))
        below = psutil.Process(process.pid).children(recursive=True)
        hit += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below))  # noqa: B023
        records(repository)  # each of them whole
        lost += len(good - finished())
        assert all(starts()[run] == before[run] for run in good)
    record_tried("kills of a grid", kills, lost=lost)
    assert not lost
    good, before = finished(), starts()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"6 runs: {6 - len(good)} run, {len(good)} unchanged, 0 failed" in done.stdout
    assert len(finished()) == 6
    assert {run for run, count in starts().items() if count > before[run]} == finished() - good


def test_a_grid_killed_in_the_middle_loses_no_finished_run(repository: Path, record_tried: Any) -> None:
    killed_and_continued(repository, kills=1, seed=1, record_tried=record_tried)


@pytest.mark.long
def test_a_grid_killed_twelve_times_loses_no_finished_run(repository: Path, record_tried: Any) -> None:
    killed_and_continued(repository, kills=12, seed=2, record_tried=record_tried)


MISUSES = {
    "no grid": (None, r"no grid 'none'; notebooks/grids/ holds small"),
    "empty": ("", "must hold notebook, parameters, list, product"),
    "no YAML": ("{", "line 1: "),
    "binary": (b"\xff\xfe\x00", "is not UTF-8 text"),
    "unknown entry": ("notebook: 20_thresholds\nparams: {}", "unknown entry 'params'; a grid has notebook, "),
    "no notebook": ("product: {delta: [0.1]}", "notebook must name a notebook, such as 20_thresholds"),
    "unknown notebook": ("notebook: 99_none", "no notebook '99_none'; notebooks/ holds 20_thresholds"),
    "unknown parameter": (
        "notebook: 20_thresholds\nproduct: {study: [one], deltas: [1]}",
        r"none.yaml, run 1 of 1: unknown parameter 'deltas' for 20_thresholds; did you mean delta",
    ),
    "wrong value": (
        "notebook: 20_thresholds\nparameters: {study: one}\nproduct: {delta: [0.1, 2]}",
        r"none.yaml, run 2 of 2 \(delta=2\): delta must be a number above 0 and below 1, .* got 2$",
    ),
    "wrong type": (
        "notebook: 20_thresholds\nlist: [{study: one, grid: many}]",
        "run 1 of 1: grid must be a whole number from 11 to 1001, got 'many'",
    ),
    "date": ("notebook: 20_thresholds\nlist: [{study: one, model: 2026-01-01}]", "got a value of type date"),
    "unknown study": ("notebook: 20_thresholds\nproduct: {study: [one, tow]}", r"run 2 of 2 \(study=tow\): there is no study"),
    "given twice": ("notebook: 20_thresholds\nparameters: {study: one}\nproduct: {study: [two]}", "'study' is given twice"),
    "key twice": ("notebook: 20_thresholds\nproduct: {delta: [0.1], delta: [0.2]}", "line 2: 'delta' is given twice"),
    "same run twice": ("notebook: 20_thresholds\nproduct: {study: [one, one]}", "runs 1 and 2 would both write reports/"),
    "one record": (
        "notebook: 20_thresholds\nparameters: {record: r.json}\nproduct: {study: [one, two]}",
        "runs 1 and 2 would both write r.json",
    ),
    "one policy": (
        "notebook: 20_thresholds\nparameters: {policy: p.json}\nproduct: {study: [one, two]}",
        "would both write p.json|unknown parameter 'policy'|no plain literal|has no",
    ),
    "no list": ("notebook: 20_thresholds\nlist: {study: one}", "list must hold a mapping of parameters for each run"),
    "no values": ("notebook: 20_thresholds\nproduct: {study: one}", "product, 'study' must be a list of values, got 'one'"),
    "name": ("notebook: 20_thresholds\nproduct: {1: [2]}", "1 is no name of a parameter"),
    "too many": (
        f"notebook: 20_thresholds\nproduct: {{a: {list(range(200))}, b: {list(range(200))}}}",
        "40,000 runs; a grid may have at most 10,000",
    ),
    "aliases": ("notebook: 20_thresholds\nparameters: &a {study: one}\nlist: [*a]", "line 3: aliases are not taken"),
    "code": ("notebook: !!python/object/apply:os.system [ls]", "line 1: could not determine a constructor"),
    "key": (
        f"notebook: 20_thresholds\nproduct: {{study: [one], model: [{KEY}, x]}}",
        "run 1 of 2: parameter 'model' looks like a key",
    ),
    "deep": ("notebook: " + "[" * 5000, "is not YAML|line 1: "),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSES)
def test_a_grid_file_that_cannot_work_is_one_line_before_any_kernel_starts(
    case: str, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.grid.spread", None)
    content, message = MISUSES[case]
    if content is not None:
        Path("none.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["grid", "none.yaml" if content is not None else "none"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert re.search(message, said.err.rstrip("\n")), said.err
    assert KEY not in said.err
    assert not list(Path("reports").rglob("*.*")) if Path("reports").exists() else True


def test_a_table_that_cannot_be_written_is_refused_before_anything_runs(repository: Path) -> None:
    assert main(["grid", "small", "--output", "table.xlsx"]) == 2
    assert starts() == {}


def test_a_worker_that_does_not_see_the_repository_says_so(repository: Path) -> None:
    task = module._Task(0, *next(module._prepared(read_grid("small"), 10, 10)))
    shutil.rmtree(repository / "reports")
    assert "workers need the repository under the same path" in module._run(task).failure


def test_the_shipped_grids_pass_their_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for file in sorted((ROOT / "notebooks" / "grids").glob("*.yaml")):
        grid = read_grid(file)
        assert len(list(module._prepared(grid, 10, 10))) == len(grid.runs)
    assert len(read_grid("thresholds").runs) == 24


def test_a_grid_error_is_a_value_error_of_this_package() -> None:
    assert issubclass(GridError, ValueError)


@pytest.mark.long
def test_24_runs_give_the_same_records_on_processes_and_on_dask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A repository of its own, lest the records of the user's are touched.
    (tmp_path / "lib").mkdir()
    for name in ("notebooks", "data", "lib/assay", "lib/requirements.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    grid = read_grid("thresholds")
    began = time.monotonic()
    outcomes = run_grid(grid)
    took = time.monotonic() - began
    assert [outcome.failure for outcome in outcomes] == [""] * 24
    alone = sum(outcome.seconds for outcome in outcomes)
    print(f"24 runs in {took:.1f} s; one by one {alone:.1f} s, {alone / took:.2f} times as long")
    here = records(tmp_path)
    assert len(here) == 24
    shutil.rmtree("reports")
    with cluster(tmp_path_factory.mktemp("dask")) as started:
        seen: list[RunOutcome] = []

        def kill_one(outcome: RunOutcome) -> None:
            seen.append(outcome)
            if len(seen) == 8:
                started.workers[1].kill()

        outcomes = run_grid(grid, scheduler=started.address, done=kill_one)
        assert [outcome.failure for outcome in outcomes] == [""] * 24
        assert records(tmp_path) == here
        assert all(outcome.unchanged for outcome in run_grid(grid, scheduler=started.address))
