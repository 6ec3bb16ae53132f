"""A Dask cluster in the place of worker processes; needs the extra ``scale`` and is imported only when it is asked for.

Its workers run this package: they need it installed in the same version, and see the same files under the same paths.
"""

import queue
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import assay
from assay.workers import WorkersError, lost

try:
    from dask import config
    from distributed import CancelledError, Client, Future
    from distributed.comm import get_address_host_port  # type: ignore[attr-defined]
    from distributed.scheduler import KilledWorker
except ImportError:
    raise WorkersError(
        "--scheduler needs Dask, which is not installed; python -m pip install 'assay-workbench[scale]' adds it"
    ) from None

_ANSWERS_WITHIN = 10.0  # seconds for the scheduler to answer
_LOOKS_EVERY = 5.0
_WAITS_FOR_WORKERS: Final = 60.0


def over_cluster(work: Callable[[Any], Any], tasks: Sequence[Any], address: str) -> Iterator[tuple[int, Any]]:
    """Do what `assay.workers.spread` promises on the workers of the scheduler at `address`."""
    with config.set({"distributed.comm.timeouts.connect": _ANSWERS_WITHIN}), _client(address) as client:
        _require_workers(client, address)
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        futures: dict[Future, int] = {}
        try:
            for position, task in enumerate(tasks):
                # A name of its own, or Dask would hand out what an equal task gave before.
                future = client.submit(work, task, key=f"assay-{uuid.uuid4()}", priority=-position)
                futures[future] = position
                future.add_done_callback(done.put)
            seen = time.monotonic()
            while futures:
                try:
                    future = done.get(timeout=_LOOKS_EVERY)
                except queue.Empty:
                    if client.status != "running":
                        raise WorkersError(f"the Dask scheduler at {address} is gone") from None
                    if _addresses(client):
                        seen = time.monotonic()
                    elif time.monotonic() - seen > _WAITS_FOR_WORKERS:
                        raise WorkersError(f"the Dask scheduler at {address} has had no workers for a minute") from None
                    continue
                seen = time.monotonic()
                position = futures.pop(future)
                try:
                    result = future.result()
                except KilledWorker:
                    result = lost()
                except CancelledError:
                    raise WorkersError(f"the Dask scheduler at {address} is gone") from None
                future.release()
                yield position, result
        finally:
            client.cancel(list(futures))


def _client(address: str) -> Client:
    try:
        # First by a plain connection: a client that finds nobody takes twice as long, and complains once more when it
        # is thrown away.
        with socket.create_connection(get_address_host_port(address), timeout=_ANSWERS_WITHIN):
            pass
        return Client(address, timeout=_ANSWERS_WITHIN, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        raise WorkersError(f"no Dask scheduler answers at {address!r}; give one such as tcp://127.0.0.1:8786") from None


def _require_workers(client: Client, address: str) -> None:
    """Refuse a cluster without workers, or with another version of this package, before anything is sent there."""
    if not _addresses(client):
        raise WorkersError(f"the Dask scheduler at {address} has no workers; start some with: dask worker {address}")
    try:
        found = client.run(_version, on_error="return")
    except OSError:
        found = {}
    for worker, version in found.items():
        if version != assay.__version__:
            what = version if isinstance(version, str) else "none that can be imported"
            raise WorkersError(f"the worker at {worker} has assay {what}, and this is {assay.__version__}")


def _addresses(client: Client) -> list[str]:
    return list(client.scheduler_info(n_workers=-1)["workers"])


def _version() -> str:
    return str(assay.__version__)
