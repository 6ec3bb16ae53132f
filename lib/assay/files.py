"""Files that a run reads and leaves: where the repository is, and writing whole or not at all."""

import contextlib
import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_DISK_FAILED: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


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


def is_misplaced(error: OSError) -> bool:
    """Tell whether the place that was given is at fault, and not a disk that is full or broken."""
    return error.errno not in _DISK_FAILED


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
