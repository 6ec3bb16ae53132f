"""What came back: one provider's reply, whatever its shape, as one `Completion`.

A reply is untrusted: every field may be missing, null or of another type. Why there is no usable text is told apart,
since a refusal, a content filter, a limit and an empty message call for different remedies, and none of them is an
answer.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

from assay.ask.faults import REPLY_KINDS, fault_of_body
from assay.keys import SHORTEST_SECRET
from assay.rules.classifier import Usage
from assay.rules.parsing import FINISH_REASONS

_LONGEST_NAME: Final = 200


class Alternative(NamedTuple):
    """A token that could have stood at a place, with its natural log probability; None where it was not told."""

    text: str
    logprob: float | None
    raw: bytes


class Token(NamedTuple):
    """A token that was written, and what else could have stood there.

    `raw` holds the bytes of the token, which for a part of a character are not text by themselves.
    """

    text: str
    logprob: float | None
    raw: bytes
    top: tuple[Alternative, ...] = ()


@dataclass(frozen=True)
class Completion:
    """What one ask gave.

    Parameters
    ----------
    text : str or None
        All that the model wrote, also where `error` says that it must not be used; None where it wrote nothing.
    error : str or None
        Why there is no usable text: a kind of `assay.ask.faults.FAULTS`.
    detail : str
        The error in words; quotes nothing that the provider or the model wrote.
    finish_reason : str or None
        As the provider gave it.
    usage : Usage or None
        Tokens as the provider counted them.
    served_model : str or None
        The model that the provider says answered.
    tokens : tuple of Token, or None
        What was written, token by token; None where the provider gave no log probabilities.
    latency_s : float or None
        Seconds from sending the last request to having its reply.
    tries : int
        Requests sent, those that were refused for a parameter left out.
    sent : mapping
        The parameters of the last request, its messages and schema left out.
    retry_after : float or None
        Seconds that the provider asked to wait, where the error came with them.
    """

    text: str | None = None
    error: str | None = None
    detail: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    served_model: str | None = None
    tokens: tuple[Token, ...] | None = None
    latency_s: float | None = None
    tries: int = 1
    sent: Mapping[str, Any] = field(default_factory=dict, hash=False)
    retry_after: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON that `from_dict` reads back to an equal completion."""
        usage = None
        if self.usage is not None:
            usage = [self.usage.prompt_tokens, self.usage.completion_tokens]
        tokens = None
        if self.tokens is not None:
            tokens = [[*_packed(one), [_packed(other) for other in one.top]] for one in self.tokens]
        plain = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        return {**plain, "usage": usage, "tokens": tokens, "sent": dict(self.sent)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build from what `to_dict` gave."""
        usage, tokens = document["usage"], document["tokens"]
        return cls(
            **{name: document[name] for name in _PLAIN_FIELDS},
            usage=None if usage is None else Usage(*usage),
            tokens=None if tokens is None else tuple(_unpacked_token(one) for one in tokens),
            sent=document["sent"],
        )

    def without_key(self, key: str) -> Self:
        """Blank the key in what came: a server that sends back what it was sent must not have it stored."""
        if len(key) < SHORTEST_SECRET:
            return self
        echoed: dict[str, Any] = {
            name: text.replace(key, "[key removed]")
            for name in ("text", "served_model", "finish_reason")
            if key in (text := getattr(self, name) or "")
        }
        tokens = self.tokens or ()
        written = [b"".join(one.raw for one in tokens), *(other.raw for one in tokens for other in one.top)]
        if any(key.encode() in raw for raw in written):
            echoed["tokens"] = None
        return replace(self, **echoed) if echoed else self


NOTHING: Final = Completion()
"""A completion of which nothing is known."""

_PLAIN_FIELDS: Final = ("text", "error", "detail", "finish_reason", "served_model", "latency_s", "tries", "retry_after")


def read_reply(body: object) -> Completion:
    """Read a chat completion, as decoded from JSON: of a live call, of a batch result, or out of a store.

    Parameters
    ----------
    body : object
        What should be a ``chat.completion`` object; its first choice is taken.

    Returns
    -------
    Completion
        Never raises. `error` is `unreadable_reply` where the body is no such object, the kind of the provider's
        error where the body carries one, and otherwise, of these, the first that applies: `filtered`, `refused`,
        `truncated`, `empty`.

    Notes
    -----
    A structured payload (``parsed``) is taken in place of the text. Content in parts is joined. A finish reason of
    ``content_filter`` or ``length`` goes before the text, which is kept all the same.
    """
    if not isinstance(body, Mapping):
        return _failed("unreadable_reply")
    about = Completion(served_model=_name(body.get("model")), usage=_usage(body.get("usage")))
    choices = body.get("choices")
    if not choices and body.get("error"):
        fault = fault_of_body(body["error"])
        return replace(about, error=fault.kind, detail=fault.message)
    choice = choices[0] if isinstance(choices, Sequence) and not isinstance(choices, str) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        return _failed("unreadable_reply", about)
    finish_reason = _name(choice.get("finish_reason"))
    about = replace(about, finish_reason=finish_reason, tokens=_tokens(choice.get("logprobs")))
    try:
        text = _text(message)
    except ValueError:
        return _failed("unreadable_reply", about)
    ended = FINISH_REASONS.get(finish_reason or "")
    if ended != "filtered" and message.get("refusal"):
        ended = "refused"
    if ended is None and not (text or "").strip():
        ended = "empty"
    about = replace(about, text=text)
    return about if ended is None else _failed(ended, about)


def read_body(raw: bytes) -> Completion:
    """Read the bytes of an HTTP reply that has the status of a success; see `read_reply`."""
    try:
        body = json.loads(raw.decode(), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return _failed("unreadable_reply")
    return read_reply(body)


def _failed(kind: str, about: Completion = NOTHING) -> Completion:
    return replace(about, error=kind, detail=REPLY_KINDS[kind])


def _text(message: Mapping[str, Any]) -> str | None:
    """Return what the model wrote; ValueError if it is not text."""
    content = message.get("content")
    parsed = message.get("parsed")
    if isinstance(parsed, Mapping):
        content = json.dumps(parsed, ensure_ascii=False)
    elif isinstance(content, list):
        content = "".join(
            one["text"] for one in content if isinstance(one, Mapping) and isinstance(one.get("text"), str)
        )
    if content is None:
        return None
    if not isinstance(content, str):
        raise ValueError
    content.encode()  # A lone surrogate is no text, and no file or database would take it.
    return content


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    try:
        return Usage(value["prompt_tokens"], value.get("completion_tokens") or 0)
    except (KeyError, ValueError):
        return None


def _name(value: object) -> str | None:
    """Return a short printable name, or None: it is stored and shown, and a provider wrote it."""
    if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_NAME:
        return value
    return None


def _tokens(logprobs: object) -> tuple[Token, ...] | None:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not content:
        return None
    tokens = []
    for one in content:
        written = _alternative(one)
        if written is None:
            return None
        top = one.get("top_logprobs")
        listed = map(_alternative, top if isinstance(top, list) else [])
        tokens.append(Token(*written, tuple(other for other in listed if other is not None)))
    return tuple(tokens)


def _alternative(value: object) -> Alternative | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("token"), str):
        return None
    text, logprob = value["token"], value.get("logprob")
    try:
        raw = bytes(value["bytes"])
    except (KeyError, TypeError, ValueError):
        raw = text.encode("utf-8", "replace")
    return Alternative(raw.decode("utf-8", "replace"), _logprob(logprob), raw)


def _logprob(value: object) -> float | None:
    # Servers write -9999, the lowest float or minus infinity for "not among those listed", which is no probability.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        return None
    return float(value) if value > 0 or math.exp(value) > 0 else None


def _packed(one: Token | Alternative) -> list[Any]:
    return [one.text, one.logprob, None if one.text.encode() == one.raw else list(one.raw)]


def _unpacked_token(packed: Sequence[Any]) -> Token:
    *written, top = packed
    return Token(*_unpacked(written), tuple(_unpacked(other) for other in top))


def _unpacked(packed: Sequence[Any]) -> Alternative:
    text, logprob, raw = packed
    return Alternative(text, logprob, text.encode() if raw is None else bytes(raw))
