import copy
import json
import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rules.parsing import (
    CLASSIFICATION_ERRORS,
    DISTRIBUTION_ERRORS,
    FLAGS,
    VERDICT_ERRORS,
    AnswerError,
    AnswerFields,
    ErrorKind,
    Flag,
    parse_classification,
)
from assay.rules.safety import Classification
from assay.rules.taxonomy import Taxonomy

NAMES = ("historical", "reference", "procedural", "advisory")
TAXONOMY = Taxonomy.of(*NAMES, abstain="unclear")

labels = st.sampled_from(NAMES)
hundredths = st.integers(0, 100).map(lambda value: value / 100)
plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
payloads = st.fixed_dictionaries(
    {"label": labels, "confidence": hundredths},
    optional={
        "alternatives": st.dictionaries(labels, hundredths, max_size=3),
        "missing_context": st.lists(st.sampled_from(["time_expression", "equipment"]), max_size=2),
        "entities": st.dictionaries(plain_text, plain_text, max_size=2),
        "reason": plain_text,
    },
)


def read(text: str | None, **options: object) -> Classification:
    return parse_classification(text, TAXONOMY, **options)


def kind(text: str | None, **options: object) -> str:
    with pytest.raises(AnswerError) as caught:
        read(text, **options)
    assert caught.value.kind in CLASSIFICATION_ERRORS
    return caught.value.kind


def answer(**changes: object) -> str:
    return json.dumps({"label": "reference", "confidence": 0.8, **changes})


def said(classification: Classification) -> tuple:
    """Return all but the flags."""
    one = classification
    return one.label, one.confidence, one.alternatives, one.missing_context, one.entities


# Where the answer is looked for


@given(payloads, st.text(), st.text())
def test_an_answer_that_is_read_holds_names_of_the_taxonomy_and_shares(payload, before, after):
    try:
        found = read(before + json.dumps(payload) + after)
    except AnswerError:
        return
    assert found.label in TAXONOMY
    assert all(name in TAXONOMY for name in found.alternatives)
    assert all(0 <= value <= 1 for value in (found.confidence, *found.alternatives.values()))
    assert set(found.flags) <= set(FLAGS)


@given(payloads)
def test_a_well_formed_answer_is_read_as_written(payload):
    found = read(json.dumps(payload))
    assert said(found) == (
        payload["label"],
        payload["confidence"],
        payload.get("alternatives", {}),
        tuple(payload.get("missing_context", ())),
        payload.get("entities", {}),
    )
    assert set(found.flags) <= {"label_among_alternatives"}


