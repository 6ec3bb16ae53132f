"""What ``assay batch`` does: asks by batch, which costs less and takes up to a day.

One command that goes on where it was: results of batches that ended are taken into the store, and what has no answer and
waits in no batch is written to files and submitted. Called again it submits nothing twice.
"""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

from assay.ask.batch import Ingested, fetch, ingest, open_batches, poll, submit
from assay.ask.batch_files import write_batches
from assay.ask.choosing import CommandError, choose, connection_to
from assay.ask.claims import waiting_in
from assay.ask.client import Connection
from assay.ask.commands import print_summary
from assay.ask.plan import AGAIN, distinct, make_plan, settled
from assay.ask.request import Ask
from assay.ask.source import Source
from assay.ask.store import Store
from assay.files import require_writable
from assay.loops import complete

SECONDS_BETWEEN_POLLS = 60.0


def batch_answers(
    study: str,
    prompts: Sequence[str],
    *,
    model: str,
    base_url: str | None = None,
    run: int = 0,
    limit: int | None = None,
    prices: Path | None = None,
    store: Path | None = None,
    folder: Path | None = None,
    write_only: bool = False,
    fetch_only: bool = False,
    wait: bool = False,
    every: float = SECONDS_BETWEEN_POLLS,
    dry_run: bool = False,
) -> int:
    """Take in what batches have brought, submit what is not asked yet, and print how far it is.

    Parameters
    ----------
    study, prompts, model, base_url, run, limit, prices, store, dry_run
        As for `assay.ask.commands.collect_answers`; the store may be the same.
    folder : Path, optional
        Where the files of requests go; by default a folder ``batches`` beside the store.
    write_only : bool
        Write the files and submit nothing.
    fetch_only : bool
        Submit nothing new.
    wait : bool
        Stay until every batch has ended, asking every so many seconds.
    every : float
        Seconds, above 0.
    dry_run : bool

    Returns
    -------
    int
        0 if every ask has an outcome in the store that stands (or, with `write_only`, a file), 1 if some are left, wait,
        or failed in a way after which they are asked again.
    """
    if write_only and fetch_only:
        raise CommandError("--write-only and --fetch-only leave nothing to do: give one of them")
    if not 0 < every < math.inf:
        raise CommandError(f"--every must be a finite number of seconds above 0, got {every:g}")
    chosen = choose(study, prompts, run=run, limit=limit, prices=prices, store=store)
    source, path, asks = chosen.source, chosen.store, chosen.asks(model)
    if dry_run:
        with Store(path if path.exists() else ":memory:") as opened:
            waiting_now = {key for batch in open_batches(opened) for key in waiting_in(opened, batch)}
            free = [ask for ask in asks if ask.key not in waiting_now]
            print(make_plan(opened, free, source.taxonomy, source.fields, prices=chosen.prices))
            if len(free) < len(asks):
                print(f"{len(asks) - len(free):,} more asks wait in a batch")
        return 0
    connection = connection_to(base_url)
    folder = folder or path.parent / "batches"
    if not fetch_only:
        require_writable(folder / "batch.jsonl")
    with Store(path) as opened:
        work = _go_on(connection, opened, asks, source, folder, write_only, fetch_only, every if wait else None)
        waiting, lost = complete(work)
        print_summary(opened, asks, source)
        different = distinct(asks)
        states = opened.states(different)
        left = sum(not settled(states, key, AGAIN) for key in different)
    print(f"store: {path}")
    if write_only:
        return 0
    print(
        f"{left:,} of {len(different):,} asks have no outcome that stands"
        + (f"; {waiting:,} batches have not ended" if waiting else "")
    )
    return 1 if left or waiting or lost else 0


async def _go_on(
    connection: Connection,
    store: Store,
    asks: Sequence[Ask],
    source: Source,
    folder: Path,
    write_only: bool,
    fetch_only: bool,
    every: float | None,
) -> tuple[int, int]:
    """Return how many batches have not ended, and of how many asks a batch brought nothing."""
    async with connection:
        waiting, lost = await _take_in(connection, store, asks)
        if not fetch_only:
            for path in write_batches(store, asks, source.taxonomy, folder, connection, source.fields):
                if write_only:
                    print(f"written: {path}")
                    continue
                print(f"submitted: {path.name} as {await submit(connection, store, path, asks)}")
                waiting += 1
        while every is not None and waiting:
            await asyncio.sleep(every)
            waiting, more = await _take_in(connection, store, asks)
            lost += more
    return waiting, lost


async def _take_in(connection: Connection, store: Store, asks: Sequence[Ask]) -> tuple[int, int]:
    waiting = lost = 0
    wanted = {ask.key for ask in asks}
    for batch in open_batches(store):
        others = sum(key not in wanted for key in waiting_in(store, batch))
        if others:
            # Taking it in now would drop results that were paid for, since only what is wanted is stored.
            print(
                f"{batch}: left alone, {others:,} of its asks are of another prompt, model, run or limit; call with those"
            )
            continue
        state = await poll(connection, batch)
        if not state.ended:
            print(f"{batch}: {state.state}, {state.done:,} of {state.total:,} done")
            waiting += 1
            continue
        taken: Ingested = ingest(store, batch, await fetch(connection, batch), asks)
        print(f"{batch}: {state.state}; {taken}")
        lost += len(taken.missing)
    return waiting, lost
