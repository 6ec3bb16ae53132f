"""A study may use any contract: small ones over whole completions, one of them with review verdicts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.study import load_study

Write = Callable[..., Path]


def jsonl(*completions: str, **more: list[object]) -> str:
    rows = [{"item_id": str(row), "completion": text} for row, text in enumerate(completions, start=1)]
    for name, values in more.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def load(study_folder: Write) -> Callable[..., object]:
    def load(contract: str, answers: str, items: str | None = None, **replace: str):
        files = {"answers.jsonl": answers} | ({"items.csv": items} if items else {})
        edits = {"answers.csv": "answers.jsonl", 'kind = "table"\n': contract, **replace}
        return load_study(study_folder(files, replace=edits)).answers

    return load


def test_a_classification_study_reads_completions_under_its_own_field_names(load: Callable[..., object]) -> None:
    answers = load(
        'kind = "classification"\nlabel = "colour"\nconfidence = "sure"\nscale = 100\n',
        jsonl(
            '{"colour": "red", "sure": 90, "alternatives": {"blue": 5}}',
            '```json\n{"colour": "BLUE", "sure": 0.5}\n```\nBecause it is.',
            '{"colour": "red"}',
        ),
    )
    assert answers["predicted"].tolist()[:2] == ["red", "blue"]
    assert answers["confidence"].tolist()[:2] == [0.9, 0.005]
    assert answers["alternatives"].tolist() == [{"blue": 0.05}, None, None]
    assert answers["flags"].tolist() == [(), ("prose", "label_folded", "suspicious_scale"), ()]
    assert answers["error"].tolist()[2] == "missing_confidence"
    assert answers["completion"].str.startswith(("{", "`")).all()


def test_a_finish_reason_goes_before_the_text(load: Callable[..., object]) -> None:
    text = '{"label": "red", "confidence": 0.9}'
    answers = load('kind = "classification"\n', jsonl(text, text, text, finish_reason=["length", "stop", None]))
    assert answers["error"].isna().tolist() == [False, True, True]
    assert answers["error"].tolist()[0] == "truncated"


def test_an_answer_with_half_a_character_is_unreadable_and_stops_nothing(load: Callable[..., object]) -> None:
    answers = load(
        'kind = "classification"\n',
        jsonl('{"label": "red", "confidence": 0.9, "why": "\ud83d"}', "", '{"label": "red"'),
    )
    assert answers["error"].tolist() == ["not_json", "empty", "not_json"]
    assert answers["completion"].tolist()[0].endswith('"?"}')


def test_a_distribution_study_evaluates_one_of_its_questions(load: Callable[..., object]) -> None:
    contract = """\
kind = "distribution"
question = "colour"
questions.colour = { kind = "choice", instructions = "Which colour?" }
questions.sure = { kind = "noul", instructions = "Is it clear?" }
"""
    sure = {"value": "true", "probabilities": {"true": 0.6, "false": 0.4}}
    good = {"answers": {"colour": {"value": "red", "probabilities": {"red": 3, "blue": 1}}, "sure": sure}}
    foreign = {"answers": {"colour": {"value": "red", "probabilities": {"red": 3, "mauve": 1}}, "sure": sure}}
    answers = load(contract, jsonl(json.dumps(good), json.dumps(foreign), "no"))
    assert answers["predicted"].tolist()[0] == "red"
    assert answers["confidence"].tolist()[0] == 0.75
    assert answers["alternatives"].tolist() == [{"blue": 0.25}, None, None]
    assert answers["error"].tolist()[1:] == ["label_not_offered", "not_json"]


def test_a_score_is_predicted_by_the_level_that_was_chosen(load: Callable[..., object]) -> None:
    contract = """\
kind = "distribution"
question = "grade"
questions.grade = { kind = "score", instructions = "Grade it.", levels = [["5", "good"], ["5.0", "better"], ["1", "bad"]] }
"""
    chosen = {"answers": {"grade": {"value": "5.0", "probabilities": {"5": 0.1, "5.0": 0.7, "1": 0.2}}}}
    answers = load(
        contract,
        jsonl(json.dumps(chosen)),
        "item_id,text,label\n1,one,5.0\n",
        **{
            '{ name = "red", rank = 0 }, { name = "blue", rank = 1 }': '{ name = "5" }, { name = "5.0" }, { name = "1" }'
        },
    )
    assert answers["predicted"].tolist() == ["5.0"]
    assert answers["alternatives"].tolist() == [{"5": 0.1, "1": 0.2}]
    assert answers["correct"].all()


def test_a_yes_or_no_question_has_the_classes_true_and_false(load: Callable[..., object]) -> None:
    contract = 'kind = "distribution"\nquestion = "q"\nquestions.q = { kind = "noul", instructions = "Is it?" }\n'
    no = {"answers": {"q": {"value": "false", "probabilities": {"true": 0.25, "false": 0.75}}}}
    answers = load(
        contract,
        jsonl(json.dumps(no)),
        "item_id,text,label\n1,one,false\n",
        **{'name = "red"': 'name = "true"', 'name = "blue"': 'name = "false"'},
    )
    assert answers["predicted"].tolist() == ["false"]
    assert answers["confidence"].tolist() == [0.75]


def test_a_verdict_study_has_the_verdicts_as_classes(load: Callable[..., object]) -> None:
    answers = load(
        'kind = "verdict"\n',
        jsonl(
            '{"verdict": "match", "certainty": 90, "reason": "same"}',
            '{"verdict": "not-applicable", "certainty": 50, "reason": "other"}',
            '{"verdict": "match", "certainty": 90.5, "reason": "same"}',
        ),
        "item_id,text,label\n1,one,match\n2,two,no-match\n3,three,match\n",
        **{'name = "red"': 'name = "match"', 'name = "blue"': 'name = "no-match"'},
    )
    assert answers["predicted"].tolist()[0] == "match"
    assert answers["confidence"].tolist()[0] == 0.9
    assert answers["error"].tolist()[1:] == ["unknown_class", "bad_certainty"]
