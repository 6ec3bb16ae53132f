"""Readers of values, and options, that several commands share."""

import argparse


def count(text: str) -> int:
    """Read a whole number from 1, for argparse."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return number


def run_number(text: str) -> int:
    """Read a whole number from 0, for argparse."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


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
