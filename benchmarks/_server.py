"""A local HTTP server that speaks the OpenAI protocol and answers each call after 50 ms.

Written on asyncio's protocols, since it has to cost little beside what it measures: on a
machine with few cores a server that is busy would be part of the figure. `GET /` says how many
calls there were, how many of them at a time, and what CPU it used.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

DELAY = 0.05
ANSWER = "1. What is it?\n2. Who was it?\n3. When was it?"


def _response(body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


COMPLETION = _response(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "slow",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": ANSWER},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
)


class Counts:
    """What all connections have seen."""

    now = most = calls = 0


class Connection(asyncio.Protocol):
    """One client, which sends its next request when it has its answer."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.received = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, gap, body = bytes(self.received).partition(b"\r\n\r\n")
        if not gap:
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if len(body) < int(fields.get(b"content-length", 0)):
            return
        self.received.clear()
        if head.startswith(b"GET"):
            counts = self.counts
            seen = {"calls": counts.calls, "most": counts.most, "server": time.process_time()}
            self._send(_response(seen))
            return
        self.counts.now += 1
        self.counts.calls += 1
        self.counts.most = max(self.counts.most, self.counts.now)
        asyncio.get_running_loop().call_later(DELAY, self._answer)

    def _answer(self) -> None:
        self.counts.now -= 1
        self._send(COMPLETION)

    def _send(self, response: bytes) -> None:
        if self.transport is not None:
            self.transport.write(response)


async def serve() -> None:
    """Serve until the process is stopped; prints the port."""
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counts), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def slow_model() -> Iterator[int]:
    """Run the server in a process of its own; yields its port."""
    command = [sys.executable, "-m", "benchmarks._server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def seen(port: int) -> dict[str, float]:
    """Ask the server for its counts."""
    with urlopen(f"http://127.0.0.1:{port}/") as answer:
        found: dict[str, float] = json.load(answer)
    return found


if __name__ == "__main__":
    asyncio.run(serve())