WRAPPINGS = {
    "\n {} \r\n": (),
    "```json\n{}\n```": (),
    "```\n{}```\n": (),
    "``` JSON5 {}\n```": (),
    "```json\n{}": ("unclosed_fence",),
    '<think>I see {"label": "advisory" and</think>\n{}': ("reasoning",),
    "<Thinking>\n</Thinking> <reasoning>{</reasoning>```json\n{}\n```": ("reasoning",),
    "Of course: {}": ("prose",),
    "{}\n\n**Rationale**: it asks what a tag means.": ("prose",),
    "Here:\n```json\n{}\n```\nAnything else?": ("prose",),
    "[{}]": ("prose",),
    "\ufeff{}": ("prose",),
    "{},": ("prose",),
    'The set {a, "b"} matters. {} {}': ("prose", "repeated"),
    '{"label": "advisory", "confidence": 1} is a guess.</think>{}': ("reasoning", "prose"),
    'Well. <think>{"label": 1}</think> {}': ("reasoning", "prose"),
    "{} and { so on": ("prose", "unclosed_object"),
    "{}\n```": ("prose",),
    '{"tag": "P-101"} {}': ("prose",),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@settings(max_examples=20)
@given(payload=payloads)
def test_fences_prose_and_reasoning_do_not_change_what_is_read(wrapping, payload):
    text = json.dumps(payload)
    bare, found = read(text), read(wrapping.replace("{}", text))
    assert said(found) == said(bare)
    assert set(found.flags) - set(bare.flags) == set(WRAPPINGS[wrapping])


@given(payloads.filter(lambda payload: payload.get("alternatives")), st.data())
def test_an_answer_cut_anywhere_is_unreadable_and_no_runner_up_passes_for_it(payload, data):
    listed = [{"label": name, "confidence": value} for name, value in payload["alternatives"].items()]
    text = json.dumps({**payload, "alternatives": listed})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert kind(cut) == kind("So: " + cut) == "not_json"
    assert kind("{ " + text) == "not_json"


@pytest.mark.parametrize(
    "broken",
    [
        '{"label": "advisory", "confidence": 0.9, "alternatives": [{"label": "reference", "confidence": 0.1}],}',
        "{'label': 'advisory', 'alternatives': [{\"label\": \"reference\", \"confidence\": 0.1}]}",
        '{label: "advisory", alternatives: [{"label": "reference", "confidence": 0.1}]}',
        '{{"label": "advisory", "confidence": 0.9}}',
        "{'label': 'advisory', 'confidence': 0.9}",
        "label: advisory, confidence: 0.9",
        '"{\\"label\\": \\"advisory\\", \\"confidence\\": 0.9}"',
    ],
)
def test_a_broken_answer_is_not_repaired(broken):
    assert kind(broken) == "not_json"


@pytest.mark.parametrize(
    "text",
    ["<think>hm {}", "{} <think>but", "<think>a</thinking>{}", "<think>a</think><think>{}", "Well, <reasoning>{}"],
)
def test_reasoning_that_never_closes_is_not_json_whatever_else_there_is(text):
    assert kind(text.replace("{}", answer())) == "not_json"


def test_a_tag_inside_a_string_is_part_of_the_string():
    assert read(answer(reason="it says <think>maybe</think> and </think>")).flags == ()
    assert read(answer(entities={"quote": "<think>"})).entities == {"quote": "<think>"}


def test_answers_that_differ_are_ambiguous():
    assert kind(answer() + answer(confidence=0.7)) == "ambiguous"
    assert kind(answer() + answer(label="advisory")) == "ambiguous"
    assert kind(answer() + answer(alternatives={"advisory": 0.1})) == "ambiguous"
    assert kind('Use {"label": "...", "confidence": 0.0}. ' + answer()) == "ambiguous"
    assert kind(answer(confidence=1) + answer(confidence=True)) == "ambiguous"
    assert kind(answer(label="one") + answer(label="another")) == "ambiguous"


def test_answers_that_say_the_same_are_one():
    again = answer(label=" REFERENCE ", confidence="0.80", reason="as said", alternatives=None)
    assert said(read(answer() + again)) == said(read(answer()))
    assert kind(answer(label="other") * 2) == "unknown_class"


def test_an_object_without_a_label_has_a_missing_field():
    assert kind('{"confidence": 0.9}') == kind("So: {} ```{}```") == kind(answer(label=None)) == "missing_field"
    assert kind(json.dumps({"result": json.loads(answer())})) == "missing_field"


@pytest.mark.parametrize("text", [None, "", " \n\u3000"])
def test_no_text_is_empty(text):
    assert kind(text) == "empty"


@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "1e999", "1" * 310, '"\\ud800"', '"\ud800"', '{"a": {"\\udfff": 1}}']
)
@pytest.mark.parametrize("field", ["confidence", "note"])
def test_what_no_double_or_text_can_hold_is_not_json(field, value):
    assert (
        kind('{"label": "reference", "confidence": 0.5, "x": 1}'.replace('"x": 1', f'"{field}": {value}')) == "not_json"
    )


def test_a_surrogate_pair_is_text():
    assert read('{"label": "reference", "confidence": 1, "entities": {"a": "\\ud83d\\ude00"}}').entities == {
        "a": "\U0001f600"
    }


@pytest.mark.parametrize("field", ["label", "confidence", "alternatives", "missing_context", "entities"])
def test_a_known_field_given_twice_is_not_json(field):
    known = {"label": "reference", "confidence": 0.5, "alternatives": {}, "missing_context": [], "entities": {}}
    text = json.dumps(known)[:-1]
    assert kind(f'{text}, "{field}": {json.dumps(known[field])}}}') == "not_json"
    assert read(text + ', "other": 1, "other": 2}').flags == ()


def test_nesting_is_read_to_128_levels_and_not_further():
    text = '{"label": "reference", "confidence": 1, "r": "[[{", "x": %s}'
    for wrapping in ("%s", "So: %s"):
        assert read(wrapping % (text % ("[" * 127 + "]" * 127))).label == "reference"
        assert kind(wrapping % (text % ("[" * 128 + "]" * 128))) == "not_json"


