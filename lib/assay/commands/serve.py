"""``assay serve``: the embedded model on this machine."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.words import count


def declare(commands: Any) -> argparse.ArgumentParser:
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


def _serve(given: argparse.Namespace) -> int:
    from assay.ask.commands import serve

    return serve(gguf=given.gguf, port=given.port, slots=given.slots, threads=given.threads)
