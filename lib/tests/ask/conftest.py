import importlib.util
import sys
from pathlib import Path

import pytest

from assay.ask import Example, PromptFile, Sampling
from assay.rules import ContextRule, LabelClass, Taxonomy

# Test modules are imported by path and cannot import one another: the server is given a name of its own.
if "assay_test_server" not in sys.modules:
    spec = importlib.util.spec_from_file_location("assay_test_server", Path(__file__).with_name("server.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["assay_test_server"] = module
    spec.loader.exec_module(module)


@pytest.fixture(scope="session")
def taxonomy() -> Taxonomy:
    names = ("historical", "reference", "unclear", "procedural", "advisory")
    return Taxonomy(
        classes=tuple(LabelClass(name, rank, f"what {name} means") for rank, name in enumerate(names)),
        abstain="unclear",
        threshold_exempt=("procedural",),
        context=(ContextRule("historical", "time_expression"),),
    )


@pytest.fixture(scope="session")
def prompt() -> PromptFile:
    """A classification prompt with two examples."""
    return PromptFile(
        "small",
        "classification",
        "Label the question. Reply with JSON: label, confidence, alternatives.",
        (
            Example("What tripped last night?", '{"label": "historical", "confidence": 0.93, "alternatives": {}}'),
            Example(
                "Is it safe to run dry?", '{"label": "advisory", "confidence": 0.8, "alternatives": {"reference": 0.1}}'
            ),
        ),
        Sampling(),
    )


@pytest.fixture(scope="session")
def distribution_prompt() -> PromptFile:
    questions = {
        "class": {"kind": "choice", "instructions": "Which class is it?"},
        "urgent": {"kind": "noul", "instructions": "Is it urgent?"},
    }
    return PromptFile("typed", "distribution", "Answer the questions as JSON.", (), Sampling(), questions, "class")
