"""The command line, ``assay COMMAND``: what is common to all commands.

A misuse (an unknown name, a value out of range, a file that cannot be read or written, a kernel that is not there) ends
with exit code 2 and one line; a run or report that fails ends with 1 and one line; ``--debug`` shows the traceback.
What a command needs is imported when it is called, so that ``assay --help`` stays quick.
"""

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import assay
from assay.commands import batch, check, collect, count, grid, lint, new, report, results, run, serve
from assay.commands.complaints import BROKEN_PIPE, INTERRUPTED, MISUSE, complain, explained
from assay.commands.interrupts import ending_on_request
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
        Exit code: 0 done, 1 failed, 2 misused, 130 interrupted, 141 if whoever read the output went away.
    """
    given = _parser().parse_args(arguments)
    try:
        with ending_on_request():
            code = int(given.call(given))
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _give_up_output()
        return BROKEN_PIPE
    except Exception as error:
        if isinstance(error, OSError):
            _give_up_output()
        message, code = explained(error)
        if given.debug:
            print(without_keys(traceback.format_exc()), file=sys.stderr, end="")
            return code
        return complain(message, code)


def _give_up_output() -> None:
    """Send what cannot be written to standard output nowhere, lest Python tries again on its way out and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
