"""Standard output and error as a command needs them: there, and able to take any text."""

import contextlib
import io
import os
import sys


class OutputLost(OSError):  # noqa: N818 (what became of the output, which is no fault of what was given)
    """What was printed did not arrive, for a reason that is neither the command's nor in what it was given."""

    misuse = False


def ready_streams() -> None:
    """Let standard output and error take whatever is printed.

    A stream that was closed before the command began leads nowhere, so that printing is quiet and no file that is
    opened later gets its number, into which a process that is started would then write. A letter that the encoding of
    a stream does not have is written as an escape: what was done is not to fail for how it is told.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere == number:
                os.set_inheritable(nowhere, True)
            # It stays open for as long as the process lives, as the stream would have.
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8", errors="backslashreplace"))
        elif number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Write what was printed and is not written yet.

    Raises
    ------
    BrokenPipeError
        Nobody reads it any more.
    OutputLost
        It cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(f"standard output: {error.strerror}") from None


def give_up_output() -> None:
    """Send what cannot be written to standard output nowhere, lest Python tries again on its way out and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
