"""The command line, ``assay COMMAND``: what is common to all commands.

A misuse (an unknown name, a value out of range, a file that cannot be read or written, a kernel that is not there) ends
with exit code 2 and one line; a run or report that fails ends with 1 and one line; ``--debug`` shows the traceback.
What a command needs is imported when it is called, so that ``assay --help`` stays quick.
"""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import assay
from assay.commands import batch, check, collect, count, grid, lint, new, report, results, run, serve
from assay.commands.complaints import BROKEN_PIPE, FAILURE, INTERRUPTED, MISUSE, complain, explained, write_error
from assay.commands.interrupts import ending_on_request
from assay.commands.streams import flush_output, give_up_output, ready_streams
from assay.keys import without_keys

_DESCRIPTION = "How much of an LLM's stated confidence is real, and what to do about it."

COMMANDS: tuple[ModuleType, ...] = (new, run, report, grid, results, count, check, collect, batch, serve, lint)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``assay``; those of this process by default.

    Returns
    -------
    int
        Exit code: 0 done, 1 failed, 2 misused, 130 interrupted, 141 if whoever read the output went away. A command
        for which 1 means something else says with what it fails.
    """
    ready_streams()
    given = _parser().parse_args(arguments)
    try:
        with ending_on_request():
            _require_folder()
            code = int(given.call(given))
            flush_output()
        return code
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        give_up_output()
        return BROKEN_PIPE
    except Exception as error:
        if isinstance(error, OSError):
            give_up_output()
        message, code = explained(error)
        if code == FAILURE:
            code = given.failure
        if given.debug:
            write_error(without_keys(traceback.format_exc()))
            return code
        return complain(message, code)


class FolderGone(Exception):  # noqa: N818 (a state of the system, no fault of what was given)
    """The working directory is not there any more."""

    misuse = False


def _require_folder() -> None:
    """Raise `FolderGone` where the folder in which the command is called was removed: nearly every path starts there."""
    try:
        Path.cwd()
    except OSError as error:
        raise FolderGone(f"the working directory cannot be used ({error.strerror}): go to one that is there") from None


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Complain and leave with exit code 2."""
        sys.exit(complain(f"{message} (see {self.prog} --help)", MISUSE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="assay", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"assay {assay.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for module in COMMANDS:
        command = module.declare(commands)
        command.set_defaults(failure=command.get_default("failure") or FAILURE)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
