"""``assay collect``: ask a model the items of a study."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.words import count, run_number


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay collect``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "collect",
        help="ask a model the items of a study and store what it says",
        description="Ask a model the items of a study, store what it says, and ask nothing twice.",
    )
    command.add_argument("study", help="the name of a study or the path of its folder")
    command.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="FILE",
        help="a prompt file, or a prompt's name in the study; may be repeated",
    )
    command.add_argument("--model", metavar="NAME", help="the model, or the Azure deployment")
    command.add_argument("--local", action="store_true", help="ask the embedded model, which needs no key")
    command.add_argument("--gguf", type=Path, metavar="FILE", help="ask this model on this machine instead")
    command.add_argument("--base-url", metavar="URL", help="a compatible server (default: OPENAI_BASE_URL)")
    command.add_argument("--run", type=run_number, default=0, metavar="N", help="which repetition, from 0 (default: 0)")
    command.add_argument("--limit", type=count, metavar="N", help="ask the first N items alone")
    command.add_argument("--max-cost", metavar="USD", help="stop before the asks of now cost more; needs --prices")
    command.add_argument("--prices", type=Path, metavar="FILE", help="a price file (JSON)")
    command.add_argument(
        "--concurrency", type=count, metavar="N", help="asks at one time (default: 8; 1 for a local model)"
    )
    command.add_argument("--store", type=Path, metavar="FILE", help="default: reports/answers/<study>.sqlite")
    command.add_argument(
        "--export", type=Path, metavar="FILE", help="write the answers of the store as parquet as well"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="say what would be asked and what it would cost, and ask nothing"
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
