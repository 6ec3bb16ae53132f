"""Files that a run reads and leaves: where the repository is, and writing whole or not at all."""

import hashlib
import os
import secrets
from pathlib import Path


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
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:40]}-{secrets.token_hex(6)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


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
