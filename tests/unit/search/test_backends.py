"""Which stores can be asked again without embedding again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.search.backends import dense_store
from langchain_rag.testing import (
    CountingEmbeddings,
    DistanceVectorStore,
    FaultPlan,
    FaultyVectorStore,
    SyncOnlyVectorStore,
)


class Renamed(InMemoryVectorStore):
    """A subclass that changes nothing of a search."""

    extra = 1


class ByText(InMemoryVectorStore):
    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return super().similarity_search_with_score(query.lower(), k, **kwargs)


def test_stores_with_a_search_by_vector(chroma: Chroma) -> None:
    memory = InMemoryVectorStore(CountingEmbeddings())
    for store in (memory, Renamed(CountingEmbeddings()), chroma):
        assert dense_store(store) is not None


def test_stores_that_are_asked_by_text() -> None:
    embeddings = CountingEmbeddings()
    inner = InMemoryVectorStore(embeddings)
    for store in (
        ByText(embeddings),
        DistanceVectorStore(embeddings),
        SyncOnlyVectorStore(embeddings),
        FaultyVectorStore(inner, FaultPlan()),
    ):
        assert dense_store(store) is None


def test_chroma_without_embeddings_is_asked_by_text(chroma: Chroma) -> None:
    bare = Chroma(
        client=chroma._client, collection_name=chroma._collection.name, embedding_function=None
    )
    assert dense_store(bare) is None


@pytest.mark.parametrize(("score", "relevance"), [(-0.2, 0.0), (0.3, 0.3), (1.0000001, 1.0)])
def test_similarities_are_clamped(score: float, relevance: float) -> None:
    dense = dense_store(InMemoryVectorStore(CountingEmbeddings()))
    assert dense is not None
    assert dense.relevance()(score) == relevance


def test_chroma_s_own_relevance(chroma: Chroma) -> None:
    dense = dense_store(chroma)
    assert dense is not None
    assert dense.relevance()(0.25) == chroma._select_relevance_score_fn()(0.25) == 0.75
