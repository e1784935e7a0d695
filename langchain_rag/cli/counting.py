"""Counts what costs money elsewhere: calls of the LLM and embedded texts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import LLMResult

__all__ = ["CountingEmbeddings", "LLMCalls"]


class LLMCalls(BaseCallbackHandler):
    """Counts the calls of a model, from any thread.

    Attributes:
        started: Calls so far.
        on_answer: Called after each answer.
    """

    def __init__(self) -> None:
        self.started = 0
        self.on_answer: Callable[[], object] = int
        self._lock = threading.Lock()

    @override
    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        """Count a call of a chat model."""
        with self._lock:
            self.started += len(messages)

    @override
    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any
    ) -> None:
        """Count a call of a completion model."""
        with self._lock:
            self.started += len(prompts)

    @override
    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Tell that there is an answer."""
        self.on_answer()


class CountingEmbeddings(Embeddings):
    """Embeddings that count the texts.

    Args:
        embeddings: What embeds them.

    Attributes:
        texts: Documents so far; queries do not count.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self.texts = 0
        self._embeddings = embeddings

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents.

        Args:
            texts: Their texts.

        Returns:
            Their vectors.
        """
        self.texts += len(texts)
        return self._embeddings.embed_documents(texts)

    @override
    def embed_query(self, text: str) -> list[float]:
        """Embed a query.

        Args:
            text: The query.

        Returns:
            Its vector.
        """
        return self._embeddings.embed_query(text)
