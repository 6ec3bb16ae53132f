"""What exactly ships with a study: a sha256 for each of its files.

`manifest.json` in a study's folder maps each file, by its path inside the folder, to the sha256 of its bytes. Data
files never change; where one differs from its manifest, results of before and after cannot be compared.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from assay.study.errors import StudyError
from assay.study.reading import file_sha256

MANIFEST = "manifest.json"


def manifest_of(folder: Path) -> dict[str, str]:
    """Return the sha256 (64 hex digits) of every file in `folder` by its path there, sorted; not of dot-files."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: file_sha256(named[name]) for name in sorted(named) if not _hidden(name)}


def write_manifest(folder: Path) -> None:
    """Write the manifest of a study's folder; the same files give the same bytes."""
    text = json.dumps(manifest_of(folder), indent=2, ensure_ascii=True) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def check_manifest(folder: Path) -> tuple[str, ...]:
    """Compare the files of a study with its manifest.

    Returns
    -------
    tuple of str
        One line for each file that is missing, new or changed; empty when all is as it was shipped.

    Raises
    ------
    StudyError
        If there is no manifest, or it is no JSON object of file names and digests.
    """
    name = f"{folder.name}/{MANIFEST}"
    try:
        recorded = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{name}: there is none") from None
    except (OSError, ValueError, RecursionError):
        raise StudyError(f"{name}: cannot be read as JSON") from None
    if not isinstance(recorded, Mapping) or not all(isinstance(digest, str) for digest in recorded.values()):
        raise StudyError(f"{name}: must be an object of file names and digests")
    found = manifest_of(folder)
    differences = []
    for file in sorted({*recorded, *found}):
        if file not in found:
            differences.append(f"{folder.name}/{file}: missing")
        elif file not in recorded:
            differences.append(f"{folder.name}/{file}: not in the manifest")
        elif recorded[file] != found[file]:
            differences.append(f"{folder.name}/{file}: changed since the manifest was written")
    return tuple(differences)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in name.split("/"))
