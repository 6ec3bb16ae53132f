"""Work on processes and on a Dask cluster: the same results, whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import assay_test_tasks as tasks
import psutil  # type: ignore[import-untyped]
import pytest
from assay_test_cluster import Cluster, cluster, count_workers, until

from assay.workers import Lost, WorkersError, spread


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.fixture(params=["processes", "dask"])
def scheduler(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "processes" else request.getfixturevalue("dask").address


def test_every_task_has_its_result_under_its_position(scheduler: str | None) -> None:
    found = dict(spread(tasks.square, [3, 4, 5, 3], workers=2, scheduler=scheduler))
    assert found == {0: 9, 1: 16, 2: 25, 3: 9}


def test_no_task_is_no_work(scheduler: str | None) -> None:
    assert list(spread(tasks.square, [], scheduler=scheduler)) == []


def test_what_the_work_raises_is_raised_here(scheduler: str | None) -> None:
    with pytest.raises(ValueError, match="no square of 2"):
        list(spread(tasks.fail, [2], scheduler=scheduler))


def test_a_task_whose_worker_was_killed_is_done_by_another(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    [(_, second)] = spread(tasks.die_first, [str(marker)], workers=1)
    assert isinstance(second, int)
    assert second != int(marker.read_text())


def test_a_task_that_kills_its_workers_is_lost_and_the_rest_is_done() -> None:
    found = dict(spread(tasks.die_at, list(range(6)), workers=2))
    assert isinstance(found.pop(3), Lost)
    assert found == {number: number for number in range(6) if number != 3}


def test_no_worker_outlives_the_work() -> None:
    list(spread(tasks.square, [1, 2, 3], workers=2))
    work = spread(tasks.square, [1, 2, 3], workers=2)
    next(work)
    work.close()  # type: ignore[attr-defined]
    assert [one for one in psutil.Process().children() if "spawn_main" in " ".join(one.cmdline())] == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_leave_with_the_process_that_started_them(tmp_path: Path, how: signal.Signals) -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); import assay_test_tasks as tasks; from assay.workers import spread\n"
        "if __name__ == '__main__': list(spread(tasks.report, [sys.argv[2]] * 2, workers=2))"
    )
    script = tmp_path / "start.py"
    script.write_text(code)
    (tmp_path / "seen").mkdir()
    words = [sys.executable, str(script), str(Path(tasks.__file__).parent), str(tmp_path / "seen")]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    until(lambda: len(list((tmp_path / "seen").iterdir())) == 2)
    workers = [int(one.name) for one in (tmp_path / "seen").iterdir()]
    began = time.monotonic()
    os.kill(process.pid, how)
    process.communicate(timeout=30)
    until(lambda: not any(psutil.pid_exists(pid) for pid in workers))
    assert time.monotonic() - began < 10


def test_a_dask_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    with cluster(tmp_path) as started:
        [(_, second)] = spread(tasks.die_first, [str(tmp_path / "marker")], scheduler=started.address)
        assert isinstance(second, int)
        assert second != int((tmp_path / "marker").read_text())
        assert sorted(one.poll() is None for one in started.workers) == [False, True]
        started.workers[0].kill()
        started.workers[1].kill()
        until(lambda: count_workers(started.address) == 0)
        with pytest.raises(WorkersError, match="has no workers; start some with: dask worker tcp://"):
            list(spread(tasks.square, [1], scheduler=started.address))


def test_no_scheduler_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cluster._ANSWERS_WITHIN", 0.5)
    with pytest.raises(WorkersError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'; give one such as"):
        list(spread(tasks.square, [1], scheduler="tcp://127.0.0.1:9"))
    with pytest.raises(WorkersError, match="no Dask scheduler answers at 'nonsense://x'"):
        list(spread(tasks.square, [1], scheduler="nonsense://x"))


def test_without_dask_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ImportError")
    code = "from assay.workers import spread; spread(abs, [1], scheduler='tcp://127.0.0.1:9')"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines()[-1]
    assert said.endswith("needs Dask, which is not installed; python -m pip install 'assay-workbench[scale]' adds it")


def test_dask_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys, assay.workers, assay.grid; print(sorted({'dask', 'distributed'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
