"""The report: every notebook on every study, run side by side, as pages with an index.

A run whose inputs have not changed since its page was made (the notebook, the code of the package, the files of the
study, the parameters, the locked versions) is not repeated. What fails is shown on the index for what it is, and the
rest of the report is made all the same.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import assay
from assay.files import digest, repository_root, write_whole
from assay.notebook import NotebookError, read_notebook, title_of
from assay.parameters import ParameterError
from assay.run import CELL_TIMEOUT, RUN_TIMEOUT, RunError, complete, execute, prepare, study_folder
from assay.settings import NOTEBOOKS
from assay.show.pages import IndexEntry, index_page

# One kernel a core is the whole gain to be had: threads of their own would only get in each other's way.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


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
    """
    reports = repository_root() / "reports"
    code = _code_digest()
    data = {folder: _folder_digest(folder) for folder in {job.folder for job in jobs}}
    stamps = {job.key: _Stamp.read(reports, job) for job in jobs}
    limit = asyncio.Semaphore(max(1, workers or os.cpu_count() or 1))

    async def one(job: Job) -> Outcome:
        inputs = _inputs_digest(job, code, data[job.folder])
        if not force and stamps[job.key].holds(reports, job, inputs):
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


@dataclass(frozen=True)
class _Stamp:
    """What is remembered of the last run of a job, beside its page."""

    inputs: str = ""
    headline: str = ""
    failure: str = ""
    seconds: float = float("inf")

    @classmethod
    def path(cls, reports: Path, job: Job) -> Path:
        return job.page(reports).with_name(f".{job.notebook.stem}.json")

    @classmethod
    def read(cls, reports: Path, job: Job) -> "_Stamp":
        """Read the stamp of a job; one that is missing or torn is as good as none."""
        try:
            return cls(**json.loads(cls.path(reports, job).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return cls()

    def write(self, reports: Path, job: Job) -> None:
        write_whole(self.path(reports, job), json.dumps(asdict(self), ensure_ascii=False).encode())

    def holds(self, reports: Path, job: Job, inputs: str) -> bool:
        return self.inputs == inputs and job.page(reports).is_file()


async def _run(reports: Path, job: Job, inputs: str, cell_timeout: float, run_timeout: float) -> Outcome:
    _Stamp.path(reports, job).unlink(missing_ok=True)
    began = time.monotonic()
    try:
        plan = prepare(
            job.notebook,
            {"study": job.study, **job.parameters},
            html=job.page(reports),
            cell_timeout=cell_timeout,
            run_timeout=run_timeout,
            home="../index.html",
        )
        result = await execute(plan, _ONE_THREAD)
        headline = "" if result.record is None else _headline(result.record)
        outcome = Outcome(job, headline=headline, seconds=result.seconds)
    except Exception as error:  # whatever one run does, the rest of the report is made
        job.page(reports).unlink(missing_ok=True)
        expected = isinstance(error, (RunError, ParameterError, NotebookError))
        failure = str(error) if expected else f"internal error, {type(error).__name__}: {error}"
        misuse = expected and getattr(error, "misuse", True)
        outcome = Outcome(job, failure=failure, misuse=misuse, seconds=time.monotonic() - began)
    _Stamp(inputs, outcome.headline, outcome.failure, round(outcome.seconds, 1)).write(reports, job)
    return outcome


def _headline(record: Path) -> str:
    try:
        headline = json.loads(record.read_text(encoding="utf-8"))["figures"].get("headline")
    except (OSError, ValueError, KeyError, AttributeError):
        return ""
    return headline if isinstance(headline, str) else ""


def _entries(reports: Path, outcomes: Sequence[Outcome]) -> list[IndexEntry]:
    """List what the index shows: these outcomes, and what earlier reports left on other studies."""
    known = {outcome.job.key: outcome for outcome in outcomes}
    studies = {outcome.job.study for outcome in outcomes}
    with contextlib.suppress(ReportError):
        for job in list_jobs():
            stamp = _Stamp.read(reports, job)
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
    return {name: tables.get(name, {}) for name in notebooks if tables.get(name) is not False}


def _title(folder: Path) -> str:
    """Read the title of a study without loading it: a study that is broken has its place on the index too."""
    try:
        title = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8-sig")).get("title")
    except (OSError, ValueError):
        title = None
    return title if isinstance(title, str) else folder.name


def _inputs_digest(job: Job, code: str, data: str) -> str:
    lock = digest(repository_root() / "lib" / "requirements.lock")
    parts = [assay.__version__, code, data, lock, digest(job.notebook), job.parameters]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _code_digest() -> str:
    package = Path(assay.__file__).parent
    return _files_digest(file for kind in ("*.py", "*.css") for file in package.rglob(kind))


def _folder_digest(folder: Path) -> str:
    return _files_digest(file for file in folder.rglob("*") if file.is_file())


def _files_digest(files: Iterable[Path]) -> str:
    lines = (f"{file.as_posix()} {digest(file)}" for file in sorted(files))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
