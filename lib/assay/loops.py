"""Coroutines from code that does not await: also within a notebook, whose own event loop is running already."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def complete(work: Coroutine[object, object, Result]) -> Result:
    """Run a coroutine to its end.

    Parameters
    ----------
    work : coroutine

    Returns
    -------
    object
        What it returns. Where an event loop is running it gets one of its own, in a thread of its own.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
