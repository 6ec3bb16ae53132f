"""``assay check``: does a policy still hold."""

import argparse
from pathlib import Path
from typing import Any, Final

from assay.commands.complaints import complain
from assay.commands.words import add_file_options

NOT_CHECKED: Final = 4
"""Exit code of a check that came to no verdict, or could not tell it, for a reason that is not in what was given."""


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay check``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "check",
        help="check a policy on labelled answers since its date",
        description=(
            "Check a policy on every labelled answer since its date, in order. Exit code 0: it holds; 1: it is violated; "
            "3: these labels cannot tell; 2: the input cannot be used; 4: no verdict could be reached or printed, for a "
            "reason outside the input, such as a full disk. The file may grow and be checked again and again."
        ),
    )
    command.add_argument("policy", type=Path, help="a policy file")
    command.add_argument(
        "answers",
        type=Path,
        help="labelled answers: a CSV, JSONL or parquet file with label, calibration, and predicted and confidence or "
        "completion (elicitation, model, prompt where there are several), or the folder of a study",
    )
    add_file_options(command)
    command.add_argument(
        "--decimal", default=".", metavar="MARK", help="before the fraction of a number in a CSV file (default: .)"
    )
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="accept a difference by name: model, prompt, expired, fail or undecided; may be repeated",
    )
    command.set_defaults(call=_check, failure=NOT_CHECKED)
    return command


def _check(given: argparse.Namespace) -> int:
    from assay.measure.drift import check_files

    code, text = check_files(
        given.policy,
        given.answers,
        allow=given.allow,
        encoding=given.encoding,
        delimiter=given.delimiter,
        decimal=given.decimal,
    )
    if code == 2:
        return complain(text, code)
    print(text)
    return code
