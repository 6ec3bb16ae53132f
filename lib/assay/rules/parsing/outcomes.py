"""What may become of an answer: the kinds of error that make it unreadable, and the flags on one that was read.

Every kind and every flag stands here and nowhere else, with its meaning in words, so that a study can count them and a
page can explain them.
"""

from collections.abc import Iterable
from typing import Final, Literal

ErrorKind = Literal[
    "truncated",
    "filtered",
    "refused",
    "empty",
    "not_json",
    "ambiguous",
    "missing_field",
    "unknown_class",
    "missing_confidence",
    "bad_confidence",
    "out_of_scale",
    "bad_alternatives",
    "bad_missing_context",
    "bad_question_set",
    "no_answers_object",
    "question_not_asked",
    "question_missing",
    "entry_not_object",
    "value_not_string",
    "probabilities_not_object",
    "label_not_offered",
    "probability_not_number",
    "probability_negative",
    "label_missing",
    "not_a_distribution",
    "chosen_not_offered",
    "unknown_verdict",
    "bad_certainty",
]
"""Why an answer could not be read."""

Failure = Literal["rejected", "transport"]
"""How a reply to typed questions failed: it broke the rules, or there was nothing readable in it."""

Flag = Literal[
    "reasoning",
    "unclosed_fence",
    "prose",
    "repeated",
    "unclosed_object",
    "label_folded",
    "string_number",
    "percent",
    "suspicious_scale",
    "rounded_to_scale",
    "alternative_folded",
    "unknown_alternative",
    "repeated_alternative",
    "label_among_alternatives",
    "alternatives_without_confidence",
    "missing_context_string",
    "entities_ignored",
]
"""What was normalised or left aside on the way to an answer that was read all the same."""

CLASSIFICATION_ERRORS: Final[dict[ErrorKind, str]] = {
    "truncated": "the completion was cut at its token limit",
    "filtered": "the provider's content filter withheld the completion",
    "refused": "the model declined to answer",
    "empty": "the answer holds no text",
    "not_json": "no complete JSON object stands outside reasoning, or a known field is given twice in it",
    "ambiguous": "several answer objects were found and they differ",
    "missing_field": "the object has no label",
    "unknown_class": "the label is not a class of the taxonomy",
    "missing_confidence": "the confidence is missing, null or blank",
    "bad_confidence": "the confidence is not a number",
    "out_of_scale": "the confidence lies outside the declared scale",
    "bad_alternatives": "an alternative cannot be read, or its confidence is not a number on the declared scale",
    "bad_missing_context": "the missing context is not a list of names",
}
"""Kinds that `parse_classification` gives, in the order in which they are looked for, and what each means."""

DISTRIBUTION_ERRORS: Final[dict[ErrorKind, str]] = {
    "bad_question_set": "the questions should not have been asked",
    "not_json": "the text is not JSON once a wrapping fence is taken off",
    "no_answers_object": "there is no `answers` object at the top",
    "question_not_asked": "an id was answered that was not asked",
    "question_missing": "an id that was asked has no answer",
    "entry_not_object": "the answer is not an object",
    "value_not_string": "the value is missing or not a string",
    "probabilities_not_object": "the probabilities are missing or not an object",
    "label_not_offered": "a probability stands under a label that was not offered",
    "probability_not_number": "a probability is not a number",
    "probability_negative": "a probability is below 0",
    "label_missing": "an offered label has no probability",
    "not_a_distribution": "the probabilities do not add up to a positive finite number",
    "chosen_not_offered": "the value is not one of the labels offered",
}
"""Kinds that `parse_distribution` gives, in the order in which they are looked for, and what each means."""

VERDICT_ERRORS: Final[dict[ErrorKind, str]] = {
    "not_json": "the answer is not one JSON object with a verdict, a certainty and a reason, each once",
    "unknown_verdict": "the verdict is not one of match, no-match and not-applicable",
    "bad_certainty": "the certainty is not a whole number from 0 to 100",
}
"""Kinds that `parse_verdict` gives, in the order in which they are looked for, and what each means."""

FLAGS: Final[dict[Flag, str]] = {
    "reasoning": "a closed block of reasoning was left aside",
    "unclosed_fence": "the code fence around the answer is never closed",
    "prose": "something other than one code fence stands around the answer",
    "repeated": "the same answer is given more than once",
    "unclosed_object": "a further brace was opened and never closed",
    "label_folded": "the label matches a class only without its case and padding",
    "string_number": "a confidence is a number written as a string",
    "percent": "a confidence is written with a percent sign",
    "suspicious_scale": "on a scale of 0 to 100, a confidence lies above 0 and not above 1",
    "rounded_to_scale": "a confidence lies off the scale by no more than rounding and was read as its end",
    "alternative_folded": "an alternative matches a class only without its case and padding",
    "unknown_alternative": "an alternative is not a class of the taxonomy and was left out",
    "repeated_alternative": "an alternative is named more than once; the largest confidence was kept",
    "label_among_alternatives": "the chosen class is named among the alternatives, too",
    "alternatives_without_confidence": "an alternative is a name without a confidence and was left out",
    "missing_context_string": "the missing context is one string, read as a list of one",
    "entities_ignored": "the entities are not an object and were left out",
}
"""Flags that `parse_classification` and `read_confidence` give, and what each means."""

_FLAG_ORDER: Final = tuple(FLAGS)


class AnswerError(ValueError):
    """An answer that could not be read.

    Parameters
    ----------
    kind : str
        One of the kinds of this module.
    message : str
        What is wrong and where; never a word of what the model wrote.
    failure : {"rejected", "transport"}, optional
        Given for replies to typed questions.
    """

    def __init__(self, kind: ErrorKind, message: str, failure: Failure | None = None) -> None:
        super().__init__(kind, message, failure)
        self.kind: ErrorKind = kind
        self.message = message
        self.failure: Failure | None = failure

    def __str__(self) -> str:
        return self.message


def ordered(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Return each of `flags` once, in the order of `FLAGS`."""
    found = frozenset(flags)
    return tuple(flag for flag in _FLAG_ORDER if flag in found) if found else ()
