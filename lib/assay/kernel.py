"""One kernel for one run: started over local sockets, bounded in time, stopped whatever happens.

Every way a run can end early becomes a `RunError` of one line that names the cell.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_async
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from assay.files import is_misplaced
from assay.keys import without_keys
from assay.notebook import is_given

_STARTUP_TIMEOUT = 60  # seconds; a cold disk can need ten


class RunError(Exception):
    """A run could not start or did not finish; one line for a person.

    Attributes
    ----------
    misuse : bool
        Whether what was asked for is at fault (a place, a kernel, a parameter, a study) and not the run itself.
    """

    def __init__(self, message: str, *, misuse: bool = False) -> None:
        super().__init__(message)
        self.misuse = misuse


def require_kernel(name: str, notebook: str) -> None:
    """Raise `RunError` unless a kernel is installed; the message lists those that are and says how to choose."""
    installed = sorted(KernelSpecManager().find_kernel_specs())
    if name not in installed:
        raise RunError(
            f"{notebook} asks for kernel {name!r}, which is not installed; "
            f"installed: {', '.join(installed) or 'none'}; choose one with --kernel",
            misuse=True,
        )


async def run_cells(
    content: NotebookNode,
    *,
    title: str,
    kernel: str,
    cell_timeout: float,
    run_timeout: float,
    environment: Mapping[str, str],
    folder: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Run the cells of a notebook in order, filling in their outputs.

    Parameters
    ----------
    content : nbformat.NotebookNode
        The notebook, changed in place; after an error it holds what was done so far.
    title : str
        Name of the notebook, for messages.
    kernel : str
        Name of an installed kernel.
    cell_timeout, run_timeout : float
        Most seconds for one cell and for all.
    environment : mapping of str to str
        All environment variables of the kernel.
    folder : pathlib.Path, optional
        Its working directory; that of this process by default.
    progress : callable, optional
        Told after each cell how many of how many are done.

    Raises
    ------
    RunError
        A cell raised an error or took too long, the run took too long, the kernel died or did not start.
    """
    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as private:
        manager = AsyncKernelManager(kernel_name=kernel, connection_file=str(Path(private) / "kernel.json"))
        if sys.platform != "win32":
            # Sockets of the file system: no port is opened, and only this user can read the folder.
            manager.transport, manager.ip = "ipc", str(Path(private) / "kernel")
        # By function, since the plain setting takes whole seconds alone.
        limits = {"timeout_func": lambda cell: cell_timeout, "startup_timeout": _STARTUP_TIMEOUT}
        client = NotebookClient(content, km=manager, **limits)
        client.log.disabled = True
        at, log = _Position(title), Path(private) / "kernel.log"
        with log.open("wb") as sink:
            start: dict[str, Any] = {"env": dict(environment), "stdout": sink.fileno(), "stderr": sink.fileno()}
            if folder is not None:
                start["cwd"] = str(folder)
            work = asyncio.ensure_future(_cells_in_order(client, at, start, progress))
            try:
                finished, _ = await asyncio.wait({work}, timeout=run_timeout)
                if not finished:
                    raise RunError(f"{at}: stopped after {run_timeout:g} s, the limit of a run")
                await work
            except CellTimeoutError:
                raise RunError(f"{at}: stopped after {cell_timeout:g} s, the limit of a cell") from None
            except CellExecutionError as error:
                if _says_all(content):
                    raise RunError(without_keys(error.evalue), misuse=True) from None
                raise RunError(f"{at}: {error.ename}: {_short(error.evalue, 300)}") from None
            except (DeadKernelError, RuntimeError, OSError) as error:
                if isinstance(error, OSError) and not is_misplaced(error):
                    raise RunError(f"{at}: {error.strerror}") from None
                raise _dead_kernel(at, kernel, log) from None
            finally:
                work.cancel()
                # nbclient calls a cancelled cell a dead kernel; whatever it says here, the run is over.
                with contextlib.suppress(BaseException):
                    await work
                await _stop(client, manager)


@dataclass
class _Position:
    """Where a run is, in words: cells are numbered from 1 as the author of the notebook counts them."""

    title: str
    number: int = 0
    line: str = ""

    def __str__(self) -> str:
        if not self.line:
            return f"{self.title}, before the first cell"
        cell = f"cell {self.number}" if self.number else "the cell of given parameters"
        return f"{self.title}, {cell} ({_short(self.line, 80)})"


async def _cells_in_order(
    client: NotebookClient,
    at: _Position,
    start: Mapping[str, Any],
    progress: Callable[[int, int], object] | None,
) -> None:
    await client.async_start_new_kernel(**start)
    await client.async_start_new_kernel_client()
    number = 0
    for index, cell in enumerate(client.nb.cells):
        number += not is_given(cell)
        if cell.cell_type == "code" and cell.source.strip():
            at.number = 0 if is_given(cell) else number
            at.line = cell.source.strip().splitlines()[0]
            await client.async_execute_cell(cell, index, execution_count=client.code_cells_executed + 1)
        if progress is not None:
            progress(index + 1, len(client.nb.cells))


def _says_all(content: NotebookNode) -> bool:
    """Tell whether the last error shows itself as one line without frames, as those of what was given do.

    Such an error (`assay.rules.documents.OneLineError`) names the file or the setting that is at fault, and the cell that
    met it has no part in it.
    """
    errors = [
        output
        for cell in content.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    ]
    return bool(errors) and errors[-1].traceback == [f"{errors[-1].ename}: {errors[-1].evalue}"]


def _dead_kernel(at: _Position, kernel: str, log: Path) -> RunError:
    said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    last = f"; it last said: {_short(said[-1], 200)}" if said else ""
    if at.line:
        return RunError(f"{at}: the kernel died, perhaps for want of memory{last}")
    return RunError(f"{at.title}: kernel {kernel!r} did not start{last}", misuse=True)


async def _stop(client: NotebookClient, manager: AsyncKernelManager) -> None:
    with contextlib.suppress(Exception):
        await manager.shutdown_kernel(now=True)
    with contextlib.suppress(Exception):
        await ensure_async(manager.cleanup_resources())
    with contextlib.suppress(Exception):
        if client.kc is not None:
            client.kc.stop_channels()


def _short(text: str, limit: int) -> str:
    line = without_keys(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
