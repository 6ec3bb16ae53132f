"""How probable the label was when it was written: a confidence read off log probabilities.

Where the label begins in the reply, every token that was considered there is a step towards some label. Their
probabilities are added up for each label, whatever the spelling, and taken relative to all labels together. Labels of
several tokens are followed as far as it takes to tell them apart. What was not told stays untold: a label outside the
listed tokens has a bound, not a probability, and none is ever 0 for want of data.
"""

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from assay.ask.response import Token
from assay.rules.taxonomy import fold

TOKEN_ERRORS: Final[dict[str, str]] = {
    "no_logprobs": "the provider gave no log probabilities",
    "label_not_found": "the label does not stand where it should in the text",
    "tokens_do_not_match": "the tokens are not those of the text",
    "label_not_in_top": "the label's probability was not told: it is outside the listed tokens",
    "no_alternatives": "only the written tokens were listed, so the label cannot be weighed against the others",
}
"""Why there is no token confidence, and what each means."""

TOKEN_FLAGS: Final[dict[str, str]] = {
    "low_covered_mass": "the labels together have less than half of the probability",
    "mass_over_one": "the listed probabilities add up to more than 1, so they are only taken relative to one another",
    "unlisted_mass": "a label whose probability was not told may have had more than a twentieth of it",
    "shared_token": "a token that could begin several labels, though not all, was divided among them evenly",
}
"""What to know about a token confidence that there is, and what each means."""

LOW_COVERED_MASS: Final = 0.5
"""Probability of all labels together under which `low_covered_mass` is flagged."""

UNLISTED_MASS: Final = 0.05
"""Bound of a label without a known probability above which `unlisted_mass` is flagged."""

MASS_ROUNDING: Final = 0.01
"""By how much listed probabilities may exceed 1 in sum; rounding explains no more."""

_MOST_BRACES: Final = 200
_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSED_REASONING = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class TokenConfidence:
    """What the log probabilities say about one label.

    Parameters
    ----------
    label : str or None
        The label that was written; None where it was not found.
    confidence : float in [0, 1], or None
        Its probability relative to all labels; None where `error` says why there is none.
    probabilities : mapping of str to float
        Of the labels whose probability is known, summing to 1; empty where there is no confidence.
    mass : mapping of str to float
        The same before they were taken relative to one another.
    covered_mass : float
        Their sum: how much of the probability went to labels at all. Above 1 only with `mass_over_one`.
    bounds : mapping of str to float in [0, 1]
        For each label without a known probability, the most that it can have had.
    flags : tuple of str
        Keys of `TOKEN_FLAGS`.
    error : str or None
        A key of `TOKEN_ERRORS`.
    """

    label: str | None = None
    confidence: float | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    mass: Mapping[str, float] = field(default_factory=dict)
    covered_mass: float = 0.0
    bounds: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    error: str | None = None


def token_confidence(
    text: str | None,
    tokens: Sequence[Token] | None,
    labels: Sequence[str],
    *,
    path: Sequence[str] = (),
    answer: str | None = None,
) -> TokenConfidence:
    """Read the probability of the label in a completion.

    Parameters
    ----------
    text : str or None
        What the model wrote.
    tokens : sequence of Token, or None
        The tokens of the completion with their natural log probabilities; more than the text is allowed, such as a
        fence or a block of reasoning that the provider took off.
    labels : sequence of str
        All labels there are, distinct after trimming and case folding.
    path : sequence of str
        The keys under which the label stands in the JSON object of the text; empty where the text is the label.
    answer : str, optional
        The label that a parser read, so that of several objects the right one is taken.

    Returns
    -------
    TokenConfidence

    Notes
    -----
    Let the label begin at token :math:`i`. A token considered there belongs to a label if one begins with the other
    once case and leading space are left aside. If what was written belongs to one label only, that is all; if it
    could still become several, the walk goes on at :math:`i + 1` with all probabilities multiplied by that of what was
    written so far. A token that could begin every label tells nothing and is left out. What a label's later tokens
    would have been given is not asked: a grammar forces them, and log probabilities are those before it.

    The bound of a label is the probability left unlisted wherever it could still have been written.
    """
    if text is None or not tokens:
        return TokenConfidence(error="no_logprobs")
    place = _find_label(text, labels, path, answer)
    if place is None:
        return TokenConfidence(label=answer, error="label_not_found")
    whole = b"".join(token.raw for token in tokens)
    offset = whole.rfind(text.encode("utf-8", "replace"))
    if offset < 0:
        return TokenConfidence(label=place.label, error="tokens_do_not_match")
    start, end = (offset + len(text[:position].encode()) for position in (place.start, place.end))
    walk = _Walk(_Speller(labels, in_json=bool(path)), place.label)
    # In JSON the closing quote is what ends a label that another one begins with.
    walk.along(tokens, start, end + 1 if path else end)
    return walk.outcome()


