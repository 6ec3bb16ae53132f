"""Settings that every test shares, and the count of what was tried at the end of a run."""

import importlib.util
import sys
from pathlib import Path

from hypothesis import settings

pytest_plugins = ["browsing"]

# A machine that runs other things too must not fail a property for being slow; benchmarks are where speed is shown.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")

# Loaded by path, as tests are: the hooks and the fixture `record_tried` of this module are a plugin's.
spec = importlib.util.spec_from_file_location("assay_tried", Path(__file__).with_name("tried.py"))
assert spec is not None
assert spec.loader is not None
if "assay_tried" not in sys.modules:
    sys.modules["assay_tried"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["assay_tried"])

from assay_tried import (  # noqa: E402, F401 (pytest finds hooks and fixtures by their names here)
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
    record_tried,
)
