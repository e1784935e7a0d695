"""Counts what costs money elsewhere: calls of the LLM and embedded texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_rag.document_transformers.llm.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.outputs import LLMResult

__all__ = ["CountingEmbeddings", "LLMCalls"]


class LLMCalls(ModelUsage):
    """Counts the calls of a model, and tells of each answer.

    Attributes:
        on_answer: Called after each answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_answer: Callable[[], object] = int

    @override
    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Tell that there is an answer."""
        super().on_llm_end(response, **kwargs)
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
