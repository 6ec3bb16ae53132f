import importlib.util
import sys
from pathlib import Path

# Test modules are imported by path and cannot import one another: this one loads the others by name.
if "assay_fuzz_modules" not in sys.modules:
    spec = importlib.util.spec_from_file_location("assay_fuzz_modules", Path(__file__).with_name("modules.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules["assay_fuzz_modules"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["assay_fuzz_modules"])
