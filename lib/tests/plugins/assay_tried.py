"""What the tests tried, how often, and what was lost: counted by the tests, never typed.

A test that breaks something on purpose reports it through the fixture `record_tried`::

    def test_a_torn_store_is_refused(record_tried):
        ...
        record_tried("stores torn or changed at a random byte", tried, lost=wrong)
        assert not wrong

The kind is a literal of the call (the rows that there should be are read off the sources), in words that say what one
of `assay_tried` is. `lost` counts what should not have been: an acknowledged answer that is gone, an input with another
outcome than the right one. Report before the assertion, so that a loss is counted, too; the fixture is one of the
session, so that a property may report each of its examples. Counts of one kind add up over tests and workers.

Two kinds need no call: the inputs that hypothesis draws for any property, and the tests of reported faults.

A run prints its counts at the end. `make table` runs the tests that count, long ones included, and writes the table
into `README.md` beside this file; any other run leaves it alone.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
README = TESTS / "README.md"
BEGIN, END = "<!-- tried: written by `make table` -->", "<!-- /tried -->"
DRAWN = "inputs that hypothesis drew for a property"
REPORTED = "checks of reported faults"

_TRIED = pytest.StashKey[Counter[tuple[str, str]]]()
_ROW = re.compile(r"\| ([^|]+?) +\| +([\d,]+) \| +([\d,]+) \|")
_PASSING = re.compile(r"(\d+) passing")


def add(counts: Counter[tuple[str, str]], kind: str, tried: int, lost: int) -> None:
    """Add to the counts of a kind, which are kept as two numbers so that those of workers simply add up."""
    counts[kind, "tried"] += tried
    counts[kind, "lost"] += lost


@pytest.fixture(scope="session")
def record_tried(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function of what was tried: its kind, how many, and `lost` of them."""
    counts = request.config.stash[_TRIED]

    def record(kind: str, tried: int, *, lost: int = 0) -> None:
        add(counts, kind, tried, lost)

    return record


def registered_kinds(folder: Path = TESTS) -> set[str]:
    """Return the kinds that the tests in a folder report, by their sources.

    Raises
    ------
    ValueError
        If a test names one by anything but a literal.
    """
    kinds = {DRAWN, REPORTED}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "record_tried":
                kind = node.args[0] if node.args else None
                if not isinstance(kind, ast.Constant) or not isinstance(kind.value, str):
                    raise ValueError(f"{path.name}, line {node.lineno}: the kind must be a literal")
                kinds.add(kind.value)
    return kinds


def read_table(text: str) -> dict[str, tuple[int, int]]:
    """Return the rows of the table in a text: how many of each kind were tried, and lost."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    return {
        kind: (int(tried.replace(",", "")), int(lost.replace(",", ""))) for kind, tried, lost in _ROW.findall(inside)
    }


def write_table(text: str, rows: Mapping[str, tuple[int, int]]) -> str:
    """Return a text with these rows for its table."""
    width = max(map(len, (*rows, "what was tried")))
    lines = [
        f"| {'what was tried':{width}} | {'how many':>10} | {'lost':>4} |",
        f"| {'-' * width} | {'-' * 9}: | ---: |",
    ]
    lines += [f"| {kind:{width}} | {tried:10,} | {lost:4,} |" for kind, (tried, lost) in sorted(rows.items())]
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"there is no line {BEGIN}"
    assert end, f"there is no line {END}"
    return "\n".join([before + begin, *lines, end + after])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tried-table", action="store_true", help="run the tests that count, and write their table")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TRIED] = Counter()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--tried-table"):
        items[:] = [item for item in items if _counts(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call" and not report.skipped:
        counts = item.config.stash[_TRIED]
        for passing in _PASSING.findall(getattr(item, "hypothesis_statistics", "")):
            add(counts, DRAWN, int(passing), 0)
        if _is_of_a_report(item):
            add(counts, REPORTED, 1, int(report.failed))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tried"] = [[*key, count] for key, count in session.config.stash[_TRIED].items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    # A worker that died has no output; its test has failed.
    for kind, which, count in getattr(node, "workeroutput", {}).get("tried", []):
        node.config.stash[_TRIED][kind, which] += count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    counts = config.stash[_TRIED]
    rows = {kind: (counts[kind, "tried"], counts[kind, "lost"]) for kind in sorted({kind for kind, _ in counts})}
    for kind, (tried, lost) in rows.items():
        terminalreporter.write_line(f"tried {tried:,}, lost {lost:,}: {kind}")
    if config.getoption("--tried-table"):
        missing = registered_kinds() - set(rows)
        if exitstatus or missing:
            why = f"not tried: {', '.join(sorted(missing))}" if missing else "the run did not pass"
            terminalreporter.write_line(f"{README.name} is left as it was ({why})")
        else:
            README.write_text(write_table(README.read_text(encoding="utf-8"), rows), encoding="utf-8", newline="\n")
            terminalreporter.write_line(f"{README.name}: the table is written")


def _counts(item: pytest.Item) -> bool:
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_property or "record_tried" in getattr(item, "fixturenames", ()) or _is_of_a_report(item)


def _is_of_a_report(item: pytest.Item) -> bool:
    return "reports" in item.path.relative_to(TESTS).parts or item.path.name.startswith("test_reports_")
