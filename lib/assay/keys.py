"""Keys stay in the environment: how one is recognised, and how one is kept out of everything that is written.

A parameter that is named or looks like a credential is refused before it is stored anywhere. Whatever a run leaves
behind (notebook, record, page, message) passes through `without_keys`, which blanks the values that the environment
holds under telling names, anything of a well-known key shape, and the home directory.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SHORTEST_SECRET: Final = 8
"""Letters of the shortest value that is blanked; a shorter one would blank ordinary words."""

_TELLING_NAME = re.compile(
    r"(?:^|[_\-.])(?:api_?key|access_?key|private_?key|key|token|secret|passwd|password|passphrase|credentials?|auth|bearer)$",
    re.IGNORECASE,
)

# Each begins with a prefix that its issuer documents, so that ordinary prose is not mistaken for one of them.
_KNOWN_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_\-]{8,}"
    r"|gh[opsur]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}"
    r"|glpat-[A-Za-z0-9_\-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9\-]{10,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|AIza[0-9A-Za-z_\-]{30,}"
    r"|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"
    r")"
)
_IN_CONTEXT = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bBearer\s+[A-Za-z0-9._~+/=\-]{8,}|://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE
)

# Pictures and downloads inside a page: encoded bytes, in which a key shape can only turn up by chance.
_ENCODED = re.compile(r"([A-Za-z0-9+/]{400,}={0,2})")

_LONG_RUN = re.compile(r"[A-Za-z0-9]{24,}")
_REMOVED = "[key removed]"


def looks_like_key(name: str, value: object) -> bool:
    """Tell whether a parameter carries a credential, by its name or by the look of its value.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Its value; only text can be a key, and empty text never is.

    Returns
    -------
    bool
        True for a telling name (``api_key``, ``token``, ``password``), a well-known key shape, a value that the
        environment holds under a telling name, or 24 and more letters and digits in a row that look drawn at random.
    """
    if not isinstance(value, str) or not value.strip():
        return False
    if _TELLING_NAME.search(name) or _KNOWN_SHAPES.search(value) or _IN_CONTEXT.search(value):
        return True
    if any(secret in value for secret in _environment_secrets(os.environ)):
        return True
    return any(_drawn_at_random(run) for run in _LONG_RUN.findall(value))


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Blank every key in a text and write the home directory as ``~``.

    Parameters
    ----------
    text : str
        Any text about to be stored or shown.
    environment : mapping of str to str, optional
        Where the secret values are looked up; the environment of the process by default.

    Returns
    -------
    str
        The text with ``[key removed]`` in place of each key. Text without keys comes back unchanged.
    """
    for secret in _environment_secrets(os.environ if environment is None else environment):
        text = text.replace(secret, _REMOVED)
    pieces = _ENCODED.split(text)
    pieces[::2] = [_home_as_tilde(_KNOWN_SHAPES.sub(_REMOVED, piece)) for piece in pieces[::2]]
    return "".join(pieces)


def _environment_secrets(environment: Mapping[str, str]) -> list[str]:
    """Values held under telling names, longest first so that one which contains another goes as a whole."""
    found = {
        value.strip()
        for name, value in environment.items()
        if _TELLING_NAME.search(name) and len(value.strip()) >= SHORTEST_SECRET
    }
    return sorted(found, key=len, reverse=True)


def _home_as_tilde(text: str) -> str:
    home = str(Path.home())
    return text if len(home) < 3 else re.sub(rf"{re.escape(home)}(?![A-Za-z0-9_\-.])", "~", text)


def _drawn_at_random(run: str) -> bool:
    """Letters and digits mixed, with at least 3 bits a character: words and dates stay below, keys above."""
    if run.isalpha() or run.isdigit():
        return False
    counts = Counter(run).values()
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in counts)
    return bits >= 3.0
