"""Pairing by row instead of by id: https://github.com/dipeshbabu/private-lab-bench/issues/28."""

import json
from pathlib import Path

import pandas as pd
import pytest

from assay.measure.comparison import compare

HERE = Path(__file__).parent


@pytest.fixture
def check() -> dict:
    return json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"][0]


@pytest.fixture
def answers(check) -> pd.DataFrame:
    sides = [pd.read_csv(HERE / check[side]).assign(prompt=side) for side in ("a", "b")]
    return pd.concat(sides, ignore_index=True).rename(columns={"id": "item_id"})


def test_pairs_are_joined_by_id_and_what_has_no_partner_is_named(check, answers):
    (pair,) = compare(answers).pairs
    accuracy = pair.of("accuracy")
    got = {
        "n_pairs": pair.items,
        "only_in_a": list(pair.only_in_a),
        "only_in_b": list(pair.only_in_b),
        "a_only": accuracy.a_ahead,
        "b_only": accuracy.b_ahead,
        "p_value": pytest.approx(accuracy.p_value, abs=check["tolerance"]),
    }
    assert check["expect"] == got
    assert all(got[name] != faulty for name, faulty in check["must_not"].items())


def test_an_id_given_twice_by_one_variant_is_refused(answers):
    again = pd.concat([answers, answers.iloc[[4]]], ignore_index=True)
    with pytest.raises(ValueError, match="variant 'a' answers item 'q04' twice"):
        compare(again)
