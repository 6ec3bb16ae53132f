"""Collecting answers: many asks at once into a store, with an end that can come at any time.

What is in the store is not asked again, so that a collection that was stopped (by a limit, by Ctrl-C, by a kill or a
power cut) goes on where it was. At most the asks in flight are lost. Several collections may share one store: each ask
is one's or the other's.
"""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from assay.ask.budget import ceiling, cost_limit, reached
from assay.ask.call import NO_CONNECTION, ask_once
from assay.ask.claims import Claims
from assay.ask.client import Connection
from assay.ask.collected import Collected
from assay.ask.faults import HOPELESS, RETRIED
from assay.ask.plan import AGAIN, Estimate, distinct, request_digests, settled
from assay.ask.progress import progress_bar
from assay.ask.request import Ask, AskKey
from assay.ask.response import Completion
from assay.ask.store import Store, Stored
from assay.rules import Call, PriceSheet, Role, Taxonomy, Usage, add_up
from assay.rules.calls import CHARS_PER_TOKEN
from assay.rules.classifier import NotConfigured
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields

DEFAULT_CONCURRENCY: Final = 8

_HOPELESS_IN_A_ROW: Final = 3
"""Asks of one model that no further ask could better, after which it is asked nothing more."""

_OUTAGE_IN_A_ROW: Final = 12
"""Asks of one model, at least, that the provider failed on every try, after which it is asked nothing more."""

_POLL_S: Final = 0.2

_GROUP_S: Final = 0.01
"""Time in which replies gather before they are stored."""


async def collect(
    connection: Connection | None,
    store: Store,
    asks: Sequence[Ask],
    taxonomy: Taxonomy,
    fields: AnswerFields = DEFAULT_FIELDS,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    max_asks: int | None = None,
    max_cost_usd: Decimal | float | None = None,
    prices: PriceSheet | None = None,
    again: Collection[str] = AGAIN,
    progress: bool | None = None,
) -> Collected:
    """Ask what is not in the store, and store what comes.

    Parameters
    ----------
    connection : Connection or None
        None where all is in the store.
    store : Store
        Not to be used by others in this process until this returns.
    asks : sequence of Ask
        An ask that is there twice is asked once.
    taxonomy : Taxonomy
    fields : AnswerFields
    concurrency : int
        Asks in flight at one time, at least 1.
    max_asks : int, optional
        Most asks to send now.
    max_cost_usd : Decimal or float, optional
        US dollars that the asks of now may cost; it needs the price of every model. An ask is not sent while what
        was spent and what is in flight, with completions at their limit, could come to more with it.
    prices : PriceSheet, optional
    again : collection of str
        Kinds of error after which a stored ask is asked again: by default those that are the provider's.
    progress : bool, optional
        Whether to show a bar; by default in a terminal and in Jupyter, not in a batch.

    Returns
    -------
    Collected

    Raises
    ------
    NotConfigured, PromptError
        Before anything is sent.
    StoreError
        If the store cannot be written, or holds another text or other classes under the same names. What it has
        acknowledged stays.
    ValueError
        If an argument is out of its range, or a cost limit is given and a price is not known.
    asyncio.CancelledError
        If it is cancelled, as by Ctrl-C. Answers that have come are stored before it is raised.
    """
    _check(concurrency, "concurrency", lowest=1)
    if max_asks is not None:
        _check(max_asks, "max_asks", lowest=0)
    prices = prices or PriceSheet({})
    budget = None if max_cost_usd is None else cost_limit(max_cost_usd, asks, prices)
    run = _Run(connection, store, taxonomy, fields, concurrency, max_asks, budget, prices, again)
    return await run(distinct(asks), progress)


