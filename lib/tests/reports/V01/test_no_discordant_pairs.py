"""Two variants that never differ: https://github.com/huggingface/evaluate/pull/795."""

import json
import math
from pathlib import Path

import pandas as pd

from assay.measure.comparison import compare
from assay.measure.pairing import NOT_DETECTED
from assay.show import prompts as show

HERE = Path(__file__).parent


def test_variants_that_never_differ_are_not_called_different_nor_equal():
    (check,) = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"]
    sides = [pd.read_csv(HERE / check[side]).assign(prompt=side) for side in ("a", "b")]
    comparison = compare(pd.concat(sides, ignore_index=True).rename(columns={"id": "item_id"}))
    (pair,) = comparison.pairs
    accuracy = pair.of("accuracy")
    got = {
        "n_pairs": pair.items,
        "a_only": accuracy.a_ahead,
        "b_only": accuracy.b_ahead,
        "p_value": accuracy.p_value,
        "difference": accuracy.difference,
    }
    assert got == check["expect"]
    assert accuracy.note == "no pairs differ"
    assert accuracy.verdict == NOT_DETECTED
    assert accuracy.low < 0 < accuracy.high
    assert not math.isnan(accuracy.smallest)
    said = str(show.findings(comparison))
    assert "no pairs differ" in said.casefold()
    assert "shows nothing to be equal" in said
    assert "nan" not in said.casefold()
