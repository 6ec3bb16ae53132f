"""Errors dropped before ranking: https://github.com/UKGovernmentBEIS/inspect_ai/issues/3707."""

import json
from pathlib import Path

import pandas as pd
import pytest

from assay.measure.comparison import Comparison, compare
from assay.rules import Taxonomy
from assay.rules.parsing import AnswerError, AnswerFields, parse_classification
from assay.show import prompts as show

HERE = Path(__file__).parent


@pytest.fixture
def check() -> dict:
    return json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"][0]


@pytest.fixture
def comparison(check) -> Comparison:
    taxonomy = Taxonomy.of(*check["classes"])
    rows = []
    for name in check["files"]:
        for line in (HERE / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            answer = {"item_id": row["id"], "label": row["label"], "prompt": Path(name).stem}
            try:
                said = parse_classification(row["answer"], taxonomy, AnswerFields(label="class"))
                answer |= {"predicted": said.label, "confidence": said.confidence}
            except AnswerError:
                answer |= {"predicted": None, "confidence": None}
            rows.append(answer)
    return compare(pd.DataFrame(rows).astype({"confidence": float}))


def test_both_accuracies_are_given_with_their_counts(check, comparison):
    for one in comparison.variants:
        got = {
            "n": one.answers,
            "n_errors": one.unreadable,
            "accuracy_all": pytest.approx(one.estimates["accuracy"], abs=check["tolerance"]),
            "accuracy_answered": pytest.approx(one.estimates["accuracy (readable)"], abs=check["tolerance"]),
        }
        assert check["expect"][one.name] == got


def test_the_ranking_counts_all_rows(check, comparison):
    assert comparison.ranking("")[0].name == check["expect"]["better_on_all_rows"] != check["must_not"]["better"]


def test_the_turned_order_is_shown(comparison):
    shown = show.unreadable_both_ways(comparison).frame
    assert list(shown["order"]) == ["turns"]
    assert list(shown["unreadable"]) == ["6 and 0"]
    assert list(shown["counted"]) == ["75.0 % and 78.3 %"]
    assert list(shown["left out"]) == ["83.3 % and 78.3 %"]
    assert shown["difference, left out"].str.endswith("on 54 items").all()
