"""Running a notebook strictly: checked parameters, a kernel of its own, limits in time, nothing half-written.

Everything that can be wrong beforehand (parameters, kernel, places to write) is found before a kernel starts. A run
that finishes leaves the executed notebook and, if asked, its page; a run that does not leaves the notebook as far as it
came, named ``.partial.ipynb``, no page, and an error that names the cell.
"""

import contextlib
import difflib
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from assay.files import Output, OutputError, is_misplaced, repository_root, require_outputs, shown_path, write_whole
from assay.kernel import RunError, require_kernel, run_cells
from assay.loops import complete
from assay.notebook import (
    NotebookError,
    declared_parameters,
    find_notebook,
    give_parameters,
    read_notebook,
    stored,
    without_secrets,
)
from assay.parameters import ParameterError, check, check_against_literals
from assay.record import record_path, run_name
from assay.rules import evidence_path
from assay.settings import NOTEBOOKS, Settings

__all__ = [
    "ONE_THREAD",
    "Plan",
    "RunError",
    "RunResult",
    "complete",
    "execute",
    "failure_of",
    "prepare",
    "require_limits",
    "run_notebook",
]

CELL_TIMEOUT = 600.0
RUN_TIMEOUT = 1800.0

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""For kernels side by side: one a core is the whole gain to be had, and threads of their own only get in the way."""


@dataclass(frozen=True)
class RunResult:
    """What a finished run left: files (None where none was asked for) and its time in seconds."""

    notebook: Path
    html: Path | None
    record: Path | None
    seconds: float


@dataclass(frozen=True)
class Plan:
    """A run that has passed every check and is ready to start, in the folder from which it was asked for."""

    notebook: Path
    content: NotebookNode
    kernel: str
    output: Path
    html: Path | None
    record: Path | None
    writes: tuple[Path, ...]
    cell_timeout: float
    run_timeout: float
    folder: Path
    home: str = ""

    @property
    def partial(self) -> Path:
        """Where the notebook goes if the run does not finish."""
        return self.output.with_name(f"{self.output.stem}.partial.ipynb")


def run_notebook(
    path: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    output: str | Path | None = None,
    html: str | Path | None = None,
    cell_timeout: float = CELL_TIMEOUT,
    run_timeout: float = RUN_TIMEOUT,
    kernel: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> RunResult:
    """Run one notebook.

    Parameters
    ----------
    path : str or pathlib.Path
        The notebook: a file, or the name of one in ``notebooks/``.
    parameters : mapping of str to object, optional
        Values for the names in its parameters cell, plain Python literals.
    output : str or pathlib.Path, optional
        Where the executed notebook goes; by default ``reports/notebooks/`` under the repository root.
    html : str or pathlib.Path, optional
        Where its page goes, if one is wanted.
    cell_timeout, run_timeout : float
        Most seconds for one cell and for the whole run, above 0.
    kernel : str, optional
        Name of the kernel; by default the one that the notebook names.
    progress : callable, optional
        Told after each cell how many of how many are done.

    Returns
    -------
    RunResult
        The files and the time taken.

    Raises
    ------
    assay.parameters.ParameterError
        A parameter is refused; no kernel was started.
    assay.study.StudyError
        There is no such study.
    assay.notebook.NotebookError
        There is no such notebook, or it cannot be read.
    RunError
        The run could not start or did not finish.
    """
    plan = prepare(
        path, parameters, output=output, html=html, cell_timeout=cell_timeout, run_timeout=run_timeout, kernel=kernel
    )
    return complete(execute(plan, progress=progress))


def prepare(
    path: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    output: str | Path | None = None,
    html: str | Path | None = None,
    cell_timeout: float = CELL_TIMEOUT,
    run_timeout: float = RUN_TIMEOUT,
    kernel: str | None = None,
    home: str = "",
) -> Plan:
    """Check all of a run that can be checked beforehand.

    Arguments and errors are those of `run_notebook`; ``home`` is the address of an index that the page links back to.
    """
    require_limits(cell_timeout, run_timeout)
    file = find_notebook(path)
    content = read_notebook(file)
    given = dict(parameters or {})
    name, record, written, read = _check_parameters(file.stem, content, given)
    give_parameters(content, given)
    kernel = kernel or content.metadata.get("kernelspec", {}).get("name", "python3")
    require_kernel(kernel, file.name)
    plan = Plan(
        notebook=file,
        content=content,
        kernel=kernel,
        output=Path(output or repository_root() / "reports" / "notebooks" / f"{name}.ipynb").absolute(),
        html=Path(html).absolute() if html is not None else None,
        record=record,
        writes=tuple(output.path for output in written),
        cell_timeout=cell_timeout,
        run_timeout=run_timeout,
        folder=Path.cwd(),
        home=home,
    )
    outputs = [Output("output", plan.output, (".ipynb",)), Output("the unfinished notebook", plan.partial), *written]
    if plan.html is not None:
        outputs.append(Output("html", plan.html, (".html", ".htm")))
    try:
        require_outputs(outputs, (file, *read))
    except OutputError as error:
        raise RunError(str(error), misuse=True) from None
    except OSError as error:
        place = shown_path(Path(str(error.filename)))
        raise RunError(f"cannot write {place}: {error.strerror}", misuse=is_misplaced(error)) from None
    return plan


async def execute(
    plan: Plan,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> RunResult:
    """Run a notebook that `prepare` has checked.

    Parameters
    ----------
    plan : Plan
        The run.
    environment : mapping of str to str, optional
        Variables set for the kernel on top of those of this process.
    progress : callable, optional
        Told after each cell how many of how many are done.

    Returns
    -------
    RunResult
        The files and the time taken.

    Raises
    ------
    RunError
        The run did not finish; the notebook as far as it came is beside the output.
    """
    began = time.monotonic()
    # What an earlier run left must not pass for a result of this one.
    for stale in filter(None, (plan.output, plan.html, plan.partial, plan.record)):
        stale.unlink(missing_ok=True)
    try:
        await run_cells(
            plan.content,
            title=plan.notebook.name,
            kernel=plan.kernel,
            cell_timeout=plan.cell_timeout,
            run_timeout=plan.run_timeout,
            environment={**os.environ, **(environment or {})},
            folder=plan.folder,
            progress=progress,
        )
    except BaseException:
        with contextlib.suppress(OSError):
            write_whole(plan.partial, stored(plan.content))
        raise
    try:
        write_whole(plan.output, stored(plan.content))
        if plan.html is not None:
            from assay.show.pages import notebook_page

            page = notebook_page(without_secrets(plan.content), name=plan.notebook.stem, home=plan.home)
            write_whole(plan.html, page.encode())
    except OSError as error:
        message = f"cannot write the results of {plan.notebook.name}: {error.strerror}"
        raise RunError(message, misuse=is_misplaced(error)) from None
    record = plan.record if plan.record is not None and plan.record.exists() else None
    return RunResult(plan.output, plan.html, record, time.monotonic() - began)


def failure_of(error: Exception) -> tuple[str, bool]:
    """Say why a run among others failed, in one line, and whether what was given is at fault and not the run."""
    if isinstance(error, OSError):
        place = f"{shown_path(Path(error.filename))}: " if isinstance(error.filename, str) else ""
        return f"{place}{error.strerror or type(error).__name__}", is_misplaced(error)
    expected = isinstance(error, (RunError, ParameterError, NotebookError))
    failure = str(error) if expected else f"internal error, {type(error).__name__}: {error}"
    return failure, expected and getattr(error, "misuse", True)


def require_limits(cell_timeout: float, run_timeout: float) -> None:
    """Raise `RunError` unless these can be the most seconds for a cell and for a run."""
    for name, limit in (("cell_timeout", cell_timeout), ("run_timeout", run_timeout)):
        if not 0 < limit < math.inf:
            raise RunError(f"{name} must be a number of seconds above 0, got {limit:g}", misuse=True)


def study_folder(name: str) -> Path:
    """Find the folder of a study by name or path, without reading the study.

    Raises
    ------
    assay.study.StudyError
        There is none.
    """
    from assay.study import StudyError, find_folder, find_studies

    folder = find_folder(name)
    if folder is None:
        found = find_studies()
        near = difflib.get_close_matches(name, found, n=1)
        hint = f"did you mean {near[0]}?" if near else f"studies found: {', '.join(found) or 'none'}"
        raise StudyError(f"there is no study {name!r}; {hint}", kind="unknown_study")
    return folder


def _check_parameters(
    stem: str, content: NotebookNode, given: dict[str, object]
) -> tuple[str, Path | None, list[Output], list[Path]]:
    """Check the parameters.

    Give the name of the run's files, the place of its record if it has one, all that it writes by them, and all that it
    reads beside the notebook.
    """
    declared = declared_parameters(content)
    if stem not in NOTEBOOKS:
        check_against_literals(given, declared, stem)
        return stem, None, [], []
    from assay.study.settings import study_files

    settings = check(stem, {name: value for name, value in {**declared, **given}.items() if value is not ...})
    folder = study_folder(settings.study)
    record = record_path(stem, settings)
    places = {"record": record, **_places(settings, (name for name in settings.writes if name != "record"))}
    if stem == "40_routing" and "policy" in places:
        places["the policy's evidence"] = evidence_path(places["policy"])
    written = [Output(name, place, (".json",)) for name, place in places.items()]
    return (
        run_name(stem, settings),
        record,
        written,
        [*study_files(folder), *_places(settings, settings.reads).values()],
    )


def _places(settings: Settings, names: Iterable[str]) -> dict[str, Path]:
    """Give the files that settings name, but for those that are blank."""
    given = {name: getattr(settings, name) for name in names}
    return {name: Path(place).expanduser().absolute() for name, place in given.items() if place}
