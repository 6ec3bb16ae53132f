"""The command line: ``assay run``, ``assay report``.

A misuse (an unknown name, a value out of range, a file that cannot be read or written, a kernel that is not there) ends
with exit code 2 and one line; a run or report that fails ends with 1 and one line; ``--debug`` shows the traceback. To
add a command, write a function that declares it and enter it in `_COMMANDS`; what it needs is imported when it is
called, so that ``assay --help`` stays quick.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import assay
from assay.commands import count, declare_check, declare_collect, declare_lint, declare_serve
from assay.keys import without_keys

_MISUSE = 2
_FAILURE = 1
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``assay``; those of this process by default.

    Returns
    -------
    int
        Exit code: 0 done, 1 failed, 2 misused, 130 interrupted.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.call(given))
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    except Exception as error:
        if given.debug:
            raise
        return _complain(*_explained(error))


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Complain and leave with exit code 2."""
        sys.exit(_complain(f"{message} (see {self.prog} --help)", _MISUSE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="assay", description=(assay.__doc__ or "").splitlines()[0].removeprefix("assay: "))
    parser.add_argument("--version", action="version", version=f"assay {assay.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for declare in _COMMANDS:
        command = declare(commands)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _declare_run(commands: Any) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run one notebook with checked parameters",
        description="Run one notebook with checked parameters and limits in time.",
    )
    command.add_argument("notebook", help="a file, or the name of one in notebooks/")
    command.add_argument(
        "-p", "--parameter", action="append", default=[], metavar="NAME=VALUE", help="give a parameter; may be repeated"
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="where the executed notebook goes (.ipynb)")
    command.add_argument("--html", type=Path, metavar="FILE", help="write the page without code as well")
    command.add_argument("--kernel", metavar="NAME", help="another kernel than the one the notebook names")
    _add_limits(command)
    command.set_defaults(call=_run)
    return command


def _declare_report(commands: Any) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="run every notebook on every study and write reports/index.html",
        description="Run every notebook on every study, where anything has changed, and write reports/index.html.",
    )
    command.add_argument("study", nargs="*", help="the name of a study or the path of its folder; all studies if none")
    command.add_argument("--force", action="store_true", help="run also what has not changed")
    command.add_argument("--workers", type=count, metavar="N", help="how many notebooks at once (default: one a core)")
    _add_limits(command)
    command.set_defaults(call=_report)
    return command


_COMMANDS: tuple[Callable[[Any], argparse.ArgumentParser], ...] = (
    _declare_run,
    _declare_report,
    declare_check,
    declare_collect,
    declare_serve,
    declare_lint,
)


def _run(given: argparse.Namespace) -> int:
    from assay.notebook import declared_parameters, find_notebook, read_notebook, shown_path
    from assay.run import run_notebook

    file = find_notebook(given.notebook)
    with _Progress("cells") as progress:
        result = run_notebook(
            file,
            _read_parameters(given.parameter, file.stem, declared_parameters(read_notebook(file))),
            output=given.output,
            html=given.html,
            kernel=given.kernel,
            progress=progress.show,
            **_limits(given),
        )
    for name, path in (("notebook", result.notebook), ("page", result.html), ("record", result.record)):
        if path is not None:
            print(f"{name}: {shown_path(path)}")
    return 0


def _report(given: argparse.Namespace) -> int:
    from assay.files import repository_root
    from assay.notebook import shown_path
    from assay.report import Outcome, list_jobs, make_report

    jobs = list_jobs(given.study)
    with _Progress("notebooks") as progress:

        def done(outcome: Outcome) -> None:
            how = "failed" if outcome.failure else "unchanged" if outcome.unchanged else f"{outcome.seconds:.1f} s"
            progress.step(len(jobs), f"{outcome.job}: {how}")

        outcomes = make_report(jobs, workers=given.workers, force=given.force, done=done, **_limits(given))
    failed = [outcome for outcome in outcomes if outcome.failure]
    for outcome in failed:
        _complain(f"{outcome.job}: {outcome.failure}", _FAILURE)
    unchanged = sum(outcome.unchanged for outcome in outcomes)
    counts = f"{len(outcomes) - len(failed)} pages ({unchanged} unchanged), {len(failed)} failed"
    print(f"{shown_path(repository_root() / 'reports' / 'index.html')}: {counts}")
    if not failed:
        return 0
    return _MISUSE if all(outcome.misuse for outcome in failed) else _FAILURE


def _read_parameters(given: Sequence[str], notebook: str, declared: dict[str, object]) -> dict[str, object]:
    from assay.parameters import ParameterError, read_text

    values: dict[str, object] = {}
    for word in given:
        name, sign, text = word.partition("=")
        name = name.strip()
        if not sign or not name.isidentifier():
            # What was typed is not repeated: it may be a key.
            raise ParameterError("-p takes NAME=VALUE, where NAME is a name in the parameters cell")
        if name in values:
            raise ParameterError(f"-p gives {name} twice")
        values[name] = read_text(notebook, name, text, declared)
    return values


def _add_limits(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cell-timeout", type=float, metavar="SECONDS", help="most seconds for one cell (default: 600)"
    )
    command.add_argument(
        "--run-timeout", type=float, metavar="SECONDS", help="most seconds for one run (default: 1800)"
    )


def _limits(given: argparse.Namespace) -> dict[str, float]:
    limits = {"cell_timeout": given.cell_timeout, "run_timeout": given.run_timeout}
    return {name: seconds for name, seconds in limits.items() if seconds is not None}


class _Progress:
    """A bar on a terminal; elsewhere one line a step for steps that have a name."""

    def __init__(self, unit: str, stream: TextIO | None = None) -> None:
        self._unit = unit
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, done: int, total: int) -> None:
        """Move the bar to a count."""
        if self._stream.isatty():
            if self._bar is None:
                from tqdm import tqdm

                self._bar = tqdm(total=total, unit=f" {self._unit}", file=self._stream, leave=False, delay=0.5)
            self._bar.update(done - self._bar.n)

    def step(self, total: int, line: str) -> None:
        """Move by one and say what was done."""
        self._done += 1
        self.show(self._done, total)
        if self._bar is not None:
            self._bar.set_postfix_str(line)
        else:
            print(f"[{self._done}/{total}] {line}", file=self._stream, flush=True)


def _explained(error: Exception) -> tuple[str, int]:
    """One line and an exit code for an error.

    Every `ValueError` that this package defines says that something given is wrong.
    """
    if getattr(error, "misuse", None) is not None:
        return str(error), _MISUSE if error.misuse else _FAILURE  # type: ignore[attr-defined]
    if isinstance(error, ValueError) and type(error).__module__.startswith("assay."):
        return str(error), _MISUSE
    if isinstance(error, OSError):
        place = f"{Path(os.fsdecode(error.filename)).as_posix()}: " if error.filename else ""
        return f"{place}{error.strerror or type(error).__name__}", _MISUSE
    return f"internal error, {type(error).__name__}: {error} (--debug shows where)", _FAILURE


def _complain(message: str, code: int) -> int:
    print(f"assay: {without_keys(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
