"""What goes wrong between a request and its reply, and trying again.

Every way in which a provider fails an ask has a kind of its own here, which is stored and counted. Whatever the
provider wrote beside it stays out of messages: it may quote the item, or a key.
"""

import asyncio
import email.utils
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Final, Generic, NamedTuple, TypeVar

import openai

from assay.ask.bounded import ReplyTooLong
from assay.ask.request import Parameter, Patience
from assay.rules.classifier import AskError, Rejected, Transient, Transport, Usage

Result = TypeVar("Result")

REPLY_KINDS: Final[dict[str, str]] = {
    "truncated": "the completion was cut at its token limit",
    "filtered": "the provider's content filter withheld the completion",
    "refused": "the model declined to answer",
    "empty": "the reply holds no text",
    "unreadable_reply": "the reply is not a chat completion",
}
"""Why a reply that arrived holds no usable text."""

CALL_KINDS: Final[dict[str, str]] = {
    "rate_limited": "the provider asks for fewer requests",
    "quota_exhausted": "the account has no quota left",
    "server_error": "the provider's server failed",
    "timed_out": "no reply came within the time-out",
    "connection_failed": "the connection failed or was cut",
    "unauthorised": "the provider does not accept the key, or not for this model",
    "unknown_model": "the provider has no such model or deployment",
    "too_long": "the request is longer than the model takes",
    "rejected": "the provider refused the request",
    "unsendable": "the item holds a lone surrogate, which is not text",
}
"""Why no reply arrived."""

FAULTS: Final[dict[str, str]] = {**REPLY_KINDS, **CALL_KINDS}
"""Every kind of `Completion.error` and what it means."""

RETRIED: Final = frozenset({"rate_limited", "server_error", "timed_out", "connection_failed", "unreadable_reply"})
"""Kinds that another try may cure."""

HOPELESS: Final = frozenset({"quota_exhausted", "unauthorised", "unknown_model"})
"""Kinds that every further ask of the same model would meet as well."""

_TRANSIENT: Final = frozenset({"rate_limited", "quota_exhausted", "server_error", "timed_out"})
_TRANSPORT: Final = frozenset({"connection_failed", "unreadable_reply", "empty", "truncated"})

_BY_CODE: Final = {
    "content_filter": "filtered",
    "content_policy_violation": "filtered",
    "responsibleaipolicyviolation": "filtered",
    "insufficient_quota": "quota_exhausted",
    "billing_hard_limit_reached": "quota_exhausted",
    "context_length_exceeded": "too_long",
    "exceed_context_size_error": "too_long",
    "string_above_max_length": "too_long",
    "model_not_found": "unknown_model",
    "deploymentnotfound": "unknown_model",
    "invalid_api_key": "unauthorised",
}

_PARAMETERS: Final[dict[Parameter, re.Pattern[str]]] = {
    "max_completion_tokens": re.compile(r"max_completion_tokens"),
    "max_tokens": re.compile(r"max_tokens"),
    "temperature": re.compile(r"temperature"),
    "logprobs": re.compile(r"logprobs"),
    "response_format": re.compile(r"response_format|json_schema|json_object|\bschema\b|\bgrammar\b"),
    "seed": re.compile(r"\bseed\b"),
}
"""How refusals name a parameter."""


class Fault(NamedTuple):
    """What went wrong, in our words, and how long the provider asks to wait (seconds)."""

    kind: str
    message: str
    retry_after: float | None = None


class CallFailed(Exception):  # noqa: N818 (a signal inside the room, which becomes a `Completion`)
    """A request gave no usable reply."""

    def __init__(self, fault: Fault, tries: int = 1) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.tries = tries


class ParameterRefused(CallFailed):
    """A request was refused for one of its parameters, without which it may be sent again."""

    def __init__(self, fault: Fault, parameter: Parameter) -> None:
        super().__init__(fault)
        self.parameter = parameter


class Tried(NamedTuple, Generic[Result]):
    """What a try gave, the number of tries, and the seconds that the last one took."""

    result: Result
    tries: int
    latency_s: float


