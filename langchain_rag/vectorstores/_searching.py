"""Searching for chunks, and reading them by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStoreRetriever
from typing_extensions import override

from langchain_rag._flow import arun, run
from langchain_rag.search.lookup import get_by_ids
from langchain_rag.search.queries import defaults_for
from langchain_rag.vectorstores._base import BaseRAGVectorStore


class SearchingMixin(BaseRAGVectorStore):
    """The methods of `RAGVectorStore` that read."""

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Read documents or chunks without a search.

        Args:
            ids: Document ids, which give all chunks of a document in reading order, and ids
                of chunks, in any mix.

        Returns:
            The chunks, in the order of the ids. Unknown ids give nothing.
        """
        return run(get_by_ids(self._lifecycle, ids))

    @override
    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Read documents or chunks; see `get_by_ids`."""
        return await arun(get_by_ids(self._lifecycle, ids))

    @override
    def search(
        self, query: str, search_type: str | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find chunks by one of the search types.

        Args:
            query: A text.
            search_type: `"similarity"`, `"mmr"` or `"similarity_score_threshold"`; by
                default the constructor's.
            **kwargs: Arguments of that search.

        Returns:
            Distinct chunks, best first.
        """
        return super().search(query, search_type or self._search_type, **kwargs)

    @override
    async def asearch(
        self, query: str, search_type: str | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find chunks by one of the search types; see `search`."""
        return await super().asearch(query, search_type or self._search_type, **kwargs)

    @override
    def similarity_search(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to a text.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4); none for 0 or less.
            **kwargs: Further arguments of the wrapped store's search, such as `filter`, which
                sees what is flat in the user's metadata, and `transformer`; and ours, which
                every search takes: `kinds` and `except_kinds` of variation, `within` (document
                ids), `match_details`, `return_documents`, `aggregation` (`"best"` or
                `"rank_sum"`).

        Returns:
            k distinct chunks, best first; fewer only where no more exist.
        """
        return run(self._queries.similarity(query, k, kwargs))

    @override
    async def asimilarity_search(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to a text; see `similarity_search`."""
        return await arun(self._queries.similarity(query, k, kwargs))

    @override
    def similarity_search_with_score(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks nearest to a text, with scores; see `similarity_search`.

        Returns:
            Chunks, best first, each with the wrapped store's own score of its best variation:
            a distance or a similarity, as that store has it.
        """
        return run(self._queries.scored(query, k, kwargs))

    @override
    async def asimilarity_search_with_score(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks nearest to a text; see `similarity_search_with_score`."""
        return await arun(self._queries.scored(query, k, kwargs))

    @override
    def similarity_search_with_relevance_scores(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks nearest to a text, with relevances; see `similarity_search`.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4).
            **kwargs: `score_threshold`, the least relevance that counts, from 0 to 1; and
                further arguments of the wrapped store's search.

        Returns:
            Chunks, best first, each with the relevance of its best variation.
        """
        k, kwargs = self._threshold(k, kwargs)
        return super().similarity_search_with_relevance_scores(query, k, **kwargs)

    @override
    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the chunks; see `similarity_search_with_relevance_scores`."""
        k, kwargs = self._threshold(k, kwargs)
        return await super().asimilarity_search_with_relevance_scores(query, k, **kwargs)

    @override
    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return run(self._queries.relevant(query, k, kwargs))

    @override
    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await arun(self._queries.relevant(query, k, kwargs))

    def _threshold(self, k: int | None, kwargs: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Apply the constructor's defaults to what LangChain's base class looks at."""
        defaults = {
            key: self._search_kwargs[key]
            for key in ("score_threshold",)
            if key in self._search_kwargs
        }
        return (self._search_kwargs.get("k", 4) if k is None else k), {**defaults, **kwargs}

    @override
    def similarity_search_by_vector(
        self, embedding: list[float], k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to an embedding; see `similarity_search`."""
        return run(self._queries.by_vector(embedding, k, kwargs))

    @override
    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the chunks nearest to an embedding; see `similarity_search`."""
        return await arun(self._queries.by_vector(embedding, k, kwargs))

    @override
    def max_marginal_relevance_search(
        self,
        query: str,
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find chunks that are near a text and unlike each other.

        Maximal marginal relevance (Carbonell and Goldstein, 1998) among chunks, each by the
        vector of its best variation. The wrapped store need not know it.

        Args:
            query: A text.
            k: Distinct chunks wanted (default 4).
            fetch_k: Chunks to choose among (default 20).
            lambda_mult: 1 weighs nearness only, 0 difference only (default 0.5).
            **kwargs: Further arguments of the wrapped store's search.

        Returns:
            Distinct chunks, in the order in which they were chosen.

        Raises:
            ConfigurationError: The wrapped store does not say what it embeds with.
        """
        options = _with_lambda(lambda_mult, kwargs)
        return run(self._queries.diverse(query, k, fetch_k, options))

    @override
    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find near and unlike chunks; see `max_marginal_relevance_search`."""
        options = _with_lambda(lambda_mult, kwargs)
        return await arun(self._queries.diverse(query, k, fetch_k, options))

    @override
    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find near and unlike chunks; see `max_marginal_relevance_search`."""
        options = _with_lambda(lambda_mult, kwargs)
        return run(self._queries.diverse_by_vector(embedding, k, fetch_k, options))

    @override
    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int | None = None,
        fetch_k: int | None = None,
        lambda_mult: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find near and unlike chunks; see `max_marginal_relevance_search`."""
        options = _with_lambda(lambda_mult, kwargs)
        return await arun(self._queries.diverse_by_vector(embedding, k, fetch_k, options))

    @override
    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Make a retriever of chunks.

        Args:
            **kwargs: Fields of `VectorStoreRetriever`: `search_type` and `search_kwargs`,
                which are laid over the constructor's, `tags`, `metadata`, ...

        Returns:
            The retriever.
        """
        given: dict[str, Any] = kwargs.pop("search_kwargs", None) or {}
        search_type = kwargs.setdefault("search_type", self._search_type)
        search_kwargs = {**defaults_for(search_type, self._search_kwargs), **given}
        return super().as_retriever(search_kwargs=search_kwargs, **kwargs)


def _with_lambda(lambda_mult: float | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    return kwargs if lambda_mult is None else {**kwargs, "lambda_mult": lambda_mult}
