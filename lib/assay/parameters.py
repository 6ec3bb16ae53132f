"""Checking what a notebook is told by its typed model, before anything runs.

The same check serves three ways in: `assay run` before a kernel starts, `assay.record.Run` in the first cell (so the
plain papermill command is held to it too), and notebooks of other people, whose types are read off the literals of
their parameters cell. A value that looks like a key is refused on every way in and never repeated.
"""

import ast
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import ValidationError

from assay.keys import looks_like_key
from assay.rules.documents import OneLineError
from assay.settings import NOTEBOOKS, Settings


class ParameterError(OneLineError):
    """A parameter is unknown, of the wrong type, out of range, or looks like a key."""


def check(notebook: str, given: Mapping[str, object]) -> Settings:
    """Validate the parameters of one of the notebooks and fill in the defaults.

    Parameters
    ----------
    notebook : str
        Name of the notebook without its ending, such as ``20_thresholds``.
    given : mapping of str to object
        Parameters by name.

    Returns
    -------
    Settings
        The effective settings, frozen.

    Raises
    ------
    ParameterError
        One line that names each parameter at fault, its value and what is allowed; the value of anything that looks
        like a key is not repeated.
    """
    if notebook not in NOTEBOOKS:
        raise ParameterError(f"unknown notebook {notebook!r}; known are {', '.join(NOTEBOOKS)}")
    refuse_keys(given)
    model = NOTEBOOKS[notebook]
    refuse_unknown(given, model.model_fields, notebook)
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise ParameterError(_explain(error, model)) from None


def check_against_literals(
    given: Mapping[str, object], declared: Mapping[str, object], notebook: str
) -> dict[str, object]:
    """Check parameters of a notebook that has no model against the literals of its parameters cell.

    A value must have the type of the literal it replaces; a whole number may replace a decimal one, and ``None`` (or a
    value that is not a literal) may be replaced by anything.

    Parameters
    ----------
    given : mapping of str to object
        Parameters by name.
    declared : mapping of str to object
        What `literals` read; ``...`` stands for a value that is no literal.
    notebook : str
        Name of the notebook, for messages.

    Returns
    -------
    dict of str to object
        The declared literals with the given values in place.

    Raises
    ------
    ParameterError
        As `check` does.
    """
    refuse_keys({**declared, **given})
    refuse_unknown(given, declared, notebook)
    for name, value in given.items():
        default = declared[name]
        if default is None or default is ... or type(value) is type(default):
            continue
        if type(default) is float and type(value) is int:
            continue
        raise ParameterError(f"{name} must be {_KINDS.get(type(default), type(default).__name__)}, got {_shown(value)}")
    return {**declared, **given}


def refuse_keys(given: Mapping[str, object]) -> None:
    """Raise `ParameterError` if any parameter looks like a key; the value is never part of the message."""
    for name, value in given.items():
        for part in _texts(value):
            if looks_like_key(name, part):
                raise ParameterError(
                    f"parameter {_shown_name(name)} looks like a key and was refused; "
                    "set keys in the environment (for instance OPENAI_API_KEY), where notebooks never store them"
                )


def refuse_unknown(given: Iterable[str], known: Iterable[str], notebook: str) -> None:
    """Raise `ParameterError` for a name that the notebook does not have, suggesting the nearest one it has."""
    names = list(known)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names) or 'none'}"
            raise ParameterError(f"unknown parameter {_shown_name(name)} for {notebook}; {hint}")


def read_text(notebook: str, name: str, text: str, declared: Mapping[str, object] | None = None) -> object:
    """Read a value typed on the command line, as papermill does but with text kept where text is meant.

    Parameters
    ----------
    notebook, name : str
        The parameter.
    text : str
        The value as typed.
    declared : mapping of str to object, optional
        Literals of a notebook that has no model.

    Returns
    -------
    object
        Text for a parameter that takes text (``None`` if it is optional and ``None`` was typed), else the None, truth
        value, number or list that the text spells, else the text.
    """
    field = NOTEBOOKS[notebook].model_fields.get(name) if notebook in NOTEBOOKS else None
    takes = _accepted(field.annotation) if field else {type((declared or {}).get(name))}
    if text == "None" and (field is None or type(None) in takes):
        return None
    if str in takes:
        return text
    return _scalar(text)


def literals(source: str) -> dict[str, object]:
    """Read the names that a parameters cell assigns, without running it.

    Parameters
    ----------
    source : str
        Python source of the cell.

    Returns
    -------
    dict of str to object
        Names in order, with their literal values; ``...`` where the value is no literal.

    Raises
    ------
    ParameterError
        The cell is not Python.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        raise ParameterError("the parameters cell of the notebook is not valid Python") from None
    found: dict[str, object] = {}
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = _literal(statement.value)  # type: ignore[attr-defined]
    return found


_KINDS: dict[type, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
}


def _explain(error: ValidationError, model: type[Settings]) -> str:
    """One line for a person: what is wrong with which parameter and what it may be."""
    lines = {}
    for fault in error.errors(include_url=False):
        if not fault["loc"]:  # settings that do not go together; the model says which
            lines[""] = str(fault["ctx"]["error"])
            continue
        name = str(fault["loc"][0])
        allowed = model.model_fields[name].description
        if fault["type"] == "missing":
            lines[name] = f"{name} is missing; it must be {allowed}"
        else:
            lines[name] = f"{name} must be {allowed}, got {_shown(fault['input'])}"
    return "; ".join(lines.values())


def _shown(value: object) -> str:
    if value is not None and type(value) not in _KINDS:
        return f"a value of type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _shown_name(name: str) -> str:
    """Name a parameter unless the name itself is the secret (a key pasted on the wrong side of the sign)."""
    return "(not shown)" if looks_like_key("", name) else repr(name)


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part)
            if isinstance(part, str) and looks_like_key(str(name), part):
                yield part
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from _texts(part)


def _accepted(annotation: object) -> set[object]:
    """List the plain types that an annotation lets in; a Literal of texts lets in text."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _accepted(typing.get_args(annotation)[0])
    if origin is Literal:
        return {type(choice) for choice in typing.get_args(annotation)}
    if origin in (typing.Union, types.UnionType):
        return set().union(*(_accepted(part) for part in typing.get_args(annotation)))
    return {origin or annotation}


def _scalar(text: str) -> object:
    words: dict[str, object] = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
    if text in words:
        return words[text]
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return _listed(text) if text.startswith(("[", "{")) else text


def _listed(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ...
