"""What is known of which store, found by its class's name and through what wraps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.backends import MAX_ROWS, Backend, DenseStore, backend_of, register_backend
from langchain_rag.backends.registry import _FACTORIES
from langchain_rag.errors import ConfigurationError
from langchain_rag.testing import (
    CountingEmbeddings,
    DistanceVectorStore,
    Driver,
    FaultPlan,
    FaultyVectorStore,
    ScriptedTransformer,
    SyncOnlyVectorStore,
)
from langchain_rag.vectorstores import RAGVectorStore, WrapperVectorStore


class Renamed(InMemoryVectorStore):
    """A subclass that changes nothing of a search."""

    extra = 1


class ByText(InMemoryVectorStore):
    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return super().similarity_search_with_score(query.lower(), k, **kwargs)


def test_stores_with_a_search_by_vector(chroma: Chroma) -> None:
    memory = InMemoryVectorStore(CountingEmbeddings())
    for store in (memory, Renamed(CountingEmbeddings()), chroma):
        assert backend_of(store).dense is not None


def test_stores_that_are_asked_by_text() -> None:
    embeddings = CountingEmbeddings()
    inner = InMemoryVectorStore(embeddings)
    for store in (
        ByText(embeddings),
        DistanceVectorStore(embeddings),
        SyncOnlyVectorStore(embeddings),
        FaultyVectorStore(inner, FaultPlan()),
        WrapperVectorStore(inner),
    ):
        assert backend_of(store).dense is None


def test_a_store_that_nobody_knows() -> None:
    class Odd:
        """Not even a vector store, and with slots for attributes."""

        __slots__ = ()

    backend = backend_of(Odd())
    assert backend.name.endswith("Odd")
    assert (backend.max_rows, backend.replaces, backend.max_hits) == (MAX_ROWS, True, None)
    assert (backend.rows, backend.arows, backend.dense, backend.fitted) == (None,) * 4
    assert (backend.refusal, backend.exists, backend.filtered_from) == (None,) * 3


def test_wrappers_are_looked_through() -> None:
    memory = InMemoryVectorStore(CountingEmbeddings())
    memory.add_texts(["cats"], [{"page": 1}], ids=["c"])
    store = WrapperVectorStore(FaultyVectorStore(WrapperVectorStore(memory), FaultPlan()))
    backend = backend_of(store)
    assert backend.name == "langchain_core.vectorstores.in_memory.InMemoryVectorStore"
    assert backend.rows is not None
    assert list(backend.rows()) == [("c", {"page": 1})]


def test_wrappers_in_a_circle() -> None:
    store = WrapperVectorStore(InMemoryVectorStore(CountingEmbeddings()))
    store._vectorstore = store
    assert backend_of(store).rows is None


def test_rows_are_listed_while_others_write() -> None:
    memory = InMemoryVectorStore(CountingEmbeddings())
    memory.add_texts(["cats", "dogs"], ids=["c", "d"])
    backend = backend_of(memory)
    assert backend.rows is not None
    listed: list[str] = []
    for id_, metadata in backend.rows():
        metadata["mine"] = True  # nothing of it is the store's
        listed.append(id_)
        memory.delete(["d"])
        memory.add_texts(["cows"], ids=["e"])
    assert listed == ["c", "d"]
    assert "mine" not in memory.store["c"]["metadata"]


def test_chroma_without_embeddings_is_asked_by_text(chroma: Chroma) -> None:
    bare = Chroma(
        client=chroma._client, collection_name=chroma._collection.name, embedding_function=None
    )
    assert backend_of(bare).dense is None


@pytest.mark.parametrize(("score", "relevance"), [(-0.2, 0.0), (0.3, 0.3), (1.0000001, 1.0)])
def test_similarities_are_clamped(score: float, relevance: float) -> None:
    dense = backend_of(InMemoryVectorStore(CountingEmbeddings())).dense
    assert dense is not None
    assert dense.relevance()(score) == relevance


def test_chroma_s_own_relevance(chroma: Chroma) -> None:
    dense = backend_of(chroma).dense
    assert dense is not None
    assert dense.relevance()(0.25) == chroma._select_relevance_score_fn()(0.25) == 0.75


async def test_a_search_without_an_asynchronous_twin_runs_in_the_executor() -> None:
    def scored(embedding: Any, k: int) -> Any:
        return [(Document("cats"), float(k))]

    async def native(embedding: Any, k: int) -> Any:
        return []

    def relevance() -> Any:
        raise AssertionError

    assert await DenseStore(scored, relevance).ascored([1.0], k=3) == [(Document("cats"), 3.0)]
    assert await DenseStore(scored, relevance, native).ascored([1.0], k=3) == []


class Mine(InMemoryVectorStore):
    """A store of somebody's own."""


