"""A real HTTP server on loopback that speaks OpenAI's chat completions, and misbehaves.

What it answers is a script: a function of the request's body and of how often the same prompt
was asked before. It returns a text, or a `Status`, a `Reset` or a `Stall`.

    def script(body, earlier):
        return Status(429, {"Retry-After": "1"}) if earlier == 0 else "An answer."

    with ModelServer(script) as server:
        llm = ChatOpenAI(base_url=server.url, ...)

Tests that use it are marked `integration`.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["Answer", "ModelServer", "Request", "Reset", "Script", "Stall", "Status", "refusal"]


@dataclass(frozen=True)
class Status:
    """An error with a status.

    Attributes:
        status: The HTTP status.
        headers: Headers besides the usual ones.
        code: What OpenAI's error body gives as code, and as type.
        message: What it gives as message.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    message: str = "The server was told to answer so."


@dataclass(frozen=True)
class Reset:
    """The connection is reset half way through the body of an answer."""


@dataclass(frozen=True)
class Stall:
    """Nothing comes for longer than a client's timeout; then the answer does."""

    seconds: float = 30.0
    text: str = "Too late."


Answer = str | Status | Reset | Stall
Script = Callable[[dict[str, Any], int], Answer]


def refusal() -> Status:
    """Return what the content filter answers."""
    message = "The response was filtered due to the prompt triggering the content filter."
    return Status(400, code="content_filter", message=message)


@dataclass(frozen=True)
class Request:
    """A request as it came.

    Attributes:
        at: When it was read, by `time.monotonic()`.
        prompt: The text of its last message.
        earlier: How many requests with the same prompt came before.
        body: All of it.
    """

    at: float
    prompt: str
    earlier: int
    body: dict[str, Any]


class ModelServer:
    """Answers by a script, and keeps the requests.

    Args:
        script: What to answer; it may be replaced at any time. It is called by several
            threads at once.

    Attributes:
        requests: The requests, in the order in which they were read.
        most: The most requests that were being answered at one time.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.most = 0
        self._errors: list[BaseException] = []
        self._asked: Counter[str] = Counter()
        self._now = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """What `ChatOpenAI` takes as `base_url`."""
        assert self._server is not None, "Enter the server first."
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def of(self, prompt: str) -> list[Request]:
        """Return the requests whose prompt contains a text."""
        return [request for request in list(self.requests) if prompt in request.prompt]

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()
        if self._errors and error is None:
            raise self._errors[0]

    def receive(self, body: dict[str, Any]) -> Request:
        """Keep a request."""
        prompt = _text(body["messages"][-1]["content"])
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            request = Request(time.monotonic(), prompt, self._asked[prompt], body)
            self._asked[prompt] += 1
            self.requests.append(request)
        return request

    def leave(self) -> None:
        """Count a request as answered."""
        with self._lock:
            self._now -= 1

    def stall(self, seconds: float) -> None:
        """Wait, though not beyond the end of the server."""
        self._closing.wait(seconds)

    def fail(self, error: BaseException) -> None:
        """Keep an error of the script, which leaving the server raises."""
        self._errors.append(error)


class _Server(ThreadingHTTPServer):
    # So that `server_close` waits for the threads.
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        request, address = super().get_request()
        self.open.add(request)
        return request, address

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep alive."""
        for request in list(self.open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is why one is here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = self.server.model
        request = model.receive(body)
        try:
            answer = model.script(body, request.earlier)
            if isinstance(answer, Stall):
                model.stall(answer.seconds)
                answer = answer.text
        except Exception as raised:
            model.fail(raised)
            answer = Status(500, message=f"The script raised {raised!r}.")
        finally:
            model.leave()
        if isinstance(answer, Reset):
            self._reset()
        elif isinstance(answer, Status):
            kind = answer.code or "error"
            error = {
                "message": answer.message,
                "type": kind,
                "param": None,
                "code": answer.code,
            }
            self._send(answer.status, {"error": error}, answer.headers)
        else:
            self._send(200, _completion(body, answer))

    def _send(
        self,
        status: int,
        body: dict[str, Any],
        headers: Mapping[str, str] | None = None,
        share: float = 1.0,
    ) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: int(len(data) * share)])

    def _reset(self) -> None:
        self._send(200, _completion({}, "Half of an answer."), share=0.5)
        # To linger for 0 seconds sends RST instead of FIN. Both have to be closed here:
        # the base class would send FIN first.
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.rfile.close()
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
        pass


def _completion(body: Mapping[str, Any], text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
