"""``assay lint``: faults in prompt files."""

import argparse
from typing import Any


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay lint``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "lint",
        help="look for faults in prompt files",
        description="Look for faults in prompt files; exit 1 if there are any.",
    )
    command.add_argument("prompt", nargs="+", help="a prompt file, or a prompt's name in the study")
    command.add_argument(
        "--study", metavar="NAME", help="the study it is for (default: the one whose folder it lies in)"
    )
    command.set_defaults(call=_lint)
    return command


def _lint(given: argparse.Namespace) -> int:
    from assay.ask.commands import lint

    return lint(given.prompt, study=given.study)
