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

from langchain_rag._flow import Flow, arun, run
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle import claims
from langchain_rag.lifecycle import stores as stores_module
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.records import Unreadable
from langchain_rag.lifecycle.stores import Stores
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
    for module in (claims, stores_module):
        monkeypatch.setattr(module, "MAX_RECORDS", 3)
    return Stores(
        Faulty(InMemoryVectorStore(CountingEmbeddings()), plan),
        FaultyDocStore(InMemoryStore(), plan),
    )


async def drive(driver: Driver, flow: Any) -> Any:
    return run(flow) if driver.name == "sync" else await arun(flow)


def claimed(stores: Stores, method: str, values: Any) -> Any:
    """Write as the lifecycle does."""

    def write(claim: claims.Claim) -> Flow[None]:
        yield from getattr(claim, method)(values)

    return claims.holding(stores.docstore, {"key": "doc"}, write)


async def test_calls_are_cut(driver: Driver, stores: Stores, plan: FaultPlan) -> None:
    records = [(str(n), Document(str(n))) for n in range(7)]
    await drive(driver, claimed(stores, "mset", records))
    keys = [str(n) for n in range(8)]
    found: list[Any] = await drive(driver, stores.mget(keys))
    assert [value and value.page_content for value in found] == [*keys[:7], None]
    assert sorted(await drive(driver, stores.keys(""))) == keys[:7]
    assert await drive(driver, stores.keys("6")) == ["6"]
    await drive(driver, claimed(stores, "mdelete", keys))
    assert [(call.name, call.size) for call in plan.calls] == [
        *[("mset", size) for size in (3, 3, 1)],
        *[("mdelete", size) for size in (3, 3, 2)],
    ]


async def test_nothing_is_no_call(driver: Driver, stores: Stores, plan: FaultPlan) -> None:
    plan.dead = True  # any call at all, reading too, would raise
    for method in ("mset", "mdelete"):
        assert await drive(driver, claimed(stores, method, [])) is None
    assert await drive(driver, stores.mget([])) == []


class Picky(InMemoryStore):
    """Cannot decode some of its values, and says so for the whole call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def mget(self, keys: Sequence[str]) -> list[Any]:
        self.calls += 1
        values = super().mget(keys)
        if "damaged" in values:
            raise ValueError(keys)
        if "down" in values:
            raise OSError(keys)
        return values

    async def amget(self, keys: Sequence[str]) -> list[Any]:
        return self.mget(keys)


async def test_a_value_that_cannot_be_decoded_keeps_no_other_from_being_read(
    driver: Driver,
) -> None:
    docs = Picky()
    docs.store |= {str(n): Document(str(n)) for n in range(100)} | {"7": "damaged"}
    stores = Stores(InMemoryVectorStore(CountingEmbeddings()), docs)
    found = await drive(driver, stores.mget([str(n) for n in range(100)]))
    assert isinstance(found[7], Unreadable)
    assert [value.page_content for n, value in enumerate(found) if n != 7] == [
        str(n) for n in range(100) if n != 7
    ]
    assert docs.calls < 20, "found by halves"
    docs.store["3"] = "down"
    with pytest.raises(OSError, match="3"):
        await drive(driver, stores.mget(["1", "3"]))


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
