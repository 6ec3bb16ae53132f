"""``assay count``: answers by the million, counted here or on a cluster."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.progress import Progress
from assay.commands.words import add_workers, places


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay count``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "count",
        help="count answers in parquet files that are too many to load",
        description=(
            "Count answers in parquet files by outcome and confidence, part by part, and print calibration and the "
            "decisions at one point. Processes and clusters give the same counts as one process."
        ),
    )
    command.add_argument("place", type=Path, nargs="+", help="parquet files, or folders of them")
    command.add_argument(
        "--taxonomy", required=True, metavar="STUDY", help="a study, or a TOML file with a taxonomy and gates"
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help=(
            "the column of label, predicted, confidence, probabilities, alternatives, missing_context or item_id, where it "
            "has another name; may be repeated"
        ),
    )
    command.add_argument("--scale", type=int, choices=(1, 100), default=1, help="of confidences (default: 1)")
    command.add_argument(
        "--threshold", type=float, help="the point to report (default: the best one as observed, if there are gates)"
    )
    command.add_argument("--tie-margin", type=float, help="of that point, in hundredths (default: 0.10)")
    command.add_argument(
        "--decimals", type=places, metavar="N", help="round confidences for calibration (default: they are exact)"
    )
    command.add_argument(
        "--output",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="write the figures (.json) or every count (.parquet); may be repeated",
    )
    add_workers(command, "processes")
    command.set_defaults(call=_count)
    return command


def _count(given: argparse.Namespace) -> int:
    from assay.count import (
        ENDINGS,
        CountError,
        count_answers,
        find_source,
        read_taxonomy,
        taxonomy_file,
        write_counts,
    )
    from assay.files import Output, require_outputs, shown_path
    from assay.measure.tally_figures import tally_figures
    from assay.study.partitions import parquet_files

    require_outputs(
        [Output("--output", place, ENDINGS) for place in given.output],
        (taxonomy_file(given.taxonomy), *parquet_files(given.place)),
    )
    margin = given.tie_margin
    if margin is not None and not (0 <= margin <= 1 and abs(100 * margin - round(100 * margin)) < 1e-7):
        raise CountError(f"--tie-margin must be a whole number of hundredths from 0 to 1, got {margin:g}")
    source = find_source(
        given.place,
        read_taxonomy(given.taxonomy),
        columns=_columns(given.column),
        scale=given.scale,
        threshold=given.threshold,
        decimals=given.decimals,
    )
    counted_rows = 0
    with Progress("rows") as progress:

        def done(rows: int) -> None:
            nonlocal counted_rows
            counted_rows += rows
            progress.show(counted_rows, source.rows)

        counted = count_answers(source, workers=given.workers, scheduler=given.scheduler, done=done)
    figures = tally_figures(counted, given.threshold, margin)
    print(f"{source.rows:,} rows in {source.files:,} files")
    print(figures.words)
    if given.decimals is not None:
        print(f"\nConfidences were rounded to {given.decimals} decimals for calibration, not for decisions.")
    for place in given.output:
        write_counts(place, counted, figures, source)
        print(f"\n{shown_path(place)}: {'figures' if place.suffix == '.json' else 'every count'}")
    return 0


def _columns(words: list[str]) -> dict[str, str]:
    from assay.count import CountError

    columns: dict[str, str] = {}
    for word in words:
        name, sign, column = word.partition("=")
        if not sign or not column or name in columns:
            raise CountError(f"--column takes NAME=COLUMN, each name once, got {word!r}")
        columns[name] = column
    return columns
