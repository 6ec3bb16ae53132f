"""The lint: each fault of a prompt is found, named with its example and reason, and a good prompt has none."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from assay.ask import Finding, lint_prompt
from assay.rules.parsing import AnswerFields
from assay.study import Study
from assay.study.contract import ClassificationContract

SYSTEM = """Sort it: historical, reference, unclear, procedural or advisory.
Reply with one JSON object such as {"label": ..., "confidence": ..., "alternatives": {}}. Nothing else."""

QUESTIONS = {
    "historical": ("Which pumps tripped last night?", 0.93),
    "reference": ("What does LAH-3 stand for?", 0.95),
    "unclear": ("And the other one?", 0.7),
    "procedural": ("How is the wet well isolated?", 0.88),
    "advisory": ("Would you run both pumps tonight?", 0.81),
}


def reply(label, confidence, alternatives=None, **more):
    runner_up = "unclear" if label != "unclear" else "historical"
    others = {runner_up: round(1 - confidence, 2)} if alternatives is None else alternatives
    return json.dumps({"label": label, "confidence": confidence, "alternatives": others, **more})


def good_examples():
    return [(question, reply(label, confidence)) for label, (question, confidence) in QUESTIONS.items()]


@pytest.fixture
def write(tmp_path):
    """Write a prompt file and return its path."""

    def put(examples=None, system=SYSTEM, contract="classification", more=""):
        lines = ['name = "p"', f"contract = {json.dumps(contract)}", f"system = {json.dumps(system)}"]
        for question, answer in good_examples() if examples is None else examples:
            lines += ["[[example]]", f"question = {json.dumps(question)}", f"reply = {json.dumps(answer)}"]
        path = tmp_path / "p.toml"
        path.write_text("\n".join([*lines, more]), encoding="utf-8")
        return path

    return put


@pytest.fixture
def study(taxonomy):
    """A study of three items with texts."""
    texts = ["Trips of P-1 yesterday?", "Is it wise to bypass the float switch now?", "P-7"]
    frame = pd.DataFrame(
        {
            "item_id": ["i1", "i2", "i3"],
            "text": texts,
            "label": ["historical", "advisory", "unclear"],
            "predicted": ["historical", "advisory", "unclear"],
            "confidence": [0.9, 0.8, 0.7],
        }
    )
    return Study.from_frame(frame, taxonomy=taxonomy, item_id="item_id", text="text")


def reasons(findings):
    return [(finding.example, finding.reason) for finding in findings]


def only(findings, example, *words):
    """Assert that there is one finding, at that example, and that its reason holds the words."""
    assert len(findings) == 1, reasons(findings)
    assert findings[0].example == example
    for word in words:
        assert word in findings[0].reason


def test_a_good_prompt_has_no_finding(write, study):
    assert lint_prompt(write()) == []
    assert lint_prompt(write(), study) == []


def test_replies_that_show_the_label_alone_are_named_with_what_they_leave_out(write, study):
    examples = [(question, json.dumps({"label": label})) for label, (question, _) in QUESTIONS.items()]
    findings = lint_prompt(write(examples), study)
    assert [finding.example for finding in findings] == [1, 2, 3, 4, 5]
    assert all("leaves out confidence, alternatives" in finding.reason for finding in findings)


def test_a_field_that_the_system_text_asks_for_must_be_shown(write):
    only(lint_prompt(write(system=SYSTEM + " Also missing_context."))[:1], 1, "leaves out missing_context")
    assert lint_prompt(write(system=SYSTEM.replace("alternatives", "runners"))) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("advisory", ("not_json",)),
        (reply("advisory", 0.8) + reply("historical", 0.7), ("ambiguous",)),
        (reply("advisory", "high", {"unclear": 0.1}), ("bad_confidence",)),
        (reply("advisory", 80, {"unclear": 0.1}), ("out_of_scale",)),
        (reply("advisory", "0.81", {"unclear": 0.1}), ("repair", "string_number")),
        ("Sure! " + reply("advisory", 0.81), ("repair", "prose")),
        (reply("ADVISORY", 0.81), ("repair", "label_folded")),
        (reply("advisory", 0.81, {"reference": 0.1, "gossip": 0.05}), ("repair", "unknown_alternative")),
    ],
)
def test_a_reply_has_to_be_the_payload_and_nothing_else(write, study, answer, words):
    examples = [*good_examples()[:4], (QUESTIONS["advisory"][0], answer)]
    found = [finding for finding in lint_prompt(write(examples), study) if finding.example == 5]
    only(found, 5, *words)


def test_a_label_outside_the_taxonomy_is_named(write, study):
    examples = [*good_examples(), ("Who won?", reply("gossip", 0.8))]
    only(lint_prompt(write(examples), study), 6, "unknown_class")


def test_a_class_that_no_example_shows_is_named(write, study):
    only(lint_prompt(write(good_examples()[1:]), study), None, "no example shows historical")


def test_a_class_that_the_system_text_does_not_name_is_named(write, study):
    only(
        lint_prompt(write(system=SYSTEM.replace("procedural", "procedure")), study),
        None,
        "does not name",
        "'procedural'",
    )


def test_a_confidence_that_never_varies_is_found(write):
    examples = [(question, reply(label, 0.9)) for label, (question, _) in QUESTIONS.items()]
    only(lint_prompt(write(examples)), None, "0.9 in 5 of 5")
    mostly = [(q, reply(label, c if label == "historical" else 0.9)) for label, (q, c) in QUESTIONS.items()]
    only(lint_prompt(write(mostly)), None, "0.9 in 4 of 5")


def test_a_doubtful_reply_names_its_runner_up(write):
    examples = [*good_examples()[:4], (QUESTIONS["advisory"][0], reply("advisory", 0.81, {}))]
    only(lint_prompt(write(examples)), 5, "0.81", "runner-up")
    sure = [*good_examples()[:4], (QUESTIONS["advisory"][0], reply("advisory", 0.97, {}))]
    assert lint_prompt(write(sure)) == []


def test_numbers_that_cannot_be_probabilities_are_found(write):
    too_much = [*good_examples()[:4], (QUESTIONS["advisory"][0], reply("advisory", 0.8, {"reference": 0.3}))]
    only(lint_prompt(write(too_much)), 5, "add up to 1.1")
    inverted = [*good_examples()[:4], (QUESTIONS["advisory"][0], reply("advisory", 0.4, {"reference": 0.5}))]
    only(lint_prompt(write(inverted)), 5, "more confidence than the label")
    exact = [
        *good_examples()[:4],
        (QUESTIONS["advisory"][0], reply("advisory", 0.33, {"reference": 0.27, "unclear": 0.33, "procedural": 0.07})),
    ]
    assert lint_prompt(write(exact)) == [], "the decimals add up to 1, the floats to a hair more"


@pytest.mark.parametrize(
    "question",
    [
        "Is it wise to bypass the float switch now?",
        "  is it WISE to bypass the float-switch, now ",
        "Is it wise to bypass the flaot switch now?",
    ],
)
def test_an_example_that_is_an_item_is_a_leak(write, study, question):
    examples = [*good_examples()[:4], (question, reply("advisory", 0.81))]
    only(lint_prompt(write(examples), study), 5, "'i2'", "leak")


def test_a_short_item_is_a_leak_only_where_it_is_the_same(write, study):
    examples = [*good_examples(), ("P-7?", reply("unclear", 0.66))]
    only(lint_prompt(write(examples), study), 6, "'i3'", "leak")
    assert lint_prompt(write([*good_examples(), ("P-8", reply("unclear", 0.66))]), study) == []


def test_a_system_text_that_quotes_an_item_is_a_leak(write, study):
    system = SYSTEM + ' For instance, "is it wise to bypass the float switch now" is advisory. P-7 is a pump.'
    only(lint_prompt(write(system=system), study), None, "quotes the item 'i2'")


@pytest.mark.parametrize(
    "placeholder",
    [
        "{question}",
        "{}",
        "{0}",
        "{item.text!r}",
        "{x:>10}",
        "{{ question }}",
        "{% if x %}",
        "${TEXT}",
        "$text",
        "%(text)s",
        "%s",
        "<<QUESTION>>",
    ],
)
def test_a_system_text_that_looks_like_a_template_is_found(write, placeholder):
    only(lint_prompt(write(system=f"{SYSTEM} Question: {placeholder}")), None, repr(placeholder))


@pytest.mark.parametrize(
    "braces",
    [
        '{"a": {}}',
        '{"label": "x", "notes": {}}',
        "{ }",
        "100 %",
        "a 95% share",
        "$5",
        "<think>",
        '["a", {}]',
        '{"a":{}}',
    ],
)
def test_json_in_a_system_text_is_no_template(write, braces):
    assert lint_prompt(write(system=f"{SYSTEM} {braces}")) == []


def test_a_question_asked_twice_is_found(write):
    examples = [*good_examples(), ("which PUMPS tripped, last night", reply("unclear", 0.66))]
    only(lint_prompt(write(examples)), 6, "same question as example 1")


VERDICT_SYSTEM = "Judge the claim. Reply with verdict, certainty and a reason of under 350 characters."


def verdicts():
    given = [("match", 91), ("no-match", 84), ("not-applicable", 70)]
    return [
        (f"Claim {name}?", json.dumps({"verdict": name, "certainty": certainty, "reason": "As the source says."}))
        for name, certainty in given
    ]


def test_a_verdict_prompt_asks_for_a_short_reason(write):
    assert lint_prompt(write(verdicts(), VERDICT_SYSTEM, "verdict")) == []
    only(lint_prompt(write(verdicts(), "Judge the claim.", "verdict")), None, "350 characters", "names no length")
    only(lint_prompt(write(verdicts(), VERDICT_SYSTEM.replace("350", "500"), "verdict")), None, "asks for 500")


def test_a_verdict_example_has_to_parse_and_every_verdict_to_appear(write):
    broken = [*verdicts()[:2], ("Claim?", '{"verdict": "maybe", "certainty": 70, "reason": "r"}')]
    findings = lint_prompt(write(broken, VERDICT_SYSTEM, "verdict"))
    assert [finding.example for finding in findings] == [3, None]
    assert "unknown_verdict" in findings[0].reason
    assert "not-applicable" in findings[1].reason


TYPED = """
[questions.topic]
kind = "choice"
instructions = "Which?"
criteria = { a = "first", b = "second" }
"""


def test_a_distribution_example_answers_every_question(write):
    def typed(value, a):
        return json.dumps({"answers": {"topic": {"value": value, "probabilities": {"a": a, "b": 1 - a}}}})

    good = [("q1", typed("a", 0.9)), ("q2", typed("b", 0.25))]
    assert lint_prompt(write(good, "Answer as JSON.", "distribution", TYPED)) == []
    bad = [("q1", typed("a", 0.9)), ("q2", json.dumps({"answers": {"topic": {"value": "b"}}}))]
    findings = lint_prompt(write(bad, "Answer as JSON.", "distribution", TYPED))
    assert findings[0].example == 2
    assert "probabilities_not_object" in findings[0].reason
    assert "topic=b" in findings[1].reason


def test_a_file_that_cannot_be_used_is_one_finding_with_its_name(write, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("name = ", encoding="utf-8")
    (finding,) = lint_prompt(path)
    assert (finding.file, finding.example) == (str(path), None)
    assert finding.reason.startswith("not TOML")
    assert str(path) in str(finding)


def test_the_fields_are_called_what_the_study_calls_them(write, taxonomy):
    items = pd.DataFrame({"item_id": ["i1"], "text": [""]})
    fields = AnswerFields(label="class", confidence="certainty", scale=100)
    study = SimpleNamespace(taxonomy=taxonomy, contract=ClassificationContract(fields), items=items)
    examples = [
        (question, json.dumps({"class": label, "certainty": 100 * confidence, "alternatives": {"unclear": 2}}))
        for label, (question, confidence) in QUESTIONS.items()
        if label != "unclear"
    ]
    examples.append(("And?", json.dumps({"class": "unclear", "certainty": 70, "alternatives": {"reference": 20}})))
    assert lint_prompt(write(examples, SYSTEM.replace("label", "class")), study) == []


def test_a_finding_reads_as_file_example_and_reason():
    assert str(Finding("p.toml", 3, "why")) == "p.toml: example 3: why"
    assert str(Finding("p.toml", None, "why")) == "p.toml: why"
