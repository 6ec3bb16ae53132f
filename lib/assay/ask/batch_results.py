"""What a batch brought: results in whatever order they come, stored under the asks that they belong to.

They come from the provider once a batch has ended, or by hand: a file that was downloaded elsewhere, or handed over by
those who submitted the requests. Of such a file nothing says which batch it is of, or how old it is. What it says is
therefore taken only where it says more than the store does, so that files may be taken in any order and again.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from assay.ask.batch import open_batches
from assay.ask.batch_files import Result, custom_id, read_result
from assay.ask.claims import end_batch, waiting_in
from assay.ask.plan import AGAIN, request_digests
from assay.ask.request import Ask
from assay.ask.store import Store, Stored
from assay.rules import Taxonomy
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields

_ANSWERED: Final = 2
_UNASKED: Final = -1


@dataclass(frozen=True)
class Ingested:
    """What became of the results of a batch.

    Parameters
    ----------
    stored : int
        Results that are in the store now and were not before.
    known : int
        Results of asks of which the store says as much already, which stands.
    errors : mapping of str to int
        Of those stored, how many hold no usable text, by kind.
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
        if not self.stored and not self.missing:
            lines = ["nothing changes"]
        if self.known:
            lines.append(f"{self.known:,} results say no more than the store did")
        if self.missing:
            lines.append(f"of {len(self.missing):,} nothing came, the first is item {self.missing[0]!r}")
        for count, one, more in (
            (self.unknown, "line belongs to no ask of this call", "lines belong to no ask of this call"),
            (self.unreadable, "line is no result", "lines are no results"),
        ):
            if count:
                lines.append(f"{count:,} {one if count == 1 else more}")
        return "\n".join(lines)


class _Read(NamedTuple):
    """What lines hold: of each ask that was wanted the result that says most, and how many lines are something else."""

    results: dict[str, Result]
    unknown: int
    unreadable: int


def ingest(store: Store, batch: str, lines: Iterable[bytes], asks: Sequence[Ask], *, key: str = "") -> Ingested:
    """Store the results of a batch that ended, in whatever order they come.

    Parameters
    ----------
    store : Store
    batch : str
        Its id.
    lines : iterable of bytes
        One JSON object each; see `fetch`. Of several results of one ask that which says most counts, else the first.
    asks : sequence of Ask
        What was wanted.
    key : str
        What the provider was sent as a key, which must not be stored where it sends it back.

    Returns
    -------
    Ingested
        What is missing is free to be asked again.
    """
    submitted = list(store.read("SELECT submitted_at FROM batches WHERE id = ?", (batch,)))
    taken = _store(store, lines, asks, submitted[0][0] if submitted else _now(), later=True, key=key)
    missing = tuple(key.item_id for key in end_batch(store, batch))
    _close(store, batch)
    return replace(taken, missing=missing)


def take_results(
    store: Store, lines: Iterable[bytes], asks: Sequence[Ask], taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS
) -> Ingested:
    """Store results that came by hand, of whatever batch: the store need not know of any.

    Parameters
    ----------
    store : Store
    lines : iterable of bytes
        One JSON object each, in any order; see `read_lines`.
    asks : sequence of Ask
        What was wanted.
    taxonomy : Taxonomy
    fields : AnswerFields

    Returns
    -------
    Ingested
        An answer takes the place of a failure, and a failure that stands that of one after which an ask is asked again;
        all else changes nothing. Asks whose results are in wait in no batch any more.

    Raises
    ------
    StoreError
        If an item was asked with another text under the same id, or with other classes or field names.
    """
    for request in request_digests(asks, taxonomy, fields):
        store.register(*request)
    taken = _store(store, lines, asks, None, later=False)
    for batch in open_batches(store):
        if not waiting_in(store, batch):
            _close(store, batch)
    return taken


def _store(
    store: Store,
    lines: Iterable[bytes],
    asks: Sequence[Ask],
    asked_at: str | None,
    *,
    later: bool,
    key: str = "",
) -> Ingested:
    """Store what lines hold.

    `asked_at` is when it was asked, where that is known; `later`, whether that was after all of which the store tells,
    so that it takes the place of any failure.
    """
    by_id = {custom_id(ask): ask for ask in asks}
    read = _read(lines, by_id)
    states = store.states({by_id[name].key: by_id[name] for name in read.results})
    now = _now()
    rows, errors = [], Counter[str]()
    for name, completion, at in read.results.values():
        ask = by_id[name]
        before = _weight(states[ask.key]) if ask.key in states else _UNASKED
        new = _weight(completion.error) > before or (later and before < _ANSWERED)
        if new or before == _ANSWERED:
            # An answer is not written twice, yet the claim on its ask is given back.
            rows.append(Stored(ask.key, ask.text_hash, asked_at or at or now, completion.without_key(key)))
        if new and completion.error is not None:
            errors[completion.error] += 1
    stored = store.add(rows)
    return Ingested(stored, len(read.results) - stored, dict(errors), (), read.unknown, read.unreadable)


def _read(lines: Iterable[bytes], wanted: Container[str]) -> _Read:
    results: dict[str, Result] = {}
    unknown = unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        result = read_result(line)
        if result is None:
            unreadable += 1
        elif result.name not in wanted:
            unknown += 1
        else:
            before = results.setdefault(result.name, result)
            if _weight(result.completion.error) > _weight(before.completion.error):
                results[result.name] = result
    return _Read(results, unknown, unreadable)


def _weight(error: str | None) -> int:
    """Return how much an outcome says: an answer most, a failure after which an ask is asked again least."""
    return _ANSWERED if error is None else 0 if error in AGAIN else 1


def _close(store: Store, batch: str) -> None:
    with store.transaction() as cursor:
        cursor.execute("UPDATE batches SET state = 'ingested' WHERE id = ?", (batch,))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
