"""Grids: one notebook run many times over, side by side, each run's record a row of one table.

A grid file names the notebook and says with which parameters it is run::

    notebook: 20_thresholds
    parameters: {part: all}                # the same in every run
    list:                                  # one run for each of these
      - {study: triage, model: o3}
      - {study: ci_claims, model: deepseek-chat}
    product:                               # times every combination of these
      delta: [0.05, 0.1]

Every run is checked before the first kernel starts. A run whose record is there and whose inputs have not changed is
not repeated, so a grid that was stopped is continued by running it again.
"""

import asyncio
import contextlib
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from assay.files import digest, repository_root, shown_path
from assay.keys import looks_like_key
from assay.notebook import NotebookError, declared_parameters, find_notebook, read_notebook
from assay.parameters import ParameterError, read_text
from assay.run import (
    CELL_TIMEOUT,
    ONE_THREAD,
    RUN_TIMEOUT,
    Plan,
    RunError,
    execute,
    failure_of,
    prepare,
    study_folder,
)
from assay.settings import NOTEBOOKS
from assay.stamp import Stamp, code_digest, folder_digest, inputs_digest
from assay.study import StudyError
from assay.study.settings import study_files
from assay.workers import Lost, spread

MOST_RUNS: Final = 10_000
"""Runs that one grid may have."""

_KEYS = ("notebook", "parameters", "list", "product")


class GridError(ValueError):
    """A grid file cannot be used; one line that names the file and, where one is at fault, the run and parameter."""


@dataclass(frozen=True)
class Grid:
    """A notebook and the parameters of each run.

    Attributes
    ----------
    file : pathlib.Path
        The grid file.
    notebook : pathlib.Path
    runs : tuple of dict of str to object
        Parameters by name, in the order of the file.
    """

    file: Path
    notebook: Path
    runs: tuple[dict[str, object], ...]

    def words(self, number: int) -> str:
        """Name a run, counted from 0, by the parameters that tell it from the others: ``run 3 of 24 (delta=0.05)``."""
        told = {name: value for name, value in self.runs[number].items() if name in self._telling}
        inside = ", ".join(f"{name}={value}" for name, value in told.items())
        return f"run {number + 1} of {len(self.runs)}" + (f" ({inside})" if inside else "")

    @cached_property
    def _telling(self) -> frozenset[str]:
        """Names of the parameters that are not the same in every run, and look like no key in any."""
        names = {name for run in self.runs for name in run}
        return frozenset(
            name
            for name in names
            if any(run.get(name, ...) != self.runs[0].get(name, ...) for run in self.runs)
            and not any(looks_like_key(name, run.get(name)) for run in self.runs)
        )


@dataclass(frozen=True)
class RunOutcome:
    """What became of one run.

    Attributes
    ----------
    number : int
        Its place in the grid, from 0.
    record : pathlib.Path
        Where its record is, or would be.
    failure : str
        Why it did not finish; blank if it did.
    seconds : float
        Time taken, now or when it was run.
    unchanged : bool
        Whether it was not run because its record was still good.
    misuse : bool
        Whether the failure is the fault of what was given rather than of the run.
    """

    number: int
    record: Path
    failure: str = ""
    seconds: float = 0.0
    unchanged: bool = False
    misuse: bool = False