def test_prose_with_braces_past_any_answer_is_not_json():
    assert read("{" * 128 + "}" * 128 + answer()).flags == ("prose",)
    assert kind("{" * 129 + "}" * 129 + answer()) == "not_json"
    assert kind("{}" * 50_000 + answer()) == "not_json"


# What the response says


@pytest.mark.parametrize(
    ("finish_reason", "expected"),
    [("length", "truncated"), ("max_tokens", "truncated"), ("content_filter", "filtered"), ("refusal", "refused")],
)
@pytest.mark.parametrize("text", [None, "", answer(), "{"])
def test_why_the_completion_ended_goes_before_the_text(finish_reason, expected, text):
    assert kind(text, finish_reason=finish_reason) == expected


@pytest.mark.parametrize("finish_reason", [None, "stop", "tool_calls", "end_turn", ""])
def test_any_other_ending_says_nothing(finish_reason):
    assert read(answer(), finish_reason=finish_reason).flags == ()
    assert kind("Sorry, I am not able to label this.", finish_reason=finish_reason) == "not_json"


# What the fields may hold


@pytest.mark.parametrize("label", ["Reference", " reference\n", "REFERENCE"])
def test_case_and_padding_of_a_label_are_folded_and_flagged(label):
    assert (read(answer(label=label)).label, read(answer(label=label)).flags) == ("reference", ("label_folded",))


@pytest.mark.parametrize("label", ["", "ref", "reference.", "reference/advisory", 1, True, ["reference"], {}])
def test_any_other_label_is_an_unknown_class(label):
    assert kind(answer(label=label)) == "unknown_class"


def test_the_abstain_name_is_a_label():
    assert read(answer(label="unclear")).label == "unclear"


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [("high", "bad_confidence"), (True, "bad_confidence"), (95, "out_of_scale"), (None, "missing_confidence")],
)
def test_a_faulty_confidence_is_an_error_and_never_a_number(confidence, expected):
    assert kind(answer(confidence=confidence)) == expected
    assert kind('{"label": "reference"}') == "missing_confidence"


@given(payloads)
def test_the_declared_scale_holds_for_every_confidence(payload):
    whole = {name: round(100 * value) for name, value in payload.get("alternatives", {}).items()}
    text = json.dumps({**payload, "confidence": round(100 * payload["confidence"]), "alternatives": whole})
    assert said(read(text, fields=AnswerFields(scale=100))) == said(read(json.dumps(payload)))


def test_normalised_confidences_are_flagged_wherever_they_stand():
    assert read(answer(confidence="0.8", alternatives={"advisory": "10%"})).flags == ("string_number", "percent")
    assert read(answer(confidence=80, alternatives={"advisory": 0.1}), fields=AnswerFields(scale=100)).flags == (
        "suspicious_scale",
    )


@pytest.mark.parametrize("nothing", [None, {}, []])
def test_no_alternatives_are_none(nothing):
    found = read(answer(alternatives=nothing))
    assert (found.alternatives, found.flags) == ({}, ())


@given(st.dictionaries(labels, hundredths), st.sampled_from(["label", "class"]))
def test_alternatives_read_the_same_as_an_object_and_as_a_list(alternatives, key):
    listed = [{key: name, "confidence": value, "why": 1} for name, value in alternatives.items()]
    assert said(read(answer(alternatives=listed))) == said(read(answer(alternatives=alternatives)))
    assert read(answer(alternatives=listed)).alternatives == alternatives


def test_alternatives_in_a_list_go_by_the_names_of_the_study():
    fields = AnswerFields(label="code", confidence="certainty")
    text = '{"code": "reference", "certainty": 0.8, "alternatives": [{"code": "advisory", "certainty": 0.1}]}'
    assert read(text, fields=fields).alternatives == {"advisory": 0.1}


def test_alternatives_without_a_confidence_are_left_out_and_flagged():
    found = read(answer(alternatives=["advisory", {"class": "procedural", "confidence": 0.2}]))
    assert found.alternatives == {"procedural": 0.2}
    assert found.flags == ("alternatives_without_confidence",)


@pytest.mark.parametrize(
    "alternatives",
    [
        {"advisory": None},
        {"advisory": "high"},
        {"advisory": True},
        {"advisory": 30},
        {"nonsense": "high"},
        [{"class": "advisory"}],
        [{"confidence": 0.1}],
        [{"class": 1, "confidence": 0.1}],
        [["advisory", 0.1]],
        [0.1],
        [None],
        "advisory",
        0.3,
        True,
    ],
)
def test_an_alternative_that_cannot_be_read_is_an_error(alternatives):
    assert kind(answer(alternatives=alternatives)) == "bad_alternatives"


