import json
import math

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.rules.answers import Question, answer_schema
from assay.rules.parsing import DISTRIBUTION_ERRORS, AnswerError, parse_distribution

AREA = Question.choice("Which area?", {"billing": "money", "technical": "faults", "other": "the rest"})
GRADE = Question.score("How bad?", [("1", "mild"), ("2.5", "bad"), ("-4", "odd")])
UPSET = Question.noul("Is the writer upset?")
ASKED = {"upset": UPSET, "area": AREA, "grade": GRADE}
CANARY = "QZ7canaryXK4"

weights = st.floats(0, 1e6) | st.integers(0, 100)


@st.composite
def replies(draw):
    answers = {}
    for name, question in ASKED.items():
        stated = {label: draw(weights) for label in question.labels}
        assume(sum(stated.values()) > 0)
        answers[name] = {"value": draw(st.sampled_from(question.labels)), "probabilities": stated}
    return {"answers": answers}


def reply(**changes: object) -> dict:
    entry = {"value": "billing", "probabilities": {"billing": 0.6, "technical": 0.3, "other": 0.1}}
    return {"answers": {"area": {**entry, **changes}}}


def fault(text: str | None, asked: dict = {"area": AREA}, payload: object = None) -> AnswerError:  # noqa: B006
    with pytest.raises(AnswerError) as caught:
        parse_distribution(text, asked, payload)
    assert CANARY not in str(caught.value)
    assert caught.value.kind in DISTRIBUTION_ERRORS
    assert caught.value.failure == ("transport" if caught.value.kind == "not_json" else "rejected")
    return caught.value


def alike(got: object, want: object) -> bool:
    """Compare as the vectors print numbers: 32-bit floats to six digits."""
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(alike(got[key], want[key]) for key in want)
    if isinstance(want, float) and isinstance(got, float):
        return math.isclose(got, want, rel_tol=1e-5, abs_tol=1e-44)
    return type(got) is type(want) and got == want


def test_every_vector_gives_its_want(vectors, question_of, record_tried):
    lines = vectors("distribution_answers")
    wrong = []
    for line in lines:
        case = line["input"]
        asked = {name: question_of(one) for name, one in case["questions"].items()}
        try:
            answers = parse_distribution(case["text"], asked, case.get("json"))
        except AnswerError as error:
            got = {"error": error.failure, "kind": error.kind}
        else:
            got = {
                "answers": {
                    name: {"value": one.value, "confidence": one.confidence, "probabilities": dict(one.probabilities)}
                    for name, one in answers.items()
                }
            }
        if not any(alike(got, want) for want in line["want"].get("any_of", [line["want"]])):
            wrong.append(line["id"])
    record_tried("vectors of replies to typed questions", len(lines), lost=len(wrong))
    assert not wrong
    assert len(lines) == 330


@given(replies())
def test_a_reply_is_read_back_and_normalised(written):
    answers = parse_distribution(json.dumps(written), ASKED)
    assert list(answers) == list(ASKED)
    for name, answer in answers.items():
        entry = written["answers"][name]
        total = sum(entry["probabilities"].values())
        assert math.isclose(sum(answer.probabilities.values()), 1)
        assert tuple(answer.probabilities) == ASKED[name].labels
        assert answer.confidence == answer.probabilities[entry["value"]]
        assert math.isclose(answer.confidence, entry["probabilities"][entry["value"]] / total)
        assert answer.kind == ASKED[name].kind
    assert answers["area"].value == written["answers"]["area"]["value"]
    assert answers["grade"].value == float(written["answers"]["grade"]["value"])
    assert answers["upset"].value is (written["answers"]["upset"]["value"] == "true")


@given(replies())
def test_a_reply_that_is_read_follows_the_schema(written):
    parse_distribution(json.dumps(written), ASKED)
    jsonschema.validate(written, answer_schema(ASKED))


@given(replies(), st.sampled_from(["{}", "\n {} ", "```json\n{}\n```", "```\n{}", "```any tag\n{}\n```\nSo it is."]))
def test_one_fence_at_the_start_gives_the_same_answers(written, wrapping):
    text = json.dumps(written)
    assert parse_distribution(wrapping.replace("{}", text), ASKED) == parse_distribution(text, ASKED)


