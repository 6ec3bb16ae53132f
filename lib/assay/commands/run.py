"""``assay run``: one notebook with checked parameters."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.commands.progress import Progress
from assay.commands.words import add_limits, limits_of


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay run``."""
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
    add_limits(command)
    command.set_defaults(call=_run)
    return command


def _run(given: argparse.Namespace) -> int:
    from assay.files import shown_path
    from assay.notebook import declared_parameters, find_notebook, read_notebook
    from assay.run import run_notebook

    file = find_notebook(given.notebook)
    with Progress("cells") as progress:
        result = run_notebook(
            file,
            _read_parameters(given.parameter, file.stem, declared_parameters(read_notebook(file))),
            output=given.output,
            html=given.html,
            kernel=given.kernel,
            progress=progress.show,
            **limits_of(given),
        )
    for name, path in (("notebook", result.notebook), ("page", result.html), ("record", result.record)):
        if path is not None:
            print(f"{name}: {shown_path(path)}")
    return 0


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
