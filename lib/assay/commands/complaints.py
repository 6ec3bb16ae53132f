"""What a command line says when something is wrong: one line, and an exit code."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from assay.files import is_misplaced
from assay.keys import without_keys

FAILURE: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""What a shell gives for a program whose output nobody reads any more, as with ``| head``."""


def complain(message: str, code: int) -> int:
    """Write one line to standard error, free of keys, and hand back the exit code."""
    write_error(f"assay: {without_keys(' '.join(message.split()))}\n")
    return code


def write_error(text: str) -> None:
    """Write to standard error; where that cannot be written, the exit code has to do."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def code_for(failures: Iterable[bool]) -> int:
    """Give the exit code for runs side by side, of which each that failed says whether what was given is at fault."""
    faults = list(failures)
    return 0 if not faults else MISUSE if all(faults) else FAILURE


def explained(error: Exception) -> tuple[str, int]:
    """Give one line and an exit code for an error.

    Every `ValueError` that this package defines says that something given is wrong.
    """
    if getattr(error, "misuse", None) is not None:
        return str(error), MISUSE if error.misuse else FAILURE  # type: ignore[attr-defined]
    if isinstance(error, ValueError) and type(error).__module__.startswith("assay."):
        return str(error), MISUSE
    if isinstance(error, OSError):
        place = f"{Path(os.fsdecode(error.filename)).as_posix()}: " if error.filename else ""
        # An error that names no file is of none that was given.
        given = bool(place) and is_misplaced(error)
        return f"{place}{error.strerror or type(error).__name__}", MISUSE if given else FAILURE
    return f"internal error, {type(error).__name__}: {error} (--debug shows where)", FAILURE
