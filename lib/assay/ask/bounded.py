"""Replies of bounded length: a server that never stops sending must not fill the memory of whoever asked it.

A chat completion with its log probabilities is a megabyte at most; the bound is far above.
"""

from collections.abc import AsyncIterator
from typing import Final

import httpx2
import openai

MOST_BYTES: Final = 32 * 2**20
"""Bytes of a reply, of any status, that are read."""

MOST_COMPRESSED: Final = 2**20
"""Bytes of one that was compressed though it was asked not to be: it may be a thousand times as long unpacked."""


class ReplyTooLong(httpx2.ReadError):
    """A reply went on beyond the bound."""


def http_client(*, trust_env: bool = True) -> httpx2.AsyncClient:
    """Return a client whose replies are bounded; `trust_env` says whether it heeds the proxies of the environment."""
    return openai.DefaultAsyncHttpxClient(
        trust_env=trust_env,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_bound]},
    )


async def _bound(response: httpx2.Response) -> None:
    compressed = response.headers.get("content-encoding", "identity") != "identity"
    # The hook is called before anything of the body is read.
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(response.stream, MOST_COMPRESSED if compressed else MOST_BYTES)


class _Bounded(httpx2.AsyncByteStream):
    """A stream that may not go on for ever."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise ReplyTooLong("the reply is too long")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
