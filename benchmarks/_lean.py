"""A chat model that speaks the OpenAI protocol with as little work of its own as possible.

`langchain-openai` and `openai` need several milliseconds of a processor for one call, which
bounds every import with many calls at a time, whoever makes them. This one needs a fraction, so
that what is left is the import's own.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class LeanChat(BaseChatModel):
    """Asks the local server."""

    port: int
    _own: threading.local = PrivateAttr(default_factory=threading.local)
    _idle: list[Streams] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "lean"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": "slow"}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        del stop, run_manager
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            self._own.connection = connection
        connection.request("POST", "/v1/chat/completions", _body(messages))
        return _result(connection.getresponse().read())

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        del stop, run_manager
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = _body(messages)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        result = _result(await reader.readexactly(length))
        self._idle.append((reader, writer))
        return result


def _body(messages: list[BaseMessage]) -> bytes:
    listed = [{"role": "user", "content": message.text} for message in messages]
    return json.dumps({"model": "slow", "messages": listed}).encode()


def _result(body: bytes) -> ChatResult:
    text = json.loads(body)["choices"][0]["message"]["content"]
    return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
