"""The table of what was tried: every kind is in it, nothing is lost, and only the run that is asked for writes it."""

import shutil
import subprocess
import sys

import assay_tried
import pytest
from assay_tried import BEGIN, DRAWN, END, README, read_table, registered_kinds, write_table

TESTS = {
    "test_one.py": """
        import pytest
        from hypothesis import given, strategies as st
        @pytest.mark.parametrize("lost", [0, 2])
        def test_kills(record_tried, lost):
            record_tried("kills", 5, lost=lost)
        @given(st.integers())
        def test_property(record_tried, number):
            record_tried("numbers", 1)
        def test_that_counts_nothing():
            raise AssertionError
    """,
    "reports/test_report.py": "def test_report(): pass",
}


def test_the_committed_table_has_every_kind_and_nothing_lost():
    rows = read_table(README.read_text(encoding="utf-8"))
    assert set(rows) == registered_kinds()
    assert all(tried > 0 and lost == 0 for tried, lost in rows.values()), rows


def test_a_table_is_read_as_it_was_written():
    rows = {"kills": (1_234_567, 0), "a longer kind of breaking": (2, 12_345)}
    text = write_table(f"Above.\n{BEGIN}\nold\n{END}\nBelow.\n", rows)
    assert read_table(text) == rows
    assert text.startswith("Above.\n")
    assert text.endswith(f"{END}\nBelow.\n")
    assert "old" not in text
    assert write_table(text, rows) == text


def test_a_kind_that_is_no_literal_is_found(tmp_path):
    (tmp_path / "test_x.py").write_text("def test(record_tried):\n    record_tried(kind, 1)\n")
    with pytest.raises(ValueError, match=r"test_x.py, line 2"):
        registered_kinds(tmp_path)


@pytest.fixture
def suite(tmp_path):
    """A small suite with the plugin of this one, run as a process of its own."""
    (tmp_path / "plugins").mkdir()
    shutil.copy(assay_tried.__file__, tmp_path / "plugins")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["assay_tried"]')
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\npythonpath = plugins\n")
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    (tmp_path / "reports").mkdir()
    for name, text in TESTS.items():
        (tmp_path / name).write_text(
            "\n".join(line[8:] if line.startswith(" " * 8) else line for line in text.split("\n"))
        )

    def run(*words):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    return tmp_path, run


@pytest.mark.parametrize("workers", ["0", "2"])
def test_counts_of_all_workers_add_up_in_the_table(suite, workers):
    folder, run = suite
    said = run("--tried-table", "-n", workers)
    assert "README.md: the table is written" in said, said
    rows = read_table((folder / "README.md").read_text())
    assert rows["kills"] == (10, 2)
    assert rows["numbers"] == rows[DRAWN]
    assert rows["numbers"][0] >= 100
    assert len(rows) == 4
    assert "tried 10, lost 2: kills" in said


def test_a_run_that_is_not_asked_or_does_not_pass_or_leaves_out_a_kind_writes_no_table(suite):
    folder, run = suite
    before = (folder / "README.md").read_text()
    assert "tried 10, lost 2: kills" in run("test_one.py")
    assert "left as it was (not tried: checks of reported faults)" in run("--tried-table", "test_one.py")
    (folder / "reports" / "test_report.py").write_text("def test_report(): raise AssertionError")
    assert "left as it was (the run did not pass)" in run("--tried-table")
    assert (folder / "README.md").read_text() == before
