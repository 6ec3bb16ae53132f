"""Ended by a request or killed: in order where there is time for it, and otherwise with nothing half-written.

Kills come at random moments. What was finished before a kill is there after it, whole, and the next call does the rest.
"""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from repositories import ITEMS, TESTS, answer, make_repository, one_line, serving, start

from assay.ask.store import Store
from assay.commands.interrupts import ending_on_request

REQUESTS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def wait_for(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def below(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def gone(processes: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def ended(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    out, error = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


@pytest.mark.parametrize(
    "request_to_end", [REQUESTS[1], *(pytest.param(one, marks=pytest.mark.long) for one in (REQUESTS[0], REQUESTS[2]))]
)
def test_a_run_that_is_told_to_end_leaves_its_partial_notebook_and_no_page(
    request_to_end: signal.Signals, tmp_path: Path, record_tried
) -> None:
    repository = make_repository(tmp_path / "r", notebooks=(TESTS / "notebooks" / "hangs.ipynb",))
    process = start("run", "hangs", "--output", "o.ipynb", "--html", "page.html", folder=repository)
    wait_for(lambda: any("ipykernel" in " ".join(one.cmdline()) for one in below(process)))
    time.sleep(1.5)
    kernels = below(process)
    process.send_signal(request_to_end)
    done = ended(process)
    left = sorted(path.name for path in repository.glob("*.*"))
    record_tried("commands told to end", 1, lost=int(left != ["o.partial.ipynb"]))
    assert (done.returncode, one_line(done)) == (130, "assay: interrupted")
    assert left == ["o.partial.ipynb"]
    assert json.loads((repository / left[0]).read_text())["cells"]
    wait_for(lambda: gone(kernels), 10)


@pytest.mark.parametrize("request_to_end", [REQUESTS[1], pytest.param(REQUESTS[0], marks=pytest.mark.long)])
def test_a_collection_that_is_told_to_end_keeps_what_came_and_gives_its_claims_back(
    request_to_end: signal.Signals, tmp_path: Path, record_tried
) -> None:
    repository, came = make_repository(tmp_path / "r"), []

    def slow(request):
        came.append(request)
        return type(answer())(body=answer().body, delay=0.1)

    with serving(slow) as server:
        words = ("collect", "small", "--prompt", "good", "--model", "m", "--store", "s.sqlite", "--concurrency", "4")
        process = start(*words, "--base-url", server.url, folder=repository)
        wait_for(lambda: len(came) >= 20)
        process.send_signal(request_to_end)
        done = ended(process)
        asked = len(came)
    with Store(repository / "s.sqlite") as store:
        kept, claims = store.count(), list(store.read("SELECT * FROM claims"))
    record_tried("commands told to end", 1, lost=max(0, asked - 4 - kept))
    assert (done.returncode, one_line(done)) == (130, "assay: interrupted")
    assert asked - 4 <= kept < ITEMS
    assert claims == []


def test_a_job_in_the_background_that_is_deaf_to_ctrl_c_ends_when_told_to() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), ending_on_request():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_request_that_was_to_be_ignored_stays_ignored_and_handlers_are_put_back() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        usual = signal.getsignal(signal.SIGTERM)
        with ending_on_request():
            assert signal.getsignal(signal.SIGTERM) is not usual
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGTERM) is usual
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def finished_pages(reports: Path) -> dict[str, str]:
    """Return the headline of every page whose stamp is there; each page must be whole."""
    done = {}
    for page in reports.glob("*/*_*.html"):
        text = page.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>"), f"{page.name} is half a page"
        stamp = page.with_name(f".{page.stem}.json")
        if stamp.exists():
            done[f"{page.parent.name}/{page.name}"] = json.loads(stamp.read_text())["headline"]
    for record in reports.glob("records/[!.]*.json"):
        assert json.loads(record.read_text())["figures"]
    for notebook in reports.glob("notebooks/[!.]*.ipynb"):
        assert json.loads(notebook.read_text())["cells"]
    return done


def killed_and_continued(repository: Path, kills: int, draw: random.Random, record_tried) -> None:
    """Kill a report at random moments; the call after the last kill makes what is missing and nothing else."""
    reports, lost, hit = repository / "reports", 0, 0
    environment = {"PYTHONDONTWRITEBYTECODE": ""}
    while hit < kills:
        before = finished_pages(reports) if reports.is_dir() else {}
        # Half of the kills fall upon a report that is begun anew, so that they do not all fall upon its end.
        force = ("--force",) if len(before) == 4 or draw.random() < 0.5 else ()
        process = start("report", "--workers", "2", *force, folder=repository, environment=environment)
        wait_for(lambda: below(process) or process.poll() is not None)  # noqa: B023
        time.sleep(draw.uniform(0.0, 2.5))
        kernels = below(process)
        hit += process.poll() is None
        process.kill()
        ended(process)
        wait_for(lambda: gone(kernels))  # noqa: B023
        after = finished_pages(reports)
        if not force:
            lost += sum(after.get(page) != headline for page, headline in before.items())
    good = finished_pages(reports)
    done = ended(start("report", "--workers", "2", folder=repository, environment=environment))
    record_tried("kills of a report", kills, lost=lost)
    assert lost == 0
    assert done.returncode == 0, done.stderr
    assert f"4 pages ({len(good)} unchanged), 0 failed" in done.stdout
    assert set(finished_pages(reports)) == {f"{name}/20_thresholds.html" for name in ("four", "one", "three", "two")}
    index = (reports / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{page}"' in index for page in finished_pages(reports))


STUDIES = ("one", "two", "three", "four")


def test_a_report_that_is_killed_loses_no_finished_page(tmp_path: Path, record_tried) -> None:
    killed_and_continued(make_repository(tmp_path / "r", studies=STUDIES), 1, random.Random(3), record_tried)


@pytest.mark.long
def test_a_report_that_is_killed_ten_times_loses_no_finished_page(tmp_path: Path, record_tried) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    killed_and_continued(make_repository(tmp_path / "r", studies=STUDIES), 10, random.Random(seed), record_tried)
