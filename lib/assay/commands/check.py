"""``assay check``: does a policy still hold."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.complaints import complain


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay check``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "check",
        help="check a policy on labelled answers since its date",
        description=(
            "Check a policy on every labelled answer since its date, in order. Exit code 0: it holds; 1: it is violated; "
            "3: these labels cannot tell; 2: the input cannot be used. The file may grow and be checked again and again."
        ),
    )
    command.add_argument("policy", type=Path, help="a policy file")
    command.add_argument(
        "answers",
        type=Path,
        help="labelled answers: a CSV, JSONL or parquet file with label, calibration, and predicted and confidence or "
        "completion (elicitation, model, prompt where there are several), or the folder of a study",
    )
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="accept a difference by name: model, prompt, expired, fail or undecided; may be repeated",
    )
    command.set_defaults(call=_check)
    return command


def _check(given: argparse.Namespace) -> int:
    from assay.measure.drift import check_files

    code, text = check_files(given.policy, given.answers, allow=given.allow)
    if code == 2:
        return complain(text, code)
    print(text)
    return code
