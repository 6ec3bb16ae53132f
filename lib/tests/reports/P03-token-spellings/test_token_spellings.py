"""One label in several spellings, as users met it: https://github.com/confident-ai/deepeval/issues/853."""

import json
from pathlib import Path

import pytest

from assay.ask import read_body, token_confidence

HERE = Path(__file__).parent


def test_the_spellings_of_one_label_are_added_up():
    (check,) = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"]
    got = read_body((HERE / check["file"]).read_bytes())
    read = token_confidence(got.text, got.tokens, check["labels"], answer=check["answer"])
    wanted, within = check["expect"], check["expect"]["tolerance"]
    assert read.mass == pytest.approx(wanted["mass"], abs=within)
    assert read.covered_mass == pytest.approx(wanted["covered_mass"], abs=within)
    assert read.confidence == pytest.approx(wanted["confidence"], abs=within)
    assert read.confidence != pytest.approx(check["must_not"]["confidence"], abs=within)
