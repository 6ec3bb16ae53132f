"""JSON documents that tell when they were changed: a digest of every field and one of the whole.

The digests guard against accidents and quiet edits, not against somebody who computes them anew: whoever may write the
file is trusted. A document that is damaged or was changed is refused with the field named.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.rules.documents import DocumentError, Fields, read_document

_SEALS = ("digests", "digest")


def seal(document: Mapping[str, Any]) -> str:
    """Write a document as indented JSON with its digests.

    Parameters
    ----------
    document : mapping of str to what JSON can hold
        None of it NaN or infinite; no field ``digests`` or ``digest``.
    """
    sealed = dict(document)
    sealed["digests"] = {name: _digest(value) for name, value in document.items()}
    sealed["digest"] = _digest(sealed)
    return json.dumps(sealed, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class SealedFields(Fields):
    """The fields of a sealed document. `done` also holds them to the digests that stand beside them."""

    def __init__(self, value: dict[str, Any], where: str) -> None:
        super().__init__(value, where)
        self._content = {name: one for name, one in value.items() if name not in _SEALS}

    def done(self) -> None:
        """Refuse fields that were not taken, and fields that are not as they were written."""
        digests, digest = self.take("digests"), self.text("digest")
        super().done()
        if not isinstance(digests, dict) or set(digests) != set(self._content):
            raise DocumentError(f"{self.where}.digests must hold one digest for every other field")
        for name, value in self._content.items():
            if digests[name] != _digest(value):
                raise DocumentError(f"{self.where}.{name} was changed after the file was written: its digest differs")
        if digest != _digest({**self._content, "digests": digests}):
            raise DocumentError(f"{self.where}.digest is not that of the file's content")


def unseal(text: str, where: str) -> SealedFields:
    """Parse a sealed document; its digests are checked once all fields are taken, by `SealedFields.done`.

    Raises
    ------
    DocumentError
        If the text is not a whole JSON object (the field in which it breaks off is named), repeats a field, or holds
        NaN, Infinity or a number too large for a double.
    """
    try:
        read_document(text, where)
    except DocumentError as error:
        raise DocumentError(f"{error}{_where_it_breaks(text, where)}") from None
    return SealedFields(json.loads(text), where)


def load_text(path: Path) -> str:
    """Read a UTF-8 text file; DocumentError, naming the file, if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(f"{path.name}: cannot be read ({error.strerror or 'I/O error'})") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path.name}: not UTF-8 text (byte {error.start + 1:,})") from None


def save_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    part = path.with_name(f".{path.name[:40]}-{secrets.token_hex(6)}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _digest(value: object) -> str:
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _where_it_breaks(text: str, where: str) -> str:
    """Name the last field before the place where a text stops being JSON, as far as it can be told."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # The outermost fields stand at two spaces, as `seal` writes them.
        names = re.findall(r'^  "(\w+)":', text[: error.pos], flags=re.MULTILINE)
        return f"; it breaks off in {where}.{names[-1]}" if names else "; it breaks off before the first field"
    except (ValueError, RecursionError):
        pass
    return ""
