"""Files that a run reads and leaves: where the repository is, and writing whole or not at all."""

import contextlib
import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from assay.keys import without_keys

_NO_FAULT_OF_THE_PLACE: Final = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
}


def repository_root() -> Path:
    """Find the folder that holds ``notebooks`` and ``lib/assay``.

    Returns
    -------
    pathlib.Path
        Looked for from the working directory upward, then from this package; else the working directory.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "notebooks").is_dir() and (folder / "lib" / "assay").is_dir():
            return folder
    return here


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever stops the process.

    Parameters
    ----------
    path : pathlib.Path
        The file; missing folders are made.
    content : bytes
        All of it.

    Raises
    ------
    OSError
        The folder or the file cannot be written; nothing is left behind.
    """
    with writing_whole(path) as file:
        file.write(content)


@contextlib.contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written piece by piece; it is there once the block has ended, as by `write_whole`."""
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:40]}-{secrets.token_hex(6)}.part")
    try:
        with naming(path, part):
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def require_writable(place: Path) -> None:
    """Find out before the work is done whether a file can be written; missing folders are made.

    Raises
    ------
    OSError
        It is a folder, or its folder cannot be made or written to; `filename` is the place.
    """
    with naming(place):
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(place))
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass


@dataclass(frozen=True)
class Output:
    """A file that is going to be written.

    Attributes
    ----------
    name : str
        What messages call the argument that places it, such as ``--output``.
    path : pathlib.Path
    endings : tuple of str
        What the name of the file may end in, so that it says what is inside; anything if empty.
    """

    name: str
    path: Path
    endings: tuple[str, ...] = ()


class OutputError(ValueError):
    """A file that was to be written would have the wrong ending, or destroy another; one line that names both."""


def require_outputs(outputs: Iterable[Output], inputs: Iterable[Path] = ()) -> None:
    """Find out before the work is done that what is going to be written destroys nothing and can be written.

    Parameters and errors are those of `require_apart` and `require_writable`.
    """
    outputs = list(outputs)
    require_apart(outputs, inputs)
    for output in outputs:
        require_writable(output.path)


def require_apart(outputs: Iterable[Output], inputs: Iterable[Path] = ()) -> None:
    """Find out whether what is going to be written would destroy what is read, or one output another.

    Files are told apart by what they are and not by their names: a link to a file is that file.

    Parameters
    ----------
    outputs : iterable of Output
        All that the work writes.
    inputs : iterable of pathlib.Path
        Files that it reads.

    Raises
    ------
    OutputError
        The ending is another one, two outputs are one file, or an output is an input.
    """
    taken: dict[object, Output] = {}
    for output in outputs:
        require_ending(output)
        other = taken.setdefault(identity(output.path), output)
        if other is not output:
            twice = other.name == output.name
            said = f"{output.name} is given twice for" if twice else f"{other.name} and {output.name} would both write"
            raise OutputError(f"{said} {shown_path(output.path)}; give each a file of its own")
    for path in inputs:
        if read := taken.get(identity(path)):
            raise OutputError(
                f"{read.name} would overwrite {shown_path(path)}, which is read here; give it a file of its own"
            )


def require_ending(output: Output) -> None:
    """Raise `OutputError` unless the name of a file that is going to be written ends as it should."""
    if output.endings and output.path.suffix not in output.endings:
        raise OutputError(f"{output.name} must end in {' or '.join(output.endings)}, got {shown_path(output.path)}")


def identity(path: Path) -> object:
    """Say which file a path leads to: equal for two paths, by whatever links, if and only if they lead to one file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def is_misplaced(error: OSError) -> bool:
    """Tell whether the place that was given is at fault, and not a disk that is full or broken or a system without memory."""
    return error.errno not in _NO_FAULT_OF_THE_PLACE


def digest(path: Path) -> str | None:
    """Take the sha256 of a file.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    str or None
        64 hexadecimal digits; None if there is no such file to read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def shown_path(path: Path) -> str:
    """Write a path for a message: from the working directory if it lies there, and free of keys."""
    with contextlib.suppress(ValueError, OSError):
        path = path.relative_to(Path.cwd())
    return without_keys(path.as_posix())


@contextlib.contextmanager
def naming(path: Path, part: Path | None = None) -> Iterator[None]:
    """Let an error of the system name the file that was asked for, and not one that is there for a moment.

    With `part`, only errors that name it or name no file are of this file.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and (part is None or error.filename in (None, str(part))):
            error.filename, error.filename2 = str(path), None
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system lets a folder be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
