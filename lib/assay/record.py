"""The record of a run: one JSON file with the effective settings, the figures and what they were computed from.

A notebook opens a `Run` in its first cell, which holds its parameters to the typed model, and closes it with
`Run.record` in its last. Two runs with the same parameters over the same data give the same file but for the entry
``times``. The file appears whole or not at all.
"""

import hashlib
import json
import math
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.files import digest, repository_root, write_whole
from assay.keys import without_keys
from assay.parameters import check
from assay.settings import Settings

_PACKAGES = ("assay-workbench", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy")


class Run:
    """A run of one notebook, from its checked parameters to its record.

    Parameters
    ----------
    notebook : str
        Name of the notebook without its ending, such as ``20_thresholds``.
    **parameters : object
        The parameters of the notebook, as its parameters cell has them.

    Attributes
    ----------
    settings : assay.settings.Settings
        The effective settings.

    Raises
    ------
    assay.parameters.ParameterError
        A parameter is unknown, of the wrong type, out of range, or looks like a key.
    """

    def __init__(self, notebook: str, **parameters: object) -> None:
        self.notebook = notebook
        self.settings: Settings = check(notebook, parameters)
        self._started = datetime.now(UTC)

    @property
    def path(self) -> Path:
        """Where the record goes; see `record_path`."""
        return record_path(self.notebook, self.settings)

    def provenance(self, hashes: Mapping[str, str] | None = None) -> dict[str, object]:
        """List what a reader needs to repeat the run, in the order to be shown.

        Parameters
        ----------
        hashes : mapping of str to str, optional
            As for `record`.

        Returns
        -------
        dict of str to object
            Notebook, time, commit, hashes, settings and versions, each under words of its own; None for what is not
            known.
        """
        settings = self.settings.model_dump(exclude={"record"})
        words = {
            "commit": "commit",
            "lock": "lock file, sha256",
            "notebook": "notebook file, sha256",
            "data": "data, sha256",
        }
        return {
            "notebook": self.notebook,
            "run at": self._started.strftime("%Y-%m-%d %H:%M UTC"),
            **{words.get(name, f"{name}, sha256"): value for name, value in self._hashes(hashes).items()},
            "settings": ", ".join(f"{name} = {value!r}" for name, value in plain(settings).items()),
            "versions": ", ".join(f"{name} {version}" for name, version in _versions().items()),
        }

    def record(self, figures: Mapping[str, object], *, hashes: Mapping[str, str] | None = None) -> None:
        """Write the record to `path`.

        Parameters
        ----------
        figures : mapping of str to object
            The results: numbers, texts, lists, mappings and frozen dataclasses of them, numpy scalars and arrays, and
            frames. What is not a number (NaN, NA, an infinity) is written as null. The entry ``headline``, one
            sentence, is what the index of a report shows.
        hashes : mapping of str to str, optional
            What the figures were computed from, such as ``{"data": study.data_sha256}``.

        Raises
        ------
        TypeError
            A value that JSON cannot hold; the message says where it is.
        OSError
            The file cannot be written.
        """
        finished = datetime.now(UTC)
        content = {
            "notebook": self.notebook,
            "settings": self.settings.model_dump(exclude={"record"}),
            "figures": figures,
            "hashes": self._hashes(hashes),
            "versions": _versions(),
            "times": {
                "started": self._started.isoformat(timespec="milliseconds"),
                "finished": finished.isoformat(timespec="milliseconds"),
                "seconds": round((finished - self._started).total_seconds(), 3),
            },
        }
        text = json.dumps(plain(content), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_whole(self.path, (text + "\n").encode())

    def _hashes(self, given: Mapping[str, str] | None) -> dict[str, str | None]:
        root = repository_root()
        return {
            "commit": _commit(root),
            "lock": digest(root / "lib" / "requirements.lock"),
            "notebook": digest(root / "notebooks" / f"{self.notebook}.ipynb"),
            **(given or {}),
        }


def run_name(notebook: str, settings: Settings) -> str:
    """Name the files of a run: ``<notebook>-<study>-<parameter hash>``.

    Parameters
    ----------
    notebook : str
        Name of the notebook without its ending.
    settings : assay.settings.Settings
        Its effective settings; where the record goes is no part of the hash.

    Returns
    -------
    str
        A file name without ending.
    """
    content = json.dumps(settings.model_dump(exclude={"record"}), sort_keys=True)
    study = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in Path(settings.study).name)
    return f"{notebook}-{study or 'study'}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def record_path(notebook: str, settings: Settings) -> Path:
    """Say where the record of a run goes: the setting ``record``, else its usual place under the repository root."""
    if settings.record:
        return Path(settings.record).expanduser().absolute()
    return repository_root() / "reports" / "records" / f"{run_name(notebook, settings)}.json"


def plain(value: object, where: str = "record") -> Any:
    """Turn a value into what JSON holds: texts, finite numbers, truth values, null, lists and mappings of them.

    Parameters
    ----------
    value : object
        See `Run.record`.
    where : str
        Name of the value, for messages.

    Returns
    -------
    object
        Keys are blanked in every text on the way (`assay.keys.without_keys`).

    Raises
    ------
    TypeError
        A value of another kind, or a mapping key that is no text, number or truth value.
    """
    if isinstance(value, Enum):
        return plain(value.value, where)
    if isinstance(value, str):
        return without_keys(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key, where): plain(part, f"{where}.{key}") for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, f"{where}[{position}]") for position, part in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(part, where) for part in value), key=str)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, Path):
        return without_keys(value.as_posix())
    return _from_arrays(value, where)


def _from_arrays(value: object, where: str) -> Any:
    """Convert dates and what numpy and pandas hold, told by name and method so that neither is imported."""
    kind = type(value).__name__
    if kind in ("NAType", "NaTType"):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if kind == "DataFrame":
        return plain(value.to_dict(orient="records"), where)  # type: ignore[attr-defined]
    if kind == "Series":
        return plain(value.to_dict(), where)  # type: ignore[attr-defined]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), where)
    raise TypeError(
        f"{where} cannot be written to a record: {kind} is no number, text, list, mapping, dataclass or frame"
    )


def _key(key: object, where: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if hasattr(key, "item"):
        key = key.item()
    if isinstance(key, str):
        return without_keys(key)
    if isinstance(key, (bool, int, float)):
        return str(key)
    raise TypeError(
        f"{where} cannot be written to a record: its keys must be text or numbers, got {type(key).__name__}"
    )


def _commit(root: Path) -> str | None:
    """Name the commit checked out, marked when files differ from it; None without a repository or without git."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
