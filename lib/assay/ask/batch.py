"""Asking in batches: files of requests that a provider works through within a day, for less money.

A batch goes through the store as single asks do. Asks that wait in one are marked, so that no collection sends them as
well; results are taken in whatever order they come; and an ask of which nothing came is free to be asked again.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import openai

from assay.ask.batch_files import custom_id, endpoint, read_result
from assay.ask.claims import claim_for_batch, end_batch
from assay.ask.client import Connection
from assay.ask.faults import fault_of
from assay.ask.request import Ask
from assay.ask.response import Completion
from assay.ask.store import Store, Stored

ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
"""States in which a batch stays."""

_WINDOW: Final = "24h"


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


@dataclass(frozen=True)
class Ingested:
    """What became of the results of a batch.

    Parameters
    ----------
    stored : int
        Results that are in the store now.
    known : int
        Results of asks that had an answer already, which stands.
    errors : mapping of str to int
        Of the results, how many hold no usable text, by kind.
    missing : tuple of str
        Item ids of which nothing came; they are free to be asked again.
    unknown : int
        Results that belong to no ask that was wanted.
    unreadable : int
        Lines that are no result at all.
    """

    stored: int
    known: int
    errors: Mapping[str, int]
    missing: tuple[str, ...]
    unknown: int
    unreadable: int

    def __str__(self) -> str:
        failed = sum(self.errors.values())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.errors.items()))
        lines = [
            f"{self.stored:,} results stored, {failed:,} of them without usable text" + (f" ({kinds})" if kinds else "")
        ]
        if self.known:
            lines.append(f"{self.known:,} had an answer already")
        if self.missing:
            lines.append(f"of {len(self.missing):,} nothing came, the first is item {self.missing[0]!r}")
        for count, what in ((self.unknown, "belong to no ask of this study"), (self.unreadable, "are no results")):
            if count:
                lines.append(f"{count:,} lines {what}")
        return "\n".join(lines)


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
    by_id = {custom_id(ask): ask.key for ask in asks}
    names = [json.loads(line)["custom_id"] for line in path.read_bytes().splitlines()]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        batch = await _submitted(connection, store, digest)
        if batch is None:
            with path.open("rb") as file:
                uploaded = await connection.client.files.create(file=file, purpose="batch")
            batch = await connection.client.batches.create(
                input_file_id=uploaded.id,
                endpoint=endpoint(connection),  # type: ignore[arg-type]
                completion_window=_WINDOW,
                metadata={"assay_file": digest},
            )
    except openai.OpenAIError as error:
        raise BatchError(f"{path.name} was not submitted: {fault_of(error).message}") from None
    claim_for_batch(store, [by_id[name] for name in names if name in by_id], batch.id)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (batch.id, path.name, len(names), batch.status, now),
        )
    return batch.id


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


def ingest(store: Store, batch: str, lines: Iterable[bytes], asks: Sequence[Ask]) -> Ingested:
    """Store the results of a batch that ended, in whatever order they come.

    Parameters
    ----------
    store : Store
    batch : str
        Its id.
    lines : iterable of bytes
        One JSON object each; see `fetch`. The first result of an ask counts.
    asks : sequence of Ask
        What was wanted.

    Returns
    -------
    Ingested
        What is missing is free to be asked again.
    """
    by_id = {custom_id(ask): ask for ask in asks}
    results: dict[str, Completion] = {}
    unknown = unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        name, completion = read_result(line)
        if name is None:
            unreadable += 1
        elif name not in by_id:
            unknown += 1
        else:
            results.setdefault(name, completion)
    submitted = list(store.read("SELECT submitted_at FROM batches WHERE id = ?", (batch,)))
    asked_at = submitted[0][0] if submitted else datetime.now(UTC).isoformat(timespec="seconds")
    rows = [Stored(by_id[name].key, by_id[name].text_hash, asked_at, one) for name, one in results.items()]
    stored = store.add(rows)
    missing = [key.item_id for key in end_batch(store, batch)]
    with store.transaction() as cursor:
        cursor.execute("UPDATE batches SET state = 'ingested' WHERE id = ?", (batch,))
    errors = Counter(one.error for one in results.values() if one.error is not None)
    return Ingested(stored, len(rows) - stored, dict(errors), tuple(missing), unknown, unreadable)


async def _submitted(connection: Connection, store: Store, digest: str) -> Any:
    """Find the batch that was made of a file and whose results are not in: a kill may have kept it from being noted."""
    over = {identity for (identity,) in store.read("SELECT id FROM batches WHERE state = 'ingested'")}
    page = await connection.client.batches.list(limit=100)
    for batch in page.data:
        alive = batch.status == "completed" or batch.status not in (*ENDED, "cancelling")
        if alive and batch.id not in over and (batch.metadata or {}).get("assay_file") == digest:
            return batch
    return None
