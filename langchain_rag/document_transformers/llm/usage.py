"""Counts what models are asked, and what they say it took."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration
from typing_extensions import override

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import LLMResult

__all__ = ["ModelUsage"]


class ModelUsage(BaseCallbackHandler):
    """Counts calls and tokens, from any thread.

    Attributes:
        calls: Calls that were begun.
        input_tokens: Tokens of prompts, None while no model has said.
        output_tokens: Tokens of answers, None while no model has said.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self._lock = threading.Lock()

    @override
    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        """Count a call of a chat model."""
        with self._lock:
            self.calls += len(messages)

    @override
    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any
    ) -> None:
        """Count a call of a completion model."""
        with self._lock:
            self.calls += len(prompts)

    @override
    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count the tokens of an answer, where the model says."""
        for generations in response.generations:
            for generation in generations[:1]:
                message = getattr(generation, "message", None)
                if not (
                    isinstance(generation, ChatGeneration) and isinstance(message, AIMessage)
                ):
                    continue
                usage = message.usage_metadata
                if usage is not None:
                    with self._lock:
                        self.input_tokens = (self.input_tokens or 0) + usage["input_tokens"]
                        self.output_tokens = (self.output_tokens or 0) + usage["output_tokens"]
