"""Prompt files: read strictly, known by what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ask import Example, PromptError, PromptFile, Sampling, load_prompt, parse_prompt
from assay.rules import Taxonomy

GOOD = """
# A comment.
name = "one"
contract = "classification"
system = "Label it: a or b."

[[example]]
question = "q"
reply = '{"label": "a", "confidence": 0.9}'

[sampling]
temperature = 0.0
max_tokens = 200
"""


def test_a_file_is_read_as_it_stands(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(GOOD, encoding="utf-8")
    prompt = load_prompt(path)
    assert prompt == PromptFile(
        "one",
        "classification",
        "Label it: a or b.",
        (Example("q", '{"label": "a", "confidence": 0.9}'),),
        Sampling(0.0, 200, 1),
    )


def test_sampling_and_examples_may_be_left_out():
    prompt = parse_prompt('name = "x"\ncontract = "verdict"\nsystem = "s"\n')
    assert (prompt.examples, prompt.sampling) == ((), Sampling(temperature=0, max_tokens=300, n=1))


@pytest.mark.parametrize(
    "same",
    [
        GOOD.replace("# A comment.", ""),
        GOOD.replace('name = "one"', 'name = "two"'),
        GOOD.replace("temperature = 0.0", "temperature = 0"),
        GOOD.replace("max_tokens = 200", "n = 1\nmax_tokens = 200"),
        GOOD.replace("\n", "\r\n"),
    ],
)
def test_the_hash_does_not_depend_on_name_comments_and_layout(same):
    assert parse_prompt(same).hash == parse_prompt(GOOD).hash


@pytest.mark.parametrize(
    "other",
    [
        GOOD.replace("a or b", "a or  b"),
        GOOD.replace("0.9", "0.90"),
        GOOD.replace('question = "q"', 'question = "Q"'),
        GOOD.replace("= 200", "= 201"),
        GOOD.replace("temperature = 0.0", "temperature = 0.1"),
        GOOD.replace('"classification"', '"verdict"'),
        GOOD + '\n[[example]]\nquestion = "q"\nreply = "r"\n',
    ],
)
def test_the_hash_depends_on_all_that_decides_an_answer(other):
    assert parse_prompt(other).hash != parse_prompt(GOOD).hash


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=3), st.text(min_size=1))
def test_moving_text_between_fields_changes_the_hash(pairs, text):
    examples = tuple(Example(*pair) for pair in pairs)
    one = PromptFile("n", "classification", text, examples)
    other = PromptFile("n", "classification", text + "x", examples)
    longer = PromptFile("n", "classification", text, (*examples, Example(text, text)))
    assert len({one.hash, other.hash, longer.hash}) == 3


def test_where_a_question_ends_and_its_reply_begins_is_part_of_the_hash():
    cut = [PromptFile("n", "classification", "s", (Example(*pair),)) for pair in (("ab", "c"), ("a", "bc"))]
    assert cut[0].hash != cut[1].hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("= 200", "= two"), "p: not TOML: .*line 13"),
        (GOOD.replace('name = "one"', ""), r"p\.name is missing"),
        (GOOD.replace('name = "one"', 'name = " "'), r"p\.name must not be blank"),
        (GOOD.replace("system =", "sytem ="), r"p\.system is missing"),
        (GOOD + "\n[samplings]\n", r"p: unknown field 'samplings' \(did you mean 'sampling'\?\)"),
        (GOOD.replace('"classification"', '"json"'), r"p\.contract must be one of .*, got 'json'"),
        (GOOD.replace("max_tokens = 200", "max_tokens = 0"), r"p\.sampling\.max_tokens must be at least 1, got 0"),
        (GOOD.replace("max_tokens = 200", "max_token = 2"), r"p\.sampling: unknown field 'max_token'"),
        (GOOD.replace("temperature = 0.0", "temperature = 3"), r"p\.sampling\.temperature must lie in \[0, 2\], got 3"),
        (GOOD.replace("temperature = 0.0", "temperature = nan"), r"temperature must lie in \[0, 2\], got nan"),
        (GOOD.replace("max_tokens = 200", "n = 5"), "n is 5 at temperature 0, where every sample is the same"),
        (GOOD.replace('question = "q"\n', ""), r"p\.example\[0\]\.question is missing"),
        (GOOD.replace("[[example]]", "[example]"), r"p\.example must be an array of objects"),
        (GOOD + '\n[questions.x]\nkind = "noul"\ninstructions = "?"\n', "unknown field 'questions'"),
        (GOOD.replace('"classification"', '"distribution"'), r"p\.questions is missing"),
        (
            GOOD.replace('"classification"', '"distribution"\nquestion = "y"')
            + '\n[questions.x]\nkind = "noul"\ninstructions = "?"\n',
            r"p\.question must be one of x, got 'y'",
        ),
    ],
)
def test_a_faulty_file_is_refused_by_field(text, message):
    with pytest.raises(PromptError, match=message):
        parse_prompt(text, "p")


def test_a_file_that_is_missing_or_no_text_is_refused_by_name(tmp_path):
    with pytest.raises(PromptError, match=r"none\.toml: cannot be read \(No such file"):
        load_prompt(tmp_path / "none.toml")
    latin = tmp_path / "latin.toml"
    latin.write_bytes('name = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(PromptError, match=r"latin\.toml: not UTF-8 text \(byte 12\)"):
        load_prompt(latin)


def test_a_choice_without_criteria_is_among_the_classes(distribution_prompt, taxonomy):
    contract = distribution_prompt.contract_for(taxonomy)
    assert contract.question == "class"
    assert contract.questions["class"].labels == tuple(sorted(taxonomy.names))
    assert contract.questions["urgent"].labels == ("true", "false")


def test_a_question_whose_labels_are_no_classes_is_refused(distribution_prompt):
    with pytest.raises(PromptError, match="not a class"):
        PromptFile(
            "p", "distribution", "s", questions={"u": {"kind": "noul", "instructions": "?"}}, question="u"
        ).contract_for(Taxonomy.of("a", "b"))
