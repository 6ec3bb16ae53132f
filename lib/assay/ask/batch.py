"""Asking in batches: files of requests that a provider works through within a day, for less money.

A batch goes through the store as single asks do. Asks that wait in one are marked, so that no collection sends them as
well; results are taken in whatever order they come; and an ask of which nothing came is free to be asked again.
"""

import hashlib
import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import openai
from openai.types import Batch

from assay.ask.batch_files import custom_id, endpoint
from assay.ask.claims import claim_for_batch
from assay.ask.client import Connection
from assay.ask.faults import fault_of
from assay.ask.request import Ask, AskKey
from assay.ask.store import Store

ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
"""States in which a batch stays."""

_WINDOW: Final = "24h"

_PAGE: Final = 100
"""Batches that a provider lists at one time, at most."""

_KEPT_S: Final = 32 * 86_400.0
"""Seconds after which a batch is of no use: a day to be worked through, the 30 days for which its results are kept at most,
and a day for clocks that differ."""


class BatchError(Exception):
    """A batch that the provider did not take or does not give back; one line, none of it the provider's words."""

    misuse = False


@dataclass(frozen=True)
class BatchState:
    """How far a batch is.

    Parameters
    ----------
    id : str
    state : str
        As the provider names it; in one of `ENDED` it stays.
    done, failed, total : int
        Requests, as far as the provider counts them.
    """

    id: str
    state: str
    done: int
    failed: int
    total: int

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ENDED


async def submit(connection: Connection, store: Store, path: Path, asks: Sequence[Ask]) -> str:
    """Hand a file of requests to the provider and mark its asks as waiting.

    Parameters
    ----------
    connection : Connection
    store : Store
    path : Path
        As `write_batches` wrote it.
    asks : sequence of Ask
        At least those in the file.

    Returns
    -------
    str
        The provider's id of the batch. A file that was submitted before is not submitted again: the batch it makes has
        the file's digest with it, by which it is found.

    Raises
    ------
    BatchError
        If the provider does not take it.
    """
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    keys = _keys(path, content, asks)
    try:
        batch = (await _submitted(connection, store, [digest])).get(digest)
        if batch is None:
            with path.open("rb") as file:
                uploaded = await connection.client.files.create(file=file, purpose="batch")
            batch = await connection.client.batches.create(
                input_file_id=uploaded.id,
                endpoint=endpoint(connection.provider),  # type: ignore[arg-type]
                completion_window=_WINDOW,
                metadata={"assay_file": digest},
            )
    except openai.OpenAIError as error:
        raise BatchError(f"{path.name} was not submitted: {fault_of(error).message}") from None
    _note(store, batch, path, keys)
    return batch.id


async def reclaim(connection: Connection, store: Store, folder: Path, asks: Sequence[Ask]) -> list[str]:
    """Find the batches that were made of files in a folder and are not noted, since a kill came between.

    Their asks are marked as waiting. Whatever is asked for now, they must not be submitted a second time.

    Parameters
    ----------
    connection : Connection
    store : Store
    folder : Path
        Where `write_batches` wrote; it need not be there.
    asks : sequence of Ask
        All that the files may hold, whatever limit is set now.

    Returns
    -------
    list of str
        The provider's ids of the batches.

    Raises
    ------
    BatchError
        If the provider does not say which batches there are, or one that is found holds other asks.
    """
    noted = {name for (name,) in store.read("SELECT file FROM batches")}
    files = {path: path.read_bytes() for path in sorted(folder.glob("batch-*.jsonl")) if path.name not in noted}
    if not files:
        return []
    digests = {hashlib.sha256(content).hexdigest(): path for path, content in files.items()}
    try:
        found = await _submitted(connection, store, digests)
    except openai.OpenAIError as error:
        raise BatchError(f"the provider does not list its batches: {fault_of(error).message}") from None
    for digest, batch in found.items():
        path = digests[digest]
        _note(store, batch, path, _keys(path, files[path], asks, batch.id))
    return [batch.id for batch in found.values()]


def open_batches(store: Store) -> list[str]:
    """Return the ids of the batches whose results are not in, in the order in which they were submitted."""
    found = store.read("SELECT id FROM batches WHERE state <> 'ingested' ORDER BY submitted_at, rowid")
    return [identity for (identity,) in found]


async def poll(connection: Connection, batch: str) -> BatchState:
    """Ask how far a batch is.

    Raises
    ------
    BatchError
        If the provider does not say.
    """
    try:
        found = await connection.client.batches.retrieve(batch)
    except openai.OpenAIError as error:
        raise BatchError(f"batch {batch}: {fault_of(error).message}") from None
    counts = found.request_counts
    if counts is None:
        return BatchState(batch, found.status, 0, 0, 0)
    return BatchState(batch, found.status, counts.completed, counts.failed, counts.total)


async def fetch(connection: Connection, batch: str) -> list[bytes]:
    """Fetch the lines of a batch that ended: results and errors, in the provider's order.

    Raises
    ------
    BatchError
        If it has not ended, or the provider does not give the lines.
    """
    try:
        found = await connection.client.batches.retrieve(batch)
        if found.status not in ENDED:
            raise BatchError(f"batch {batch} has not ended: it is {found.status}")
        lines: list[bytes] = []
        for file in filter(None, (found.output_file_id, found.error_file_id)):
            content = await connection.client.files.content(file)
            lines += content.content.splitlines()
    except openai.OpenAIError as error:
        raise BatchError(f"batch {batch}: {fault_of(error).message}") from None
    return lines


def _keys(path: Path, content: bytes, asks: Sequence[Ask], batch: str = "") -> list[AskKey]:
    """Return the keys of the asks in a file of requests."""
    by_id = {custom_id(ask): ask.key for ask in asks}
    names = [json.loads(line)["custom_id"] for line in content.splitlines()]
    others = sum(name not in by_id for name in names)
    if others:
        submitted = f" was submitted as {batch} before a kill, and" if batch else ""
        raise BatchError(
            f"{path.name}{submitted} holds {others:,} asks of another prompt, model or run; call with those first"
        )
    return [by_id[name] for name in names]


def _note(store: Store, batch: Batch, path: Path, keys: Sequence[AskKey]) -> None:
    """Mark the asks of a batch as waiting, and note the batch."""
    claim_for_batch(store, keys, batch.id)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (batch.id, path.name, len(keys), batch.status, now),
        )


async def _submitted(connection: Connection, store: Store, digests: Collection[str]) -> dict[str, Batch]:
    """Find the batches that were made of files, by digest, and whose results are not in.

    Providers list the newest first. The search ends when all are found, or with a page on which no batch is new to it
    and recent enough.
    """
    over = {identity for (identity,) in store.read("SELECT id FROM batches WHERE state = 'ingested'")}
    oldest = time.time() - _KEPT_S
    seen: set[str] = set()
    found: dict[str, Batch] = {}
    first = await connection.client.batches.list(limit=_PAGE)
    async for page in first.iter_pages():
        # A server that is only compatible may not say when a batch was made, or give the same page for ever.
        recent = [one for one in page.data if one.id not in seen and (one.created_at or oldest) >= oldest]
        for batch in recent:
            alive = batch.status == "completed" or batch.status not in (*ENDED, "cancelling")
            digest = (batch.metadata or {}).get("assay_file", "")
            if alive and batch.id not in over and digest in digests:
                found.setdefault(digest, batch)
        if not recent or len(found) == len(digests):
            break
        seen |= {one.id for one in page.data}
    return found
