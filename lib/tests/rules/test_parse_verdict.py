import json
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.parsing import VERDICT_ERRORS, VERDICTS, AnswerError, Verdict, parse_verdict

reasons = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
verdicts = st.builds(Verdict, st.sampled_from(VERDICTS), st.integers(0, 100), reasons)


def written(verdict: Verdict, **more: object) -> str:
    return json.dumps({**vars(verdict), **more})


def kind(text: str | None) -> str:
    with pytest.raises(AnswerError) as caught:
        parse_verdict(text)
    assert caught.value.kind in VERDICT_ERRORS
    assert caught.value.failure is None
    return caught.value.kind


def test_every_vector_gives_its_want(vectors, record_tried):
    lines = vectors("verdict_answers")
    wrong = []
    for line in lines:
        try:
            got = {"ok": vars(parse_verdict(line["input"]["text"]))}
        except AnswerError as error:
            got = {"error": error.kind}
            shown = "".join(traceback.format_exception(error, chain=True)) + repr(error)
            assert line.get("canary", "\0none") not in shown, line["id"]
        if got not in line["want"].get("any_of", [line["want"]]):
            wrong.append(line["id"])
    record_tried("vectors of review verdicts", len(lines), lost=len(wrong))
    assert not wrong
    assert len(lines) == 340


@given(verdicts)
def test_a_verdict_is_read_back(verdict):
    assert parse_verdict(written(verdict, model="m", deep=[[1]])) == verdict


@given(
    verdicts.filter(lambda verdict: "```" not in verdict.reason),
    st.sampled_from(
        ["\u3000{}\n", "```json\n{}\n```", "```{}```", "So:\n```\n{}\n```\nDone. ```x```", "a ```json{}``` b"]
    ),
)
def test_white_space_and_one_fence_give_the_same_verdict(verdict, wrapping):
    assert parse_verdict(wrapping.replace("{}", written(verdict))) == verdict


@pytest.mark.parametrize(
    "wrapping", ["Sure: {}", "{}.", "```json\n{}", "<think>hm</think>{}", "[{}]", "\ufeff{}", "```js\n{}\n```"]
)
def test_prose_around_a_bare_object_and_an_unclosed_fence_are_not_json(wrapping):
    assert kind(wrapping.replace("{}", written(Verdict("match", 80, "r")))) == "not_json"


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_text_is_not_json(text):
    assert kind(text) == "not_json"


@pytest.mark.parametrize("certainty", [-1, 101, 80.0, 1e2, 80.5, 10**30, -0.0])
def test_a_certainty_that_is_no_whole_number_of_0_to_100_is_bad(certainty):
    assert kind(json.dumps({"verdict": "match", "certainty": certainty, "reason": ""})) == "bad_certainty"


@pytest.mark.parametrize("digits", ["-0", "1e999", "8" * 5000])
def test_minus_zero_and_endless_digits_are_a_bad_certainty(digits):
    assert kind(f'{{"verdict": "match", "certainty": {digits}, "reason": ""}}') == "bad_certainty"


@pytest.mark.parametrize("field", ["verdict", "certainty", "reason"])
def test_a_known_field_given_twice_or_left_out_is_not_json(field):
    text = written(Verdict("match", 80, "r"))
    value = json.loads(text)[field]
    assert kind(text[:-1] + f", {json.dumps(field)}: {json.dumps(value)}}}") == "not_json"
    assert kind(json.dumps({key: one for key, one in json.loads(text).items() if key != field})) == "not_json"


# Repeated backticks would be fences, which the vectors look for inside a reason too.
@given(reasons.filter(lambda reason: reason and "`" not in reason))
def test_a_reason_over_500_code_points_is_cut_to_499_and_an_ellipsis(unit):
    reason = (unit * 501)[:500]
    assert parse_verdict(written(Verdict("match", 1, reason))).reason == reason
    longer = (unit * 501)[:501]
    assert parse_verdict(written(Verdict("match", 1, longer))).reason == longer[:499] + "…"


def test_a_lone_surrogate_counts_in_what_is_read_and_not_in_what_is_ignored():
    text = '{"verdict": "match", "certainty": 1, "reason": "r", "note": "\\ud800"}'
    assert parse_verdict(text).verdict == "match"
    assert kind(text.replace('"r"', '"\\ud800"')) == "not_json"
    assert kind(text.replace('"note"', '"\\ud800"')) == "not_json"


def test_ignored_fields_nest_to_256_levels_and_not_further():
    text = '{"verdict": "match", "certainty": 1, "reason": "r", "note": %s}'
    assert parse_verdict(text % ("[" * 255 + "]" * 255))
    assert kind(text % ("[" * 256 + "]" * 256)) == "not_json"
    assert kind(text % ("[" * 100_000 + "]" * 100_000)) == "not_json"
