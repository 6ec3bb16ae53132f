"""Every prompt that a shipped study keeps passes the lint, but those that are kept as a warning."""

from pathlib import Path

import pytest

from assay.ask import lint_prompt
from assay.study import load_study

DATA = Path(__file__).parents[3] / "data"
PROMPTS = sorted(DATA.glob("*/prompts/*.toml"))
WARNINGS = ("label_only",)


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_a_shipped_prompt_has_no_finding_unless_it_is_a_warning(path):
    findings = lint_prompt(path, load_study(path.parents[1].name))
    if path.stem in WARNINGS:
        assert findings
        assert all("leaves out confidence" in finding.reason for finding in findings)
    else:
        assert findings == []