@given(replies())
def test_the_payload_gives_the_same_answers_whatever_the_text_is(written):
    assert parse_distribution("not JSON", ASKED, written) == parse_distribution(json.dumps(written), ASKED)


@pytest.mark.parametrize("wrapping", ["Sure: {}", "{} Done.", "<think>hm</think>{}", "\ufeff{}", "See\n```\n{}\n```"])
def test_prose_reasoning_and_a_byte_order_mark_are_not_json(wrapping):
    assert fault(wrapping.replace("{}", json.dumps(reply()))).kind == "not_json"


@pytest.mark.parametrize("text", [None, "", "  ", "```", "half {"])
def test_no_readable_text_is_a_transport_failure(text):
    assert fault(text).kind == "not_json"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1" * 310, "1" * 5000, '"\\ud800"'])
def test_numbers_no_double_holds_and_lone_surrogates_make_the_text_unreadable(number):
    text = json.dumps(reply())[:-1] + f', "note": {number}}}'
    assert fault(text).kind == "not_json"


def test_a_lone_surrogate_that_is_not_escaped_is_unreadable():
    assert fault(json.dumps(reply(note="\ud800"), ensure_ascii=False)).kind == "not_json"


def test_nesting_is_read_to_128_levels_and_not_further():
    text = json.dumps(reply())[:-1]
    assert parse_distribution(text + ', "x": ' + "[" * 127 + "]" * 127 + "}", {"area": AREA})
    assert fault(text + ', "x": ' + "[" * 128 + "]" * 128 + "}").kind == "not_json"


def test_the_last_of_repeated_keys_counts():
    text = json.dumps(reply()).replace('"value": "billing"', '"value": "nonsense", "value": "other"')
    assert parse_distribution(text, {"area": AREA})["area"].value == "other"


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"value": CANARY}, "chosen_not_offered"),
        ({"value": "Billing"}, "chosen_not_offered"),
        ({"value": None}, "value_not_string"),
        ({"value": True}, "value_not_string"),
        ({"probabilities": [CANARY]}, "probabilities_not_object"),
        ({"probabilities": {"billing": 1, "technical": 0, "other": 0, CANARY: 0}}, "label_not_offered"),
        ({"probabilities": {"billing": 1, "technical": 0, "other": CANARY}}, "probability_not_number"),
        ({"probabilities": {"billing": 1, "technical": 0, "other": True}}, "probability_not_number"),
        ({"probabilities": {"billing": 1, "technical": 0, "other": -0.1}}, "probability_negative"),
        ({"probabilities": {"billing": 1, "technical": 0}}, "label_missing"),
        ({"probabilities": {"billing": 0, "technical": 0, "other": 0}}, "not_a_distribution"),
    ],
)
def test_every_fault_of_an_entry_has_its_kind(entry, kind):
    error = fault(json.dumps(reply(**entry)))
    assert error.kind == kind
    assert "'area'" in str(error)


def test_an_invented_id_comes_before_a_missing_one():
    assert fault(json.dumps({"answers": {CANARY: {}}})).kind == "question_not_asked"
    assert fault('{"answers": {}}').kind == "question_missing"
    assert fault('{"answers": {"area": 1}}').kind == "entry_not_object"
    assert fault('{"answers": []}').kind == "no_answers_object"


def test_a_set_that_should_not_have_been_asked_is_named_before_the_text_is_read():
    assert fault(CANARY, {}).kind == "bad_question_set"


@pytest.mark.parametrize("odd", [math.nan, math.inf, 10**400])
def test_a_payload_without_a_finite_total_is_no_distribution(odd):
    payload = reply(probabilities={"billing": odd, "technical": 1, "other": 1})
    assert fault("", payload=payload).kind == "not_a_distribution"


@pytest.mark.parametrize("payload", [{}, [], "{}", 3, {"answers": None}, {"answers": {1: {}}}])
def test_a_bad_payload_does_not_fall_back_to_the_text(payload):
    with pytest.raises(AnswerError) as caught:
        parse_distribution(json.dumps(reply()), {"area": AREA}, payload)
    assert caught.value.failure == "rejected"