def read_grid(path: str | Path) -> Grid:
    """Read a grid file.

    Parameters
    ----------
    path : str or pathlib.Path
        A YAML file, or the name of one in ``notebooks/grids/``. A text that is given for a number is read as the
        command line reads it, so that ``1e-3`` is a number.

    Raises
    ------
    GridError
        The file cannot be read, or does not say what a grid needs.
    """
    file = _find(path)
    where = shown_path(file)
    content = _content(file, where)
    for key in content:
        if key not in _KEYS:
            raise GridError(f"{where}: unknown entry {_named(key)}; a grid has {', '.join(_KEYS)}")
    name = content.get("notebook")
    if not isinstance(name, str) or not name:
        raise GridError(f"{where}: notebook must name a notebook, such as 20_thresholds")
    try:
        notebook = find_notebook(name)
        declared = declared_parameters(read_notebook(notebook))
    except (NotebookError, ParameterError) as error:
        raise GridError(f"{where}: {error}") from None
    if notebook.stem not in NOTEBOOKS:
        raise GridError(f"{where}: {notebook.stem} leaves no record; notebooks that do are {', '.join(NOTEBOOKS)}")
    same = _mapping(content.get("parameters"), f"{where}: parameters")
    listed = _listed(content.get("list"), where)
    product = _product(content.get("product"), where)
    count = len(listed) * math.prod(map(len, product.values()))
    if count > MOST_RUNS:
        raise GridError(f"{where}: {count:,} runs; a grid may have at most {MOST_RUNS:,}")
    combined = itertools.product(*product.values())
    runs = []
    for one, values in itertools.product(listed, combined):
        parts = (same, one, dict(zip(product, values, strict=True)))
        names = [name for part in parts for name in part]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise GridError(f"{where}: {_named(twice)} is given twice, by parameters, list or product")
        given = {name: value for part in parts for name, value in part.items()}
        runs.append(
            {
                name: read_text(notebook.stem, name, value, declared) if isinstance(value, str) else value
                for name, value in given.items()
            }
        )
    return Grid(file, notebook, tuple(runs))


def run_grid(
    grid: Grid,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    cell_timeout: float = CELL_TIMEOUT,
    run_timeout: float = RUN_TIMEOUT,
    done: Callable[[RunOutcome], object] = lambda outcome: None,
) -> list[RunOutcome]:
    """Run what has to be run of a grid.

    Parameters
    ----------
    grid : Grid
    workers : int, optional
        How many kernels at once, at least 1; as many as there are cores by default.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers then run the kernels. They need this repository under the same path.
    force : bool
        Run also what has not changed.
    cell_timeout, run_timeout : float
        Most seconds for one cell and for one run.
    done : callable
        Told of each outcome as it comes.

    Returns
    -------
    list of RunOutcome
        In the order of the grid.

    Raises
    ------
    GridError
        A run cannot be started as it is given, or two would write one record; nothing was run.
    assay.workers.WorkersError
        There are no workers to be had.
    """
    tasks = [
        _Task(number, plan, record, inputs)
        for number, (plan, record, inputs) in enumerate(_prepared(grid, cell_timeout, run_timeout))
    ]
    outcomes: dict[int, RunOutcome] = {}

    def note(outcome: RunOutcome) -> None:
        outcomes[outcome.number] = outcome
        done(outcome)

    stamps = {task.number: Stamp.read(_stamp_path(task.record)) for task in tasks}
    for task in tasks:
        stamp = stamps[task.number]
        if not force and stamp.inputs == task.inputs and stamp.record == (digest(task.record) or "gone"):
            note(RunOutcome(task.number, task.record, seconds=stamp.seconds, unchanged=True))
    # The longest of last time first, so that it does not start when all else is done.
    left = sorted(
        (task for task in tasks if task.number not in outcomes), key=lambda task: -stamps[task.number].seconds
    )
    for position, result in spread(_run, left, workers=workers, scheduler=scheduler):
        task = left[position]
        note(RunOutcome(task.number, task.record, failure=result.reason) if isinstance(result, Lost) else result)
    return [outcomes[number] for number in range(len(tasks))]


@dataclass(frozen=True)
class _Task:
    """One run, fit to travel to a worker."""

    number: int
    plan: Plan
    record: Path
    inputs: str


def _run(task: _Task) -> RunOutcome:
    """Run one notebook in a worker. Its stamp is written here: a run that was finished stays so, whoever is killed."""
    began = time.monotonic()
    stamp = _stamp_path(task.record)
    try:
        if not task.plan.folder.is_dir() or not task.plan.output.parent.is_dir():
            raise RunError(f"a worker does not see {task.plan.folder}; workers need the repository under the same path")
        stamp.unlink(missing_ok=True)
        result = asyncio.run(execute(task.plan, ONE_THREAD))
        made = digest(task.record)
        if made is None:
            raise RunError(f"{task.plan.notebook.name} ended without writing its record")
        Stamp(task.inputs, seconds=round(result.seconds, 1), record=made).write(stamp)
    except Exception as error:  # whatever one run does, the others are run
        failure, misuse = failure_of(error)
        return RunOutcome(task.number, task.record, failure, seconds=time.monotonic() - began, misuse=misuse)
    return RunOutcome(task.number, task.record, seconds=result.seconds)