@dataclass
class _Run:
    """One collection under way."""

    connection: Connection | None
    store: Store
    taxonomy: Taxonomy
    fields: AnswerFields
    concurrency: int
    max_asks: int | None
    budget: int | None
    prices: PriceSheet
    again: Collection[str]

    sent: int = 0
    stored_now: int = 0
    elsewhere: int = 0
    waiting: int = 0
    reserved: int = 0
    calls: list[Call] = field(default_factory=list)
    spent: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    stopped: dict[str, None] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    given_up: set[str] = field(default_factory=set)

    async def __call__(self, asks: dict[AskKey, Ask], progress: bool | None) -> Collected:
        began = time.monotonic()
        requests = request_digests(asks.values(), self.taxonomy, self.fields)
        # SQLite waits for the disk, and for other processes: not in the thread in which the replies come in.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="store") as self._thread:
            for request in requests:
                await self._in_store(self.store.register, *request)
            states = await self._in_store(self.store.states, asks)
            new = {key: ask for key, ask in asks.items() if not settled(states, key, self.again)}
            self._estimate = await self._in_store(Estimate, self.store, self.taxonomy, self.fields)
            if new:
                if self.connection is None:
                    raise NotConfigured(NO_CONNECTION)
                with progress_bar(len(asks), len(asks) - len(new), progress) as self._bar:
                    await self._ask_all(new, self.connection)
        return Collected(
            asks=len(asks),
            stored=len(asks) - len(new),
            asked=self.stored_now,
            elsewhere=self.elsewhere,
            waiting=self.waiting,
            errors=dict(self.errors),
            stopped=tuple(self.stopped),
            totals=add_up(self.calls, self.prices),
            seconds=time.monotonic() - began,
        )

    async def _ask_all(self, new: dict[AskKey, Ask], connection: Connection) -> None:
        claims = await self._in_store(Claims(self.store).__enter__)
        self._lock = asyncio.Lock()
        # In flight are asks that were sent and those whose reply is not on the disk yet: so many may be lost.
        self._in_flight = asyncio.Semaphore(2 * self.concurrency)
        self._replies: asyncio.Queue[Stored | None] = asyncio.Queue()
        writer = asyncio.create_task(self._write())
        source = self._granted(claims, new)
        workers = [asyncio.create_task(self._work(connection, source)) for _ in range(min(self.concurrency, len(new)))]
        try:
            await _all_or_first_error([*workers, writer], until=workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await _to_the_end(self._finish(writer, claims))

    async def _finish(self, writer: asyncio.Task[None], claims: Claims) -> None:
        try:
            if not writer.done():
                self._replies.put_nowait(None)
            await writer
        finally:
            await self._in_store(claims.__exit__, None, None, None)

    async def _work(self, connection: Connection, source: AsyncIterator[tuple[AskKey, Ask]]) -> None:
        while True:
            await self._in_flight.acquire()
            async with self._lock:
                granted = await anext(source, None)
            if granted is None:
                self._in_flight.release()
                return
            key, ask = granted
            asked_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            reserved = self._ceiling(ask)
            self.reserved += reserved
            completion = await ask_once(connection, ask, self.taxonomy, self.fields)
            self.reserved -= reserved
            self._account(ask, completion)
            self._replies.put_nowait(Stored(key, ask.text_hash, asked_at, completion))

    async def _granted(self, claims: Claims, new: dict[AskKey, Ask]) -> AsyncIterator[tuple[AskKey, Ask]]:
        """Yield the asks that are ours to send, one at a time, until none is left or a limit is met."""
        left = deque(new)
        while left:
            chunk = [left.popleft() for _ in range(min(len(left), 4 * self.concurrency))]
            chunk = [key for key in chunk if key.model not in self.given_up]
            taken = await self._in_store(claims.take, chunk, self.again)
            self.elsewhere += len(taken.settled)
            self.waiting += len(taken.waiting)
            self._bar.update(len(taken.settled))
            for key in taken.granted:
                ask = new[key]
                if ask.model in self.given_up:
                    continue
                if not await self._affordable(ask):
                    return
                self.sent += 1
                yield key, ask
            left.extend(taken.held)
            if taken.held and not taken.granted:
                await asyncio.sleep(_POLL_S)

    async def _affordable(self, ask: Ask) -> bool:
        if self.max_asks is not None and self.sent >= self.max_asks:
            self.stopped[f"stopped at the limit of {self.max_asks:,} asks"] = None
            return False
        # What is in flight may turn out cheaper than its ceiling, and leave enough for this one.
        while self.budget is not None and self.spent + self.reserved + self._ceiling(ask) > self.budget:
            if not self.reserved:
                self.stopped[reached(self.budget)] = None
                return False
            await asyncio.sleep(_POLL_S / 10)
        return True

    async def _write(self) -> None:
        """Store replies as they come, in transactions of a few: every one of them waits for the disk."""
        over = False
        while not over:
            rows = [await self._replies.get()]
            await asyncio.sleep(_GROUP_S)
            with contextlib.suppress(asyncio.QueueEmpty):
                while True:
                    rows.append(self._replies.get_nowait())
            over = None in rows
            group = [row for row in rows if row is not None]
            if group:
                await self._in_store(self.store.add, group)
                self.stored_now += len(group)
                self._bar.update(len(group))
                for _ in group:
                    self._in_flight.release()

    def _account(self, ask: Ask, completion: Completion) -> None:
        """Count what an ask took and how it ended; a model that cannot answer is given up."""
        usage = completion.usage
        if usage is None and completion.text is not None:
            read = self._estimate.without_answers(ask).prompt_tokens
            usage = Usage(read, -(-len(completion.text) // CHARS_PER_TOKEN), estimated=True)
        answered = usage is not None
        call = Call(ask.model, Role.SERVED, (), answered, usage, completion.latency_s, error=completion.error)
        self.calls.append(call)
        price = self.prices.price(ask.model)
        if usage is not None and price is not None:
            self.spent += price.cost(usage)
        error = completion.error
        if error is not None:
            self.errors[error] += 1
        if error not in HOPELESS and error not in RETRIED:
            self.failures[ask.model] = 0
            return
        self.failures[ask.model] += 1
        patience = _HOPELESS_IN_A_ROW if error in HOPELESS else max(_OUTAGE_IN_A_ROW, 2 * self.concurrency)
        if self.failures[ask.model] >= patience and ask.model not in self.given_up:
            self.given_up.add(ask.model)
            self.stopped[f"{ask.model} was given up after {self.failures[ask.model]} failures in a row ({error})"] = (
                None
            )

    def _ceiling(self, ask: Ask) -> int:
        """Return what an ask may cost in pico-USD; 0 where that does not matter."""
        return 0 if self.budget is None else ceiling(ask, self._estimate, self.prices)

    async def _in_store(self, call: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(call, *arguments))


async def _all_or_first_error(tasks: Sequence[asyncio.Task[None]], until: Sequence[asyncio.Task[None]]) -> None:
    """Wait until all of `until` are done; raise the first error of any of `tasks`."""
    running = set(tasks)
    while not all(task.done() for task in until):
        finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in finished:
            task.result()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish `work` however often this is cancelled meanwhile, and only then be cancelled."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    task.result()


def _check(value: object, name: str, *, lowest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")
