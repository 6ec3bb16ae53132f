"""The rooms have one direction: nothing imports upward."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "assay"
ALLOWED = {
    "rules": {"rules"},
    "study": {"study", "rules"},
    "ask": {"ask", "study", "rules"},
    "measure": {"measure", "study", "rules"},
    "show": {"show", "measure", "ask", "study", "rules"},
}
SHARED = {"files", "keys", "loops"}
"""Modules at the top that any room but `rules` may use: where files go, what a key looks like, how to await."""
SETTINGS = {"settings"}
"""What notebooks may be told, which `show` opens studies by."""


def imports(path: Path) -> set[str]:
    """Names of the rooms and top-level modules of the package that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" if node.module == "assay" else node.module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("assay.")}
    return found


@pytest.mark.parametrize("room", ALLOWED)
def test_no_module_imports_a_room_above_its_own(room):
    for path in sorted((PACKAGE / room).rglob("*.py")):
        extra = set() if room == "rules" else SHARED | (SETTINGS if room == "show" else set())
        upward = imports(path) - ALLOWED[room] - extra
        assert not upward, f"{path.relative_to(PACKAGE)} imports {sorted(upward)}"


def test_the_rules_import_nothing_but_the_standard_library_anywhere():
    for path in sorted((PACKAGE / "rules").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            for module in modules:
                top = module.split(".")[0]
                assert top in sys.stdlib_module_names or top == "assay", f"{path.name} imports {module}"


def test_importing_the_package_imports_no_room():
    code = "import assay, sys; print([name for name in sys.modules if name.startswith('assay.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_of_the_package_evaluates_or_unpickles():
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called not in ("eval", "exec", "compile", "__import__"), f"{path.name} calls {called}"
        assert "pickle" not in imports_of(path), f"{path.name} imports pickle"


def imports_of(path: Path) -> set[str]:
    """Top-level names of everything a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found
