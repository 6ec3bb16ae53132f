import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Calibration, Elicitation, Question, QuestionError, answer_schema, validate_questions

texts = st.text(min_size=1, max_size=6).filter(str.strip)
choices = st.builds(
    Question.choice, texts, st.dictionaries(st.text(max_size=4), st.text(max_size=4), min_size=2, max_size=5)
)
scores = st.builds(
    Question.score,
    texts,
    st.lists(st.integers(-9, 9), min_size=2, max_size=5, unique=True).map(lambda n: [(str(one), "level") for one in n]),
)
questions = st.dictionaries(texts, choices | scores | st.builds(Question.noul, texts), min_size=1, max_size=4)


def fault(one: Question) -> str:
    with pytest.raises(QuestionError) as caught:
        validate_questions({"severity": one})
    assert "'severity'" in str(caught.value)
    return caught.value.kind


def test_every_schema_vector_gives_its_schema(vectors, question_of, record_tried):
    lines = vectors("distribution_schemas")
    wrong = [
        line["id"]
        for line in lines
        if answer_schema({name: question_of(case) for name, case in line["input"]["questions"].items()})
        != line["expected"]["schema"]
    ]
    record_tried("vectors of reply schemas", len(lines), lost=len(wrong))
    assert not wrong
    assert len(lines) == 20


@given(questions)
def test_a_set_that_is_accepted_has_a_schema_with_every_id_and_label(asked):
    validate_questions(asked)
    answers = answer_schema(asked)["properties"]["answers"]
    assert set(answers["properties"]) == set(answers["required"]) == set(asked)
    for name, question in asked.items():
        entry = answers["properties"][name]
        assert entry["additionalProperties"] is False
        assert tuple(entry["properties"]["value"]["enum"]) == question.labels
        assert tuple(entry["properties"]["probabilities"]["required"]) == question.labels


@given(questions, st.randoms(use_true_random=False))
def test_the_order_of_ids_and_criteria_does_not_change_the_schema(asked, shuffle):
    ids = list(asked)
    shuffle.shuffle(ids)
    again = {}
    for name in ids:
        question = asked[name]
        if question.kind == "choice":
            criteria = list(question.meanings)
            shuffle.shuffle(criteria)
            question = Question.choice(question.instructions, dict(criteria))
        again[name] = question
    assert json.dumps(answer_schema(again)) == json.dumps(answer_schema(asked))


def test_the_labels_of_a_yes_no_question_are_true_and_false():
    assert Question.noul("Is it?").labels == ("true", "false")


def test_score_levels_keep_their_order_and_criteria_are_sorted():
    assert Question.score("How bad?", [("10", "worst"), ("9", "bad")]).labels == ("10", "9")
    assert Question.choice("Which?", {"b": "", "a": ""}).labels == ("a", "b")


def test_an_empty_set_is_refused():
    with pytest.raises(QuestionError) as caught:
        validate_questions({})
    assert caught.value.kind == "empty_set"


@pytest.mark.parametrize("name", ["", "  ", "\n", 7])
def test_a_blank_id_is_refused(name):
    with pytest.raises(QuestionError) as caught:
        validate_questions({name: Question.noul("Is it?")})
    assert caught.value.kind == "blank_id"


def test_blank_instructions_are_refused():
    assert fault(Question.noul(" \t")) == "blank_instructions"


@pytest.mark.parametrize("one", [Question.choice("Which?", {"only": "one"}), Question.score("How?", [("3", "")])])
def test_fewer_than_two_labels_are_refused(one):
    assert fault(one) == "too_few_labels"


def test_a_level_given_twice_is_refused():
    assert fault(Question.score("How?", [("1", "low"), ("1", "high")])) == "duplicate_level"


def test_two_names_of_one_number_are_two_levels():
    validate_questions({"severity": Question.score("How?", [("5", ""), ("5.0", "")])})


@pytest.mark.parametrize("level", ["1", "-1", "+2", ".5", "1.", "0.10", "1e2", "1e40", "001", "-0"])
def test_a_level_may_be_any_finite_decimal_number(level):
    validate_questions({"severity": Question.score("How?", [(level, ""), ("77", "")])})


@pytest.mark.parametrize("level", ["low", "", " 1", "1 ", "1_0", "1,5", "0x1", "nan", "inf", "1e999", "٣", "1e", "."])
def test_any_other_name_of_a_level_is_refused(level):
    assert fault(Question.score("How?", [(level, ""), ("77", "")])) == "level_not_number"


@pytest.mark.parametrize(
    "one",
    [Question.noul(None), Question.choice("Which?", {"a": None, "b": ""}), Question.choice("Which?", {1: "", 2: ""})],
)
def test_instructions_labels_and_meanings_that_are_no_strings_are_refused(one):
    assert fault(one) == "not_text"


def test_calibrations_and_elicitations_are_read_from_their_names():
    assert Calibration("language_model") is Calibration.LANGUAGE_MODEL
    assert [str(one) for one in Elicitation] == ["verbal", "token", "vote"]


def test_a_question_error_can_be_copied_and_so_sent_to_another_process():
    error = copy.copy(QuestionError("empty_set", "nothing asked"))
    assert (error.kind, str(error)) == ("empty_set", "nothing asked")
