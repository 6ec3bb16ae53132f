"""Whether a run has to be repeated: a digest of all that goes into it, remembered beside what came out.

The inputs of a run are its notebook, its parameters, the code of the package, the files of the study and the locked
versions. A run whose inputs are those of its stamp need not be repeated.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import assay
from assay.files import digest, repository_root, write_whole


@dataclass(frozen=True)
class Stamp:
    """What is remembered of a run.

    Parameters
    ----------
    inputs : str
        As `inputs_digest` gives it.
    headline : str
        The finding in a sentence; may be blank.
    failure : str
        Why it did not finish; blank if it did.
    seconds : float
        Time taken; infinite if that is not known.
    record : str
        The sha256 of the record it left; blank if that does not matter.
    """

    inputs: str = ""
    headline: str = ""
    failure: str = ""
    seconds: float = float("inf")
    record: str = ""

    @classmethod
    def read(cls, path: Path) -> "Stamp":
        """Read a stamp; one that is missing or torn is as good as none."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return cls()

    def write(self, path: Path) -> None:
        """Write the stamp, whole or not at all."""
        write_whole(path, json.dumps(asdict(self), ensure_ascii=False).encode())


def inputs_digest(notebook: Path, parameters: Mapping[str, object], code: str, data: str) -> str:
    """Take a digest of all inputs of a run; `code` and `data` are those of `code_digest` and `folder_digest`."""
    lock = digest(repository_root() / "lib" / "requirements.lock")
    parts = [assay.__version__, code, data, lock, digest(notebook), dict(parameters)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def code_digest() -> str:
    """Take a digest of the files of this package."""
    package = Path(assay.__file__).parent
    return _files_digest(file for kind in ("*.py", "*.css") for file in package.rglob(kind))


def folder_digest(folder: Path) -> str:
    """Take a digest of every file in a folder."""
    return _files_digest(file for file in folder.rglob("*") if file.is_file())


def _files_digest(files: Iterable[Path]) -> str:
    lines = (f"{file.as_posix()} {digest(file)}" for file in sorted(files))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
