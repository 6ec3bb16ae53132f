"""Reading JSON that somebody hostile may have written: linear in its length, and nothing raised but `NotJson`.

The standard decoder takes NaN, lone surrogates and repeated keys, recurses as deep as the text nests, and puts the text
into its errors. Here each of these is decided once, for the three contracts that share it.
"""

import json
import math
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 128
"""Levels of arrays and objects, one inside the other, that are read."""

MAX_DIGITS: Final = 400
"""Characters of a whole number that are read; a longer one counts as too large for a double."""

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with the Unicode property White_Space; unlike `str.strip`, without the separators \\x1c to \\x1f."""

_STRING = r'"(?:[^"\\]++|\\.)*+"'
_ANY_STRING = re.compile(_STRING, re.DOTALL)
_TO_BRACE = re.compile(rf'(?:[^"{{}}]++|{_STRING})*+', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class NotJson(ValueError):  # noqa: N818 (not an error of the package, only the signal that becomes one)
    """What was read is not JSON as this module takes it. Holds no text."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object some of whose keys are given more than once: the last value of each, and all pairs as written."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def repeated(self) -> set[str]:
        """Return the keys that occur more than once."""
        seen: set[str] = set()
        again: set[str] = set()
        for key, _ in self.pairs:
            (again if key in seen else seen).add(key)
        return again


def trim(text: str) -> str:
    """Take Unicode White_Space off both ends."""
    return text.strip(WHITE_SPACE)


def decode(text: str, *, strict: bool = True, max_depth: int = MAX_DEPTH) -> Any:
    """Read the one JSON value that `text` holds from its first to its last character.

    Parameters
    ----------
    text : str
        Trimmed.
    strict : bool
        Whether an escaped lone surrogate, or a number too large for a double, makes the text unreadable wherever it
        stands. If not, such a number is read as infinity and a negative zero as the float -0.0.
    max_depth : int
        Levels of nesting that are read.

    Raises
    ------
    NotJson
        Also for NaN and Infinity, for deeper nesting, and for a lone surrogate that is not escaped.
    """
    value, end = decode_at(text, 0, strict=strict, max_depth=max_depth)
    if end != len(text):
        raise NotJson("something follows the value")
    return value


def decode_at(text: str, start: int, *, strict: bool = True, max_depth: int = MAX_DEPTH) -> tuple[Any, int]:
    """Read one JSON value that begins at `start`, as `decode` does; return it and the position after it."""
    decoded = _try(_STRICT if strict else _LENIENT, text, start)
    if decoded is None:
        raise NotJson("no JSON value")
    value, end = decoded
    if _deeper_than(max_depth, text, start, end):
        raise NotJson("nested too deeply")
    if not _is_unicode(text[start:end]):
        raise NotJson("a lone surrogate")
    if strict and _ESCAPED_SURROGATE.search(text, start, end) and has_surrogate(value):
        raise NotJson("an escaped lone surrogate")
    return value, end


def brace_group_end(text: str, start: int) -> int | None:
    """Return the position after the brace that closes the one at `start`, or None if none does.

    Braces inside strings do not count. Takes one pass over the group; at most `MAX_DEPTH` levels.

    Raises
    ------
    NotJson
        If braces nest deeper.
    """
    depth, position = 1, start + 1
    while depth:
        step = _TO_BRACE.match(text, position)
        position = step.end() if step else position
        if position == len(text) or text[position] == '"':
            return None
        depth += 1 if text[position] == "{" else -1
        if depth > MAX_DEPTH:
            raise NotJson("nested too deeply")
        position += 1
    return position


def repeated_keys(value: dict[str, Any]) -> set[str]:
    """Return the keys given more than once in a decoded object."""
    return value.repeated() if isinstance(value, RepeatedKeys) else set()


def all_pairs(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return the pairs of a decoded object as written, repeated keys included."""
    return value.pairs if isinstance(value, RepeatedKeys) else value.items()


def has_surrogate(value: object) -> bool:
    """Tell whether a lone surrogate stands anywhere in a decoded value, keys included."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if _SURROGATE.search(one):
                return True
        elif isinstance(one, dict):
            for key, inner in all_pairs(one):
                waiting += (key, inner)
        elif isinstance(one, list):
            waiting += one
    return False


def _try(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int] | None:
    # The decoder's error carries the whole text: it ends here, so that no error of ours has it in its chain.
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _is_unicode(text: str) -> bool:
    """Tell whether `text` can be written as UTF-8: whether no half of a surrogate pair stands alone in it."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _deeper_than(limit: int, text: str, start: int, end: int) -> bool:
    if text.count("[", start, end) + text.count("{", start, end) <= limit:
        return False
    brackets = _ANY_STRING.sub("", text[start:end]).encode("ascii", "ignore").translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > limit


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else RepeatedKeys(pairs)


def _refuse_constant(_: str) -> NoReturn:
    raise NotJson("NaN or Infinity")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise NotJson("a number too large for a double")
    return value


def _finite_whole(digits: str) -> int:
    # Up to 300 digits always fit a double; past that, reading the number as one tells.
    if len(digits) > 300 and (len(digits) > MAX_DIGITS or math.isinf(float(digits))):
        raise NotJson("a number too large for a double")
    return int(digits)


def _any_whole(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS or digits == "-0":
        return float(digits)
    return int(digits)


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_finite_whole
)
_LENIENT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=_any_whole)
