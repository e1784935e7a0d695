"""The odd stores are odd in the way that their names say, and in no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.documents import Document

from langchain_rag.testing import (
    AsyncOnlyVectorStore,
    CountingEmbeddings,
    DistanceVectorStore,
    Driver,
    IdIgnoringVectorStore,
    SyncOnlyVectorStore,
    UndeletableVectorStore,
)

DOCS = [Document("prime numbers"), Document("bread and butter"), Document("numbers")]
IDS = ["1", "2", "3"]
MMR = "max_marginal_relevance_search"


async def test_sync_only(driver: Driver) -> None:
    store = SyncOnlyVectorStore.from_texts(["a text"], CountingEmbeddings(), ids=["0"])
    await driver(store, "add_documents", DOCS, ids=IDS)
    vector = CountingEmbeddings().vector("bread")
    assert (await driver(store, "similarity_search", "bread", k=1))[0].id == "2"
    assert (await driver(store, "similarity_search_with_score", "bread", k=1))[0][1] > 0.5
    assert (await driver(store, "similarity_search_by_vector", vector, k=1))[0].id == "2"
    assert (await driver(store, MMR, "bread", k=1))[0].id == "2"
    assert (await driver(store, f"{MMR}_by_vector", vector, k=1))[0].id == "2"
    assert await driver(store, "delete", ["2"]) is True
    assert [d.id for d in await driver(store, "get_by_ids", ["0", *IDS])] == ["0", "1", "3"]
    assert isinstance(store.embeddings, CountingEmbeddings)
    own = [name for name in vars(SyncOnlyVectorStore) if name.startswith("a")]
    assert own == ["add_documents"]


async def test_async_only() -> None:
    store = AsyncOnlyVectorStore(CountingEmbeddings())
    await store.aadd_documents(DOCS, ids=IDS)
    assert (await store.asimilarity_search("bread", k=1))[0].id == "2"
    assert (await store.amax_marginal_relevance_search("bread", k=1))[0].id == "2"
    await store.adelete(["2"])
    assert sorted(store.store) == ["1", "3"]
    calls: list[Callable[[], object]] = [
        lambda: store.add_documents(DOCS),
        lambda: store.delete(IDS),
        lambda: store.similarity_search("bread"),
        lambda: store.similarity_search_with_score("bread"),
        lambda: store.max_marginal_relevance_search("bread"),
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match="asynchronous only"):
            call()


async def test_distances(driver: Driver) -> None:
    store = DistanceVectorStore(CountingEmbeddings())
    await driver(store, "add_documents", DOCS, ids=IDS)
    hits = await driver(store, "similarity_search_with_score", "numbers", k=3)
    assert [document.id for document, _ in hits] == ["3", "1", "2"]
    scores = [score for _, score in hits]
    assert scores == sorted(scores)
    assert scores[0] == pytest.approx(0.0, abs=1e-6)
    assert scores[2] > 1.4
    name = "similarity_search_with_relevance_scores"
    relevant = await driver(store, name, "numbers", k=3, score_threshold=0.5)
    assert [document.id for document, _ in relevant] == ["3", "1"]
    assert (await driver(store, MMR, "numbers", k=1))[0].id == "3"


async def test_ids_ignored(driver: Driver) -> None:
    store = IdIgnoringVectorStore(CountingEmbeddings())
    own = await driver(store, "add_documents", DOCS, ids=IDS)
    assert sorted(own) == sorted(store.store)
    assert not set(own) & set(IDS)


async def test_undeletable(driver: Driver) -> None:
    store = UndeletableVectorStore(CountingEmbeddings())
    await driver(store, "add_documents", DOCS, ids=IDS)
    assert await driver(store, "delete", IDS) is False
    assert len(await driver(store, "get_by_ids", IDS)) == 3
