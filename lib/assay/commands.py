"""The commands beside `run` and `report`: each is declared here and imports what it needs when it is called."""

import argparse
import sys
from pathlib import Path
from typing import Any


def declare_check(commands: Any) -> argparse.ArgumentParser:
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
    command.add_argument("answers", type=Path, help="labelled answers, CSV, JSONL or parquet")
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="accept a difference by name: model, prompt, expired, fail or undecided; may be repeated",
    )
    command.set_defaults(call=_check)
    return command


def declare_collect(commands: Any) -> argparse.ArgumentParser:
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
    command.add_argument(
        "--run", type=_run_number, default=0, metavar="N", help="which repetition, from 0 (default: 0)"
    )
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


def declare_serve(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay serve``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "serve",
        help="serve the embedded model on this machine",
        description="Serve the embedded model, or another, on 127.0.0.1 until Ctrl-C.",
    )
    command.add_argument("--gguf", type=Path, metavar="FILE", help="serve this model instead")
    command.add_argument("--port", type=int, default=0, help="default: a free one")
    command.add_argument("--slots", type=count, default=1, metavar="N", help="completions at one time (default: 1)")
    command.add_argument("--threads", type=count, metavar="N", help="threads that compute (default: one a core)")
    command.set_defaults(call=_serve)
    return command


def declare_lint(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay lint``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "lint",
        help="look for faults in prompt files",
        description="Look for faults in prompt files; exit 1 if there are any.",
    )
    command.add_argument("prompt", nargs="+", help="a prompt file, or a prompt's name in the study")
    command.add_argument(
        "--study", metavar="NAME", help="the study it is for (default: the one whose folder it lies in)"
    )
    command.set_defaults(call=_lint)
    return command


def _check(given: argparse.Namespace) -> int:
    from assay.measure.drift import check_files

    code, text = check_files(given.policy, given.answers, allow=given.allow)
    if code == 2:
        print(f"assay: {text}", file=sys.stderr)
    else:
        print(text)
    return code


def _collect(given: argparse.Namespace) -> int:
    from assay.ask.commands import collect_answers

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


def _serve(given: argparse.Namespace) -> int:
    from assay.ask.commands import serve

    return serve(gguf=given.gguf, port=given.port, slots=given.slots, threads=given.threads)


def _lint(given: argparse.Namespace) -> int:
    from assay.ask.commands import lint

    return lint(given.prompt, study=given.study)


def _run_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def count(text: str) -> int:
    """Read a whole number from 1, for argparse."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return number
