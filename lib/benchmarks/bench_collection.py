"""Collecting into a store, against a bare gather over the same client that keeps nothing.

The server is a process of its own on loopback that takes 50 ms for every reply. The two are timed in turn, so that a
machine that slows down slows both.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from timing import Row

from assay.ask import Ask, PromptFile, build_request, connect
from assay.ask.collection import collect
from assay.ask.plan import make_asks
from assay.ask.store import Store
from assay.rules import Taxonomy

ASKS, CONCURRENCY, ROUNDS = 2_000, 64, 3
LATENCY_S = 0.05
BAR = 0.9

TAXONOMY = Taxonomy.of("historical", "reference", "unclear", "procedural", "advisory")
PROMPT = PromptFile("bench", "classification", "Label the question of an operator. Reply with JSON.")
ANSWER = '{"label": "procedural", "confidence": 0.91, "alternatives": {"advisory": 0.06}, "missing_context": []}'


def rows(asks: int = ASKS, rounds: int = ROUNDS) -> Iterator[Row]:
    """Time a collection and a bare gather; the ratio is that of their throughputs, the bar the least wanted."""
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        timed = [asyncio.run(one_round(url, asks)) for _ in range(rounds)]
    finally:
        server.kill()
        server.communicate()
    # The round in the middle: its two halves met the same machine.
    ours, other = sorted(timed, key=lambda one: one[1] / one[0])[rounds // 2]
    yield Row(
        f"collect {asks:,} answers, {LATENCY_S * 1000:.0f} ms, {CONCURRENCY} at a time",
        ours,
        "bare AsyncOpenAI gather",
        other,
        BAR,
    )


async def one_round(url: str, count: int) -> tuple[float, float]:
    """Return the seconds of a collection and of a bare gather."""
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(count)], "text": [f"question {n}" for n in range(count)]})
    asks = make_asks(items, [PROMPT], "m")
    return await collected(url, asks), await bare(url, asks)


async def collected(url: str, asks: list[Ask]) -> float:
    """Time a collection into a new store."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "answers.sqlite") as store:
        async with connect(base_url=url, environment={}) as connection:
            started = time.perf_counter()
            done = await collect(connection, store, asks, TAXONOMY, concurrency=CONCURRENCY)
            seconds = time.perf_counter() - started
        assert (done.asked, store.count(), done.errors) == (len(asks), len(asks), {})
    return seconds


async def bare(url: str, asks: list[Ask]) -> float:
    """Time the same requests through the client alone, their bodies built beforehand."""
    bodies = [build_request(ask, TAXONOMY) for ask in asks]
    limit = asyncio.Semaphore(CONCURRENCY)
    async with connect(base_url=url, environment={}) as connection:

        async def one(body: dict[str, object]) -> object:
            async with limit:
                return await connection.client.chat.completions.create(**body)  # type: ignore[call-overload]

        started = time.perf_counter()
        replies = await asyncio.gather(*map(one, bodies))
        seconds = time.perf_counter() - started
    assert len(replies) == len(asks)
    return seconds


async def serve() -> None:
    """Answer every request after the latency, and print the port."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}
    usage = {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330}
    body = json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    ).encode()
    reply = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
                await asyncio.sleep(LATENCY_S)
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if "--serve" in sys.argv:
        asyncio.run(serve())
    else:
        for row in rows():
            print(row)
