"""Refuse notebooks with stored outputs, without exactly one parameters cell, or with definitions: `make lint` runs it."""

import ast
import json
import sys
from pathlib import Path


def faults(path: Path) -> list[str]:
    """Return what is wrong with one notebook, a line each."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = []
    if any(cell["outputs"] or cell["execution_count"] is not None for cell in cells):
        found.append("has stored outputs; clear them before committing")
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        found.append(f"has {len(tagged)} cells tagged parameters, needs exactly 1")
    if notebook["metadata"].get("kernelspec", {}).get("name") != "python3":
        found.append("must name the kernel python3")
    for number, cell in enumerate(cells, 1):
        tree = ast.parse("".join(cell["source"]))
        if any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in ast.walk(tree)):
            found.append(f"code cell {number} defines a function or class; it belongs in lib/assay")
    return [f"{path}: {fault}" for fault in found]


if __name__ == "__main__":
    lines = [line for name in sys.argv[1:] for line in faults(Path(name))]
    print("\n".join(lines) if lines else f"{len(sys.argv) - 1} notebooks are clean")
    sys.exit(bool(lines))
