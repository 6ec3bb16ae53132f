"""Disks that are full or closed: one line, nothing half-written that looks whole, and nothing lost that was there.

A limit on the size of files stands for a full disk: writing fails in the middle, with EFBIG for ENOSPC. `/dev/full` is
one for standard output. A folder without the right to write stands for a disk that is read-only.
"""

import errno
import json
import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from repositories import FIXTURE, ITEMS, answer, assay, make_repository, one_line, serving

from assay.ask.database import StoreError
from assay.ask.export import export_answers
from assay.ask.store import Store
from assay.rules import Taxonomy


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def whole(path: Path) -> bool:
    """Tell whether a file that a run leaves is whole."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        return text.rstrip().endswith("</html>")
    try:
        json.loads(text)
    except ValueError:
        return False
    return path.suffix in (".ipynb", ".json")


@pytest.mark.parametrize("size", [1_000, *(pytest.param(size, marks=pytest.mark.long) for size in (200, 2_500, 5_000))])
def test_a_run_on_a_full_disk_leaves_nothing_that_looks_whole_and_is_not(
    size: int, repository: Path, record_tried
) -> None:
    words = ("run", "20_thresholds", "-p", "study=small", "--html", "page.html", "--output", "out.ipynb")
    before = files(repository)
    done = assay(*words, folder=repository, largest_file=size)
    assert done.returncode == 1, done.stderr
    assert "too large" in one_line(done)
    left = files(repository) - before
    half = sum(not whole(repository / name) for name in left)
    record_tried("runs and reports on a full or closed disk", 1, lost=half)
    assert half == 0
    assert "page.html" not in left
    assert assay(*words, folder=repository).returncode == 0
    assert whole(repository / "page.html")


@pytest.mark.long
def test_a_report_on_a_full_disk_keeps_its_index_and_the_next_one_is_made(repository: Path, record_tried) -> None:
    assert assay("report", folder=repository).returncode == 0
    index = (repository / "reports" / "index.html").read_bytes()
    page = repository / "reports" / "small" / "20_thresholds.html"
    done = assay("report", "--force", folder=repository, largest_file=3_000)
    assert done.returncode == 1
    assert "internal error" not in done.stderr
    half = sum(not whole(path) for path in (repository / "reports").rglob("*.html"))
    record_tried("runs and reports on a full or closed disk", 1, lost=half)
    assert not half
    assert not page.exists(), "the page of an earlier run must not pass for one of this"
    assert (repository / "reports" / "index.html").read_bytes() == index
    assert assay("report", folder=repository).returncode == 0
    assert whole(page)


def test_a_collection_on_a_full_disk_says_so_and_goes_on_where_it_was(repository: Path, record_tried) -> None:
    words = ("collect", "small", "--prompt", "good", "--model", "m", "--store", "s.sqlite", "--concurrency", "2")
    store, lost, asked = repository / "s.sqlite", 0, 0
    # One transaction of the log is about 10 kB; the file itself begins with the size of its tables.
    sizes = (90_000, 180_000)
    with serving(lambda request: answer()) as server:
        kept: set[object] = set()
        for size in sizes:
            done = assay(*words, "--base-url", server.url, folder=repository, largest_file=size)
            assert done.returncode in (0, 1), done.stderr
            if done.returncode:
                assert "the disk cannot be read or written" in one_line(done)
            with Store(store) as opened:
                now = {row.key for row in opened.rows()}
            lost += len(kept - now)
            kept, asked = now, len(server.requests)
        assert 0 < len(kept) < ITEMS
        assert assay(*words, "--base-url", server.url, folder=repository).returncode == 0
        assert len(server.requests) - asked == ITEMS - len(kept), "what was stored was asked again"
    with Store(store) as opened:
        assert opened.count() == ITEMS
        lost += len(kept - {row.key for row in opened.rows()})
    record_tried("collections on a full or closed disk", len(sizes), lost=lost)
    assert not lost


def test_an_export_that_finds_the_disk_full_leaves_none(tmp_path: Path, monkeypatch, record_tried) -> None:
    def full(_: int) -> None:
        # What a disk says that takes the bytes and finds only when they must last that there is no room for them.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store(tmp_path / "s.sqlite") as store:
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(StoreError, match=r"e\.parquet: cannot be written \(No space left on device\)") as raised:
            export_answers(store, tmp_path / "e.parquet", Taxonomy.of("a", "b"))
    left = sorted(path.name for path in tmp_path.iterdir())
    record_tried("collections on a full or closed disk", 1, lost=int(left != ["s.sqlite"]))
    assert left == ["s.sqlite"]
    assert raised.value.misuse is False


OUTPUTS = {
    "run": ("run", "20_thresholds", "-p", "study=small", "--output", "closed/out.ipynb"),
    "page": ("run", "20_thresholds", "-p", "study=small", "--html", "closed/page.html"),
    "record": ("run", "20_thresholds", "-p", "study=small", "-p", "record=closed/r.json"),
    "grid": ("grid", "grid.yaml", "--output", "closed/table.csv"),
    "results": ("results", "record.json", "--output", "closed/table.csv"),
    "count": ("count", "counted.parquet", "--taxonomy", "small", "--output", "closed/counts.json"),
    "store": ("collect", "small", "--prompt", "good", "--model", "m", "--base-url", "URL", "--store", "closed/s.sqlite"),
    "export": ("collect", "small", "--prompt", "good", "--model", "m", "--base-url", "URL", "--export", "closed/e.parquet"),
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in ("run", "grid", "store") else pytest.mark.long) for case in OUTPUTS]
)
def test_an_output_in_a_closed_folder_is_refused_before_the_work(case: str, repository: Path, record_tried) -> None:
    (repository / "closed").mkdir(mode=0o500)
    (repository / "grid.yaml").write_text("notebook: 20_thresholds\nproduct: {study: [small], threshold: [0.5]}\n")
    empty = {"notebook": "x", "settings": {}, "figures": {}, "hashes": {}}
    (repository / "record.json").write_text(json.dumps(empty))
    pd.DataFrame({"label": ["a"], "predicted": ["a"], "confidence": [0.5]}).to_parquet(repository / "counted.parquet")
    before = files(repository)
    with serving(lambda request: answer()) as server:
        words = [server.url if word == "URL" else word for word in OUTPUTS[case]]
        done = assay(*words, folder=repository, closed=True)
    record_tried("runs and reports on a full or closed disk", 1, lost=int(done.returncode != 2))
    assert done.returncode == 2, done.stderr
    assert "closed" in one_line(done)
    assert done.stdout == ""
    assert server.requests == [], "nothing is asked that cannot be kept"
    assert files(repository) == before


def test_a_report_into_a_closed_folder_is_refused(repository: Path, record_tried) -> None:
    (repository / "reports").mkdir(mode=0o500)
    done = assay("report", folder=repository, closed=True)
    record_tried("runs and reports on a full or closed disk", 1, lost=int(done.returncode != 2))
    assert done.returncode == 2
    assert "reports/index.html: Permission denied" in one_line(done)


def test_a_page_that_cannot_be_written_is_a_failure_among_others(tmp_path: Path, record_tried) -> None:
    repository = make_repository(tmp_path / "r", studies=("one", "two"))
    (repository / "reports").mkdir()
    (repository / "reports" / "one").write_text("a file where a folder should be")
    done = assay("report", folder=repository)
    record_tried("runs and reports on a full or closed disk", 1, lost=int("internal error" in done.stderr))
    assert done.returncode == 2
    assert "20_thresholds on one: cannot write" in one_line(done)
    assert whole(repository / "reports" / "two" / "20_thresholds.html")


def test_output_that_nobody_takes_is_one_line_or_none(repository: Path, record_tried) -> None:
    empty = {"notebook": "x", "settings": {}, "figures": {}, "hashes": {}}
    (repository / "record.json").write_text(json.dumps(empty))
    buffered = {"PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        done = assay("results", "record.json", folder=repository, stdout=full, environment=buffered)
    assert done.returncode == 1
    assert one_line(done).endswith("No space left on device")
    read, write = os.pipe()
    os.close(read)
    done = assay("results", "record.json", folder=repository, stdout=write, environment=buffered)
    os.close(write)
    record_tried("outputs that nobody takes", 2)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.long
def test_a_closed_error_stream_ends_nothing_halfway(repository: Path) -> None:
    done = assay(
        "run", str(FIXTURE), "-p", "study=small", "--output", "o.ipynb", folder=repository, stderr=subprocess.DEVNULL
    )
    assert done.returncode == 0
    assert whole(repository / "o.ipynb")
