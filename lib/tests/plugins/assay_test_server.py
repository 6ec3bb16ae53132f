"""A provider that follows a script: a real HTTP server on loopback, with the faults that real ones have.

It stands for OpenAI, Azure and compatible servers. Each request takes the next step of the script, the last step again
and again; or the script is a function of the request. What was received is kept, byte for byte.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Step:
    """What the server does with one request.

    `delay` are seconds before the first byte and `pace` those before each byte of the body; `promised` is a length to
    announce that is not the body's; with `cut` the connection is closed once the body, or what there is of it, was
    sent; with `hang` nothing is ever sent.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pace: float = 0.0
    promised: int | None = None
    cut: bool = False
    hang: bool = False


Script = Sequence[Step] | Callable[[Request], Step]


class ScriptedServer:
    """An async context manager; `url` is the base URL to give to a client."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[Request] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(method, path, headers, raw)
        step = self._next(request)
        self.requests.append(request)
        if step.hang:
            await asyncio.Event().wait()
        await asyncio.sleep(step.delay)
        length = len(step.body) if step.promised is None else step.promised
        own = {"content-type": "application/json", "content-length": str(length), **step.headers}
        if not (step.cut and not step.body):
            lines = [f"HTTP/1.1 {step.status} -", *(f"{name}: {value}" for name, value in own.items()), "", ""]
            writer.write("\r\n".join(lines).encode("latin-1"))
            for piece in [step.body[at : at + 1] for at in range(len(step.body))] if step.pace else [step.body]:
                await asyncio.sleep(step.pace)
                writer.write(piece)
                await writer.drain()
        return not step.cut

    def _next(self, request: Request) -> Step:
        if callable(self._script):
            return self._script(request)
        return self._script[min(len(self.requests), len(self._script) - 1)]


def completed(
    content: str | None, *, finish_reason: str = "stop", logprobs: list[dict] | None = None, **message: Any
) -> Step:
    """Reply with a chat completion."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, "refusal": None, **message},
        "logprobs": None if logprobs is None else {"content": logprobs},
    }
    return Step(body=json.dumps(reply(choice)).encode())


def reply(choice: dict[str, Any]) -> dict[str, Any]:
    """The body of a chat completion of one choice."""
    usage = {"prompt_tokens": 210, "completion_tokens": 16, "total_tokens": 226}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 0,
        "model": "served-1",
        "choices": [choice],
        "usage": usage,
    }


def refused(
    status: int, code: str | int | None = None, *, headers: Mapping[str, str] | None = None, **error: Any
) -> Step:
    """Reply with an error, as providers spell them."""
    body = {"error": {"message": "the provider's words", "code": code, **error}}
    return Step(status, json.dumps(body).encode(), headers or {})
