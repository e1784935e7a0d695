"""The suite that others inherit: it passes over good stores, and catches bad ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import IdsIgnoredError
from langchain_rag.testing import (
    DRIVERS,
    AsyncOnlyVectorStore,
    Bench,
    CountingEmbeddings,
    Driver,
    IdIgnoringVectorStore,
    StoreReport,
    SyncOnlyVectorStore,
    UndeletableVectorStore,
    probe,
)
from langchain_rag.testing._over_store import opened, over_store
from langchain_rag.testing.conformance import VectorStoreConformance, report_on


class Merging(InMemoryVectorStore):
    """Keeps the metadata keys that a row had before."""

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> list[str]:
        merged = [
            Document(
                document.page_content,
                metadata=self.store.get(id_, {}).get("metadata", {}) | document.metadata,
            )
            for document, id_ in zip(documents, ids, strict=True)
        ]
        return super().add_documents(merged, ids=ids)

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        return self.add_documents(documents, ids=ids)


class Keeping(InMemoryVectorStore):
    """Says that it deletes, and does not."""

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        return None

    async def adelete(self, ids: Any = None, **kwargs: Any) -> None:
        return None


class Forgetting(InMemoryVectorStore):
    """Takes a thousand rows of a call, and forgets the others."""

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> list[str]:
        super().add_documents(documents[:1000], ids=ids[:1000])
        return list(ids)

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        return self.add_documents(documents, ids=ids)


class Backwards(InMemoryVectorStore):
    """Gives the worst hits first."""

    def similarity_search_with_score_by_vector(
        self, embedding: Any, k: int = 4, *args: Any, **kwargs: Any
    ) -> Any:
        found = super().similarity_search_with_score_by_vector(embedding, 10_000, **kwargs)
        return found[::-1][:k]


class Unfiltered(InMemoryVectorStore):
    """Takes a filter, and does not heed it."""

    def similarity_search_with_score_by_vector(
        self, embedding: Any, k: int = 4, *args: Any, **kwargs: Any
    ) -> Any:
        return super().similarity_search_with_score_by_vector(embedding, k)


class FilteringLate(InMemoryVectorStore):
    """Filters the hits that it has found: fewer than k, where k exist."""

    def similarity_search_with_score_by_vector(
        self, embedding: Any, k: int = 4, *args: Any, **kwargs: Any
    ) -> Any:
        found = super().similarity_search_with_score_by_vector(embedding, k)
        keep = kwargs.get("filter") or bool
        return [hit for hit in found if keep(hit[0])]


def suite_over(kind: type[Any], **attributes: Any) -> VectorStoreConformance:
    class Suite(VectorStoreConformance):
        def make_store(self, embeddings: CountingEmbeddings) -> Any:
            return kind(embeddings)

    for name, value in attributes.items():
        setattr(Suite, name, value)
    return Suite()


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Merging, "test_other_metadata_only"),
        (Keeping, "test_add_change_delete_and_add_again"),
        (Keeping, "test_langchain_s_index"),
        (Keeping, "test_a_crash_at_every_write_of_a_change"),
        pytest.param(Forgetting, "test_many_rows_in_one_call", marks=pytest.mark.full),
        (Backwards, "test_scores_are_the_store_s_own_best_first"),
        (Unfiltered, "test_filters"),
        (FilteringLate, "test_filters"),
    ],
)
def test_a_store_that_is_wrong_is_caught(driver: Driver, kind: type[Any], test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(suite_over(kind), test)(driver)
    # And by nothing else than what is wrong with it.
    getattr(suite_over(InMemoryVectorStore), test)(driver)


def test_a_store_that_ignores_ids_is_caught(driver: Driver) -> None:
    with pytest.raises(IdsIgnoredError):
        suite_over(IdIgnoringVectorStore).test_the_same_rows_again(driver)
    report = suite_over(IdIgnoringVectorStore).report("ignoring")
    assert report.name == "ignoring"
    assert "does not keep ids" in str(report.refused)
    with pytest.raises(AssertionError):
        suite_over(IdIgnoringVectorStore).test_what_it_does_is_what_is_declared()


def test_what_a_store_lacks_is_declared() -> None:
    """Neither less nor more."""
    lacking = frozenset({"relevance", "embeds_once"})
    sync_only = suite_over(SyncOnlyVectorStore, lacks=lacking)
    assert sync_only.report().missing == {*lacking}
    sync_only.test_what_it_does_is_what_is_declared()
    for declared in (frozenset[str](), lacking | {"mmr"}):
        with pytest.raises(AssertionError):
            suite_over(
                SyncOnlyVectorStore, lacks=declared
            ).test_what_it_does_is_what_is_declared()


def test_what_is_declared_to_lack_must_raise(driver: Driver) -> None:
    suite_over(SyncOnlyVectorStore, lacks=frozenset({"relevance"})).test_relevances(driver)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        suite_over(InMemoryVectorStore, lacks=frozenset({"relevance"})).test_relevances(driver)


@pytest.mark.parametrize(
    ("kind", "asynchronous"),
    [
        (InMemoryVectorStore, "native"),
        (AsyncOnlyVectorStore, "native"),
        (SyncOnlyVectorStore, "executor"),
    ],
)
async def test_whose_asynchronous_methods(kind: type[Any], asynchronous: str) -> None:
    embeddings = CountingEmbeddings()
    report = await probe("a store", kind(embeddings), embeddings)
    assert (report.refused, report.asynchronous) == (None, asynchronous)


async def test_a_filter_that_is_given() -> None:
    embeddings = CountingEmbeddings()

    def by(key: str, value: Any) -> dict[str, Any] | None:
        return {"filter": lambda document: document.metadata[key] == value}

    store = SyncOnlyVectorStore(embeddings)
    assert (await probe("a store", store, embeddings, by)).filter
    assert (await probe("a store", store, embeddings, lambda key, value: None)).filter is False


async def test_a_store_that_does_not_delete() -> None:
    embeddings = CountingEmbeddings()
    store = UndeletableVectorStore(embeddings)
    with pytest.raises(Exception, match="answered False"):
        await probe("a store", store, embeddings)


def test_a_report_says_what_is_missing() -> None:
    report = StoreReport("a store", filter=True, mmr=True, lists=True)
    assert report.missing == {
        "by_vector",
        "delete",
        "embeds_once",
        "get_by_ids",
        "relevance",
        "replaces",
    }


async def test_all_ways_to_make_a_store() -> None:
    closed: list[str] = []
    store = InMemoryVectorStore(CountingEmbeddings())

    def generator() -> Iterator[Any]:
        yield store
        closed.append("generator")

    async def agenerator() -> AsyncIterator[Any]:
        yield store
        closed.append("agenerator")

    async def coroutine() -> Any:
        return store

    for made in (store, generator(), agenerator(), coroutine()):
        async with opened(made) as one:
            assert one is store
    assert closed == ["generator", "agenerator"]
    # What a test raises does not keep the store from being cleared up.
    for made in (generator(), agenerator()):
        with pytest.raises(ZeroDivisionError):
            async with opened(made):
                raise ZeroDivisionError
    assert closed == ["generator", "agenerator"] * 2


def test_nothing_may_be_left_after_a_test(driver: Driver) -> None:
    """Whatever a test does, afterwards the store is compared with the manifests."""

    @over_store
    async def body(suite: Any, bench: Bench) -> None:
        """A docstring."""
        await bench.do("add_documents", [Document("cats")], ids=["c"])
        await bench.driver(bench.store, "add_documents", [Document("stray")], ids=["s"])

    assert (body.__name__, body.__doc__) == ("body", "A docstring.")
    with pytest.raises(AssertionError):
        body(suite_over(InMemoryVectorStore), driver)


async def test_a_bench_over_a_store_that_cannot_list(driver: Driver) -> None:
    class Silent(SyncOnlyVectorStore):
        """Cannot be looked through."""

        def __init__(self, embeddings: CountingEmbeddings) -> None:
            super().__init__(embeddings)

        @property
        def inner(self) -> Any:
            return self.hidden

        @inner.setter
        def inner(self, value: Any) -> None:
            self.hidden = value

    embeddings = CountingEmbeddings()
    store = Silent(embeddings)
    bench = Bench(store, embeddings, driver)
    assert await bench.rows() is None
    await bench.do("add_documents", [Document("cats")], ids=["c"])
    assert await bench.problems() == []
    (lost, *_) = sorted(bench.expected())
    store.delete([lost])
    assert await bench.problems() == [f"row {lost} is lost"]


async def test_a_bench_sees_what_is_wrong(driver: Driver) -> None:
    embeddings = CountingEmbeddings()
    store = InMemoryVectorStore(embeddings)
    bench = Bench(store, embeddings, driver)
    await bench.do("add_documents", [Document("cats")], ids=["c"])
    (lost, *_) = sorted(bench.expected())
    store.delete([lost])
    store.add_texts(["stray"], ids=["s"])
    bench.docs.mset([("intents/x/y", Document(""))])
    assert sorted(await bench.problems()) == [
        "intents/x/y: a change that was not finished",
        f"row {lost} is lost",
        "row s is orphaned",
        "row s names chunk None, which is not in the docstore",
    ]


def test_a_suite_without_a_store() -> None:
    with pytest.raises(NotImplementedError):
        asyncio.run(report_on(VectorStoreConformance()))
    assert [driver.name for driver in DRIVERS] == ["sync", "async"]
