"""The trained classifier: what it says of an item was not learnt from that item, and is the same every time."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from assay.ask.replay import DEFAULT_QUESTION, class_question
from assay.ask.trained import NAME, Recipe, answer_study, train
from assay.rules import Question, Taxonomy
from assay.rules.classifier import NotConfigured
from assay.study import CERTIFICATION, TUNING, Study

CLASSES = Taxonomy.of("advice", "history", "steps", abstain="unsure")
QUICK = Recipe(folds=3)
OPENINGS = {"advice": "should we", "history": "when did", "steps": "how do I"}
THINGS = ["pump", "valve", "screen", "mixer", "panel", "sensor", "fan", "drain", "gate", "motor", "hoist", "alarm"]
VERBS = ["stop", "open", "check", "start"]


@pytest.fixture(scope="module")
def study():
    """Questions whose first words tell their class, with one word each that nothing tells of."""
    rows = [
        {"item_id": f"{label}-{thing}-{verb}", "text": f"{opening} {verb} the {thing}?", "label": label}
        for label, opening in OPENINGS.items()
        for thing in THINGS
        for verb in VERBS[:2]
    ]
    frame = pd.DataFrame(rows).assign(predicted="advice", confidence=0.5)
    return Study.from_frame(frame, taxonomy=CLASSES, text="text", seed=3)


@pytest.fixture(scope="module")
def answered(study):
    return answer_study(study, QUICK)


def test_every_item_has_one_answer_of_the_calibration_of_a_classifier(study, answered):
    frame, _ = answered
    assert frame["item_id"].tolist() == study.items["item_id"].tolist()
    assert set(frame["calibration"]) == {"classifier"}
    shares = frame["confidence"] + [sum(json.loads(one).values()) for one in frame["alternatives"]]
    assert shares.to_numpy() == pytest.approx(np.ones(len(frame)))
    assert all(
        row.confidence >= max(json.loads(row.alternatives).values()) and row.predicted not in row.alternatives
        for row in frame.itertuples()
    )


def test_it_learns_what_there_is_to_learn(study, answered):
    right = answered[0]["predicted"].to_numpy() == study.items["label"].to_numpy()
    parts = study.parts().to_numpy()
    assert right[parts == CERTIFICATION].mean() > 0.95
    assert right[parts == TUNING].mean() > 0.95


def test_nothing_is_learnt_from_the_item_itself(study):
    # Labels drawn by lot: whoever has not seen an item's label guesses it one time in three.
    draw = np.random.default_rng(1)
    lots = study.items.assign(label=draw.permutation(study.items["label"]), predicted="advice", confidence=0.5)
    blind = Study.from_frame(lots, taxonomy=CLASSES, text="text", seed=3)
    frame, _ = answer_study(blind, QUICK)
    right = frame["predicted"].to_numpy() == blind.items["label"].to_numpy()
    for part in (TUNING, CERTIFICATION):
        assert right[(blind.parts() == part).to_numpy()].mean() < 0.6


def test_the_labels_of_the_certification_part_change_nothing(study, answered):
    parts = study.parts()
    certifying = (parts == CERTIFICATION).to_numpy()
    other = study.items["label"].map({"advice": "history", "history": "steps", "steps": "advice"})
    changed = study.items.assign(label=study.items["label"].where(~certifying, other))
    frame = changed.assign(predicted="advice", confidence=0.5)
    # The split itself goes by the labels, so the one of the first study is kept.
    swapped = replace(Study.from_frame(frame, taxonomy=CLASSES, text="text", seed=3), split=study.split)
    pd.testing.assert_frame_equal(answer_study(swapped, QUICK)[0], answered[0])


def test_the_classifier_that_answered_the_certification_part_is_the_one_that_is_returned(study, answered):
    frame, classifier = answered
    certifying = (study.parts() == CERTIFICATION).to_numpy()
    said = [
        max(one.items(), key=lambda pair: pair[1]) for one in classifier.probabilities(study.items["text"][certifying])
    ]
    assert [(name, share) for name, share in said] == list(
        frame.loc[certifying, ["predicted", "confidence"]].itertuples(index=False, name=None)
    )


def test_the_same_study_gives_the_same_answers_to_the_last_digit(study, answered):
    frame, classifier = answer_study(study, QUICK)
    pd.testing.assert_frame_equal(frame, answered[0], check_exact=True)
    assert classifier.fingerprint == answered[1].fingerprint
    assert answer_study(study, Recipe(folds=4))[1].fingerprint != classifier.fingerprint


def test_it_answers_behind_the_protocol(answered):
    _, classifier = answered
    reply = asyncio.run(classifier.ask("should we drain the gate?", class_question(CLASSES)))
    answer = reply.answers[DEFAULT_QUESTION]
    assert answer.value == "advice"
    assert answer.confidence == answer.probabilities["advice"]
    assert sum(answer.probabilities.values()) == pytest.approx(1)
    assert answer.probabilities["unsure"] == 0
    profile = classifier.profile()
    assert (profile.model, profile.calibration, profile.elicitation) == (NAME, "classifier", None)


@pytest.mark.parametrize(
    "questions",
    [
        {"other": Question.choice("?", dict.fromkeys(("advice", "history", "steps"), ""))},
        {DEFAULT_QUESTION: Question.choice("?", {"advice": "", "history": ""})},
        {DEFAULT_QUESTION: Question.noul("?")},
    ],
)
def test_another_question_is_not_configured(answered, questions):
    with pytest.raises(NotConfigured, match="answers one question"):
        asyncio.run(answered[1].ask("should we?", questions))


def test_what_cannot_be_learnt_from_is_refused_by_name():
    with pytest.raises(ValueError, match="class 'steps' has 2 items to learn from; 4 are needed for 3 folds"):
        train(["a b"] * 10, ["advice"] * 8 + ["steps"] * 2, CLASSES, QUICK)
    with pytest.raises(ValueError, match="at least two classes"):
        train(["a b"] * 10, ["advice"] * 10, CLASSES, QUICK)
    with pytest.raises(ValueError, match="'other' is not a class"):
        train(["a b"] * 10, ["advice"] * 5 + ["other"] * 5, CLASSES, QUICK)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2"):
        Recipe(folds=1)
    with pytest.raises(ValueError, match="inverse_penalty must be a number above 0"):
        Recipe(inverse_penalty=0)


def test_an_item_without_text_is_named(study):
    frame = study.items.assign(predicted="advice", confidence=0.5)
    frame.loc[4, "text"] = " "
    with pytest.raises(ValueError, match=f"item '{frame.loc[4, 'item_id']}' has no text to learn from"):
        answer_study(Study.from_frame(frame, taxonomy=CLASSES, text="text"), QUICK)
