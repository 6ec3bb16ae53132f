"""Collects answers to numbered items, as a process of its own that tests can kill.

Arguments: base URL, store, number of items, concurrency, name of the first item's number.
"""

import asyncio
import sys

import pandas as pd

from assay.ask import Patience, PromptFile, Settings, connect
from assay.ask.collection import collect
from assay.ask.plan import make_asks
from assay.ask.store import Store
from assay.rules import Taxonomy


async def main(url: str, path: str, count: int, concurrency: int) -> None:
    items = pd.DataFrame(
        {"item_id": [f"i{one}" for one in range(count)], "text": [f"text {one}" for one in range(count)]}
    )
    prompt = PromptFile("small", "classification", "Label the question.")
    asks = make_asks(items, [prompt], "m", settings=Settings(patience=Patience(timeout=5, tries=2, first_wait=0.01)))
    with Store(path) as store:
        async with connect(base_url=url, environment={}) as connection:
            done = await collect(connection, store, asks, Taxonomy.of("a", "b"), concurrency=concurrency)
    print(done.asked, done.stored, done.elsewhere, done.left)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
