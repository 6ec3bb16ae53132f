"""``assay collect``: ask a model the items of a study."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.words import add_asks, count


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay collect``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "collect",
        help="ask a model the items of a study and store what it says",
        description=(
            "Ask a model the items of a study, store what it says, and ask nothing twice. Exit code 0 when every ask has "
            "an outcome that stands, be it a refusal or a content filter's: those are counted and not asked again. Exit "
            "code 1 while asks are left, wait in a batch, or failed for the provider's reasons: call again to ask those."
        ),
    )
    add_asks(command)
    command.add_argument("--local", action="store_true", help="ask the embedded model, which needs no key")
    command.add_argument("--gguf", type=Path, metavar="FILE", help="ask this model on this machine instead")
    command.add_argument(
        "--concurrency", type=count, metavar="N", help="asks at one time (default: 8; 1 for a local model)"
    )
    command.add_argument(
        "--export", type=Path, metavar="FILE", help="write the answers of the store as parquet as well"
    )
    command.set_defaults(call=_collect)
    return command


def _collect(given: argparse.Namespace) -> int:
    from assay.ask.commands import collect_answers
    from assay.parameters import refuse_keys

    refuse_keys({"model": given.model})
    return collect_answers(
        given.study,
        given.prompt,
        model=given.model,
        local=given.local,
        gguf=given.gguf,
        base_url=given.base_url,
        run=given.run,
        limit=given.limit,
        max_cost=given.max_cost,
        prices=given.prices,
        concurrency=given.concurrency,
        store=given.store,
        export=given.export,
        dry_run=given.dry_run,
    )