class _Place(NamedTuple):
    """Where a label stands in the text, without its quotes."""

    label: str
    start: int
    end: int


def _find_label(text: str, labels: Sequence[str], path: Sequence[str], answer: str | None) -> _Place | None:
    by_fold = {fold(label): label for label in labels}
    for value, start, end in _values(text, path):
        label = by_fold.get(fold(value))
        if label is not None and answer in (None, label):
            return _Place(label, start, end)
    return None


def _values(text: str, path: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the strings that stand under `path`, each with where it begins and ends between its quotes."""
    if not path:
        bare = text.strip()
        start = text.index(bare)
        yield bare, start, start + len(bare)
        return
    *_, after = (0, *(tag.end() for tag in _CLOSED_REASONING.finditer(text)))
    for begin in dict.fromkeys((after, 0)):
        position = text.find("{", begin)
        for _ in range(_MOST_BRACES):
            if position < 0:
                break
            try:
                _, end = _DECODER.raw_decode(text, position)
                span = _member(text, position, path)
                if span is not None and text[span[0]] == '"':
                    yield _DECODER.raw_decode(text, span[0])[0], span[0] + 1, span[1] - 1
            except (ValueError, RecursionError):
                end = position + 1
            position = text.find("{", end)


def _member(text: str, at: int, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the value under `path` stands in the object that begins at `at`; of repeated keys, the last."""
    found = None
    at = _after_space(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = _DECODER.raw_decode(text, at)
        value = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, value)
        if key == path[0]:
            deeper = len(path) > 1 and text[value] == "{"
            found = _member(text, value, path[1:]) if deeper else (value, end) if len(path) == 1 else None
        at = _after_space(text, end)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
    return found


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


class _Speller:
    """Which labels something written could be, or become."""

    def __init__(self, labels: Sequence[str], *, in_json: bool) -> None:
        self.labels = tuple(labels)
        self._in_json = in_json
        self._spellings = {label: tuple(self._spell(label)) for label in labels}

    def could_be(self, written: bytes) -> tuple[str, ...]:
        """Return the labels that begin with `written`, or that it begins with."""
        # Half a character at the end is not read yet; it takes the next token.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(written).lstrip().casefold()
        return tuple(label for label in self.labels if any(self._fits(text, one) for one in self._spellings[label]))

    def _spell(self, label: str) -> set[str]:
        if not self._in_json:
            return {fold(label)}
        return {json.dumps(label.strip(), ensure_ascii=ascii_only)[1:].casefold() for ascii_only in (True, False)}

    def _fits(self, text: str, spelling: str) -> bool:
        if spelling.startswith(text):
            return True
        # In JSON the closing quote is part of the spelling; bare, a label must not run on into a longer word.
        return text.startswith(spelling) and (self._in_json or not text[len(spelling)].isalnum())


class _Walk:
    """Along the tokens of the label, until what was written can be one label only."""

    def __init__(self, speller: _Speller, answer: str) -> None:
        self._speller = speller
        self._answer = answer
        self._mass: dict[str, float] = {}
        self._unlisted = dict.fromkeys(speller.labels, 0.0)
        self._flags: set[str] = set()
        self._weighed = False

    def along(self, tokens: Sequence[Token], start: int, end: int) -> None:
        """Add up the probabilities of all labels; `start` and `end` are the label's, in bytes of all tokens."""
        position, reached, written = 0, 1.0, b""
        for token in tokens:
            before, position = position, position + len(token.raw)
            if position <= start:
                continue
            opening = b"".join(one.raw for one in tokens)[before:start] if before < start else b""
            own = self._at(token, opening, written, reached)
            written += token.raw[len(opening) :]
            could_be = self._speller.could_be(written)
            if own is None:
                return
            if len(could_be) < 2 or position >= end:
                self._add(self._answer, reached * own)
                return
            reached *= own

    def outcome(self) -> TokenConfidence:
        """Take the probabilities relative to one another."""
        bounds = {label: min(1.0, unlisted) for label, unlisted in self._unlisted.items() if label not in self._mass}
        total = math.fsum(self._mass.values())
        unlisted = max(bounds.values(), default=0.0)
        error = None
        if not self._mass.get(self._answer):
            error = "label_not_in_top"
        elif not self._weighed and unlisted > MASS_ROUNDING:
            error = "no_alternatives"
        if error is None and unlisted > UNLISTED_MASS:
            self._flags.add("unlisted_mass")
        if error is None and total < LOW_COVERED_MASS:
            self._flags.add("low_covered_mass")
        flags = tuple(flag for flag in TOKEN_FLAGS if flag in self._flags)
        shares = {}
        if error is None:
            shares = {label: self._mass[label] / total for label in self._speller.labels if label in self._mass}
        confidence = shares.get(self._answer)
        return TokenConfidence(self._answer, confidence, shares, self._mass, total, bounds, flags, error)

    def _at(self, token: Token, opening: bytes, written: bytes, reached: float) -> float | None:
        """Give each label what was listed for it at one token, but what was written itself: return that one's."""
        listed: dict[bytes, float] = {}
        for other in token.top:
            if other.logprob is not None:
                listed[other.raw] = listed.get(other.raw, 0.0) + _probability(other.logprob)
        if token.raw not in listed and token.logprob is not None:
            listed[token.raw] = _probability(token.logprob)
        total = math.fsum(listed.values())
        if total > 1 + MASS_ROUNDING:
            self._flags.add("mass_over_one")
        for label in self._speller.could_be(written):
            self._unlisted[label] += reached * max(0.0, 1 - total)
        own = listed.pop(token.raw, None)
        self._weighed = self._weighed or bool(listed)
        for raw, probability in listed.items():
            self._share(self._steps_towards(raw, opening, written), reached * probability)
        return own

    def _steps_towards(self, raw: bytes, opening: bytes, written: bytes) -> tuple[str, ...]:
        """Return the labels that a token leads to; `opening` is what it has to begin with, such as a quote."""
        bare, needed = raw.lstrip(), opening.lstrip()
        if not bare.startswith(needed):
            return self._speller.labels if needed.startswith(bare) else ()
        # Space before the label counts for nothing; within it, it is a part of the label.
        rest = bare[len(needed) :] if opening or not written else raw
        return self._speller.could_be(written + rest)

    def _share(self, labels: tuple[str, ...], probability: float) -> None:
        if not labels or len(labels) == len(self._speller.labels) > 1:
            return
        if len(labels) > 1:
            self._flags.add("shared_token")
        for label in labels:
            self._add(label, probability / len(labels))

    def _add(self, label: str, probability: float) -> None:
        self._mass[label] = self._mass.get(label, 0.0) + probability


def _probability(logprob: float) -> float:
    # A hair above 0 is rounding; far above, the listed sum shows it.
    probability = math.exp(min(logprob, 1.0))
    return 1.0 if 1 < probability <= 1 + MASS_ROUNDING else probability
