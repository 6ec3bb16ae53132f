"""The command line, ``assay COMMAND``: what is common to all commands.

A misuse (an unknown name, a value out of range, a file that cannot be read or written, a kernel that is not there) ends
with exit code 2 and one line; a run or report that fails ends with 1 and one line; ``--debug`` shows the traceback.
What a command needs is imported when it is called, so that ``assay --help`` stays quick.
"""

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import assay
from assay.commands import check, collect, lint, report, run, serve
from assay.commands.complaints import INTERRUPTED, MISUSE, complain, explained

COMMANDS: tuple[ModuleType, ...] = (run, report, check, collect, serve, lint)


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
        return complain("interrupted", INTERRUPTED)
    except Exception as error:
        if given.debug:
            raise
        return complain(*explained(error))


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Complain and leave with exit code 2."""
        sys.exit(complain(f"{message} (see {self.prog} --help)", MISUSE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="assay", description=(assay.__doc__ or "").splitlines()[0].removeprefix("assay: "))
    parser.add_argument("--version", action="version", version=f"assay {assay.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for module in COMMANDS:
        command = module.declare(commands)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
