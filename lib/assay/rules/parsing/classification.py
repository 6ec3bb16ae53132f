"""Reading an answer of the classification contract: one JSON object with a label, a confidence and runner-ups."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from assay.rules.parsing._json import NotJson, all_pairs, repeated_keys, trim
from assay.rules.parsing._search import Found, find_objects
from assay.rules.parsing.confidence import SCALES, read_confidence
from assay.rules.parsing.outcomes import CLASSIFICATION_ERRORS, AnswerError, ErrorKind, Flag, ordered
from assay.rules.safety import Classification
from assay.rules.taxonomy import Taxonomy

FINISH_REASONS: Final[dict[str, ErrorKind]] = {
    "length": "truncated",
    "max_tokens": "truncated",
    "content_filter": "filtered",
    "refusal": "refused",
}
"""Why a completion ended, as providers say it, where that makes the answer unreadable."""


@dataclass(frozen=True)
class AnswerFields:
    """What a study calls the fields of an answer, and the scale of its confidences.

    Parameters
    ----------
    label, confidence, alternatives, missing_context, entities : str
        Names of the fields, all different.
    scale : {1, 100}
        What means certainty.

    Raises
    ------
    ValueError
        If a name is blank or given twice, or the scale is another.
    """

    label: str = "label"
    confidence: str = "confidence"
    alternatives: str = "alternatives"
    missing_context: str = "missing_context"
    entities: str = "entities"
    scale: int = 1

    def __post_init__(self) -> None:
        names = self.names()
        for name in names:
            if not isinstance(name, str) or not name.strip():
                raise ValueError(f"the name of an answer field must be a string that is not blank, got {name!r}")
            if names.count(name) > 1:
                raise ValueError(f"the answer field {name!r} is named twice")
        if isinstance(self.scale, bool) or self.scale not in SCALES:
            raise ValueError(f"scale must be 1 or 100, got {self.scale!r}")

    def names(self) -> tuple[str, ...]:
        """Return the five field names."""
        return (self.label, self.confidence, self.alternatives, self.missing_context, self.entities)


DEFAULT_FIELDS: Final = AnswerFields()


def parse_classification(
    text: str | None, taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS, finish_reason: str | None = None
) -> Classification:
    """Read one answer.

    Parameters
    ----------
    text : str or None
        The whole of what the model wrote; None where the provider gave no text.
    taxonomy : Taxonomy
    fields : AnswerFields
    finish_reason : str, optional
        Why the completion ended, as the response says. It goes before the text, which is not looked at then:
        ``length`` and ``max_tokens`` are `truncated`, ``content_filter`` is `filtered` and ``refusal`` is `refused`
        (also for a response that carries its refusal in a field of its own). Any other value says nothing.

    Returns
    -------
    Classification
        Label and alternatives are names of the taxonomy, every confidence is in [0, 1] whatever the scale, and `flags`
        says what was normalised.

    Raises
    ------
    AnswerError
        Of the first kind that applies, in the order of `CLASSIFICATION_ERRORS`. The message quotes none of the text.

    Notes
    -----
    Where the object is looked for:

    ======================================== =================================================================
    written                                  read as
    ======================================== =================================================================
    one object, bare or in a code fence      that object; the tag of the fence may be anything
    a fence at the start that never closes   the same, flagged `unclosed_fence`
    prose before or after, fenced or bare    the object, flagged `prose`; so for an array around it
    a closed ``<think>`` block               left aside with all that is in it, flagged `reasoning`; likewise
                                             ``<thinking>`` and ``<reasoning>``, and all that stands before a
                                             closing tag without an opening one
    such a block that never closes           error `not_json`, whatever else there is
    such a tag inside a JSON string          a part of that string
    two answer objects that read the same    that answer, flagged `prose` and `repeated`
    two that do not (an example, a second    error `ambiguous`, also where only one of them can be read; objects
    thought)                                 without the label field are no answers and do not count
    a brace that never closes                nothing after it is looked at; an answer found before it counts,
                                             flagged `prose` and `unclosed_object`
    an object inside a broken one            not looked at: error `not_json`
    trailing commas, single quotes, Python   error `not_json`: nothing is repaired or evaluated
    NaN, Infinity, numbers too large for a   error `not_json`, wherever in the object
    double, lone surrogates
    nesting deeper than 128                  error `not_json`
    a known field given twice                error `not_json`; other fields may repeat
    nothing but white space, no text         error `empty`
    ======================================== =================================================================

    What the fields may hold:

    ======================================== =================================================================
    written                                  read as
    ======================================== =================================================================
    no label, or null                        error `missing_field`
    label in other case or padded            the class, flagged `label_folded`
    the abstain name as label                itself
    any other label, or one not a string     error `unknown_class`: shortened names are not guessed at
    a confidence                             as `read_confidence` has it: null is `missing_confidence`, a number
                                             in a string or a percent sign is flagged, off the scale is an error
    no alternatives, null, ``{}``, ``[]``    no runner-ups
    alternatives as an object                class to confidence
    as a list of objects                     each with a class (under the label's name, ``class`` or ``label``)
                                             and a confidence (under the confidence's name or ``confidence``)
    as a list of names                       left out for want of a confidence, each answer flagged
                                             `alternatives_without_confidence`
    a confidence there that is missing,      error `bad_alternatives`: to drop a runner-up would loosen the tie
    no number or off the scale               rule
    as anything else                         error `bad_alternatives`
    one that names no class                  left out, flagged `unknown_alternative`
    in other case or padded                  the class, flagged `alternative_folded`
    the same class twice                     the larger confidence, flagged `repeated_alternative`
    the chosen class among them              kept, flagged `label_among_alternatives`
    missing context as a list of strings     the trimmed names that are not blank
    as one string                            a list of one, flagged `missing_context_string`
    missing or null                          nothing is missing
    as anything else                         error `bad_missing_context`: to drop it would loosen a safety rule
    entities as an object                    carried as they are
    missing or null                          none
    as anything else                         none, flagged `entities_ignored`
    ======================================== =================================================================
    """
    if finish_reason is not None and (ended := FINISH_REASONS.get(finish_reason)):
        raise AnswerError(ended, CLASSIFICATION_ERRORS[ended])
    if text is None or not trim(text):
        raise AnswerError("empty", CLASSIFICATION_ERRORS["empty"])
    found = _found(text)
    if found is None or not found.objects:
        raise AnswerError("not_json", CLASSIFICATION_ERRORS["not_json"])
    candidates = [one for one in found.objects if fields.label in one]
    if not candidates:
        raise AnswerError("missing_field", f"the object has no field {fields.label!r}")
    if len(candidates) == 1:
        return _read(candidates[0], taxonomy, fields, found.flags)
    return _agreed(candidates, taxonomy, fields, [*found.flags, "repeated"])


def _found(text: str) -> Found | None:
    try:
        return find_objects(text)
    except NotJson:
        return None


def _agreed(
    candidates: list[dict[str, Any]], taxonomy: Taxonomy, fields: AnswerFields, flags: list[Flag]
) -> Classification:
    """Return what all `candidates` say; they may differ in how they say it and in fields outside the contract."""
    first = _outcome(candidates[0], taxonomy, fields, flags)
    for candidate in candidates[1:]:
        other = _outcome(candidate, taxonomy, fields, flags)
        if isinstance(first, Classification) and isinstance(other, Classification):
            same = replace(other, flags=first.flags) == first
        else:
            same = type(first) is type(other) and candidate == candidates[0]
        if not same:
            raise AnswerError("ambiguous", f"{len(candidates)} answer objects were found and they differ")
    if isinstance(first, AnswerError):
        raise first
    return first


def _outcome(
    answer: dict[str, Any], taxonomy: Taxonomy, fields: AnswerFields, flags: list[Flag]
) -> Classification | AnswerError:
    try:
        return _read(answer, taxonomy, fields, flags)
    except AnswerError as error:
        return error


def _read(answer: dict[str, Any], taxonomy: Taxonomy, fields: AnswerFields, around: list[Flag]) -> Classification:
    if repeated_keys(answer).intersection(fields.names()):
        raise AnswerError("not_json", "a known field is given twice")
    flags = list(around)
    label = _read_label(answer.get(fields.label), taxonomy, fields, flags)
    confidence, more = read_confidence(answer.get(fields.confidence), fields.scale)
    flags += more
    alternatives = _read_alternatives(answer.get(fields.alternatives), taxonomy, fields, flags)
    if label in alternatives:
        flags.append("label_among_alternatives")
    missing_context = _read_missing_context(answer.get(fields.missing_context), fields, flags)
    entities = answer.get(fields.entities)
    if entities is not None and not isinstance(entities, dict):
        flags.append("entities_ignored")
        entities = None
    return Classification(label, confidence, alternatives, missing_context, dict(entities or {}), ordered(flags))


def _read_label(written: object, taxonomy: Taxonomy, fields: AnswerFields, flags: list[Flag]) -> str:
    if written is None:
        raise AnswerError("missing_field", f"the field {fields.label!r} is null")
    label = taxonomy.resolve(written) if isinstance(written, str) else None
    if label is None:
        raise AnswerError("unknown_class", f"the field {fields.label!r} names no class of the taxonomy")
    if label != written:
        flags.append("label_folded")
    return label


def _read_alternatives(
    written: object, taxonomy: Taxonomy, fields: AnswerFields, flags: list[Flag]
) -> dict[str, float]:
    alternatives: dict[str, float] = {}
    for name, stated in _stated(written, fields, flags):
        try:
            confidence, more = read_confidence(stated, fields.scale)
        except AnswerError as error:
            raise AnswerError("bad_alternatives", f"in the field {fields.alternatives!r}, {error.message}") from None
        if more:
            flags += more
        label = taxonomy.resolve(name)
        if label is None:
            flags.append("unknown_alternative")
            continue
        if label != name:
            flags.append("alternative_folded")
        if label in alternatives:
            flags.append("repeated_alternative")
            confidence = max(confidence, alternatives[label])
        alternatives[label] = confidence
    return alternatives


def _stated(written: object, fields: AnswerFields, flags: list[Flag]) -> Iterator[tuple[str, object]]:
    """Yield each alternative as written: its class and what stands for its confidence."""
    if isinstance(written, dict):
        yield from all_pairs(written)
    elif isinstance(written, list):
        for one in written:
            if isinstance(one, str):
                flags.append("alternatives_without_confidence")
            else:
                yield _stated_in_object(one, fields)
    elif written is not None:
        raise AnswerError("bad_alternatives", f"the field {fields.alternatives!r} must be an object or a list")


def _stated_in_object(one: object, fields: AnswerFields) -> tuple[str, object]:
    names = (fields.label, "class", "label")
    confidences = (fields.confidence, "confidence")
    if isinstance(one, dict) and not repeated_keys(one).intersection(names + confidences):
        name = next((one[key] for key in names if key in one), None)
        if isinstance(name, str):
            return name, next((one[key] for key in confidences if key in one), None)
    raise AnswerError(
        "bad_alternatives", f"in the field {fields.alternatives!r}, an item must be an object with a class"
    )


def _read_missing_context(written: object, fields: AnswerFields, flags: list[Flag]) -> tuple[str, ...]:
    if isinstance(written, str):
        if written.strip():
            flags.append("missing_context_string")
        written = [written]
    if written is None:
        return ()
    if not isinstance(written, list) or not all(isinstance(name, str) for name in written):
        raise AnswerError("bad_missing_context", f"the field {fields.missing_context!r} must be a list of names")
    return tuple(name.strip() for name in written if name.strip())
