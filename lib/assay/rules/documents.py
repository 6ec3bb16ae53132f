"""Reading the documents that people and the rules write: strictly, with errors that name the field.

Evidence, routing policies and price files decide what a service does, so a field that is missing, misspelt, repeated,
of the wrong type or out of range is refused. JSON has no NaN: a number that is not one is written as null. The settings
that people write are TOML, of which no date and no whole number beyond 64 bits is taken.
"""

import datetime
import difflib
import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

MAX_DEPTH = 100
"""Levels of tables and lists, one inside the other, of a TOML text that is read."""

LONGEST_MESSAGE = 1_000
"""Characters of the longest error; a longer one is cut in the middle."""


class OneLineError(ValueError):
    """An error to be read on one line, whatever the names and values in it: its breaks are spaces, its length bounded."""

    def __init__(self, message: str = "") -> None:
        line = " ".join(message.splitlines())
        if len(line) > LONGEST_MESSAGE:
            line = f"{line[: LONGEST_MESSAGE * 2 // 3]}…{line[-LONGEST_MESSAGE // 3 + 1 :]}"
        super().__init__(line)

    def _render_traceback_(self) -> list[str]:
        """Show the one line in a notebook: the frames below it would only tell of the reader."""
        return [f"{type(self).__name__}: {self}"]


class DocumentError(OneLineError):
    """A document that cannot be used as it stands; the message names the field and what is allowed there."""


_REQUIRED: Any = object()


class Fields:
    """One JSON object, whose fields are taken by name and type; a field that nobody took is an error.

    Parameters
    ----------
    value : object
        What stands where an object should.
    where : str
        Its place in the document, for messages: ``evidence.kinds.topic``.
    """

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise DocumentError(f"{where} must be an object, got {_type_name(value)}")
        self.where = where
        self._left = dict(value)
        self._known: list[str] = []

    def done(self) -> None:
        """Refuse the fields that were not taken."""
        for name in self._left:
            close = difflib.get_close_matches(name, self._known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(self._known)}"
            raise DocumentError(f"{self.where}: unknown field {name!r} ({hint})")

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        """Take a field of any type."""
        self._known.append(name)
        if name in self._left:
            return self._left.pop(name)
        if default is _REQUIRED:
            raise DocumentError(f"{self.where}.{name} is missing")
        return default

    def text(self, name: str, default: Any = _REQUIRED) -> Any:
        """Take a string; null or a missing field gives `default` where there is one."""
        value = self.take(name, default)
        if value is None and default is not _REQUIRED:
            return default
        if value is default or isinstance(value, str):
            return value
        return self._refuse(name, "a string", value)

    def whole(self, name: str, default: Any = _REQUIRED) -> int:
        """Take a whole number of at least 0."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._refuse(name, "a whole number of at least 0", value)
        return value

    def flag(self, name: str) -> bool:
        """Take true or false."""
        value = self.take(name)
        if not isinstance(value, bool):
            self._refuse(name, "true or false", value)
        return value

    def share(self, name: str, default: Any = _REQUIRED) -> float:
        """Take a number in [0, 1]."""
        value = self.take(name, default)
        if not _is_number(value) or not 0 <= value <= 1:
            self._refuse(name, "a number in [0, 1]", value)
        return float(value)

    def share_or_nan(self, name: str) -> float:
        """Take a number in [0, 1], or null for a number that is not one."""
        value = self.take(name)
        if value is None:
            return math.nan
        if not _is_number(value) or not 0 <= value <= 1:
            self._refuse(name, "a number in [0, 1] or null", value)
        return float(value)

    def decimal(self, name: str) -> Decimal:
        """Take a number of at least 0, exactly as it is written (see `exact` of `read_document`)."""
        value = self.take(name)
        if not _is_number(value) or value < 0:
            self._refuse(name, "a number of at least 0", value)
        return Decimal(value)

    def objects(self, name: str) -> Iterator["Fields"]:
        """Take an array of objects; each is known by its position, counted from 0."""
        value = self.take(name)
        if not isinstance(value, list):
            self._refuse(name, "an array of objects", value)
        for position, one in enumerate(value):
            yield Fields(one, f"{self.where}.{name}[{position}]")

    def named_objects(self, name: str) -> Iterator[tuple[str, "Fields"]]:
        """Take an object of objects, by name."""
        table = self.take(name)
        if not isinstance(table, dict):
            self._refuse(name, "an object of objects", table)
        for key, one in table.items():
            yield key, Fields(one, f"{self.where}.{name}.{key}")

    def all_objects(self) -> Iterator[tuple[str, "Fields"]]:
        """Take every field that is left, each an object, by name."""
        while self._left:
            name = next(iter(self._left))
            yield name, Fields(self._left.pop(name), f"{self.where}.{name}")

    def header(self, kind: str, version: int) -> None:
        """Take the `format` and `version` fields, which say what document this is."""
        found = self.text("format")
        if found != kind:
            raise DocumentError(f"{self.where}.format must be {kind!r}, got {found!r}")
        number = self.whole("version")
        if number != version:
            raise DocumentError(f"{self.where}.version must be {version}, got {number}")

    def _refuse(self, name: str, allowed: str, value: object) -> NoReturn:
        raise DocumentError(f"{self.where}.{name} must be {allowed}, got {value_shown(value)}")


def read_document(text: str, where: str, *, exact: bool = False) -> Fields:
    """Parse a JSON object.

    Parameters
    ----------
    text : str
    where : str
        What the document is, for messages.
    exact : bool
        Whether numbers with a fraction are kept as the decimals they are written as, not rounded to doubles.

    Raises
    ------
    DocumentError
        If the text is not a JSON object, repeats a field, or holds NaN, Infinity or a number too large for a double.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
            raise DocumentError(f"{where}: field {repeated!r} is given twice")
        return table

    # What reads a number is not told where it stands: one that cannot be taken is looked for afterwards.
    refused: list[_Refused] = []

    def refuse(message: str) -> _Refused:
        refused.append(_Refused(message))
        return refused[-1]

    def finite(digits: str) -> Any:
        if not math.isfinite(float(digits)):
            return refuse(f"the number {digits[:20]} is too large")
        try:
            return Decimal(digits) if exact else float(digits)
        except InvalidOperation:
            return refuse(f"the number {digits[:20]} is too small")

    def whole(digits: str) -> Any:
        if len(digits) > 300 and not math.isfinite(float(digits)):
            return refuse(f"the number {digits[:20]} is too large")
        return int(digits)

    def constant(name: str) -> Any:
        return refuse(f"{name} is not JSON")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=whole, parse_float=finite, parse_constant=constant)
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise DocumentError(f"{where} is not JSON{place}") from None
    if refused:
        raise DocumentError(f"{_place_of(refused[0], value, where)}: {refused[0].message}")
    return Fields(value, where)


