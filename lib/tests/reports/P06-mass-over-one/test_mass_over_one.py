"""Listed probabilities above 1 in sum, as users met them: https://github.com/ggml-org/llama.cpp/issues/7093."""

import json
from pathlib import Path

import pytest

from assay.ask import read_body, token_confidence

HERE = Path(__file__).parent
OVER, HAIR = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"]


def read(check):
    got = read_body((HERE / check["file"]).read_bytes())
    return token_confidence(got.text, got.tokens, check["labels"], answer=check["answer"])


def test_a_sum_clearly_above_one_is_flagged_and_taken_relative_to_itself():
    got = read(OVER)
    wanted = OVER["expect_any_of"][0]
    assert wanted["flag"] in got.flags
    assert got.confidence == pytest.approx(wanted["confidence"], abs=OVER["tolerance"])


def test_a_log_probability_a_hair_above_zero_is_certainty():
    got = read(HAIR)
    assert got.confidence == pytest.approx(HAIR["expect"]["confidence"], abs=HAIR["expect"]["tolerance"])
    assert got.confidence <= HAIR["must_not"]["confidence_above"]
    assert got.flags == ()
