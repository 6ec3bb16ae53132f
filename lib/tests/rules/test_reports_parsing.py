"""Faults that users of other tools reported, with the right outcome of each (`tests/reports/<id>/expected.json`)."""

import json
from pathlib import Path

import pytest

from assay.rules.parsing import AnswerError, AnswerFields, parse_classification
from assay.rules.taxonomy import Taxonomy

REPORTS = Path(__file__).parents[1] / "reports"
FIELDS = AnswerFields(label="class")

# What the reports call by a neutral name and this package tells apart further.
NEUTRAL = {"out_of_scale": "bad_confidence", "missing_confidence": "bad_confidence"}


def checks_of(*reports: str) -> list:
    """List the checks of some reports, each as a test parameter."""
    return [
        pytest.param(report, check, id=f"{report}-{check.get('text_file') or check.get('file')}")
        for report in reports
        for check in json.loads((REPORTS / report / "expected.json").read_text(encoding="utf-8"))["checks"]
    ]


def outcome(text: str | None, classes: list[str], finish_reason: str | None = None) -> dict:
    """Read one answer and put the result as the reports do."""
    try:
        answer = parse_classification(text, Taxonomy.of(*classes), FIELDS, finish_reason)
    except AnswerError as error:
        return {"error": NEUTRAL.get(error.kind, error.kind)}
    return {"class": answer.label, "confidence": answer.confidence, "flag": list(answer.flags)}


def holds(got: dict, want: dict) -> bool:
    """Tell whether the outcome is the one wanted; the reason is no field of this contract."""
    return all(
        value in got.get("flag", ()) if field == "flag" else got.get(field) == value
        for field, value in want.items()
        if field not in {"reason", "alternatives"}
    )


def assert_right(got: dict, check: dict) -> None:
    assert holds(got, check.get("expect", {}))
    assert any(holds(got, want) for want in check.get("expect_any_of", [{}]))
    assert not any(got.get(field) == value for field, value in check.get("must_not", {}).items())


@pytest.mark.parametrize(("report", "check"), checks_of("A01", "A04", "A10"))
def test_a_reported_answer_has_its_right_outcome(report, check):
    text = (REPORTS / report / check["text_file"]).read_text(encoding="utf-8")
    assert_right(outcome(text, check["classes"]), check)


def test_tags_inside_a_string_are_kept_letter_for_letter():
    (check,) = (one.values[1] for one in checks_of("A01") if "reason" in one.values[1].get("expect", {}))
    text = (REPORTS / "A01" / check["text_file"]).read_text(encoding="utf-8")
    # The contract has no field for a reason; read as another of its texts, it shows what the reader kept.
    fields = AnswerFields(label="class", missing_context="reason")
    assert parse_classification(text, Taxonomy.of(*check["classes"]), fields).missing_context == (
        check["expect"]["reason"],
    )


@pytest.mark.parametrize(("report", "check"), checks_of("A08"))
def test_a_reported_response_has_its_right_outcome(report, check):
    response = json.loads((REPORTS / report / check["file"]).read_text(encoding="utf-8"))
    choice = response["choices"][0]
    reason = "refusal" if choice["message"]["refusal"] else choice["finish_reason"]
    assert_right(outcome(choice["message"]["content"], check["classes"], reason), check)


@pytest.mark.parametrize(("report", "check"), checks_of("A06"))
def test_labels_outside_the_set_are_errors_that_stay_in_the_row_count(report, check):
    lines = (REPORTS / report / check["file"]).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    got = {row["id"]: outcome(row["answer"], check["classes"]) for row in rows}
    unknown = [name for name, one in got.items() if one.get("error") == "unknown_class"]
    right = sum(got[row["id"]].get("class") == row["label"] for row in rows)

    expect, policy = check["expect"], check["expect_any_of"][0]
    assert len(got) == expect["n_rows"]
    assert set(unknown) >= set(expect["unknown_class_ids_include"])
    assert {one["class"] for one in got.values() if "class" in one} <= set(expect["classes_seen_subset_of"])
    assert policy["policy"] == "fold case and space only"
    assert unknown == policy["unknown_ids"]
    assert len(got) - len(unknown) == policy["n_parsed"]
    assert right / len(got) == policy["accuracy_all_rows"]
    exact = [name for name, one in got.items() if "class" in one and not one["flag"]]
    assert set(exact) >= set(expect["accepted_exact_ids_include"])