def _prepared(grid: Grid, cell_timeout: float, run_timeout: float) -> Iterator[tuple[Plan, Path, str]]:
    """Check every run and yield its plan, the place of its record and the digest of its inputs."""
    code, where = code_digest(), shown_path(grid.file)
    data: dict[Path, str] = {}
    written: dict[Path, int] = {}
    for number, parameters in enumerate(grid.runs):
        try:
            plan = prepare(grid.notebook, parameters, cell_timeout=cell_timeout, run_timeout=run_timeout)
            folder = study_folder(str(parameters.get("study", _default_study(plan))))
        except (ParameterError, NotebookError, StudyError, RunError) as error:
            raise GridError(f"{where}, {grid.words(number)}: {error}") from None
        assert plan.record is not None  # read_grid takes only notebooks that leave one
        for place in map(Path.resolve, plan.writes):
            if place in written:
                raise GridError(
                    f"{where}: runs {written[place] + 1} and {number + 1} would both write {shown_path(place)}; "
                    "each run needs parameters of its own, and the files it writes left out or told apart"
                )
            written[place] = number
        if folder not in data:
            data[folder] = folder_digest(folder)
        yield plan, plan.record, inputs_digest(grid.notebook, parameters, code, data[folder])


def files_read(grid: Grid) -> Iterator[Path]:
    """Yield the files that a grid is read from and its runs read; a study that is not there has none."""
    yield from (grid.file, grid.notebook)
    default = declared_parameters(read_notebook(grid.notebook)).get("study")
    for name in {str(parameters.get("study", default)) for parameters in grid.runs}:
        with contextlib.suppress(StudyError):
            yield from study_files(study_folder(name))


def _default_study(plan: Plan) -> object:
    return declared_parameters(plan.content).get("study")


def _stamp_path(record: Path) -> Path:
    return record.with_name(f".{record.name}")


class _Loader(yaml.SafeLoader):
    """The safe loader without what could mislead: aliases, which can blow up, and a key given twice, which is lost."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, count in Counter(keys).items():
            if count > 1:
                raise yaml.MarkedYAMLError(problem=f"{_named(key)} is given twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def _find(path: str | Path) -> Path:
    folder = repository_root() / "notebooks" / "grids"
    for candidate in (Path(path), folder / f"{path}.yaml"):
        if candidate.is_file():
            return candidate.absolute()
    names = ", ".join(sorted(file.stem for file in folder.glob("*.yaml"))) or "none"
    raise GridError(f"no grid {shown_path(Path(path))!r}; notebooks/grids/ holds {names}")


def _content(file: Path, where: str) -> dict[str, object]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise GridError(f"{where} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise GridError(f"{where} is not UTF-8 text") from None
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader of our own)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise GridError(f"{where}{line}: {error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise GridError(f"{where} is not YAML") from None
    if not isinstance(content, dict):
        raise GridError(f"{where} must hold {', '.join(_KEYS)}")
    return content


def _mapping(value: object, what: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise GridError(f"{what} must be a mapping of parameters to values, got {_named(value)}")
    for name in value:
        if not isinstance(name, str) or not name.isidentifier():
            raise GridError(f"{what}: {_named(name)} is no name of a parameter")
    return value


def _listed(value: object, where: str) -> Sequence[dict[str, object]]:
    if value is None:
        return [{}]
    if not isinstance(value, list) or not value:
        raise GridError(f"{where}: list must hold a mapping of parameters for each run, got {_named(value)}")
    return [_mapping(one, f"{where}: list, entry {place}") for place, one in enumerate(value, start=1)]


def _product(value: object, where: str) -> dict[str, list[object]]:
    product: dict[str, list[object]] = {}
    for name, values in _mapping(value, f"{where}: product").items():
        if not isinstance(values, list) or not values:
            raise GridError(f"{where}: product, {_named(name)} must be a list of values, got {_named(values)}")
        product[name] = values
    return product


def _named(value: object) -> str:
    """Show what the file says, short and never a key."""
    if isinstance(value, str) and looks_like_key("", value):
        return "(not shown)"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
