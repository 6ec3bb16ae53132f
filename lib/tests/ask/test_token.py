"""Token confidence: the probability of a label, whatever its tokens, and what is said where it was not told."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ask import TOKEN_ERRORS, TOKEN_FLAGS, Token, token_confidence
from assay.ask.response import Alternative

CLASSES = ("historical", "reference", "unclear", "procedural", "advisory")


def token(text, probability=None, top=None, *, raw=None):
    """A token of that text (or those bytes) and probability, and the others listed beside it."""

    def listed(name, value):
        data = name if isinstance(name, bytes) else name.encode()
        return Alternative(data.decode("utf-8", "replace"), None if value is None else math.log(value), data)

    written = listed(text if raw is None else raw, probability)
    return Token(*written, tuple(listed(name, value) for name, value in (top or {}).items()))


def certain(*texts):
    return [token(text, 1.0, {text: 1.0}) for text in texts]


def answered(*tokens):
    """Tokens of a classification whose label is made of `tokens`, and the text."""
    every = [*certain('{"', "label", '":', ' "'), *tokens, *certain('", "confidence": 0.9}')]
    return b"".join(one.raw for one in every).decode(), every


def read(text, tokens, labels=CLASSES, path=("label",), **more):
    return token_confidence(text, tokens, labels, path=path, **more)


def test_labels_of_distinct_first_tokens_share_what_was_listed_for_them():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.2, "hist": 0.1, "The": 0.1}), token("isory", 0.9))
    got = read(text, tokens)
    assert got.mass == pytest.approx({"advisory": 0.6, "procedural": 0.2, "historical": 0.1})
    assert got.covered_mass == pytest.approx(0.9)
    assert got.probabilities == pytest.approx({"advisory": 6 / 9, "procedural": 2 / 9, "historical": 1 / 9})
    assert got.confidence == got.probabilities["advisory"]
    assert (got.flags, got.error) == ((), None)


def test_a_label_outside_the_listed_tokens_has_a_bound_and_no_probability():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.3}), token("isory", 0.9))
    got = read(text, tokens)
    assert "unclear" not in got.probabilities
    assert got.bounds == pytest.approx({"historical": 0.1, "reference": 0.1, "unclear": 0.1})


def test_much_unlisted_probability_is_flagged_where_a_label_may_have_had_it():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.3}), *certain("isory"))
    assert read(text, tokens).flags == ("unlisted_mass",)
    assert read(text, tokens, ("advisory", "procedural")).flags == (), "every label is told"
    text, tokens = answered(token("adv", 0.66, {"adv": 0.66, "proc": 0.3}), *certain("isory"))
    assert read(text, tokens).flags == ()


@pytest.mark.parametrize("top", [{}, {"adv": 0.6}])
def test_a_label_that_nothing_was_listed_beside_is_not_taken_for_certain(top):
    text, tokens = answered(token("adv", 0.6, top), *certain("isory"))
    got = read(text, tokens)
    assert (got.confidence, got.error) == (None, "no_alternatives")
    assert got.mass == pytest.approx({"advisory": 0.6})
    text, tokens = answered(token("adv", 0.995, {"adv": 0.995}), *certain("isory"))
    assert read(text, tokens).confidence == 1.0, "there was nothing left for another"


def test_what_a_grammar_forces_later_does_not_count_against_a_label():
    """Log probabilities are those before the grammar: only the token that decides between labels tells about them."""
    text, tokens = answered(token("re", 0.3, {"re": 0.3, "un": 0.2}), token("fer", 0.001), token("ence", 0.001))
    assert read(text, tokens).confidence == pytest.approx(0.6)


def test_labels_that_begin_alike_are_followed_until_they_part():
    labels = ("match", "no-match", "not-applicable")
    text, tokens = answered(
        token("no", 0.8, {"no": 0.8, "match": 0.2}), token("-match", 0.25, {"-match": 0.25, "t": 0.7, "thing": 0.05})
    )
    got = read(text, tokens, labels)
    assert got.mass == pytest.approx({"match": 0.2, "no-match": 0.2, "not-applicable": 0.56})
    assert got.confidence == pytest.approx(0.2 / 0.96)


def test_a_token_that_could_begin_several_labels_is_divided_and_flagged():
    text, tokens = answered(token("match", 0.5, {"match": 0.5, "no": 0.4}))
    got = read(text, tokens, ("match", "no-match", "not-applicable"))
    assert got.mass == pytest.approx({"match": 0.5, "no-match": 0.2, "not-applicable": 0.2})
    assert got.flags == ("shared_token",)


def test_a_label_that_is_the_beginning_of_another_ends_at_the_quote():
    every = [
        *certain('{"label": "'),
        token("no", 0.9, {"no": 0.9, "yes": 0.1}),
        token('"', 0.7, {'"': 0.7, "ne": 0.3}),
        *certain("}"),
    ]
    got = read('{"label": "no"}', every, ("yes", "no", "none"))
    assert got.mass == pytest.approx({"yes": 0.1, "no": 0.63, "none": 0.27})


def test_a_longer_word_is_no_spelling_of_a_label():
    got = token_confidence("yes", [token("yes", 0.5, {"yes": 0.5, "yesterday": 0.3, "Yes.": 0.1})], ("yes", "no"))
    assert got.mass == pytest.approx({"yes": 0.6})


@pytest.mark.parametrize(
    ("opening", "others"),
    [
        (' "advisory', {' "advisory': 0.6, ' "procedural': 0.3, " [": 0.1}),
        ('"advisory', {'"advisory': 0.6, ' "procedural': 0.3, '"': 0.1}),
        (' "adv', {' "adv': 0.6, '"proced': 0.3, " ": 0.1}),
        (' "advisory"', {' "advisory"': 0.6, ' "procedural",': 0.3, " null": 0.1}),
    ],
)
def test_a_token_that_holds_the_quote_is_compared_with_it(opening, others):
    rest = ' "advisory"}'.removeprefix(opening) if opening.startswith(" ") else '"advisory"}'.removeprefix(opening)
    every = [*certain('{"label":'), token(opening, 0.6, others), *certain(*([rest] if rest else []))]
    got = read(b"".join(one.raw for one in every).decode(), every)
    assert got.mass == pytest.approx({"advisory": 0.6, "procedural": 0.3}), "what could begin any label says nothing"


def test_case_and_leading_space_are_folded_and_added():
    top = {"Adv": 0.4, " adv": 0.2, "ADVISORY": 0.1, "Proc": 0.1, " proc": 0.1}
    text, tokens = answered(token("Adv", 0.4, top), *certain("isory"))
    got = read(text, tokens)
    assert got.mass == pytest.approx({"advisory": 0.7, "procedural": 0.2})
    assert got.label == "advisory"


def test_the_written_token_counts_even_where_it_is_not_listed():
    text, tokens = answered(token("adv", 0.02, {"proc": 0.5, "hist": 0.4}), *certain("isory"))
    got = read(text, tokens)
    assert got.mass == pytest.approx({"advisory": 0.02, "procedural": 0.5, "historical": 0.4})


def test_the_written_token_is_not_counted_twice():
    text, tokens = answered(token("adv", 0.6000001, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    assert read(text, tokens).covered_mass == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", None, '{"label": "advisory"}'])
def test_absent_log_probabilities_are_reported_as_absent(text):
    for tokens in (None, []):
        got = read(text, tokens)
        assert (got.confidence, got.error, got.probabilities) == (None, "no_logprobs", {})


def test_a_label_whose_own_probability_was_not_told_has_none():
    text, tokens = answered(token("adv", None, {"proc": 0.5, "hist": 0.3}), *certain("isory"))
    got = read(text, tokens)
    assert (got.confidence, got.probabilities, got.error) == (None, {}, "label_not_in_top")
    assert got.bounds["advisory"] == pytest.approx(0.2)


def test_another_spelling_that_was_told_stands_in_for_one_that_was_not():
    text, tokens = answered(token("adv", None, {"Adv": 0.5, "proc": 0.5}), *certain("isory"))
    assert read(text, tokens).confidence == pytest.approx(0.5)


def test_little_covered_mass_is_flagged():
    text, tokens = answered(token("adv", 0.3, {"The": 0.6, "adv": 0.3, "proc": 0.1}), *certain("isory"))
    assert read(text, tokens).flags == ("low_covered_mass",)
    text, tokens = answered(token("adv", 0.4, {"The": 0.5, "adv": 0.4, "proc": 0.1}), *certain("isory"))
    assert read(text, tokens).flags == ()


def test_a_listed_sum_above_one_is_flagged_and_rounding_is_not():
    text, tokens = answered(token("adv", 0.9, {"adv": 0.9, "proc": 0.3}), *certain("isory"))
    got = read(text, tokens)
    assert got.flags == ("mass_over_one",)
    assert got.confidence == pytest.approx(0.75)
    text, tokens = answered(token("adv", 0.702, {"adv": 0.702, "proc": 0.302}), *certain("isory"))
    assert read(text, tokens).flags == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["```json\n"], ["\n```"]),
        (["<think>", '{"label": "procedural"}', "</think>", "\n"], []),
        (["Here: {not json} "], ["", " Done."]),
        (['{"note": "', "label", '": "advisory"} ', " "], []),
        ([], [' {"label": "']),
    ],
)
def test_what_stands_around_the_object_does_not_matter(before, after):
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    around = "".join(before) + text + "".join(after)
    got = read(around, [*certain(*before), *tokens, *certain(*after)], answer="advisory")
    assert got.confidence == pytest.approx(0.6)


def test_a_label_tried_out_in_a_block_of_reasoning_is_not_the_answer():
    tried = [
        *certain("<think>", '{"label": "'),
        token("adv", 0.1, {"adv": 0.1, "proc": 0.9}),
        *certain('isory"}', "</think>"),
    ]
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    before = b"".join(one.raw for one in tried).decode()
    assert read(before + text, [*tried, *tokens], answer="advisory").confidence == pytest.approx(0.6)


def test_a_tag_inside_a_string_ends_no_reasoning():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    tail = certain(', "note": "</think>"}')
    text = text.removesuffix("}") + tail[0].text
    every = [*tokens[:-1], *certain(tokens[-1].text.removesuffix("}")), *tail]
    assert read(text, every).confidence == pytest.approx(0.6)


def test_a_fence_or_reasoning_that_the_provider_took_off_may_stand_in_the_tokens():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    every = [*certain("<think>", text, "</think>", "```json\n"), *tokens, *certain("\n```", "<|end|>")]
    assert read(text, every).confidence == pytest.approx(0.6)


def test_tokens_of_another_text_are_not_used():
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6}), *certain("isory"))
    assert read(text, tokens[1:]).error == "tokens_do_not_match"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"label": 3}', ("label",)),
        ('{"kind": "advisory"}', ("label",)),
        ('{"label": {"label": "advisory"}}', ("label",)),
        ('{"label": "other"}', ("label",)),
        ('{"label": "advisory"', ("label",)),
        ("no object", ("label",)),
        ("{" * 5_000, ("label",)),
        ('{"a": ' * 5_000, ("a", "b")),
        ("advisory, I think", ()),
        ("", ()),
    ],
)
def test_a_label_that_is_not_where_it_should_be_is_not_found(text, path):
    assert read(text, certain(text or " "), path=path).error == "label_not_found"


def test_the_object_that_the_parser_read_is_the_one_whose_tokens_count():
    first = [*certain('{"label": "'), token("proc", 0.9, {"proc": 0.9}), *certain('edural"}', " ")]
    text, tokens = answered(token("adv", 0.6, {"adv": 0.6, "proc": 0.4}), *certain("isory"))
    whole = b"".join(one.raw for one in first).decode() + text
    assert read(whole, [*first, *tokens], answer="advisory").confidence == pytest.approx(0.6)
    assert read(whole, [*first, *tokens]).label == "procedural"


def test_a_path_leads_into_nested_objects():
    every = [
        *certain('{"answers": {"x": {"value": "yes"}, "q": {"p": 1, "value": "'),
        token("no", 0.7, {"no": 0.7, "yes": 0.3}),
        *certain('"}}}'),
    ]
    text = b"".join(one.raw for one in every).decode()
    got = token_confidence(text, every, ("yes", "no"), path=("answers", "q", "value"))
    assert (got.label, got.confidence) == ("no", pytest.approx(0.7))


def test_a_character_in_two_tokens_is_read_once_it_is_whole():
    head = [*certain('{"label": "')]
    tail = certain('"}')
    split = [
        token("", 0.8, {b"\xc3": 0.8, "a": 0.2}, raw=b"\xc3"),
        token("", 0.5, {b"\xa9": 0.5, b"\xa0": 0.5}, raw=b"\xa9"),
    ]
    got = read('{"label": "é"}', [*head, *split, *tail], ("é", "à", "a"))
    assert got.mass == pytest.approx({"é": 0.4, "à": 0.4, "a": 0.2})


def test_a_label_may_be_written_with_escapes():
    every = [*certain('{"label": "'), token("\\u00e9", 0.6, {"\\u00e9": 0.6, "é": 0.2, "a": 0.2}), *certain('"}')]
    got = read('{"label": "\\u00e9"}', every, ("é", "a"))
    assert got.confidence == pytest.approx(0.8)


label_sets = st.lists(st.text("abc", min_size=1, max_size=5), min_size=2, max_size=6, unique=True)


@given(labels=label_sets, data=st.data())
def test_a_label_has_the_probability_that_the_model_gives_it(labels, data):
    """A model that writes letter by letter: the walk recovers its distribution over labels exactly."""
    weights = {label: data.draw(st.integers(1, 9)) for label in labels}
    weights["z"] = data.draw(st.integers(0, 9))
    answer = data.draw(st.sampled_from(labels))
    total = sum(weights.values())
    spelled = {f'{label}"': weight / total for label, weight in weights.items() if weight}
    letters = []
    for place, letter in enumerate(f'{answer}"'):
        before = f'{answer}"'[:place]
        open_to = {one: share for one, share in spelled.items() if one.startswith(before)}
        following = {}
        for one, share in open_to.items():
            following[one[place]] = following.get(one[place], 0) + share / sum(open_to.values())
        letters.append(token(letter, following[letter], following))
    text = json.dumps({"label": answer})
    got = read(text, [*certain('{"label": "'), *letters, *certain("}")], labels)
    of_labels = total - weights["z"]
    assert got.confidence == pytest.approx(weights[answer] / of_labels)
    assert math.fsum(got.probabilities.values()) == pytest.approx(1)
    assert got.covered_mass == pytest.approx(of_labels / total)


@given(
    shares=st.dictionaries(
        st.sampled_from(["adv", "Proc", " hist", "un", "The", '"', " ", "re", "r", "a"]), st.integers(1, 50), min_size=1
    ),
    own=st.sampled_from([None, 0.001, 0.2, 1.0]),
)
def test_probabilities_sum_to_one_over_the_labels_or_are_absent(shares, own):
    total = sum(shares.values())
    text, tokens = answered(
        token("adv", own, {name: share / total for name, share in shares.items()}), *certain("isory")
    )
    got = read(text, tokens)
    assert (got.confidence is None) == (got.error is not None) == (not got.probabilities)
    assert got.error is None or got.error in TOKEN_ERRORS
    assert set(got.flags) <= set(TOKEN_FLAGS)
    if got.confidence is not None:
        assert 0 < got.confidence <= 1
        assert got.probabilities["advisory"] == got.confidence
        assert math.fsum(got.probabilities.values()) == pytest.approx(1)
    assert set(got.bounds) == set(CLASSES) - set(got.mass)
    assert all(0 <= bound <= 1 for bound in got.bounds.values())
