"""Reading the reply to a set of typed questions: for each id a chosen label and a probability for every label."""

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from assay.rules.answers import Answer, Question, QuestionError, validate_questions
from assay.rules.parsing._json import NotJson, decode, trim
from assay.rules.parsing.outcomes import DISTRIBUTION_ERRORS, AnswerError, ErrorKind

_FENCE: Final = "```"


def parse_distribution(
    text: str | None, questions: Mapping[str, Question], payload: object | None = None
) -> dict[str, Answer]:
    """Read the answers to `questions`, all or none.

    Parameters
    ----------
    text : str or None
        What the model wrote: the JSON object, bare or in one code fence at the very start. The tag of the fence is
        whatever follows it on its line; the last fence of the text closes it, what follows that is left out, and one
        that never closes is tolerated. Unicode white space around text and object is trimmed.
    questions : mapping of str to Question
        What was asked.
    payload : object, optional
        The structured reply (decoded JSON), where the provider gives one. It is taken in place of the text, which is
        not looked at even if the payload is faulty.

    Returns
    -------
    dict of str to Answer
        By id, in the order of `questions`. Probabilities are divided by their sum and given in the order of the
        labels offered; the confidence is that of the chosen label, which need not be the largest. The value of a score
        is the number that its level names.

    Raises
    ------
    AnswerError
        Its `failure` is ``"transport"`` for `not_json` and ``"rejected"`` for every other kind. The first fault is
        named: the question set, the text, an id that was not asked, then the ids asked in code point order, and within
        each the order of `DISTRIBUTION_ERRORS`; the labels reported are walked in code point order, each checked for
        being offered, a number and not negative, before any is found missing. The message names ids that were asked
        and nothing else of the reply.

    Notes
    -----
    ======================================== =================================================================
    written                                  read as
    ======================================== =================================================================
    prose before the fence or the object,    error `not_json`; so for a second fence, a fence with the object on
    prose after a bare object, no text       its line (unless all of it is one line), ``<think>`` blocks and a
                                             byte order mark
    NaN, Infinity, 1e999, a lone surrogate   error `not_json`, wherever in the text
    nesting deeper than 128                  error `not_json`
    a key given twice                        the last one counts
    other keys beside those asked for        left out, at the top and in an entry; among the answers an id and
                                             among the probabilities a label that was not asked for is an error
    probabilities that do not add up to 1,   divided by their sum
    percentages, counts
    a total of 0 or of infinity              error `not_a_distribution`; so for NaN in a payload
    a number in a string, null, a boolean    error `probability_not_number`
    ``true`` or 5 as a value                 error `value_not_string`
    label in other case or padded            error `label_not_offered` or `chosen_not_offered`
    one side of a yes/no question            error `label_missing`
    a score level worded differently         error `chosen_not_offered` (``"5.0"`` for ``"5"``)
    ======================================== =================================================================
    """
    try:
        validate_questions(questions)
    except QuestionError as error:
        raise AnswerError("bad_question_set", error.message, "rejected") from error
    reply = _decode(text) if payload is None else payload
    answers = reply.get("answers") if isinstance(reply, Mapping) else None
    if not isinstance(answers, Mapping):
        _reject("no_answers_object")
    if any(name not in questions for name in answers):
        _reject("question_not_asked")
    read = {name: _read_entry(name, questions[name], answers) for name in sorted(questions)}
    return {name: read[name] for name in questions}


def _decode(text: str | None) -> Any:
    try:
        return decode(_unfenced(text or ""))
    except NotJson:
        raise AnswerError("not_json", DISTRIBUTION_ERRORS["not_json"], "transport") from None


def _unfenced(text: str) -> str:
    body = trim(text)
    if not body.startswith(_FENCE):
        return body
    body = body.removeprefix(_FENCE)
    _, newline, below = body.partition("\n")
    if newline:
        body = below
    inside, fence, _ = body.rpartition(_FENCE)
    return trim(inside if fence else body)


def _read_entry(name: str, question: Question, answers: Mapping[Any, Any]) -> Answer:
    if name not in answers:
        _reject("question_missing", name)
    entry = answers[name]
    if not isinstance(entry, Mapping):
        _reject("entry_not_object", name)
    chosen, stated = entry.get("value"), entry.get("probabilities")
    if not isinstance(chosen, str):
        _reject("value_not_string", name)
    if not isinstance(stated, Mapping):
        _reject("probabilities_not_object", name)
    weights = _read_weights(name, question, stated)
    total = sum(weights.values())
    if not 0 < total < math.inf:
        _reject("not_a_distribution", name)
    probabilities = {label: weight / total for label, weight in weights.items()}
    if chosen not in probabilities:
        _reject("chosen_not_offered", name)
    return Answer(question.kind, _value(question, chosen), probabilities[chosen], probabilities)


def _read_weights(name: str, question: Question, stated: Mapping[Any, Any]) -> dict[str, float]:
    offered = frozenset(question.labels)
    for label in sorted(stated, key=str):
        if label not in offered:
            _reject("label_not_offered", name)
        weight = stated[label]
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            _reject("probability_not_number", name)
        if weight < 0:
            _reject("probability_negative", name)
    if any(label not in stated for label in offered):
        _reject("label_missing", name)
    return {label: _as_float(stated[label]) for label in question.labels}


def _as_float(weight: int | float) -> float:
    # A payload may hold a whole number that no double holds.
    try:
        return abs(float(weight))
    except OverflowError:
        return math.inf


def _value(question: Question, chosen: str) -> str | float | bool:
    if question.kind == "noul":
        return chosen == "true"
    return float(chosen) if question.kind == "score" else chosen


def _reject(kind: ErrorKind, name: str | None = None) -> NoReturn:
    where = "" if name is None else f"question {name!r}: "
    raise AnswerError(kind, where + DISTRIBUTION_ERRORS[kind], "rejected")
