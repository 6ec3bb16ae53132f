"""What ``assay batch`` does: asks by batch, which costs less and takes up to a day.

One command that goes on where it was: results of batches that ended are taken into the store, and what has no answer and
waits in no batch is written to files and submitted. Called again it submits nothing twice. Results may come by hand
instead, and then nothing is asked of anyone.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.ask.batch import fetch, open_batches, poll, reclaim, submit
from assay.ask.batch_files import read_lines, unasked, write_batches
from assay.ask.batch_results import ingest, take_results
from assay.ask.budget import affordable, cost_limit, reached
from assay.ask.choosing import Choice, CommandError, choose, connection_to, require_price, say_textless
from assay.ask.claims import under_way, waiting_in
from assay.ask.client import Connection, provider_of
from assay.ask.commands import print_summary
from assay.ask.plan import AGAIN, Estimate, distinct, make_plan, settled, unsettled
from assay.ask.request import Ask
from assay.ask.source import Source
from assay.ask.store import Store
from assay.files import Output, require_apart, require_writable
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
    max_cost: str | None = None,
    prices: Path | None = None,
    store: Path | None = None,
    folder: Path | None = None,
    results: Sequence[Path] = (),
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
    max_cost : str, optional
        US dollars that what is submitted now may come to, with completions at their limit. What is beyond is kept back;
        what waits in a batch already does not count.
    folder : Path, optional
        Where the files of requests go; by default a folder ``batches`` beside the store.
    results : sequence of Path
        Files of results that came by hand: they are taken in and nothing else is done, without a network or a key.
    write_only : bool
        Write the files and do nothing else, without a network or a key.
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
        0 if every ask has an outcome in the store that stands (or, with `write_only`, a file unless it was kept back).
        A failure that is the answer's stands, such as a refusal or one of a content filter: it is not asked again; how
        many there are is printed. 1 if some asks are left, wait, or failed in a way that is the provider's, after which
        they are asked again. `assay.ask.commands.collect_answers` returns 0 and 1 in the same cases.
    """
    if write_only and (fetch_only or wait):
        other = "--fetch-only" if fetch_only else "--wait"
        raise CommandError(f"--write-only asks nothing of a provider: leave out {other}")
    if not 0 < every < math.inf:
        raise CommandError(f"--every must be a finite number of seconds above 0, got {every:g}")
    others = {
        "--write-only": write_only, "--fetch-only": fetch_only, "--wait": wait, "--dry-run": dry_run,
        "--max-cost": max_cost is not None, "--folder": folder is not None,
    }  # fmt: skip
    if results and any(others.values()):
        given = ", ".join(name for name, one in others.items() if one)
        raise CommandError(f"--results takes in what came by hand and does nothing else: leave out {given}")
    chosen = choose(study, prompts, run=run, limit=limit, max_cost=max_cost, prices=prices, store=store)
    require_price(chosen.budget, chosen.prices, model)
    source, path, asks = chosen.source, chosen.store, chosen.asks(model)
    say_textless(source)
    if dry_run:
        with Store(path if path.exists() else ":memory:") as opened:
            taken = under_way(opened)
            free = [ask for ask in asks if ask.key not in taken]
            print(make_plan(opened, free, source.taxonomy, source.fields, prices=chosen.prices))
            if len(free) < len(asks):
                print(f"{len(asks) - len(free):,} more asks wait in a batch or are asked elsewhere")
        return 0
    if results:
        require_apart([Output("--store", path)], results)
        # All are read before any is taken in, so that a name that was mistyped changes nothing.
        files = [(file, read_lines(file)) for file in results]
        with Store(path) as opened:
            for file, lines in files:
                print(f"{file.name}: {take_results(opened, lines, asks, source.taxonomy, source.fields)}")
            waiting = len(open_batches(opened))
            left = _say_how_far(opened, asks, source, waiting)
        print(f"store: {path}")
        return 1 if left else 0
    folder = folder or path.parent / "batches"
    if not fetch_only:
        require_writable(folder / "batch.jsonl")
    if write_only:
        with Store(path) as opened:
            granted, kept_back = _affordable(opened, chosen, asks, "written")
            provider = provider_of(base_url)
            for file in write_batches(opened, granted, source.taxonomy, folder, source.fields, provider=provider):
                print(f"written: {file}")
            _say_how_far(opened, asks, source, len(open_batches(opened)))
        print(f"store: {path}")
        return 1 if kept_back else 0
    connection = connection_to(base_url)
    with Store(path) as opened:
        visit = _Visit(connection, opened, chosen, asks)
        complete(visit(None if fetch_only else folder, every if wait else None))
        left = _say_how_far(opened, asks, source, visit.waiting)
    print(f"store: {path}")
    return 1 if left or visit.waiting or visit.lost else 0


