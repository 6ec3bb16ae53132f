"""``assay grid``: one notebook over many parameters."""

import argparse
import time
from pathlib import Path
from typing import Any

from assay.commands.complaints import FAILURE, code_for, complain
from assay.commands.progress import Progress
from assay.commands.words import add_limits, add_workers, limits_of


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay grid``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "grid",
        help="run a notebook over a grid of parameters",
        description=(
            "Run a notebook over a list and a product of parameters, side by side, and write a table with a row for each "
            "run. What has not changed is not run again; exit 1 if a run failed (2 if its settings or study are at fault)."
        ),
    )
    command.add_argument("grid", help="a grid file (YAML), or the name of one in notebooks/grids/")
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="the table, .csv or .parquet (default: reports/grids/<grid>.csv)"
    )
    command.add_argument("--force", action="store_true", help="run also what has not changed")
    add_workers(command, "kernels")
    add_limits(command)
    command.set_defaults(call=_grid)
    return command


def _grid(given: argparse.Namespace) -> int:
    from assay.files import Output, repository_root, require_outputs, shown_path
    from assay.grid import RunOutcome, files_read, read_grid, run_grid
    from assay.results import ENDINGS, results_table, results_text, write_results

    grid = read_grid(given.grid)
    output = given.output or repository_root() / "reports" / "grids" / f"{grid.file.stem}.csv"
    require_outputs([Output("--output", output, ENDINGS)], files_read(grid))
    began = time.monotonic()
    with Progress("runs") as progress:

        def done(outcome: RunOutcome) -> None:
            how = "failed" if outcome.failure else "unchanged" if outcome.unchanged else f"{outcome.seconds:.1f} s"
            progress.step(len(grid.runs), f"{grid.words(outcome.number)}: {how}")

        outcomes = run_grid(
            grid, workers=given.workers, scheduler=given.scheduler, force=given.force, done=done, **limits_of(given)
        )
    took = time.monotonic() - began
    finished = [outcome for outcome in outcomes if not outcome.failure]
    failed = [outcome for outcome in outcomes if outcome.failure]
    if finished:
        table = results_table(outcome.record for outcome in finished)
        write_results(table, output)
        print(results_text(table), end="\n\n")
    for outcome in failed:
        complain(f"{grid.words(outcome.number)}: {outcome.failure}", FAILURE)
    run = [outcome for outcome in finished if not outcome.unchanged]
    counts = f"{len(outcomes)} runs: {len(run)} run, {len(finished) - len(run)} unchanged, {len(failed)} failed"
    print(f"{shown_path(output)}: {counts}" if finished else counts)
    if run:
        alone = sum(outcome.seconds for outcome in run)
        print(speed(took, alone))
    return code_for(outcome.misuse for outcome in failed)


def speed(took: float, alone: float) -> str:
    """Say how long it took and, where it is worth a word, what running side by side was good for."""
    if alone < 1.1 * took:
        return f"took {took:.1f} s, no less than one by one"
    return f"took {took:.1f} s instead of {alone:.1f} s one by one: {alone / took:.1f} times as fast"
