"""Vector stores that are allowed by LangChain's interface, and not what one expects.

Each behaves like some real store: one with no asynchronous methods, one with no
synchronous ones, one whose scores are distances, one that makes its own ids, and one that
refuses to delete.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NoReturn

from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

__all__ = [
    "AsyncOnlyVectorStore",
    "DistanceVectorStore",
    "IdIgnoringVectorStore",
    "SyncOnlyVectorStore",
    "UndeletableVectorStore",
]


class SyncOnlyVectorStore(VectorStore):
    """Has only synchronous methods; the rest is LangChain's own default.

    Attributes:
        inner: Holds the rows.
    """

    def __init__(self, embedding: Embeddings) -> None:
        self.inner = InMemoryVectorStore(embedding)

    @property
    @override
    def embeddings(self) -> Embeddings:
        return self.inner.embedding

    @override
    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        return self.inner.add_documents(documents, **kwargs)

    @override
    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        self.inner.delete(ids)
        return True

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self.inner.get_by_ids(ids)

    @override
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.inner.similarity_search(query, k, **kwargs)

    @override
    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self.inner.similarity_search_with_score(query, k, **kwargs)

    @override
    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return self.inner.similarity_search_by_vector(embedding, k, **kwargs)

    @override
    def max_marginal_relevance_search(
        self, query: str, *args: Any, **kwargs: Any
    ) -> list[Document]:
        return self.inner.max_marginal_relevance_search(query, *args, **kwargs)

    @override
    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], *args: Any, **kwargs: Any
    ) -> list[Document]:
        search = self.inner.max_marginal_relevance_search_by_vector
        return search(embedding, *args, **kwargs)

    @classmethod
    @override
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> SyncOnlyVectorStore:
        store = cls(embedding)
        store.add_texts(texts, metadatas, **kwargs)
        return store


class AsyncOnlyVectorStore(InMemoryVectorStore):
    """Has only asynchronous methods for writing and searching."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        msg = "This store is asynchronous only."
        raise NotImplementedError(msg)

    add_documents = _refuse
    similarity_search = _refuse
    similarity_search_with_score = _refuse
    max_marginal_relevance_search = _refuse

    @override
    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        self._refuse()

    @override
    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        super().delete(ids)


class DistanceVectorStore(InMemoryVectorStore):
    """Scores are squared Euclidean distances of unit vectors, 0 to 4, nearest first."""

    @override
    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        hits = super().similarity_search_with_score_by_vector(embedding, k, *args, **kwargs)
        return [(document, 2.0 - 2.0 * cosine) for document, cosine in hits]

    @override
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # The rounding of a float may lead just outside of what LangChain warns about.
        return lambda distance: min(1.0, max(0.0, 1.0 - distance / 2.0))


class IdIgnoringVectorStore(InMemoryVectorStore):
    """Makes an id of its own for every row, whatever it is given."""

    @override
    def add_documents(
        self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        own = [str(uuid.uuid4()) for _ in documents]
        return super().add_documents(documents, ids=own, **kwargs)

    @override
    async def aadd_documents(
        self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        own = [str(uuid.uuid4()) for _ in documents]
        return await super().aadd_documents(documents, ids=own, **kwargs)


class UndeletableVectorStore(SyncOnlyVectorStore):
    """Deletes nothing, and says so: `delete` returns False."""

    @override
    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        return False
