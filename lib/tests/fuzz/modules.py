"""Loading the modules beside this one from wherever they are needed: tests are imported by path, not as a package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

sys.modules.setdefault("assay_fuzz_modules", sys.modules[__name__])


def load(name: str) -> ModuleType:
    """Import `targets`, `seeds` or `runner` once, under the name ``assay_fuzz_<name>``."""
    known = f"assay_fuzz_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]
