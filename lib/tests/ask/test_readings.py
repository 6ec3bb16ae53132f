"""The rows that one completion gives, one for each elicitation."""

import math
from dataclasses import replace

import pytest

from assay.ask import Completion, Token, read_answers, vote
from assay.ask.response import Alternative
from assay.rules import Taxonomy
from assay.rules.classifier import Usage
from assay.rules.parsing import AnswerFields


def completion(text, label="advisory", listed=None, *, cut=3, **more):
    """A completion whose label token was given `listed` probabilities."""
    listed = {"adv": 0.6, "proc": 0.3} if listed is None else listed
    before, found, after = text.partition(label)
    assert found

    def one(piece, top):
        described = [Alternative(name, math.log(share), name.encode()) for name, share in top.items()]
        own = next((other.logprob for other in described if other.text == piece), None)
        return Token(piece, own, piece.encode(), tuple(described))

    tokens = (one(before, {before: 1.0}), one(label[:cut], listed), one(label[cut:] + after, {}))
    facts = {"usage": Usage(200, 20), "finish_reason": "stop", "latency_s": 0.5, "served_model": "served-1"}
    return Completion(text, tokens=tokens, sent={"logprobs": True}, **{**facts, **more})


FULL = (
    '{"label": "advisory", "confidence": 0.8, "alternatives": {"procedural": 0.15}, "missing_context": ["equipment"]}'
)


def test_one_call_gives_two_confidences(prompt, taxonomy):
    verbal, token = read_answers(completion(FULL), prompt, taxonomy)
    assert (verbal["elicitation"], verbal["predicted"], verbal["confidence"]) == ("verbal", "advisory", 0.8)
    assert verbal["alternatives"] == {"procedural": 0.15}
    assert math.isnan(verbal["covered_mass"])
    assert (token["elicitation"], token["predicted"], token["confidence"]) == (
        "token",
        "advisory",
        pytest.approx(2 / 3),
    )
    assert token["alternatives"] == pytest.approx({"procedural": 1 / 3})
    assert token["covered_mass"] == pytest.approx(0.9)
    for row in (verbal, token):
        assert row["missing_context"] == ("equipment",)
        assert row["calibration"] == "language_model"
        assert row["prompt"] == "small"
        assert (row["prompt_tokens"], row["completion_tokens"], row["latency_s"]) == (200, 20, 0.5)
        assert (row["completion"], row["served_model"], row["error"]) == (FULL, "served-1", None)


def test_a_reply_that_shows_its_label_alone_has_no_written_confidence_and_a_token_one(prompt, taxonomy):
    verbal, token = read_answers(completion('{"label": "advisory"}'), prompt, taxonomy)
    assert (verbal["predicted"], verbal["error"]) == (None, "missing_confidence")
    assert math.isnan(verbal["confidence"])
    assert (token["predicted"], token["error"], token["confidence"]) == ("advisory", None, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("rest", "verbal_error", "token_error"),
    [
        ('"confidence": "high"', "bad_confidence", None),
        ('"confidence": 80', "out_of_scale", None),
        ('"confidence": 0.8, "alternatives": {"procedural": "some"}', "bad_alternatives", None),
        ('"confidence": null, "missing_context": 3', "missing_confidence", "bad_missing_context"),
        ('"confidence": 0.8, "missing_context": 3', "bad_missing_context", "bad_missing_context"),
        ('"confidence": 0.8, "confidence": 0.9', "not_json", "not_json"),
    ],
)
def test_a_fault_of_the_written_number_is_none_of_the_other(prompt, taxonomy, rest, verbal_error, token_error):
    verbal, token = read_answers(completion(f'{{"label": "advisory", {rest}}}'), prompt, taxonomy)
    assert (verbal["error"], token["error"]) == (verbal_error, token_error)


def test_an_answer_without_a_token_confidence_stays_usable(prompt, taxonomy):
    lost = completion(FULL, listed={"proc": 0.9})
    verbal, token = read_answers(lost, prompt, taxonomy)
    assert (verbal["predicted"], verbal["error"]) == ("advisory", None)
    assert (token["predicted"], token["error"]) == (None, "label_not_in_top")
    assert math.isnan(token["confidence"])
    absent = replace(lost, tokens=None)
    assert [row["error"] for row in read_answers(absent, prompt, taxonomy)] == [None, "no_logprobs"]


def test_where_no_log_probabilities_were_asked_for_there_is_no_token_row(prompt, taxonomy):
    plain = replace(completion(FULL), tokens=None, sent={})
    assert [row["elicitation"] for row in read_answers(plain, prompt, taxonomy)] == ["verbal"]


@pytest.mark.parametrize("kind", ["timed_out", "filtered", "refused", "truncated", "empty", "rate_limited"])
def test_an_ask_that_failed_is_unreadable_by_its_own_kind_in_every_row(prompt, taxonomy, kind):
    failed = replace(completion(FULL), error=kind)
    rows = read_answers(failed, prompt, taxonomy)
    assert [(row["predicted"], row["error"]) for row in rows] == [(None, kind)] * 2


