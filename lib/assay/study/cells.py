"""Reading one cell of a table of answers: a confidence, scores by class, or the names of what is missing.

Whatever stands in a cell is either read or is an error of its row, by kind; nothing is raised.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.rules import Taxonomy
from assay.rules.parsing import AnswerError, read_confidence
from assay.rules.parsing.confidence import written_number

ROUNDING = 1e-4
"""Share of the scale by which a tabulated number may miss its ends, as the 1.00002 of a normalised vector does."""

MASS_ROUNDING = 0.01
"""By how much the probabilities of one answer may sum to more than 1; rounding explains no more."""

Flags = tuple[str, ...]


class Scores(NamedTuple):
    """The classes that one cell names, each with its number in [0, 1]."""

    by_class: Mapping[str | None, float]
    flags: Flags = ()
    error: str | None = None


def read_number(value: object, scale: int) -> tuple[float, Flags, str | None]:
    """Read a confidence: the number (NaN where there is none), its flags, and the kind of its error."""
    if type(value) is float and scale == 1 and 0 < value <= 1:
        return value, (), None  # Nearly every number of a probability vector: nothing is left to decide.
    try:
        number, flags = read_confidence(value, scale, tolerance=ROUNDING)
    except AnswerError as error:
        return np.nan, (), error.kind
    return number, flags, None


def as_written(value: object) -> tuple[float, bool]:
    """Return the number in a cell as it stands there (NaN for what `read_number` takes for none), and whether in percent."""
    if isinstance(value, str):
        try:
            return written_number(value)
        except AnswerError:
            return np.nan, False
    if isinstance(value, bool) or not isinstance(value, int | float):
        return np.nan, False
    try:
        return float(value), False
    except OverflowError:
        return np.inf, False


def read_scores(cell: object, scale: int, taxonomy: Taxonomy, most_mass: float) -> Scores:
    """Read a map of classes to numbers: a dict, the pairs of an Arrow map, or the JSON text of an object."""
    if cell is None or cell == "":
        return Scores({})
    pairs = pairs_of(cell)
    if pairs is None:
        return Scores({}, error="bad_alternatives")
    by_class: dict[str | None, float] = {}
    flags: list[str] = []
    unknown = 0.0
    for name, value in pairs:
        number, more, error = read_number(value, scale)
        if error is not None:
            return Scores({}, error="bad_alternatives")
        flags += more
        label = taxonomy.resolve(name)
        if label is None:
            flags.append("unknown_alternative")
            unknown += number
            continue
        if label != name:
            flags.append("alternative_folded")
        if label in by_class:
            flags.append("repeated_alternative")
            number = max(number, by_class[label])
        by_class[label] = number
    if sum(by_class.values()) + unknown > most_mass:
        return Scores({}, error="bad_alternatives")
    return Scores(by_class, tuple(dict.fromkeys(flags)))


def pairs_of(cell: object) -> list[tuple[str, Any]] | None:
    """Return the names and values in a cell as they stand there, repeated names included; None where it is no map."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell, object_pairs_hook=_JsonPairs)
        except (ValueError, RecursionError):
            return None
        pairs: Any = cell if isinstance(cell, _JsonPairs) else None
    elif isinstance(cell, Mapping):
        pairs = list(cell.items())
    else:
        pairs = cell
    if isinstance(pairs, list) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    ):
        return list(pairs)
    return None


class _JsonPairs(list[tuple[str, Any]]):
    """The pairs of a JSON object, told apart from a JSON array."""


def read_names(cell: object) -> tuple[tuple[str, ...], str | None]:
    """Read what an answer says is missing: a list of names, one name, or the JSON text of a list."""
    if cell is None or cell == "":
        return (), None
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return (), "bad_missing_context"
    names = [cell] if isinstance(cell, str) else cell
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return (), "bad_missing_context"
    return tuple(name.strip() for name in names if name.strip()), None
