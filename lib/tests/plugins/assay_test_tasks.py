"""Work for the tests of workers, in a module of its own since a worker imports what it does by name."""

import os
import signal
import time
from pathlib import Path


def square(number):
    return number * number


def fail(number):
    raise ValueError(f"no square of {number}")


def die_first(marker):
    """Kill the worker the first time, and answer with the number of the process afterwards."""
    path = Path(marker)
    if not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die_at(number):
    """Kill the worker whenever it is given 3."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def report(folder):
    """Say which process this is, then take long."""
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)