def _affordable(store: Store, chosen: Choice, asks: Sequence[Ask], done: str) -> tuple[Sequence[Ask], int]:
    """Return what is to be asked now, as far as the cost limit allows, and how many asks are kept back; say how many."""
    new = unasked(store, asks)
    if chosen.budget is None:
        return new, 0
    limit = cost_limit(chosen.budget, new, chosen.prices)
    estimate = Estimate(store, chosen.source.taxonomy, chosen.source.fields)
    granted = affordable(new, limit, estimate, chosen.prices)
    kept_back = len(new) - len(granted)
    if kept_back:
        print(f"{kept_back:,} of {len(new):,} asks were not {done}: {reached(limit)}")
    return granted, kept_back


def _say_how_far(store: Store, asks: Sequence[Ask], source: Source, waiting: int) -> int:
    """Print what the answers are and how many asks are left, and return that."""
    print_summary(store, asks, source)
    different = distinct(asks)
    states = store.states(different)
    left = unsettled(states, different)
    failed = Counter(error for key, error in states.items() if error is not None and settled(states, key, AGAIN))
    if failed:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(failed.items()))
        print(f"{failed.total():,} ended without usable text and are not asked again ({kinds})")
    print(
        f"{left:,} of {len(different):,} asks have no outcome that stands"
        + (f"; {waiting:,} batches have not ended" if waiting else "")
    )
    return left


@dataclass
class _Visit:
    """One call of the command, while it is connected.

    It counts the batches that have not ended, and the asks of which a batch brought nothing.
    """

    connection: Connection
    store: Store
    chosen: Choice
    asks: Sequence[Ask]

    waiting: int = 0
    lost: int = 0

    async def __call__(self, folder: Path | None, every: float | None) -> None:
        """Take in results, submit by way of files in `folder` if there is one, and poll every so many seconds."""
        async with self.connection:
            await self._take_in()
            if folder is not None:
                await self._send(folder)
            while every is not None and self.waiting:
                await asyncio.sleep(every)
                await self._take_in()

    async def _take_in(self) -> None:
        self.waiting = 0
        wanted = {ask.key for ask in self.asks}
        for batch in open_batches(self.store):
            others = sum(key not in wanted for key in waiting_in(self.store, batch))
            if others:
                # Taking it in now would drop results that were paid for, since only what is wanted is stored.
                print(
                    f"{batch}: left alone, {others:,} of its asks are of another prompt, model, run or limit; "
                    "call with those"
                )
                continue
            state = await poll(self.connection, batch)
            if not state.ended:
                print(f"{batch}: {state.state}, {state.done:,} of {state.total:,} done")
                self.waiting += 1
                continue
            lines, key = await fetch(self.connection, batch), self.connection.client.api_key
            taken = ingest(self.store, batch, lines, self.asks, key=key)
            print(f"{batch}: {state.state}; {taken}")
            self.lost += len(taken.missing)

    async def _send(self, folder: Path) -> None:
        source = self.chosen.source
        everything = self.chosen.asks(self.asks[0].model, every_item=True)
        for batch in await reclaim(self.connection, self.store, folder, everything):
            print(f"{batch}: submitted before, and found again")
            self.waiting += 1
        granted, _ = _affordable(self.store, self.chosen, self.asks, "submitted")
        for path in write_batches(
            self.store,
            granted,
            source.taxonomy,
            folder,
            source.fields,
            provider=self.connection.provider,
            dialects=self.connection.dialects,
        ):
            print(f"submitted: {path.name} as {await submit(self.connection, self.store, path, self.asks)}")
            self.waiting += 1