async def keep_trying(send: Callable[[], Awaitable[Result]], patience: Patience) -> Tried[Result]:
    """Send a request until it gives a result or another try is no use.

    Between tries it waits as long as the provider asks, else twice as long each time with some jitter, so that asks
    that failed together do not come back together.

    Raises
    ------
    CallFailed
        With the last fault and the number of tries: the fault is not one that trying cures, the tries are used up, or
        the provider asks for a wait longer than `patience` allows.
    """
    for done in range(1, patience.tries + 1):
        started = time.monotonic()
        try:
            async with asyncio.timeout(patience.timeout):
                result = await send()
            return Tried(result, done, time.monotonic() - started)
        except TimeoutError:
            fault = _fault("timed_out")
        except ParameterRefused:
            raise
        except CallFailed as failure:
            fault = failure.fault
        wait = _wait(fault, done, patience)
        if wait is None:
            raise CallFailed(fault, done)
        await asyncio.sleep(wait)
    raise AssertionError("the last try always returns or raises")


def fault_of(error: openai.OpenAIError) -> Fault:
    """Name what an error of the client means."""
    if isinstance(error, openai.APITimeoutError):
        return _fault("timed_out")
    if isinstance(error.__cause__, ReplyTooLong):
        return _fault("unreadable_reply")
    if isinstance(error, openai.APIConnectionError):
        return _fault("connection_failed")
    if isinstance(error, openai.APIStatusError):
        kind = _kind(error.status_code, error.body)
        wait = retry_after(error.response.headers) if kind in _TRANSIENT else None
        return Fault(kind, f"{CALL_KINDS.get(kind) or REPLY_KINDS[kind]} (HTTP {error.status_code})", wait)
    return _fault("unreadable_reply")


def fault_of_body(error: object) -> Fault:
    """Name what an error means that came inside a reply with the status of a success."""
    code = error.get("code") if isinstance(error, Mapping) else None
    return _fault(_kind(code if isinstance(code, int) else 400, error))


def refused_parameter(error: openai.APIStatusError, sent: Collection[str]) -> Parameter | None:
    """Tell for which of the parameters that were `sent` a request was refused; None if for another reason.

    The field that names it is believed; only where there is none, the provider's words are searched for a name.
    """
    if error.status_code not in (400, 422) or _kind(error.status_code, error.body) != "rejected":
        return None
    named = error.param if isinstance(error.param, str) else ""
    for text in (named, _words(error.body)):
        for parameter, pattern in _PARAMETERS.items():
            if parameter in sent and pattern.search(text):
                return parameter
        if named:
            break
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds a provider asks to wait, 0 or more; None if it does not say.

    Takes ``retry-after-ms``, and ``retry-after`` in seconds or as a date.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        given = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", given):
            return float(given) * unit
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def ask_error(kind: str, detail: str, retry_after: float | None = None, usage: Usage | None = None) -> AskError:
    """Return the `AskError` that a kind of fault is to a caller of a classifier.

    A refusal by the provider, its filter or the model is `Rejected`; what may pass by itself is `Transient`; no
    readable answer is `Transport`.
    """
    message = f"{kind}: {detail}"
    if kind in _TRANSIENT:
        return Transient(message, retry_after=retry_after, usage=usage)
    return (Transport if kind in _TRANSPORT else Rejected)(message, usage=usage)


def _fault(kind: str) -> Fault:
    return Fault(kind, FAULTS[kind])


def _wait(fault: Fault, done: int, patience: Patience) -> float | None:
    """Return the seconds to wait after try number `done`, or None to give up."""
    if fault.kind not in RETRIED or done == patience.tries:
        return None
    if fault.retry_after is not None:
        return fault.retry_after if fault.retry_after <= patience.longest_wait else None
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 (spreads load, guards nothing)
    return min(patience.longest_wait, patience.first_wait * 2 ** (done - 1)) * jitter


def _kind(status: int, body: object) -> str:
    by_code = next((_BY_CODE[code] for code in _codes(body) if code in _BY_CODE), None)
    if by_code:
        return by_code
    if 300 <= status < 400:
        # A redirect that leads nowhere is something on the way, not the provider's word on the request.
        return "unreadable_reply"
    if status in (401, 403):
        return "unauthorised"
    if status == 404 or (isinstance(body, Mapping) and body.get("param") == "model"):
        return "unknown_model"
    if status == 413:
        return "too_long"
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timed_out"
    return "server_error" if status >= 500 or status == 409 else "rejected"


def _codes(body: object) -> list[str]:
    """Return the codes that an error carries, the outer ones first."""
    if not isinstance(body, Mapping):
        return []
    inner = body.get("innererror") or body.get("inner_error")
    found = [body.get("code"), body.get("type"), inner.get("code") if isinstance(inner, Mapping) else None]
    return [code.casefold() for code in found if isinstance(code, str)]


def _words(body: object) -> str:
    if isinstance(body, str):
        return body
    try:
        return json.dumps(body)
    except (TypeError, ValueError, RecursionError):
        return ""
