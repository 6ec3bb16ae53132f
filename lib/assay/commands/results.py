"""``assay results``: the records of runs as one table."""

import argparse
from pathlib import Path
from typing import Any


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay results``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "results",
        help="collect the records of runs into one table",
        description="Collect the records of runs into one table: settings, figures and hashes, a row for each run.",
    )
    command.add_argument(
        "place", type=Path, nargs="*", help="record files, or folders of them (default: reports/records)"
    )
    command.add_argument("--notebook", metavar="NAME", help="take the records of this notebook alone")
    command.add_argument("--output", type=Path, metavar="FILE", help="write all of it, as .csv or .parquet")
    command.set_defaults(call=_results)
    return command


def _results(given: argparse.Namespace) -> int:
    from assay.files import Output, require_outputs, shown_path
    from assay.results import ENDINGS, ResultsError, find_records, results_table, results_text, write_results

    outputs = [] if given.output is None else [Output("--output", given.output, ENDINGS)]
    records = find_records(given.place)
    require_outputs(outputs, records)
    table = results_table(records)
    if given.notebook is not None:
        known = sorted(set(table["notebook"]))
        table = table[table["notebook"] == given.notebook].dropna(axis="columns", how="all").reset_index(drop=True)
        if table.empty:
            raise ResultsError(f"there is no record of {given.notebook!r}; there are of {', '.join(known)}")
    print(results_text(table))
    if given.output is not None:
        write_results(table, given.output)
        print(f"\n{shown_path(given.output)}: {len(table)} runs")
    return 0
