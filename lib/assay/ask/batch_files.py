"""The files of a batch: one request a line on the way there, one result a line on the way back."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from assay.ask.claims import under_way
from assay.ask.client import Provider
from assay.ask.database import StoreError
from assay.ask.faults import FAULTS, fault_of_body
from assay.ask.plan import AGAIN, distinct, request_digests, settled
from assay.ask.request import Ask, Dialects, build_request
from assay.ask.response import Completion, read_reply
from assay.ask.store import Store
from assay.files import write_whole
from assay.rules import Taxonomy
from assay.rules.documents import DocumentError
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields
from assay.rules.sealed import load_text

MOST_REQUESTS: Final = 50_000
MOST_BYTES: Final = 190_000_000
"""What a provider takes in one file, with a margin."""

_DIGITS: Final = 40


class Result(NamedTuple):
    """One line of results: the name of its request, what came, and when, where the reply tells (ISO 8601, UTC)."""

    name: str
    completion: Completion
    at: str | None = None


def write_batches(
    store: Store,
    asks: Sequence[Ask],
    taxonomy: Taxonomy,
    folder: Path | str,
    fields: AnswerFields = DEFAULT_FIELDS,
    *,
    provider: Provider = "openai",
    dialects: Dialects | None = None,
) -> list[Path]:
    """Write the requests that are not settled to files, as many as it takes.

    Parameters
    ----------
    store : Store
    asks : sequence of Ask
        All of one model, since a batch is.
    taxonomy : Taxonomy
    folder : path
        Where the files go, each named by its digest; made where it is missing.
    fields : AnswerFields
    provider : {"openai", "azure", "compatible"}
        Who is to work through them.
    dialects : Dialects, optional
        What is known of the model's parameters decides what is sent, for a batch cannot ask again without one.

    Returns
    -------
    list of Path
        Empty if there is nothing to ask.

    Raises
    ------
    StoreError
        If an item was asked with another text under the same id, or a file cannot be written.
    ValueError
        If the asks are of more than one model.
    """
    models = sorted({ask.model for ask in asks})
    if len(models) > 1:
        raise ValueError(f"a batch asks one model, got {', '.join(models)}")
    for request in request_digests(asks, taxonomy, fields):
        store.register(*request)
    paths = []
    known = dialects or Dialects()
    for lines in _files(_line(ask, taxonomy, fields, provider, known) for ask in unasked(store, asks)):
        content = b"".join(lines)
        path = Path(folder) / f"batch-{hashlib.sha256(content).hexdigest()[:16]}.jsonl"
        try:
            write_whole(path, content)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written ({error.strerror or 'I/O error'})") from None
        paths.append(path)
    return paths


def unasked(store: Store, asks: Iterable[Ask]) -> list[Ask]:
    """Return the different asks that are not settled, wait in no batch and are nobody else's at this moment.

    Raises
    ------
    StoreError
        If an item was asked with another text under the same id.
    """
    different = distinct(asks)
    states = store.states(different)
    taken = under_way(store)
    return [ask for key, ask in different.items() if not settled(states, key, AGAIN) and key not in taken]


def custom_id(ask: Ask) -> str:
    """Return what a request is called in a batch: 40 hex digits of the sha256 of its key and of the item's text.

    With the text, since a file of results says nothing else of what was asked: those of a text that was changed since
    under the same id belong to no ask of now.
    """
    return hashlib.sha256(json.dumps([*ask.key, ask.text_hash]).encode()).hexdigest()[:_DIGITS]


def endpoint(provider: Provider) -> str:
    """Return the path that the requests of a batch are for."""
    return "/chat/completions" if provider == "azure" else "/v1/chat/completions"


def read_lines(path: Path) -> list[bytes]:
    """Read a file of results that came by hand, line by line.

    Raises
    ------
    DocumentError
        If it cannot be read, is not UTF-8, or has lines of which none is a result; one line that names it.
    """
    lines = load_text(path).encode().splitlines()
    if any(line.strip() for line in lines) and not any(read_result(line) for line in lines):
        raise DocumentError(f"{path.name}: no line of it is a result of a batch")
    return lines


def read_result(line: bytes) -> Result | None:
    """Read one line of results; None if it is none, as a line of requests is none either."""
    try:
        result = json.loads(line.decode(), parse_constant=lambda _: None)
        name = result["custom_id"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if not isinstance(name, str) or not ("response" in result or "error" in result):
        return None
    response = result.get("response")
    response = response if isinstance(response, Mapping) else {}
    body, status = response.get("body"), response.get("status_code")
    if status == 200:
        return Result(name, replace(read_reply(body), latency_s=None), _time(body))
    error = result.get("error") or (body.get("error") if isinstance(body, Mapping) else None)
    if isinstance(error, Mapping) and error.get("code") == "batch_expired":
        return Result(name, Completion(error="timed_out", detail=FAULTS["timed_out"]))
    fault = fault_of_body(error)
    if fault.kind == "rejected" and isinstance(error, Mapping) and isinstance(status, int):
        # Its code says nothing that is known, so the status has to.
        fault = fault_of_body({**error, "code": status})
    return Result(name, Completion(error=fault.kind, detail=fault.message))


def _time(body: object) -> str | None:
    """Return when a reply was made (ISO 8601, UTC), if it says so and the time is not to come."""
    made = body.get("created") if isinstance(body, Mapping) else None
    if isinstance(made, bool) or not isinstance(made, int) or not 0 < made <= time.time():
        return None
    return datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")


def _line(ask: Ask, taxonomy: Taxonomy, fields: AnswerFields, provider: Provider, dialects: Dialects) -> bytes:
    body = build_request(ask, taxonomy, dialects.of(ask.model, ask.prompt.contract), fields)
    line = {"custom_id": custom_id(ask), "method": "POST", "url": endpoint(provider), "body": body}
    return json.dumps(line, ensure_ascii=True).encode() + b"\n"


def _files(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut lines into files that a provider takes."""
    file: list[bytes] = []
    size = 0
    for line in lines:
        if file and (len(file) == MOST_REQUESTS or size + len(line) > MOST_BYTES):
            yield file
            file, size = [], 0
        file.append(line)
        size += len(line)
    if file:
        yield file
