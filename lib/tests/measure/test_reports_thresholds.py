"""Faults of choosing thresholds that users of other tools reported (`tests/reports/<id>/expected.json`)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.measure.certificate import certify
from assay.measure.decide import decide
from assay.measure.operating import best_point
from assay.measure.sweep import sweep
from assay.rules import Classification, Gate, Taxonomy, apply_safety_rules, at_least

REPORTS = Path(__file__).parents[1] / "reports"

YES_NO = Taxonomy.of("right", "wrong")


def checks_of(report):
    return json.loads((REPORTS / report / "expected.json").read_text(encoding="utf-8"))["checks"]


def answers_of(report, check):
    """The answers as items labelled by whether they are right: each predicts ``right``."""
    frame = pd.read_csv(REPORTS / report / check["file"]).rename(columns={"id": "item_id"})
    return frame.assign(label=np.where(frame["correct"] == 1, "right", "wrong"), predicted="right")


def accepted_accuracy(target):
    return (Gate("accepted_accuracy", (), target),)


def most_coverage(answers, target):
    """The operating point among the confidences that occur, and the sweep it was chosen from."""
    thresholds = np.unique(np.append(answers["confidence"], 1.0))
    counts = sweep(answers, YES_NO, thresholds=thresholds, margins=[0.1])
    return best_point(counts, accepted_accuracy(target)), counts


def share(counts, threshold):
    right, acted = (float(part[counts.at(threshold, 0.1)]) for part in counts.accepted_accuracy())
    return right / acted, acted / counts.total


def test_t01_no_threshold_reaches_the_target_and_the_best_is_named_as_such():
    missed, met = checks_of("T01")
    answers = answers_of("T01", missed)
    best, counts = most_coverage(answers, 0.9)
    assert (best.how == "meets") == missed["expect"]["found"]
    assert best.threshold == missed["expect"]["best_threshold"]
    assert share(counts, best.threshold)[0] == missed["expect"]["best_accuracy"]
    found, counts = most_coverage(answers, 0.6)
    assert (found.how == "meets") == met["expect"]["found"]
    assert found.threshold == met["expect"]["threshold"]
    assert share(counts, found.threshold)[1] == met["expect"]["coverage"]


def test_t01_accepts_nothing_without_a_certificate():
    check, _ = checks_of("T01")
    certificate = certify(answers_of("T01", check), YES_NO, seed=1, gates=accepted_accuracy(0.9))
    assert (certificate.verdict, certificate.threshold) == ("undecided", None)


def test_t04_a_confidence_at_the_threshold_passes_wherever_it_is_compared():
    for check in checks_of("T04")[:2]:
        answers, threshold = answers_of("T04", check), check["threshold"]
        expected = check["expect"]["accepted_ids"]
        decided = decide(answers, YES_NO, threshold)["decision"]
        one_by_one = [
            apply_safety_rules(Classification("right", value), taxonomy=YES_NO, threshold=threshold).label
            for value in answers["confidence"]
        ]
        counts = sweep(answers, YES_NO, thresholds=[threshold], margins=[0.1])
        assert answers["item_id"][decided == "right"].tolist() == expected
        assert one_by_one == decided.tolist()
        assert counts.accepted()[0, 0] == len(expected)
        assert expected not in check.get("must_not", {}).get("accepted_ids", [])


def test_t04_a_sum_of_probabilities_at_the_threshold_passes():
    check = checks_of("T04")[2]
    frame = pd.read_csv(REPORTS / "T04" / check["file"])
    total = frame[check["columns"]].sum(axis=1)
    accepted = [name for name, value in zip(frame["id"], total, strict=True) if at_least(value, check["threshold"])]
    assert accepted == check["expect"]["accepted_ids"]
    assert accepted != check["must_not"]["accepted_ids"]


@pytest.fixture
def tuned_and_tested():
    (check,) = checks_of("T05")
    answers = answers_of("T05", check)
    return check, answers, dict(list(answers.groupby("split")))


def test_t05_a_threshold_is_tuned_on_one_part_and_reported_on_the_other(tuned_and_tested):
    check, _, parts = tuned_and_tested
    expect = check["expect"]
    point, dev = most_coverage(parts["dev"], 0.8)
    assert point.threshold == pytest.approx(expect["threshold"], abs=check["tolerance"])
    assert point.threshold not in check["must_not"]["threshold"]
    assert share(dev, point.threshold)[1] == pytest.approx(expect["dev_coverage"], abs=check["tolerance"])
    test = sweep(parts["test"], YES_NO, thresholds=[point.threshold], margins=[0.1])
    accuracy, coverage = share(test, point.threshold)
    assert accuracy == pytest.approx(expect["test_accuracy"], abs=check["tolerance"])
    assert coverage == pytest.approx(expect["test_coverage"], abs=check["tolerance"])
    assert (accuracy >= 0.8) == expect["target_met_on_test"]


def test_t05_a_certificate_tunes_on_the_part_it_is_given_and_passes_nothing_here(tuned_and_tested):
    _, answers, _ = tuned_and_tested
    named = {"dev": "tuning", "test": "certification"}
    parts = answers.set_index("item_id")["split"].map(named)
    certificate = certify(answers, YES_NO, seed=1, parts=parts, gates=accepted_accuracy(0.8))
    assert (certificate.tuning_items, certificate.tested_items) == (30, 30)
    assert certificate.threshold is None
