"""Readers of values, and options, that several commands share."""

import argparse
from pathlib import Path

MOST = 10**9
"""The largest whole number that an option takes; none of those there are has a use for a larger one."""


def count(text: str) -> int:
    """Read a whole number from 1, for argparse."""
    return _whole(text, lowest=1)


def run_number(text: str) -> int:
    """Read a whole number from 0, for argparse."""
    return _whole(text, lowest=0)


def places(text: str) -> int:
    """Read a number of decimal places, for argparse; a double has no more than 15 to round to."""
    return _whole(text, lowest=1, highest=15)


def _whole(text: str, lowest: int, highest: int = MOST) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(highest)) else -1
    if not lowest <= number <= highest:
        limit = f" to {highest:,}" if text.isascii() and text.isdigit() and text.strip("0") else ""
        raise argparse.ArgumentTypeError(f"must be a whole number from {lowest}{limit}, got {text[:40]!r}")
    return number


def add_file_options(command: argparse.ArgumentParser) -> None:
    """Enter how a file of answers is written."""
    command.add_argument("--encoding", default="utf-8", metavar="NAME", help="of a CSV or JSONL file (default: utf-8)")
    command.add_argument(
        "--delimiter", type=delimiter, metavar="CHARACTER", help=r"between the cells of a CSV file (\t: a tab)"
    )


def delimiter(text: str) -> str:
    r"""Read what is between cells, for argparse: ``\t`` is a tab, which a shell does not easily give."""
    return "\t" if text == r"\t" else text


def add_workers(command: argparse.ArgumentParser, what: str) -> None:
    """Enter where the work is done: in processes of this machine, or on a Dask cluster."""
    command.add_argument("--workers", type=count, metavar="N", help=f"how many {what} at once (default: one a core)")
    command.add_argument(
        "--scheduler", metavar="URL", help="work on this Dask cluster instead, such as tcp://127.0.0.1:8786"
    )


def add_limits(command: argparse.ArgumentParser) -> None:
    """Enter the limits in time of a run."""
    command.add_argument(
        "--cell-timeout", type=float, metavar="SECONDS", help="most seconds for one cell (default: 600)"
    )
    command.add_argument(
        "--run-timeout", type=float, metavar="SECONDS", help="most seconds for one run (default: 1800)"
    )


def limits_of(given: argparse.Namespace) -> dict[str, float]:
    """Give those limits that were set, as arguments of `assay.run.run_notebook`."""
    limits = {"cell_timeout": given.cell_timeout, "run_timeout": given.run_timeout}
    return {name: seconds for name, seconds in limits.items() if seconds is not None}


def add_asks(command: argparse.ArgumentParser) -> None:
    """Enter what says which asks are meant, for the commands that ask a model."""
    command.add_argument("study", help="the name of a study or the path of its folder")
    command.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="FILE",
        help="a prompt file, or a prompt's name in the study; may be repeated",
    )
    command.add_argument("--model", metavar="NAME", help="the model, or the Azure deployment")
    command.add_argument("--base-url", metavar="URL", help="a compatible server (default: OPENAI_BASE_URL)")
    command.add_argument("--run", type=run_number, default=0, metavar="N", help="which repetition, from 0 (default: 0)")
    command.add_argument("--limit", type=count, metavar="N", help="ask the first N items alone")
    command.add_argument(
        "--prices",
        type=Path,
        metavar="FILE",
        help='a price file: {"MODEL": {"input_per_million": USD, "output_per_million": USD}}',
    )
    command.add_argument("--max-cost", metavar="USD", help="stop before the asks of now cost more; needs --prices")
    command.add_argument("--store", type=Path, metavar="FILE", help="default: reports/answers/<study>.sqlite")
    command.add_argument(
        "--dry-run", action="store_true", help="say what would be asked and what it would cost, and ask nothing"
    )
