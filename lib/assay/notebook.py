"""A notebook as a file: found, read, given its parameters, and made fit to be stored."""

import ast
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from assay.files import repository_root, shown_path
from assay.keys import without_keys
from assay.parameters import ParameterError, literals

_GIVEN = "injected-parameters"  # the tag by which papermill marks its cell too


class NotebookError(ValueError):
    """A notebook is not there, cannot be read or is no notebook."""


def find_notebook(path: str | Path) -> Path:
    """Find a notebook by path, or by name in ``notebooks/`` of the repository.

    Parameters
    ----------
    path : str or pathlib.Path
        A file, or a name with or without ``.ipynb``.

    Returns
    -------
    pathlib.Path
        The file, absolute.

    Raises
    ------
    NotebookError
        There is none; the message lists those there are.
    """
    folder = repository_root() / "notebooks"
    for candidate in (Path(path), folder / path, folder / f"{path}.ipynb"):
        if candidate.is_file():
            return candidate.absolute()
    names = ", ".join(sorted(file.stem for file in folder.glob("*.ipynb"))) or "none"
    raise NotebookError(f"no notebook {shown_path(Path(path))!r}; notebooks/ holds {names}")


def read_notebook(file: Path) -> NotebookNode:
    """Read a notebook file.

    Parameters
    ----------
    file : pathlib.Path
        The file.

    Returns
    -------
    nbformat.NotebookNode
        The notebook in format 4.

    Raises
    ------
    NotebookError
        It cannot be read or is no notebook.
    """
    try:
        with warnings.catch_warnings():
            # Older notebooks lack cell ids; nbformat adds them and says so.
            warnings.simplefilter("ignore")
            content: NotebookNode = nbformat.read(file, as_version=4)
            nbformat.validate(content)
    except OSError as error:
        raise NotebookError(f"cannot read {shown_path(file)}: {error.strerror}") from None
    except Exception:  # nbformat raises several kinds: of json, of jsonschema, its own
        raise NotebookError(f"{shown_path(file)} is not a valid notebook") from None
    return content


def declared_parameters(content: NotebookNode) -> dict[str, object]:
    """Read the names and literal values of the cell tagged ``parameters``.

    Parameters
    ----------
    content : nbformat.NotebookNode
        The notebook.

    Returns
    -------
    dict of str to object
        As `assay.parameters.literals` gives them; empty if there is no such cell.

    Raises
    ------
    assay.parameters.ParameterError
        There are several such cells, or the cell is not Python.
    """
    cells = [cell for cell in content.cells if _is_parameters(cell)]
    if len(cells) > 1:
        raise ParameterError(f"the notebook has {len(cells)} cells tagged parameters; it must have one")
    return literals(cells[0].source) if cells else {}


def title_of(content: NotebookNode) -> str:
    """Read the first heading of level one among the markdown cells; blank if there is none."""
    lines = (line for cell in content.cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), "")


def give_parameters(content: NotebookNode, given: Mapping[str, object]) -> None:
    """Put values in a cell of their own behind the parameters cell, as papermill does, and drop stored outputs.

    Parameters
    ----------
    content : nbformat.NotebookNode
        The notebook, changed in place; it has a parameters cell if any value is given.
    given : mapping of str to object
        Values by name.

    Raises
    ------
    assay.parameters.ParameterError
        A value is no plain Python literal, or there is no parameters cell to put them behind.
    """
    for name, value in given.items():
        if not _is_literal(value):
            raise ParameterError(f"{name} must be a plain literal, got {type(value).__name__}")
    cells = [cell for cell in content.cells if not is_given(cell)]
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    if given:
        source = "\n".join(["# Parameters", *(f"{name} = {value!r}" for name, value in given.items())])
        injected = nbformat.v4.new_code_cell(source, id="parameters-given", metadata={"tags": [_GIVEN]})
        if content.nbformat_minor < 5:
            del injected["id"]
        places = [position for position, cell in enumerate(cells, start=1) if _is_parameters(cell)]
        if not places:
            raise ParameterError("the notebook has no cell tagged parameters, so it cannot be given any")
        cells.insert(places[0], injected)
    content.cells = cells
    content.metadata["assay"] = {"parameters": dict(given)}


def is_given(cell: NotebookNode) -> bool:
    """Tell whether a cell is the one that `give_parameters` (or papermill) added."""
    return _GIVEN in cell.metadata.get("tags", [])


def without_secrets(content: NotebookNode) -> NotebookNode:
    """Copy a notebook with every key blanked and the home folder written ``~`` in all its texts."""

    def walk(part: Any) -> Any:
        if isinstance(part, str):
            return without_keys(part)
        if isinstance(part, dict):
            return {without_keys(name): walk(value) for name, value in part.items()}
        return [walk(value) for value in part] if isinstance(part, list) else part

    clean: NotebookNode = nbformat.from_dict(walk(content))
    return clean


def stored(content: NotebookNode) -> bytes:
    """Write a notebook as the bytes of its file, without secrets."""
    return (json.dumps(without_secrets(content), indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _is_parameters(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])


def _is_literal(value: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
