"""``assay batch``: ask by batch, which costs less and takes up to a day."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.words import add_asks


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay batch``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "batch",
        help="ask a model the items of a study by batch",
        description=(
            "Take in what batches have brought, and submit what has no answer and waits in no batch. Call it again until "
            "nothing waits; nothing is submitted twice. Exit code 0 when every ask has an outcome that stands, be it a "
            "refusal or a content filter's: those are counted and not asked again. Exit code 1 while asks are left, wait, "
            "were kept back by the cost limit, or failed for the provider's reasons. With --write-only, 0 when all that "
            "is to be asked is in a file."
        ),
    )
    add_asks(command)
    command.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="where files of requests go (default: beside the store)"
    )
    command.add_argument(
        "--results",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="take in a file of results that came by hand, and do nothing else; needs no key; may be repeated",
    )
    command.add_argument(
        "--write-only", action="store_true", help="write the files of requests and do nothing else; needs no key"
    )
    command.add_argument("--fetch-only", action="store_true", help="take in results and submit nothing")
    command.add_argument("--wait", action="store_true", help="stay until every batch has ended")
    command.add_argument("--every", type=float, default=60.0, metavar="SECONDS", help="between looks (default: 60)")
    command.set_defaults(call=_batch)
    return command


def _batch(given: argparse.Namespace) -> int:
    from assay.ask.batches import batch_answers
    from assay.ask.choosing import CommandError
    from assay.parameters import refuse_keys

    refuse_keys({"model": given.model})
    if given.model is None:
        raise CommandError("--model is needed: the model, or the Azure deployment")
    return batch_answers(
        given.study,
        given.prompt,
        model=given.model,
        base_url=given.base_url,
        run=given.run,
        limit=given.limit,
        max_cost=given.max_cost,
        prices=given.prices,
        store=given.store,
        folder=given.folder,
        results=given.results,
        write_only=given.write_only,
        fetch_only=given.fetch_only,
        wait=given.wait,
        every=given.every,
        dry_run=given.dry_run,
    )
