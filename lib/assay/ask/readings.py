"""From one completion to the tidy rows of a study: one for each way in which its confidence was elicited.

The number that a model wrote and the one read off its tokens come from one call and are two different confidences:
neither replaces the other, and each has its own row, readable or not.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from assay.ask.prompts import PromptFile
from assay.ask.response import Completion
from assay.ask.token import TokenConfidence, token_confidence
from assay.rules import Taxonomy
from assay.rules.answers import Calibration, Elicitation
from assay.rules.parsing import DEFAULT_FIELDS, VERDICTS, AnswerFields
from assay.study.contract import DistributionContract, Reading, TextContract

_ONLY_THE_NUMBER: Final = frozenset({"missing_confidence", "bad_confidence", "out_of_scale", "bad_alternatives"})
"""Faults of the written number, which the other does not need."""

_NOT_OF_THE_NUMBER: Final = frozenset(
    {
        "reasoning",
        "unclosed_fence",
        "prose",
        "repeated",
        "unclosed_object",
        "label_folded",
        "missing_context_string",
        "entities_ignored",
    }
)
"""Flags of the parsers that concern an answer whatever its confidence."""


class AnswerRow(TypedDict):
    """One row of answers, as `Study.answers` has it, without what only the asker knows (item, label, model, run).

    `predicted` or `error` is None, never both; `confidence` is NaN where `error` is given. `covered_mass` is how much
    probability the labels had together, of a token confidence, else NaN.
    """

    prompt: str
    calibration: str
    elicitation: str
    predicted: str | None
    confidence: float
    alternatives: dict[str, float] | None
    missing_context: tuple[str, ...]
    error: str | None
    flags: tuple[str, ...]
    covered_mass: float
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_s: float | None
    finish_reason: str | None
    served_model: str | None
    completion: str | None


def read_answers(
    completion: Completion, prompt: PromptFile, taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS
) -> list[AnswerRow]:
    """Read a completion once for each elicitation that was asked for.

    Parameters
    ----------
    completion : Completion
    prompt : PromptFile
        The prompt that it answers.
    taxonomy : Taxonomy
    fields : AnswerFields
        What the fields of a classification are called.

    Returns
    -------
    list of AnswerRow
        A ``verbal`` row, and a ``token`` row where log probabilities were asked for, whether or not they came. A
        reply that shows its label alone has no written confidence and still has a token one.
    """
    contract = prompt.contract_for(taxonomy, fields)
    text = completion.text or ""
    if completion.error is None:
        verbal = contract.read(text, taxonomy, completion.finish_reason)
    else:
        verbal = Reading(error=completion.error)
    rows = [_row(completion, prompt, Elicitation.VERBAL, verbal)]
    if completion.tokens is not None or completion.sent.get("logprobs"):
        reading, covered = _token_reading(completion, contract, verbal, taxonomy, fields)
        rows.append(_row(completion, prompt, Elicitation.TOKEN, reading, covered))
    return rows


def vote(samples: Sequence[Mapping[str, Any]], taxonomy: Taxonomy) -> AnswerRow:
    """Let repeated samples of one item vote.

    Parameters
    ----------
    samples : sequence of rows
        The ``verbal`` rows of one item under one model and prompt, one for each run; at least one.
    taxonomy : Taxonomy

    Returns
    -------
    AnswerRow
        The class named most often, the most restrictive of those named as often; its share of all samples, the
        unreadable ones included, is the confidence, and the other shares are the alternatives. Missing context is
        what any sample of that class names. Without a readable sample, the error met most often.

    Raises
    ------
    ValueError
        If there is no sample.
    """
    if not samples:
        raise ValueError("a vote needs at least one sample")
    row: dict[str, Any] = {name: samples[0].get(name) for name in AnswerRow.__annotations__}
    row |= {"elicitation": str(Elicitation.VOTE), "covered_mass": math.nan, "flags": (), "completion": None}
    for name in ("prompt_tokens", "completion_tokens", "latency_s"):
        known = [sample[name] for sample in samples if sample.get(name) is not None]
        row[name] = sum(known) if len(known) == len(samples) else None
    counts = Counter(sample["predicted"] for sample in samples if isinstance(sample["predicted"], str))
    if not counts:
        (error, _), *_ = Counter(sample["error"] for sample in samples).most_common()
        return _unreadable(row, error)
    order = {
        name: (-taxonomy.ranks.get(name, 0), place) for place, name in enumerate((*taxonomy.names, taxonomy.abstain))
    }
    winner = min(counts, key=lambda name: (-counts[name], order[name]))
    shares = {name: count / len(samples) for name, count in counts.items()}
    named = [sample["missing_context"] for sample in samples if sample["predicted"] == winner]
    row |= {
        "predicted": winner,
        "confidence": shares.pop(winner),
        "alternatives": shares or None,
        "missing_context": tuple(dict.fromkeys(name for names in named for name in names)),
        "error": None,
    }
    return AnswerRow(**row)  # type: ignore[typeddict-item]


def _token_reading(
    completion: Completion, contract: TextContract, verbal: Reading, taxonomy: Taxonomy, fields: AnswerFields
) -> tuple[Reading, float]:
    """Read the token confidence of the label that the written answer names, and how much mass all labels have."""
    path, labels = _label_place(contract, taxonomy, fields)
    said = verbal
    if verbal.error in _ONLY_THE_NUMBER:
        said = _without_number(completion.text or "", contract, taxonomy, fields, verbal)
    if said.error is not None or said.predicted is None:
        return Reading(error=said.error), math.nan
    written = next(label for label in labels if (taxonomy.resolve(label) or label) == said.predicted)
    read = token_confidence(completion.text, completion.tokens, labels, path=path, answer=written)
    if read.confidence is None:
        return Reading(error=read.error, flags=read.flags), math.nan
    flags = tuple(flag for flag in said.flags if flag in _NOT_OF_THE_NUMBER) + read.flags
    alternatives = _alternatives(read, taxonomy, said.predicted)
    return Reading(said.predicted, read.confidence, alternatives, said.missing_context, flags), read.covered_mass


def _label_place(
    contract: TextContract, taxonomy: Taxonomy, fields: AnswerFields
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return under which keys the label stands in a reply, and all that may stand there."""
    if isinstance(contract, DistributionContract):
        return ("answers", contract.question, "value"), contract.questions[contract.question].labels
    if contract.kind == "verdict":
        return ("verdict",), VERDICTS
    names = taxonomy.names
    return (fields.label,), names if taxonomy.abstain in names else (*names, taxonomy.abstain)


