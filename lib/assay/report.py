"""The report: every notebook on every study, run side by side, as pages with an index.

A run whose inputs have not changed since its page was made (the notebook, the code of the package, the files of the
study, the parameters, the locked versions) is not repeated. What fails is shown on the index for what it is, and the
rest of the report is made all the same.
"""

import asyncio
import contextlib
import json
import os
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.files import repository_root, require_writable, write_whole
from assay.notebook import read_notebook, title_of
from assay.parameters import ParameterError, check
from assay.record import record_path
from assay.run import (
    CELL_TIMEOUT,
    ONE_THREAD,
    RUN_TIMEOUT,
    complete,
    execute,
    failure_of,
    prepare,
    require_limits,
    study_folder,
)
from assay.settings import NOTEBOOKS
from assay.show.compared import COMPARED
from assay.show.index import IndexEntry, index_page
from assay.stamp import Stamp, code_digest, folder_digest, inputs_digest


class ReportError(ValueError):
    """There is nothing to report on, or a study says in a wrong way what to report."""


@dataclass(frozen=True)
class Job:
    """One notebook on one study, and the parameters beside the study that ``report.toml`` gives it."""

    study: str
    folder: Path
    notebook: Path
    parameters: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.notebook.stem} on {self.study}"

    @property
    def key(self) -> tuple[str, str]:
        """What tells jobs apart, and the order in which the index shows them."""
        return self.study, self.notebook.stem

    @property
    def address(self) -> str:
        """Address of the page from the index."""
        return f"{self.folder.name}/{self.notebook.stem}.html"

    def page(self, reports: Path) -> Path:
        """Place of the page."""
        return reports / self.address

    def stamp(self, reports: Path) -> Path:
        """Place of what is remembered of the last run, beside the page."""
        return self.page(reports).with_name(f".{self.notebook.stem}.json")


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Parameters
    ----------
    job : Job
    headline : str
        The finding in a sentence, from the record; may be blank.
    failure : str
        Why it did not finish; blank if it did.
    misuse : bool
        Whether the failure is the fault of what was given rather than of the run.
    seconds : float
        Time taken; 0 for a page that was still good.
    unchanged : bool
        Whether the page was still good.
    """

    job: Job
    headline: str = ""
    failure: str = ""
    misuse: bool = False
    seconds: float = 0.0
    unchanged: bool = False


def list_jobs(studies: Sequence[str] = ()) -> list[Job]:
    """List the runs of a report.

    Parameters
    ----------
    studies : sequence of str
        Names of studies in ``data/`` or paths of study folders; all of ``data/`` if empty.

    Returns
    -------
    list of Job
        Studies in the order given (else of their names), notebooks in the order of their names. A file ``report.toml``
        beside ``study.toml`` may hold a table of parameters for a notebook, or ``<notebook> = false`` to leave it out.

    Raises
    ------
    assay.study.StudyError
        A study is unknown.
    ReportError
        There is no study or no notebook, or ``report.toml`` cannot be used.
    """
    root = repository_root()
    shipped = {file.parent.name: file.parent for file in sorted(root.glob("data/*/study.toml"))}
    folders = {name: study_folder(name) for name in studies} if studies else shipped
    if not folders:
        raise ReportError("there is no study in data/")
    if repeated := [name for name, count in Counter(folder.name for folder in folders.values()).items() if count > 1]:
        raise ReportError(f"several studies are named {repeated[0]!r}; their pages would have one place")
    names = [name for name, settings in NOTEBOOKS.items() if settings.in_report]
    notebooks = [file for name in names if (file := root / "notebooks" / f"{name}.ipynb").is_file()]
    if not notebooks:
        raise ReportError(f"there is no notebook to run in notebooks/; known are {', '.join(names)}")
    jobs = []
    for name, folder in folders.items():
        chosen = _chosen(folder, [file.stem for file in notebooks])
        jobs += [Job(name, folder, file, chosen[file.stem]) for file in notebooks if file.stem in chosen]
    return jobs


def make_report(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    force: bool = False,
    cell_timeout: float = CELL_TIMEOUT,
    run_timeout: float = RUN_TIMEOUT,
    done: Callable[[Outcome], object] = lambda outcome: None,
) -> list[Outcome]:
    """Run the jobs that need it and write their pages and the index under ``reports/``.

    Parameters
    ----------
    jobs : sequence of Job
        What `list_jobs` gave.
    workers : int, optional
        How many kernels at once, at least 1; as many as there are cores by default.
    force : bool
        Run also what has not changed.
    cell_timeout, run_timeout : float
        Most seconds for one cell and for one run.
    done : callable
        Told of each outcome as it comes.

    Returns
    -------
    list of Outcome
        In the order of the jobs.

    Raises
    ------
    RunError
        A limit is no number of seconds above 0.
    OSError
        The index cannot be written.
    """
    reports = repository_root() / "reports"
    require_limits(cell_timeout, run_timeout)
    require_writable(reports / "index.html")
    code = code_digest()
    data = {folder: folder_digest(folder) for folder in {job.folder for job in jobs}}
    stamps = {job.key: Stamp.read(job.stamp(reports)) for job in jobs}
    limit = asyncio.Semaphore(max(1, workers or os.cpu_count() or 1))

    async def one(job: Job) -> Outcome:
        inputs = inputs_digest(job.notebook, job.parameters, code, data[job.folder])
        if not force and stamps[job.key].inputs == inputs and job.page(reports).is_file():
            outcome = Outcome(job, headline=stamps[job.key].headline, unchanged=True)
        else:
            async with limit:
                outcome = await _run(reports, job, inputs, cell_timeout, run_timeout)
        done(outcome)
        return outcome

    async def every() -> list[Outcome]:
        async with asyncio.TaskGroup() as group:
            # The longest of the last report first, so that it does not start when all else is done.
            tasks = {
                job.key: group.create_task(one(job)) for job in sorted(jobs, key=lambda job: -stamps[job.key].seconds)
            }
        return [tasks[job.key].result() for job in jobs]

    outcomes = complete(every())
    write_whole(reports / "index.html", index_page(_entries(reports, outcomes)).encode())
    return outcomes


async def _run(reports: Path, job: Job, inputs: str, cell_timeout: float, run_timeout: float) -> Outcome:
    began = time.monotonic()
    with contextlib.suppress(OSError):
        job.stamp(reports).unlink(missing_ok=True)
    try:
        plan = prepare(
            job.notebook,
            {"study": job.study, **job.parameters},
            html=job.page(reports),
            cell_timeout=cell_timeout,
            run_timeout=run_timeout,
            home="../index.html",
        )
        result = await execute(plan, ONE_THREAD)
        headline = "" if result.record is None else _headline(result.record)
        outcome = Outcome(job, headline=headline, seconds=result.seconds)
    except Exception as error:  # whatever one run does, the rest of the report is made
        with contextlib.suppress(OSError):
            job.page(reports).unlink(missing_ok=True)
        failure, misuse = failure_of(error)
        outcome = Outcome(job, failure=failure, misuse=misuse, seconds=time.monotonic() - began)
    # Without its stamp a page is good and only made again the next time.
    with contextlib.suppress(OSError):
        Stamp(inputs, outcome.headline, outcome.failure, round(outcome.seconds, 1)).write(job.stamp(reports))
    return outcome


def _headline(record: Path) -> str:
    headline = _recorded(record).get("headline")
    return headline if isinstance(headline, str) else ""


def _compared(job: Job) -> list[dict[str, Any]]:
    """Read what the record of a run says of each series; nothing from a record that is missing or torn."""
    try:
        record = record_path(job.notebook.stem, check(job.notebook.stem, {"study": job.study, **job.parameters}))
    except ParameterError:
        return []
    rows = _recorded(record).get(COMPARED)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _recorded(record: Path) -> dict[str, Any]:
    try:
        figures = json.loads(record.read_text(encoding="utf-8"))["figures"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return figures if isinstance(figures, dict) else {}


def _entries(reports: Path, outcomes: Sequence[Outcome]) -> list[IndexEntry]:
    """List what the index shows: these outcomes, and what earlier reports left on other studies."""
    known = {outcome.job.key: outcome for outcome in outcomes}
    studies = {outcome.job.study for outcome in outcomes}
    with contextlib.suppress(ReportError):
        for job in list_jobs():
            stamp = Stamp.read(job.stamp(reports))
            if job.study not in studies and (stamp.failure or job.page(reports).is_file()):
                known[job.key] = Outcome(job, headline=stamp.headline, failure=stamp.failure)
    questions = {file: title_of(read_notebook(file)) for file in {outcome.job.notebook for outcome in known.values()}}
    return [
        IndexEntry(
            study=outcome.job.study,
            study_title=_title(outcome.job.folder),
            notebook=outcome.job.notebook.stem,
            question=questions[outcome.job.notebook],
            address=outcome.job.address,
            headline=outcome.headline,
            failure=outcome.failure,
            compared=() if outcome.failure else _compared(outcome.job),
        )
        for outcome in sorted(known.values(), key=lambda outcome: outcome.job.key)
    ]


def _chosen(folder: Path, notebooks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read ``report.toml`` of a study: the parameters of each notebook that is not left out."""
    file = folder / "report.toml"
    where = f"{folder.name}/report.toml"
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise ReportError(f"{where} cannot be read: {error}") from None
    for name, table in tables.items():
        if name not in NOTEBOOKS:
            raise ReportError(f"{where} names an unknown notebook {name!r}; known are {', '.join(NOTEBOOKS)}")
        if not isinstance(table, dict) and table is not False:
            raise ReportError(f"{where}: {name} must be a table of parameters or false, got {table!r}")
        # The folder may be somebody else's: it says what is shown of the study, and not which files are written, nor
        # that a server of its choice is asked with the reader's key.
        reserved = {"study", *NOTEBOOKS[name].writes, *NOTEBOOKS[name].acts}
        if given := sorted(reserved & set(table or ())):
            raise ReportError(f"{where}: {name} may not set {given[0]}")
        if table:
            try:
                check(name, {"study": folder.name, **table})
            except ParameterError as error:
                raise ReportError(f"{where}: {error}") from None
    return {name: tables.get(name, {}) for name in notebooks if tables.get(name) is not False}


def _title(folder: Path) -> str:
    """Read the title of a study without loading it: a study that is broken has its place on the index too."""
    try:
        title = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8-sig")).get("title")
    except (OSError, ValueError):
        title = None
    return title if isinstance(title, str) else folder.name