def read_toml(text: str, where: str) -> dict[str, Any]:
    """Parse a TOML text.

    Parameters
    ----------
    text : str
    where : str
        What the text is, for messages.

    Raises
    ------
    DocumentError
        If it is not TOML (the line is named), nests deeper than `MAX_DEPTH`, or holds a date, a time, or a whole number
        beyond 64 bits: nothing here is one, and neither can be written to JSON or hashed as it stands.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"{where}: not TOML: {error}") from None
    except (RecursionError, ValueError):
        # A nesting or a number that the reader itself gives up on.
        raise DocumentError(f"{where}: not TOML: nested too deeply, or a number too large") from None
    waiting: list[tuple[object, int]] = [(document, 0)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, dict | list):
            if depth == MAX_DEPTH:
                raise DocumentError(f"{where}: nested deeper than {MAX_DEPTH} levels")
            waiting += ((inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one))
        elif isinstance(one, datetime.date | datetime.time):
            raise DocumentError(f"{where}: a date or time has to stand in quotes, got {one}")
        elif isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise DocumentError(f"{where}: a whole number must fit 64 bits, got one of {one.bit_length():,} bits")
    return document


@contextmanager
def located(where: str) -> Iterator[None]:
    """Turn a ValueError that begins with the name of a field into a `DocumentError` that says where the field stands."""
    try:
        yield
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError(f"{where}.{error}") from None


def number_or_null(value: float) -> float | None:
    """Return `value` as JSON can hold it: NaN as None."""
    return None if math.isnan(value) else value


def value_shown(value: object) -> str:
    """Show a value in a message; containers by type only."""
    if isinstance(value, Decimal):
        return str(value)
    if value is None:
        return "null"
    return repr(value) if isinstance(value, str | int | float) else _type_name(value)


@dataclass(frozen=True, eq=False)
class _Refused:
    """Stands where a number was that cannot be taken."""

    message: str


def _place_of(one: object, value: object, where: str) -> str:
    """Name the place of an object in a document; it stands in it once."""
    waiting = [(value, where)]
    while waiting:
        found, place = waiting.pop()
        if found is one:
            return place
        if isinstance(found, dict):
            waiting += ((inner, f"{place}.{name}") for name, inner in found.items())
        elif isinstance(found, list):
            waiting += ((inner, f"{place}[{position}]") for position, inner in enumerate(found))
    raise AssertionError("it was read from the document")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _type_name(value: object) -> str:
    if _is_number(value):
        return "a number"
    names = {"dict": "an object", "list": "an array", "str": "a string", "bool": "true or false", "NoneType": "null"}
    return names.get(type(value).__name__, type(value).__name__)