def test_flags_of_the_number_stay_with_the_number(prompt, taxonomy):
    said = completion(
        'Well: {"label": "Advisory", "confidence": "80%"}', "Advisory", {"Adv": 0.3, "proc": 0.1, "The": 0.6}
    )
    verbal, token = read_answers(said, prompt, taxonomy)
    assert verbal["flags"] == ("prose", "label_folded", "percent")
    assert token["flags"] == ("prose", "label_folded", "low_covered_mass")


def test_the_fields_of_the_study_are_used(prompt, taxonomy):
    fields = AnswerFields(label="class", confidence="sure", scale=100)
    verbal, token = read_answers(completion('{"class": "advisory", "sure": 85}'), prompt, taxonomy, fields)
    assert (verbal["confidence"], token["confidence"]) == (0.85, pytest.approx(2 / 3))


def test_the_abstain_name_is_a_label_like_another(prompt):
    taxonomy = Taxonomy.of("yes", "no", abstain="unsure")
    said = completion('{"label": "unsure", "confidence": 0.4}', "unsure", {"uns": 0.5, "yes": 0.5})
    _, token = read_answers(said, prompt, taxonomy)
    assert (token["predicted"], token["alternatives"]) == ("unsure", pytest.approx({"yes": 0.5}))


def test_a_distribution_has_both_confidences_of_its_question(distribution_prompt, taxonomy):
    shares = {"advisory": 0.5, "historical": 0.2, "procedural": 0.1, "reference": 0.1, "unclear": 0.1}
    text = (
        '{"answers": {"urgent": {"value": "true", "probabilities": {"true": 0.9, "false": 0.1}}, "class": '
        f'{{"value": "advisory", "probabilities": {str(shares).replace(chr(39), chr(34))}}}}}}}'
    )
    verbal, token = read_answers(completion(text), distribution_prompt, taxonomy)
    assert (verbal["predicted"], verbal["confidence"]) == ("advisory", pytest.approx(0.5))
    assert (token["predicted"], token["confidence"]) == ("advisory", pytest.approx(2 / 3))
    broken = replace(completion(text), text=text.replace('"false": 0.1', '"false": -1'))
    assert [row["error"] for row in read_answers(broken, distribution_prompt, taxonomy)] == ["probability_negative"] * 2


def test_a_verdict_has_both_confidences(prompt):
    taxonomy = Taxonomy.of("match", "no-match", "not-applicable")
    text = '{"verdict": "no-match", "certainty": 80, "reason": "r"}'
    said = completion(text, "no-match", {"no-": 0.5, "match": 0.5})
    verbal, token = read_answers(said, replace(prompt, contract="verdict"), taxonomy)
    assert (verbal["confidence"], token["confidence"]) == (0.8, pytest.approx(0.5))


def sample(predicted, missing=(), error=None, **more):
    row = {
        "predicted": predicted,
        "missing_context": missing,
        "error": error,
        "prompt": "p",
        "calibration": "language_model",
    }
    return {**row, "prompt_tokens": 10, "completion_tokens": 2, "latency_s": 0.1, **more}


def test_the_class_named_most_often_wins_with_its_share_of_all_samples(taxonomy):
    samples = [sample("advisory")] * 3 + [sample("reference")] + [sample(None, error="not_json")]
    row = vote(samples, taxonomy)
    assert (row["elicitation"], row["predicted"], row["confidence"]) == ("vote", "advisory", 0.6)
    assert row["alternatives"] == {"reference": 0.2}, "what could not be read supports nothing"
    assert (row["prompt_tokens"], row["completion_tokens"]) == (50, 10)


def test_a_drawn_vote_goes_to_the_most_restrictive_class(taxonomy):
    samples = [sample("historical"), sample("procedural"), sample("reference")] * 2
    row = vote(samples, taxonomy)
    assert row["predicted"] == "procedural"
    assert row["alternatives"] == pytest.approx({"historical": 1 / 3, "reference": 1 / 3})


def test_missing_context_is_what_any_winning_sample_names(taxonomy):
    samples = [sample("historical"), sample("historical", ("time_expression",)), sample("advisory", ("equipment",))]
    assert vote(samples, taxonomy)["missing_context"] == ("time_expression",)


def test_a_vote_without_a_readable_sample_is_unreadable(taxonomy):
    row = vote(
        [sample(None, error="truncated"), sample(None, error="not_json"), sample(None, error="not_json")], taxonomy
    )
    assert (row["predicted"], row["error"]) == (None, "not_json")
    assert math.isnan(row["confidence"])
    with pytest.raises(ValueError, match="at least one sample"):
        vote([], taxonomy)


def test_tokens_are_unknown_where_those_of_one_sample_are(taxonomy):
    assert vote([sample("advisory"), sample("advisory", prompt_tokens=None)], taxonomy)["prompt_tokens"] is None