def _without_number(
    text: str, contract: TextContract, taxonomy: Taxonomy, fields: AnswerFields, verbal: Reading
) -> Reading:
    """Read an answer whose only fault was found in its numbers as if it had written usable ones."""
    start, end = text.find("{"), text.rfind("}")
    try:
        answer = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return verbal
    answer = {name: value for name, value in answer.items() if name != fields.alternatives}
    return contract.read(json.dumps({**answer, fields.confidence: fields.scale}), taxonomy)


def _alternatives(read: TokenConfidence, taxonomy: Taxonomy, predicted: str) -> dict[str, float] | None:
    shares = {taxonomy.resolve(label) or label: share for label, share in read.probabilities.items()}
    return {label: share for label, share in shares.items() if label != predicted} or None


def _row(
    completion: Completion, prompt: PromptFile, elicitation: Elicitation, reading: Reading, covered: float = math.nan
) -> AnswerRow:
    usage = completion.usage
    return AnswerRow(
        prompt=prompt.name,
        calibration=str(Calibration.LANGUAGE_MODEL),
        elicitation=str(elicitation),
        predicted=reading.predicted,
        confidence=reading.confidence,
        alternatives=None if reading.alternatives is None else dict(reading.alternatives),
        missing_context=reading.missing_context,
        error=reading.error,
        flags=reading.flags,
        covered_mass=covered,
        prompt_tokens=None if usage is None else usage.prompt_tokens,
        completion_tokens=None if usage is None else usage.completion_tokens,
        latency_s=completion.latency_s,
        finish_reason=completion.finish_reason,
        served_model=completion.served_model,
        completion=completion.text,
    )


def _unreadable(row: dict[str, Any], error: str) -> AnswerRow:
    row |= {"predicted": None, "confidence": math.nan, "alternatives": None, "missing_context": (), "error": error}
    return AnswerRow(**row)  # type: ignore[typeddict-item]
