"""Retrievers of other kinds than `as_retriever`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.structured_query import FilterDirective
from langchain_core.vectorstores import VectorStore

if TYPE_CHECKING:
    from langchain_rag.retrievers import HybridRetriever, LexicalRetriever


class RetrievingMixin(VectorStore):
    """The methods of `RAGVectorStore` that make retrievers."""

    def as_lexical_retriever(
        self,
        k: int = 4,
        filter: FilterDirective | dict[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> LexicalRetriever:
        """Make a retriever of chunks by their words (BM25).

        The docstore is a `SQLDocStore` with `full_text`, as `from_vs_in_sql` makes it; over
        any other docstore an index is kept in memory, which takes bm25s
        (`pip install 'langchain-rag[lexical]'`).

        Args:
            k: Chunks wanted.
            filter: Which chunks count: a `Comparison` or `Operation` of LangChain's structured
                queries, or a dict of metadata keys and the values that they must have.
            **kwargs: Further fields of `LexicalRetriever`, `tags` and `metadata` among them.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The docstore cannot be searched by words.
        """
        from langchain_rag.retrievers import LexicalRetriever  # noqa: PLC0415 - cheap imports

        tags: list[str] = [*(kwargs.pop("tags", None) or []), *self._get_retriever_tags()]
        return LexicalRetriever(vectorstore=self, k=k, filter=filter, tags=tags, **kwargs)

    def as_hybrid_retriever(
        self,
        k: int = 4,
        weights: tuple[float, float] = (0.5, 0.5),
        c: float = 60,
        filter: FilterDirective | dict[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> HybridRetriever:
        """Make a retriever of chunks by words and vectors, fused by rank.

        Args:
            k: Chunks wanted.
            weights: Of the vectors, and of the words.
            c: How little the first ranks count more than those after them.
            filter: Which chunks count; see `as_lexical_retriever`.
            **kwargs: Further fields of `HybridRetriever`, `tags` and `metadata` among them.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The docstore cannot be searched by words, or there is no
                translator of filters for the wrapped store.
        """
        from langchain_rag.retrievers import HybridRetriever  # noqa: PLC0415 - cheap imports

        tags: list[str] = [*(kwargs.pop("tags", None) or []), *self._get_retriever_tags()]
        return HybridRetriever(
            vectorstore=self, weights=weights, c=c, k=k, filter=filter, tags=tags, **kwargs
        )
