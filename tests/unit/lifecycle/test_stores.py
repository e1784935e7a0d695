"""Calls within what a store can take, and none for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.stores import BaseStore, InMemoryBaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import arun, run
from langchain_rag.errors import ConfigurationError, IdsIgnoredError, StoreError
from langchain_rag.lifecycle import stores as module
from langchain_rag.lifecycle.stores import MAX_ROWS, Stores, batched
from langchain_rag.testing import CountingEmbeddings, Driver, FaultPlan, FaultyDocStore
from langchain_rag.testing import FaultyVectorStore as Faulty


@given(st.lists(st.integers(), max_size=20), st.integers(1, 7))
def test_batched(items: list[int], size: int) -> None:
    batches = list(batched(iter(items), size))
    assert [item for batch in batches for item in batch] == items
    assert all(0 < len(batch) <= size for batch in batches)
    assert all(len(batch) == size for batch in batches[:-1])


@pytest.fixture
def plan() -> FaultPlan:
    return FaultPlan()


@pytest.fixture
def stores(plan: FaultPlan, monkeypatch: pytest.MonkeyPatch) -> Stores:
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    return Stores(
        Faulty(InMemoryVectorStore(CountingEmbeddings()), plan),
        FaultyDocStore(InMemoryStore(), plan),
    )


def test_the_limit_is_below_chroma_s() -> None:
    assert MAX_ROWS < 5_461


async def drive(driver: Driver, flow: Any) -> Any:
    return run(flow) if driver.name == "sync" else await arun(flow)


async def test_calls_are_cut(driver: Driver, stores: Stores, plan: FaultPlan) -> None:
    rows = [Document(str(n), id=f"r{n}") for n in range(7)]
    await drive(driver, stores.add_variations(rows, {}))
    await drive(driver, stores.mset([(str(n), Document(str(n))) for n in range(7)]))
    keys = [str(n) for n in range(8)]
    found = await drive(driver, stores.mget(keys))
    assert [value and value.page_content for value in found] == [*keys[:7], None]
    assert sorted(await drive(driver, stores.keys(""))) == keys[:7]
    assert await drive(driver, stores.keys("6")) == ["6"]
    await drive(driver, stores.delete_variations([f"r{n}" for n in range(7)]))
    await drive(driver, stores.mdelete(keys))
    assert [(call.name, call.size) for call in plan.calls] == [
        *[("add_documents", size) for size in (3, 3, 1)],
        *[("mset", size) for size in (3, 3, 1)],
        *[("delete", size) for size in (3, 3, 1)],
        *[("mdelete", size) for size in (3, 3, 2)],
    ]


async def test_nothing_is_no_call(driver: Driver, stores: Stores, plan: FaultPlan) -> None:
    plan.dead = True  # any call at all, reading too, would raise
    for flow in (
        stores.add_variations([], {}),
        stores.mset([]),
        stores.delete_variations([]),
        stores.mdelete([]),
    ):
        assert await drive(driver, flow) is None
    assert await drive(driver, stores.mget([])) == []


class Answering(InMemoryVectorStore):
    """Answers what it is told to."""

    def __init__(self, added: Any, deleted: Any = None) -> None:
        super().__init__(CountingEmbeddings())
        self.added = added
        self.deleted = deleted
        self.gone: list[Any] = []

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        return self.added

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        return self.added

    def delete(self, ids: Any = None, **kwargs: Any) -> Any:
        self.gone += ids
        return self.deleted

    async def adelete(self, ids: Any = None, **kwargs: Any) -> Any:
        return self.delete(ids)


@pytest.mark.parametrize("answer", [None, [], ["a", "b"], ("a", "b")])
async def test_ids_that_are_right_or_not_said(driver: Driver, answer: Any) -> None:
    stores = Stores(Answering(answer), InMemoryStore())
    rows = [Document("1", id="a"), Document("2", id="b")]
    await drive(driver, stores.add_variations(rows, {}))


@pytest.mark.parametrize("answer", [["b", "a"], ["x", "y"], ["a"], [1, 2]])
async def test_ids_that_are_others(driver: Driver, answer: Any) -> None:
    store = Answering(answer)
    rows = [Document("1", id="a"), Document("2", id="b")]
    with pytest.raises(IdsIgnoredError, match=r"Answering was given the id 'a' and answered"):
        await drive(driver, Stores(store, InMemoryStore()).add_variations(rows, {}))
    assert store.gone == [str(id_) for id_ in answer]


@pytest.mark.parametrize("answer", [None, True])
async def test_a_deletion_that_is_right_or_not_said(driver: Driver, answer: Any) -> None:
    stores = Stores(Answering([], answer), InMemoryStore())
    await drive(driver, stores.delete_variations(["a"]))


async def test_a_deletion_that_is_refused(driver: Driver) -> None:
    stores = Stores(Answering([], deleted=False), InMemoryStore())
    with pytest.raises(StoreError, match=r"Answering.delete answered False .* 'a'"):
        await drive(driver, stores.delete_variations(["a", "b"]))


class Bytes(BaseStore[str, bytes]):
    """A store of bytes by its type parameters."""

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [None for _ in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None: ...

    def mdelete(self, keys: Sequence[str]) -> None: ...

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        yield from ()


class Deeper(Bytes):
    """And by those of its base."""


class Of(InMemoryBaseStore[bytes]):
    """Through LangChain's own generic class."""


@pytest.mark.parametrize("kind", [Bytes, Deeper, Of])
def test_stores_of_bytes_are_refused(kind: type[Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"docstore is a {kind.__name__}, which holds"):
        Stores(InMemoryVectorStore(CountingEmbeddings()), kind())


@pytest.mark.parametrize(
    ("vectorstore", "docstore", "says"),
    [
        (None, InMemoryStore(), "vectorstore must be a VectorStore, not NoneType"),
        (InMemoryStore(), InMemoryStore(), "vectorstore must be a VectorStore, not InMemory"),
        (InMemoryVectorStore(CountingEmbeddings()), {}, "docstore must be a BaseStore.*dict"),
        (InMemoryVectorStore(CountingEmbeddings()), None, "docstore must be a BaseStore"),
    ],
)
def test_what_is_no_store_is_refused(vectorstore: Any, docstore: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Stores(vectorstore, docstore)