@pytest.fixture
def registered() -> Iterator[list[str]]:
    name = f"{Mine.__module__}.{Mine.__qualname__}"
    given: list[str] = []

    def factory(store: Any, name: str) -> Backend:
        given.append(name)
        return Backend(name, max_rows=7)

    register_backend(name, factory)
    yield given
    _FACTORIES.pop(name)


def test_a_class_is_registered_with_its_subclasses(registered: list[str]) -> None:
    class Mines(Mine):
        pass

    embeddings = CountingEmbeddings()
    for store in (Mine(embeddings), Mines(embeddings), WrapperVectorStore(Mine(embeddings))):
        assert backend_of(store).max_rows == 7
    assert len(registered) == 3
    assert len(set(registered)) == 1


@pytest.mark.parametrize("name", ["MyStore", ".MyStore", ""])
def test_a_name_without_a_module_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="has no module"):
        register_backend(name, lambda store, name: Backend(name))


class Watched(InMemoryVectorStore):
    """Notes what it is asked by a search by vector."""

    def __init__(self) -> None:
        super().__init__(CountingEmbeddings())
        self.asked: list[dict[str, Any]] = []


@pytest.fixture
def options() -> Iterator[dict[str, Any]]:
    """What is known of `Watched`."""
    known: dict[str, Any] = {}
    name = f"{Watched.__module__}.{Watched.__qualname__}"

    def factory(store: Watched, name: str) -> Backend:
        def scored(embedding: Any, **asked: Any) -> Any:
            store.asked.append(asked)
            asked = {key: asked[key] for key in ("k", "filter") if key in asked}
            return store.similarity_search_with_score_by_vector(embedding, **asked)

        return Backend(name, dense=DenseStore(scored, lambda: lambda score: score), **known)

    register_backend(name, factory)
    yield known
    _FACTORIES.pop(name)


async def test_no_search_asks_for_more_hits_than_the_store_gives(
    driver: Driver, options: dict[str, Any]
) -> None:
    options["max_hits"] = 5
    store = Watched()
    rag = RAGVectorStore(
        vectorstore=store,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(lambda text: [f"{text} {n}" for n in range(9)]),
    )
    await driver(rag, "add_texts", ["cats", "dogs"])
    assert len(await driver(rag, "similarity_search", "cats", k=2)) == 1
    assert [asked["k"] for asked in store.asked] == [5]


async def test_a_filter_brings_what_the_store_needs_for_it(
    driver: Driver, options: dict[str, Any]
) -> None:
    options |= {"filtering": {"prefilter": True}, "filtered_from": lambda: 77}
    store = Watched()
    rag = RAGVectorStore(vectorstore=store, docstore=InMemoryStore(), source_id_key=None)
    await driver(rag, "add_texts", ["cats"])

    def keep(_document: Document) -> bool:
        return True

    await driver(rag, "similarity_search", "cats", k=1)
    await driver(rag, "similarity_search", "cats", k=1, filter=keep)
    await driver(rag, "similarity_search", "cats", k=1, filter=keep, prefilter=False)
    assert store.asked == [
        {"k": 1},
        {"k": 1, "filter": keep, "prefilter": True, "fetch_k": 77},
        {"k": 1, "filter": keep, "prefilter": False, "fetch_k": 77},
    ]


async def test_a_collection_that_is_not_there_is_not_searched(
    driver: Driver, options: dict[str, Any]
) -> None:
    store = Watched()
    options["exists"] = lambda: bool(store.store)
    rag = RAGVectorStore(vectorstore=store, docstore=InMemoryStore(), source_id_key=None)
    for method, query in (
        ("similarity_search", "cats"),
        ("max_marginal_relevance_search", "cats"),
        ("similarity_search_by_vector", store.embedding.embed_query("cats")),
    ):
        assert await driver(rag, method, query, k=1) == []
    assert store.asked == []
    await driver(rag, "add_texts", ["cats"])
    assert len(await driver(rag, "similarity_search", "cats", k=1)) == 1
