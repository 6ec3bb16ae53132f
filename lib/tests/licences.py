"""The licences of everything that is installed with this package, read from the metadata of the packages themselves.

Run as a script, it writes the table of ``licences.md`` beside this file; a test holds the table and the list of licences
that are allowed against the lock file.
"""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
LOCK = HERE.parent / "requirements.lock"
TABLE = HERE / "licences.md"

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}
"""Licences under which a service may be built: permissive ones, and MPL-2.0, which binds changes of its own files alone."""

_SAME = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""Older ways of writing a licence, as classifiers and free text have them."""

HEAD = """\
# Licences

What is locked for this package and installed here, and the licence that each package states. Written by
`python lib/tests/licences.py`; `test_licences.py` holds it against `requirements.lock`. Where a package may be had under
several licences, all are named.

"""


def locked() -> Iterator[str]:
    """Yield the names of the packages of the lock file that belong on this system and this version of Python."""
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            requirement = Requirement(line.rstrip("\\ "))
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement.name


def licences_of(name: str) -> list[str]:
    """Return the licences that an installed package states, by SPDX name where they have one; empty if it states none."""
    stated = metadata.metadata(name)
    expression = stated.get("License-Expression")
    if expression:
        return sorted({one for one in re.split(r"[\s()]+", expression) if one not in ("", "AND", "OR", "WITH")})
    classified = [
        one.rpartition(" :: ")[2] for one in stated.get_all("Classifier") or [] if one.startswith("License ::")
    ]
    written = (stated.get("License") or "").strip()
    if not [one for one in classified if one != "OSI Approved"] and written:
        classified = re.split(r" (?:AND|OR) ", written.splitlines()[0])
    return sorted({_SAME.get(one, one) for one in classified if one != "OSI Approved"})


def table() -> str:
    """Return the text of `TABLE`."""
    rows = [f"| {name} | {', '.join(licences_of(name))} |" for name in sorted(locked())]
    return HEAD + "\n".join(["| package | licence |", "| --- | --- |", *rows]) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8", newline="\n")
