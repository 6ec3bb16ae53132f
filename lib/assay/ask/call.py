"""Asking once: one request, tried again where that may help, in the dialect that the model takes.

Whatever a provider does ends in a `Completion`; only a missing configuration raises, before anything is sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import httpx2
import openai

from assay.ask.client import Connection
from assay.ask.faults import (
    FAULTS,
    RETRIED,
    CallFailed,
    Fault,
    ParameterRefused,
    fault_of,
    keep_trying,
    refused_parameter,
)
from assay.ask.prompts import ContractName
from assay.ask.request import Ask, Dialect, Patience, build_request, sent_format
from assay.ask.response import Completion, read_body
from assay.rules import Taxonomy
from assay.rules.classifier import NotConfigured
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields

NO_CONNECTION: Final = "no connection to a provider: build one with assay.ask.connect"

_COMPLETIONS: Final = "/chat/completions"


async def ask_once(
    connection: Connection, ask: Ask, taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS
) -> Completion:
    """Ask one item of one model.

    Parameters
    ----------
    connection : Connection
    ask : Ask
    taxonomy : Taxonomy
        Its class names are the labels that the schema of the reply offers.
    fields : AnswerFields
        What the fields of a classification are called.

    Returns
    -------
    Completion
        With an `error` where the ask gave no usable text; no fault of a provider raises.

    Raises
    ------
    NotConfigured
        If there is no model or no connection; nothing was sent then.
    PromptError
        If the prompt's questions do not fit the taxonomy; nothing was sent then.
    """
    build = partial(build_request, ask, taxonomy, fields=fields)
    return await complete(connection, ask.model, ask.prompt.contract, build, ask.settings.patience)


async def complete(
    connection: Connection,
    model: str,
    contract: ContractName,
    build: Callable[[Dialect], dict[str, Any]],
    patience: Patience,
) -> Completion:
    """Send the request that `build` gives for a dialect, giving up one parameter after the other as they are refused.

    What the model took is remembered on the connection once a reply has come, so that a refusal is paid for once.
    """
    if not isinstance(connection, Connection):
        raise NotConfigured(NO_CONNECTION)
    if not isinstance(model, str) or not model.strip():
        raise NotConfigured("no model is named")
    dialect = known = connection.dialects.of(model, contract)
    while True:
        body = build(dialect)
        try:
            completion, tries, latency_s = await keep_trying(partial(_send, connection, body, patience), patience)
        except ParameterRefused as refusal:
            simpler = dialect.without(refusal.parameter, body)
            if simpler in (None, dialect):
                return _failed(refusal.fault, refusal.tries, body)
            dialect = simpler
        except CallFailed as failure:
            return _failed(failure.fault, failure.tries, body)
        else:
            if dialect != known:
                connection.dialects.learn(model, contract, dialect)
            return replace(completion, tries=tries, latency_s=latency_s, sent=_parameters(body))


async def _send(connection: Connection, body: dict[str, Any], patience: Patience) -> Completion:
    """Send one request; `CallFailed` where it gave no reply or one that another try may better."""
    try:
        # The raw reply, since what the client makes of one that breaks the rules depends on how it does; and the body
        # as it is, since walking its schema for parameters to rename takes the client a quarter of the time of an ask.
        reply = await connection.client.post(
            _COMPLETIONS, cast_to=httpx2.Response, body=body, options={"timeout": patience.timeout}
        )
        completion = read_body(reply.content).without_key(connection.client.api_key)
    except UnicodeEncodeError:
        raise CallFailed(Fault("unsendable", FAULTS["unsendable"])) from None
    except openai.OpenAIError as error:
        # The provider's own words may quote the item or the key: they stay out of the chain.
        raise _failure(error, body) from None
    if completion.error in RETRIED:
        raise CallFailed(Fault(completion.error, completion.detail))
    return completion


def _failure(error: openai.OpenAIError, body: Mapping[str, Any]) -> CallFailed:
    fault = fault_of(error)
    if isinstance(error, openai.APIStatusError):
        parameter = refused_parameter(error, body)
        if parameter is not None:
            return ParameterRefused(fault, parameter)
    return CallFailed(fault)


def _failed(fault: Fault, tries: int, body: Mapping[str, Any]) -> Completion:
    return Completion(
        error=fault.kind, detail=fault.message, tries=tries, retry_after=fault.retry_after, sent=_parameters(body)
    )


def _parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked for beside the messages, the schema by its firmness alone."""
    plain = {name: value for name, value in body.items() if name not in ("model", "messages", "response_format")}
    return {**plain, "format": sent_format(body)}