def test_an_item_of_alternatives_that_repeats_a_key_is_an_error():
    text = answer(alternatives=[{"class": "advisory", "confidence": 0.1}])
    assert kind(text.replace('"confidence": 0.1', '"confidence": 0.1, "confidence": 0.2')) == "bad_alternatives"


def test_an_alternative_that_names_no_class_is_left_out_and_flagged():
    found = read(answer(alternatives={"nonsense": 0.5, "advisory": 0.1}))
    assert (found.alternatives, found.flags) == ({"advisory": 0.1}, ("unknown_alternative",))


@pytest.mark.parametrize("written", ['{"advisory": 0.3, "advisory": 0.2}', '{"advisory": 0.2, " Advisory": 0.3}'])
def test_of_an_alternative_named_twice_the_larger_confidence_is_kept(written):
    found = read(answer()[:-1] + f', "alternatives": {written}}}')
    assert found.alternatives == {"advisory": 0.3}
    assert "repeated_alternative" in found.flags
    assert ("alternative_folded" in found.flags) is (" Advisory" in written)


def test_the_chosen_class_among_the_alternatives_is_kept_and_flagged():
    found = read(answer(alternatives={"reference": 0.8, "advisory": 0.2}))
    assert found.alternatives == {"reference": 0.8, "advisory": 0.2}
    assert found.flags == ("label_among_alternatives",)


@pytest.mark.parametrize(
    ("written", "read_as", "flags"),
    [
        (None, (), ()),
        ([], (), ()),
        ([" time_expression", ""], ("time_expression",), ()),
        ("time_expression", ("time_expression",), ("missing_context_string",)),
        ("", (), ()),
    ],
)
def test_missing_context_is_a_list_of_names(written, read_as, flags):
    found = read(answer(missing_context=written))
    assert (found.missing_context, found.flags) == (read_as, flags)


@pytest.mark.parametrize("written", [{"time_expression": True}, True, 1, [1], [None], [["time_expression"]]])
def test_any_other_missing_context_is_an_error(written):
    assert kind(answer(missing_context=written)) == "bad_missing_context"


@pytest.mark.parametrize(
    ("written", "flags"), [(None, ()), ({}, ()), (["P-101"], ("entities_ignored",)), ("P-101", ("entities_ignored",))]
)
def test_entities_that_are_no_object_are_left_out_and_flagged(written, flags):
    found = read(answer(entities=written))
    assert (found.entities, found.flags) == ({}, flags)


def test_the_first_fault_in_the_listed_order_is_named():
    faults = {"label": "nonsense", "confidence": "high", "alternatives": 1, "missing_context": 1}
    good = {"label": "reference", "confidence": 1, "alternatives": {}, "missing_context": []}
    named = []
    for field in faults:
        named.append(kind(json.dumps(faults)))
        faults[field] = good[field]
    assert named == ["unknown_class", "bad_confidence", "bad_alternatives", "bad_missing_context"]
    assert [one for one in CLASSIFICATION_ERRORS if one in named] == named


def test_flags_are_given_once_and_in_the_listed_order():
    found = read("So: " + answer(label=" Reference", confidence="80%", alternatives={"one": 0.1, "another": "10%"}))
    assert found.flags == ("prose", "label_folded", "percent", "unknown_alternative")
    assert [flag for flag in FLAGS if flag in found.flags] == list(found.flags)


# The lists and the settings


def test_every_kind_and_flag_has_a_meaning():
    assert set(get_args(ErrorKind)) == {*CLASSIFICATION_ERRORS, *DISTRIBUTION_ERRORS, *VERDICT_ERRORS}
    assert set(get_args(Flag)) == set(FLAGS)


@pytest.mark.parametrize(
    "options",
    [{"label": ""}, {"confidence": 3}, {"label": "entities"}, {"scale": 10}, {"scale": True}, {"scale": math.nan}],
)
def test_field_names_that_clash_and_other_scales_are_refused(options):
    with pytest.raises(ValueError, match=r"field|scale"):
        AnswerFields(**options)


def test_an_answer_error_can_be_copied_and_so_sent_to_another_process():
    error = copy.copy(AnswerError("not_json", "no object", "transport"))
    assert (error.kind, str(error), error.failure) == ("not_json", "no object", "transport")
