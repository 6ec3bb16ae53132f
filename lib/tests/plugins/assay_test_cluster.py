"""A Dask scheduler and workers, each a process of its own on loopback."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


class Cluster:
    """The address of a scheduler and its worker processes."""

    def __init__(self, address, workers):
        self.address = address
        self.workers = workers


@contextlib.contextmanager
def cluster(folder, workers=2):
    """Start them, wait until all workers are there, and end them at the end."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    environment = {**os.environ, "PYTHONPATH": str(HERE)}

    def start(*words):
        return subprocess.Popen([sys.executable, "-m", "dask", *words], env=environment, **quiet)

    processes = []
    try:
        common = ["--scheduler-file", str(file), "--no-dashboard"]
        processes.append(start("scheduler", "--host", "127.0.0.1", "--port", "0", *common))
        until(lambda: file.exists() and file.stat().st_size > 0)
        address = json.loads(file.read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--local-directory", str(folder)]
        processes += [start("worker", address, "--no-dashboard", *options) for _ in range(workers)]
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
        yield Cluster(address, processes[1:])
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def count_workers(address):
    """Say how many workers the scheduler knows of."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def until(true, seconds=60):
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
