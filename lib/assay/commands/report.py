"""``assay report``: every notebook on every study, and the index."""

import argparse
from typing import Any

from assay.commands.complaints import FAILURE, code_for, complain
from assay.commands.progress import Progress
from assay.commands.words import add_limits, count, limits_of


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay report``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="run every notebook on every study and write reports/index.html",
        description="Run every notebook on every study, where anything has changed, and write reports/index.html.",
    )
    command.add_argument("study", nargs="*", help="the name of a study or the path of its folder; all studies if none")
    command.add_argument("--force", action="store_true", help="run also what has not changed")
    command.add_argument("--workers", type=count, metavar="N", help="how many notebooks at once (default: one a core)")
    add_limits(command)
    command.set_defaults(call=_report)
    return command


def _report(given: argparse.Namespace) -> int:
    from assay.files import repository_root, shown_path
    from assay.report import Outcome, list_jobs, make_report

    jobs = list_jobs(given.study)
    with Progress("notebooks") as progress:

        def done(outcome: Outcome) -> None:
            how = "failed" if outcome.failure else "unchanged" if outcome.unchanged else f"{outcome.seconds:.1f} s"
            progress.step(len(jobs), f"{outcome.job}: {how}")

        outcomes = make_report(jobs, workers=given.workers, force=given.force, done=done, **limits_of(given))
    failed = [outcome for outcome in outcomes if outcome.failure]
    for outcome in failed:
        complain(f"{outcome.job}: {outcome.failure}", FAILURE)
    unchanged = sum(outcome.unchanged for outcome in outcomes)
    counts = f"{len(outcomes) - len(failed)} pages ({unchanged} unchanged), {len(failed)} failed"
    print(f"{shown_path(repository_root() / 'reports' / 'index.html')}: {counts}")
    return code_for(outcome.misuse for outcome in failed)
