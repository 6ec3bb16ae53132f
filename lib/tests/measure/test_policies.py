import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measure.certificate import certify
from assay.measure.decide import decide
from assay.measure.policies import policy_of, recalibrated_answers
from assay.rules import Classification, Gate, LabelClass, Taxonomy
from assay.rules.policy import Policy
from assay.rules.recalibration import RecalibrationMap

TODAY = datetime.date(2026, 3, 1)
NAMES = ("sc", "ne", "em")
hundredths = st.integers(0, 100).map(lambda value: value / 100)

TRIAGE = Taxonomy(
    tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)), "unsure", gates=(Gate("caught", ("em",)),)
)
MAPS = (
    None,
    RecalibrationMap("temperature", {"temperature": 2.5}, "language_model", "vote"),
    RecalibrationMap("isotonic", {"confidence": (0.2, 0.6, 0.9), "frequency": (0.1, 0.5, 0.6)}, "language_model"),
)


def log(count, **columns):
    frame = pd.DataFrame({"label": ["em"] * count, "predicted": "em", "confidence": 0.9})
    frame["item_id"] = [f"n{number}" for number in range(count)]
    return frame.assign(calibration="language_model", elicitation="vote", model="m1", prompt="p1").assign(**columns)


def test_a_certificate_becomes_a_policy_with_its_gates_and_origin():
    certificate = certify(log(200), TRIAGE, seed=7)
    policy = policy_of(certificate, TRIAGE, date=TODAY, data_sha256="d" * 64)
    (gate,), (finding,) = policy.gates, certificate.gates
    assert (policy.verdict, policy.threshold, policy.tie_margin) == ("pass", certificate.threshold, 0.1)
    assert (policy.calibration, policy.elicitation, policy.model, policy.prompt) == (
        "language_model",
        "vote",
        "m1",
        "p1",
    )
    assert (gate.label, gate.successes, gate.trials, gate.lower) == ("em", 100, 100, finding.lower)
    assert (policy.seed, policy.review_by) == (7, TODAY + datetime.timedelta(days=180))
    assert Policy.from_json(policy.to_json()) == policy


def test_a_certificate_that_did_not_pass_becomes_a_policy_that_says_so():
    policy = policy_of(certify(log(20), TRIAGE, seed=7), TRIAGE, date=TODAY)
    assert (policy.verdict, policy.gates[0].verdict) == ("undecided", "undecided")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            hundredths,
            st.dictionaries(st.sampled_from(NAMES), hundredths, max_size=3),
        ),
        min_size=10,
        max_size=30,
    ),
    st.sampled_from(MAPS),
    hundredths,
)
def test_a_policy_decides_what_the_recalibrated_frame_decides(said, fitted, threshold):
    predicted, confidence, alternatives = zip(*said, strict=True)
    frame = log(len(said), predicted=predicted, confidence=confidence, alternatives=alternatives)
    policy = Policy(
        taxonomy=TRIAGE,
        calibration="language_model",
        threshold=threshold,
        tie_margin=0.1,
        gates=(),
        verdict="undecided",
        seed=0,
        date=TODAY,
        review_by=TODAY,
        recalibration=fitted,
    )
    ours = decide(recalibrated_answers(frame, fitted), TRIAGE, threshold, 0.1)["decision"].tolist()
    theirs = [
        policy.decide(Classification(*one), calibration="language_model", today=TODAY, allow=("undecided",)).label
        for one in said
    ]
    assert ours == theirs


def test_recalibration_leaves_unreadable_answers_and_the_frame_given_alone():
    frame = log(3, confidence=[0.9, np.nan, 0.2], predicted=["em", None, "ne"])
    changed = recalibrated_answers(frame, MAPS[1])
    assert changed["confidence"].isna().tolist() == [False, True, False]
    assert frame["confidence"].tolist()[0] == 0.9
    assert recalibrated_answers(frame, None) is frame


def test_a_map_of_another_origin_is_refused_and_both_are_named():
    with pytest.raises(ValueError, match=r"language_model vote.*classifier"):
        recalibrated_answers(log(3, calibration="classifier", elicitation=""), MAPS[1])
