"""Work spread over worker processes of this machine, or over a Dask cluster, behind one function.

A worker that is killed loses only what it was doing: that is given to another, and whoever waits for results notices
nothing. What kills three workers in a row is handed back as `Lost` instead, and the rest goes on. Worker processes stop
with the process that started them, whatever ends it.
"""

import contextlib
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_ATTEMPTS: Final = 3
"""How many workers may be lost over one task."""

_GRACE = 15.0  # seconds for a worker to stop its kernel and leave


class WorkersError(ValueError):
    """There are no workers to be had: Dask is not installed, no scheduler answers, or a cluster has none."""


@dataclass(frozen=True)
class Lost:
    """What is handed back for a task over which too many workers were lost."""

    reason: str


def spread(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, Result | Lost]]:
    """Do every task on some worker and hand out the results as they come.

    Parameters
    ----------
    work : callable
        A function of a module (a worker imports it by name), from a task to its result; both travel between processes.
    tasks : sequence
        Started in this order.
    workers : int, optional
        How many processes, at least 1; as many as there are cores by default. Of no meaning with `scheduler`.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://127.0.0.1:8786``, whose workers then do the work.

    Yields
    ------
    position : int
        Of the task in `tasks`.
    result : object
        What `work` returned, or `Lost`.

    Raises
    ------
    WorkersError
        There are no workers to be had.
    Exception
        What `work` raises; the other tasks are then given up.
    """
    if scheduler is not None:
        # Dask is an extra of its own and takes a second to import.
        from assay.cluster import over_cluster

        return over_cluster(work, tasks, scheduler)
    return _over_processes(work, tasks, min(len(tasks), workers or os.cpu_count() or 1))


def _over_processes(work: Callable[[Any], Any], tasks: Sequence[Any], count: int) -> Iterator[tuple[int, Any]]:
    waiting = deque(range(len(tasks)))
    attempts: Counter[int] = Counter()
    crew: list[_Worker] = []
    try:
        while waiting or any(worker.busy for worker in crew):
            while waiting and len(crew) < count:
                crew.append(_Worker(work))
            for worker in crew:
                if waiting and not worker.busy:
                    worker.give(waiting.popleft(), tasks)
            # A worker that is gone has closed its end, and so counts as ready.
            ready = connection.wait([worker.pipe for worker in crew])
            for worker in [one for one in crew if one.pipe in ready]:
                position = worker.task
                try:
                    good, result = worker.take()
                except (EOFError, OSError):
                    crew.remove(worker)
                    worker.stop()
                    if position is None:
                        continue
                    attempts[position] += 1
                    if attempts[position] < MOST_ATTEMPTS:
                        waiting.appendleft(position)
                    else:
                        yield position, lost()
                    continue
                if not good:
                    raise result
                assert position is not None
                yield position, result
    finally:
        for worker in crew:
            worker.ask_to_stop()
        for worker in crew:
            worker.stop()


def lost() -> Lost:
    """Say that too many workers were lost over one task."""
    return Lost("its workers were lost, one after another, perhaps for want of memory")


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        # A fresh interpreter: a fork would share the threads and sockets of this one.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: int | None = None
        self._process: BaseProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with _without_interrupts():
            self._process.start()
        theirs.close()

    @property
    def busy(self) -> bool:
        return self.task is not None

    def give(self, position: int, tasks: Sequence[Any]) -> None:
        self.task = position
        # One that died meanwhile is found out when its result is waited for.
        with contextlib.suppress(OSError):
            self.pipe.send(tasks[position])

    def take(self) -> tuple[bool, Any]:
        received: tuple[bool, Any] = self.pipe.recv()
        self.task = None
        return received

    def ask_to_stop(self) -> None:
        self.pipe.close()
        if self.busy and self._process.is_alive() and self._process.pid is not None:
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, signal.SIGINT)

    def stop(self) -> None:
        self.pipe.close()
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: connection.Connection, work: Callable[[Any], Any]) -> None:
    """Do what comes through the pipe until it is closed; run in the worker."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, EOFError, OSError):
        _let_interrupts_through()
        while True:
            task = pipe.recv()
            try:
                answer: tuple[bool, Any] = True, work(task)
            except Exception as error:
                answer = False, error
            pipe.send(answer)


def _leave_with_parent() -> None:
    """Interrupt this worker once the process that started it is gone, so that it stops its kernel and leaves."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(_GRACE)
        os._exit(1)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach before it can leave without a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _let_interrupts_through() -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
