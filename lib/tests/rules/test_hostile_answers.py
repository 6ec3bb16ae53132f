"""Whatever a model wrote: each parser gives a value or its own error, quickly, and quotes nothing."""

import contextlib
import gc
import time
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.rules.answers import Question
from assay.rules.parsing import AnswerError, ErrorKind, parse_classification, parse_distribution, parse_verdict
from assay.rules.taxonomy import Taxonomy

TAXONOMY = Taxonomy.of("reference", "advisory", abstain="unclear")
ASKED = {"upset": Question.noul("Is the writer upset?")}
ANSWER = '{"label": "reference", "confidence": 0.8}'
PARSERS = (
    lambda text: parse_classification(text, TAXONOMY),
    lambda text: parse_distribution(text, ASKED),
    parse_verdict,
)

TOKENS = """
    { } [ ] " : , \\ ` ``` ```json <think> </think> </Reasoning> null true NaN -Infinity 1e999 0.5 -0
    "label" "confidence" "alternatives" "verdict" "answers" "advisory" "\\ud800"
"""
fragments = st.sampled_from([*TOKENS.split(), "\n", " ", "\ud800", "\ufeff", "é", "\0", "1" * 5000, ANSWER])
hostile = st.lists(fragments | st.text(max_size=3), max_size=30).map("".join)


@given(st.text() | hostile)
@example('{"label": ' * 100_000)
@example('{"label": "advisory", "confidence": ' + "9" * 5000 + "}")
def test_any_text_gives_a_value_or_an_answer_error(record_tried, text):
    for parse in PARSERS:
        kind = "read"
        try:
            parse(text)
        except AnswerError as error:
            kind = error.kind
        assert kind in ("read", *get_args(ErrorKind))
    record_tried("hostile answers to the three parsers", 1)


QUOTING = (
    "C",
    "{C}",
    "<think>C",
    "```json\nC\n```",
    '{"label": "C", "confidence": 1}',
    '{"label": "advisory", "confidence": "C"}',
    '{"label": "advisory", "confidence": 1, "alternatives": {"C": "C"}}',
    '{"label": "advisory", "confidence": 1, "alternatives": [{"class": "C"}]}',
    '{"label": "advisory", "confidence": 1, "missing_context": {"C": 1}}',
    '{"label": "advisory", "label": "C"}',
    '{"label": "advisory", "confidence": C}',
    '{"label": "C", "confidence": 1} {"label": "advisory", "confidence": "C"}',
    '{"verdict": "C", "certainty": 1, "reason": "C"}',
    '{"verdict": "match", "certainty": 1.5, "reason": "C"}',
    '{"verdict": "match", "certainty": "C", "reason": "\\ud800C"}',
    '{"answers": {"C": {}}}',
    '{"answers": {"upset": "C"}}',
    '{"answers": {"upset": {"value": "C", "probabilities": {"true": 1, "false": 0}}}}',
    '{"answers": {"upset": {"value": "true", "probabilities": {"C": "C"}}}}',
    '{"answers": {"upset": {"value": "true", "probabilities": {"true": "C"}}}}',
)


@given(
    st.sampled_from(QUOTING),
    st.text(st.characters(categories=["Lu", "Ll"]), min_size=12, max_size=40),
    st.sampled_from(["", "\\x", "\ud800", "\n", "1" * 5000]),
)
def test_no_error_and_nothing_chained_to_it_holds_a_word_of_the_text(record_tried, template, canary, tail):
    text = template.replace("C", canary + tail)
    for parse in PARSERS:
        with pytest.raises(AnswerError) as caught:
            parse(text)
        error: BaseException | None = caught.value
        while error is not None:
            assert canary not in f"{error} {error!r} {vars(error)}"
            error = error.__cause__ or error.__context__
    record_tried("answers with a word that no error may repeat", 1)


SHAPES = {
    "an object that never ends": lambda size: '{"a": "' + "x" * size,
    "opening braces in prose": lambda size: "so { " * (size // 5),
    "objects that are no answer": lambda size: '{"a": 1} ' * (size // 9),
    "the same answer again and again": lambda size: (ANSWER + "\n") * (size // 50),
    "fences": lambda size: "```json\n{}\n```\n" * (size // 15),
    "unclosed arrays": lambda size: '{"label": ' + "[" * size,
    "closed arrays": lambda size: '{"label": ' + "[" * (size // 2) + "]" * (size // 2) + "}",
    "wide arrays": lambda size: 'So: {"label": "advisory", "confidence": 1, "x": [' + "[]," * (size // 3) + "[]]}",
    "nested starts before a long tail": lambda size: '{"a":[' * 100 + "{}," * (size // 3),
    "quotes": lambda size: '{"' * (size // 2),
    "escaped quotes": lambda size: '{"' + '\\"' * (size // 2),
    "reasoning blocks": lambda size: "<think></think>" * (size // 15) + ANSWER,
    "unclosed reasoning": lambda size: "<think>" * (size // 7),
    "white space": lambda size: "{" + " " * size + "}",
    "backticks": lambda size: "`" * size + ANSWER,
    "one long number": lambda size: '{"label": "advisory", "confidence": ' + "1" * size + "}",
    "one long string number": lambda size: '{"label": "advisory", "confidence": "' + "1" * size + '"}',
    "many numbers": lambda size: '{"label": "advisory", "confidence": 1, "x": [' + "1," * (size // 2) + "1]}",
    "many alternatives": lambda size: (
        ANSWER[:-1] + ', "alternatives": [' + '{"class": "advisory", "confidence": 0.1}, ' * (size // 42) + '"x"]}'
    ),
    "repeated keys": lambda size: '{"label": "advisory", "confidence": 1' + ', "k": 1' * (size // 8) + "}",
}


def seconds(parse, text):
    """Return the processor time of reading a text, the least of three, in none of which garbage is collected."""
    taken = []
    gc.disable()
    try:
        for _ in range(3):
            started = time.process_time()
            with contextlib.suppress(AnswerError):
                parse(text)
            taken.append(time.process_time() - started)
    finally:
        gc.enable()
    return min(taken)


@pytest.mark.parametrize("size", [200_000, pytest.param(5_000_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_shapes_take_time_in_proportion_to_their_length(record_tried, shape, size):
    # An eighth of the length takes an eighth of the time, a quadratic pass a 64th. What takes less than a millisecond
    # is not worth a ratio.
    short, whole = SHAPES[shape](size // 8), SHAPES[shape](size)
    for parse in PARSERS:
        assert seconds(parse, whole) < 24 * max(seconds(parse, short), 0.001)
    record_tried("hostile shapes that take linear time", 1)
