"""A vector store that hands every call to the one it wraps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from typing_extensions import override


class WrapperVectorStore(VectorStore):
    """Delegates to a wrapped store; subclass it and override what should differ.

    Every method calls its namesake on the wrapped store, sync or async, so a subclass changes
    just what it overrides.

    Args:
        vectorstore: The store to wrap.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> class Shouting(WrapperVectorStore):
        ...     def similarity_search(self, query, k=4, **kwargs):
        ...         return super().similarity_search(query.upper(), k, **kwargs)
        >>> store = Shouting(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))
        >>> store.add_texts(["HELLO", "BYE"], ids=["1", "2"])
        ['1', '2']
        >>> store.similarity_search("hello", k=1)[0].page_content
        'HELLO'
    """

    def __init__(self, vectorstore: VectorStore) -> None:
        self._vectorstore = vectorstore

    @property
    def vectorstore(self) -> VectorStore:
        """The wrapped store."""
        return self._vectorstore

    @property
    @override
    def embeddings(self) -> Embeddings | None:
        return self._vectorstore.embeddings

    @override
    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        return self._vectorstore.add_texts(texts, metadatas, **kwargs)

    @override
    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        return await self._vectorstore.aadd_texts(texts, metadatas, **kwargs)

    @override
    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        return self._vectorstore.add_documents(documents, **kwargs)

    @override
    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        return await self._vectorstore.aadd_documents(documents, **kwargs)

    @override
    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        return self._vectorstore.delete(ids, **kwargs)

    @override
    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        return await self._vectorstore.adelete(ids, **kwargs)

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self._vectorstore.get_by_ids(ids)

    @override
    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return await self._vectorstore.aget_by_ids(ids)

    @override
    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        return self._vectorstore.search(query, search_type, **kwargs)

    @override
    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        return await self._vectorstore.asearch(query, search_type, **kwargs)

    @override
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self._vectorstore.similarity_search(query, k, **kwargs)

    @override
    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return await self._vectorstore.asimilarity_search(query, k, **kwargs)

    @override
    def similarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self._vectorstore.similarity_search_with_score(*args, **kwargs)

    @override
    async def asimilarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await self._vectorstore.asimilarity_search_with_score(*args, **kwargs)

    @override
    def similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self._vectorstore.similarity_search_with_relevance_scores(query, k, **kwargs)

    @override
    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await self._vectorstore.asimilarity_search_with_relevance_scores(
            query, k, **kwargs
        )

    @override
    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return self._vectorstore.similarity_search_by_vector(embedding, k, **kwargs)

    @override
    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return await self._vectorstore.asimilarity_search_by_vector(embedding, k, **kwargs)

    @override
    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        return self._vectorstore.max_marginal_relevance_search(
            query, k, fetch_k, lambda_mult, **kwargs
        )

    @override
    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        return await self._vectorstore.amax_marginal_relevance_search(
            query, k, fetch_k, lambda_mult, **kwargs
        )

    @override
    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        return self._vectorstore.max_marginal_relevance_search_by_vector(
            embedding, k, fetch_k, lambda_mult, **kwargs
        )

    @override
    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        return await self._vectorstore.amax_marginal_relevance_search_by_vector(
            embedding, k, fetch_k, lambda_mult, **kwargs
        )

    @override
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # LangChain has no public way to this function.
        return self._vectorstore._select_relevance_score_fn()  # noqa: SLF001

    @classmethod
    @override
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> NoReturn:
        """Refuse: there is no telling which store to wrap.

        Raises:
            NotImplementedError: Always. Construct the store to wrap, then wrap it.
        """
        message = (
            f"{cls.__name__} wraps a store that exists: construct that one, wrap it with "
            f"{cls.__name__}(vectorstore), and call add_texts."
        )
        raise NotImplementedError(message)
