"""How a command is made to end: a request to terminate is taken as Ctrl-C, so that what was started is ended in order."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

_REQUESTS: Final = ("SIGTERM", "SIGHUP")
"""What a service manager, a container or `kill` sends, and what a terminal sends that is closed."""


@contextlib.contextmanager
def ending_on_request() -> Iterator[None]:
    """Let a request to end the process do in the block what Ctrl-C does there.

    A request that this process was started to ignore, as under ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    requests = [getattr(signal, name) for name in _REQUESTS if hasattr(signal, name)]
    before = {one: signal.getsignal(one) for one in requests}
    heard = [one for one, handler in before.items() if handler is not signal.SIG_IGN]
    for one in heard:
        signal.signal(one, _interrupt)
    try:
        yield
    finally:
        for one in heard:
            signal.signal(one, before[one])


def _interrupt(number: int, frame: FrameType | None) -> None:
    # An event loop has a handler of its own, which cancels what it runs; a shell starts jobs in the background deaf to
    # Ctrl-C, and they must end all the same.
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)
