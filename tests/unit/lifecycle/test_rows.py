"""Rows of a vector store: within what it can take, and never under other ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import arun, run
from langchain_rag.backends import MAX_ROWS, Backend, register_backend
from langchain_rag.backends.registry import _FACTORIES
from langchain_rag.errors import ConfigurationError, IdsIgnoredError, StoreError
from langchain_rag.lifecycle.rows import Rows
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    FaultPlan,
    FaultyVectorStore,
    SyncOnlyVectorStore,
)


async def drive(driver: Driver, flow: Any) -> Any:
    return run(flow) if driver.name == "sync" else await arun(flow)


def faulty(plan: FaultPlan, **options: Any) -> Rows:
    """Rows of a store that logs its calls, with some of its answers changed."""
    rows = Rows(FaultyVectorStore(InMemoryVectorStore(CountingEmbeddings()), plan))
    rows.backend = replace(rows.backend, **options)
    rows._there = rows.backend.exists is None
    return rows


ROWS = [Document(str(n), id=f"r{n}") for n in range(7)]
IDS = [f"r{n}" for n in range(7)]


async def test_calls_are_cut(driver: Driver) -> None:
    plan = FaultPlan()
    rows = faulty(plan, max_rows=3)
    await drive(driver, rows.add(ROWS, {}))
    await drive(driver, rows.delete(IDS))
    assert [(call.name, call.size) for call in plan.calls] == [
        *[("add_documents", size) for size in (3, 3, 1)],
        *[("delete", size) for size in (3, 3, 1)],
    ]


def test_the_limit_is_below_chroma_s() -> None:
    assert MAX_ROWS < 5_461


async def test_nothing_is_no_call(driver: Driver) -> None:
    plan = FaultPlan()
    plan.dead = True  # any call at all, reading too, would raise
    rows = faulty(plan, replaces=False, exists=lambda: False)
    assert await drive(driver, rows.add([], {})) is None
    assert await drive(driver, rows.delete([])) is None


async def test_a_store_that_does_not_replace_is_cleared_first(driver: Driver) -> None:
    plan = FaultPlan()
    rows = faulty(plan, replaces=False, max_rows=4)
    await drive(driver, rows.add(ROWS, {}))
    assert plan.names() == ["delete", "add_documents"] * 2
    assert [call.keys for call in plan.calls[:2]] == [tuple(IDS[:4])] * 2


async def test_a_collection_that_is_not_there_has_nothing_to_delete(driver: Driver) -> None:
    plan = FaultPlan()
    asked: list[bool] = []

    def exists() -> bool:
        asked.append(len(asked) > 1)
        return asked[-1]

    rows = faulty(plan, replaces=False, exists=exists)
    await drive(driver, rows.delete(["a"]))
    await drive(driver, rows.add(ROWS[:1], {}))
    assert plan.names() == ["add_documents"]
    await drive(driver, rows.delete(["a"]))
    await drive(driver, rows.delete(["a"]))
    assert plan.names() == ["add_documents", "delete", "delete"]
    assert asked == [False, False, True]  # once it is there it stays


async def test_rows_are_fitted(driver: Driver) -> None:
    def fitted(rows: Any) -> list[Document]:
        return [Document(row.page_content + "!", id=row.id) for row in rows]

    rows = faulty(FaultPlan(), fitted=fitted)
    await drive(driver, rows.add(ROWS[:2], {}))
    found = rows.vectorstore.get_by_ids(IDS[:2])
    assert [row.page_content for row in found] == ["0!", "1!"]
    assert ROWS[0].page_content == "0"


async def test_a_store_that_is_refused_gets_nothing(driver: Driver) -> None:
    plan = FaultPlan()
    rows = faulty(plan, refusal=lambda: ConfigurationError("make it otherwise"))
    with pytest.raises(ConfigurationError, match="make it otherwise"):
        await drive(driver, rows.add(ROWS, {}))
    assert plan.calls == []


class Undeletable(SyncOnlyVectorStore):
    """Makes its own ids, and has no delete: LangChain's default raises."""

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        own = [f"own {document.page_content}" for document in documents]
        return self.inner.add_documents(documents, ids=own)

    def delete(self, ids: Any = None, **kwargs: Any) -> bool | None:
        raise NotImplementedError


async def test_a_store_without_a_delete(driver: Driver) -> None:
    rows = Rows(Undeletable(CountingEmbeddings()))
    with pytest.raises(StoreError, match=r"Undeletable cannot delete.* 'r0'"):
        await drive(driver, rows.delete(IDS))


async def test_other_ids_that_cannot_be_taken_back(driver: Driver) -> None:
    """The reason is reported, and what could not be done about it is noted."""
    rows = Rows(Undeletable(CountingEmbeddings()))
    with pytest.raises(IdsIgnoredError, match="answered with 'own 0'") as caught:
        await drive(driver, rows.add(ROWS, {}))
    assert "still there" in caught.value.__notes__[0]
    assert isinstance(caught.value.__cause__, StoreError)


@pytest.fixture
def registered() -> Iterator[None]:
    name = f"{Undeletable.__module__}.{Undeletable.__qualname__}"
    register_backend(name, lambda store, name: Backend(name, max_rows=1))
    yield
    _FACTORIES.pop(name)


def test_the_registered_backend_is_used(registered: None) -> None:
    assert Rows(Undeletable(CountingEmbeddings())).backend.max_rows == 1


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
    target = Rows(Answering(answer))
    rows = [Document("1", id="a"), Document("2", id="b")]
    await drive(driver, target.add(rows, {}))


@pytest.mark.parametrize("answer", [["b", "a"], ["x", "y"], ["a"], [1, 2]])
async def test_ids_that_are_others(driver: Driver, answer: Any) -> None:
    store = Answering(answer)
    rows = [Document("1", id="a"), Document("2", id="b")]
    with pytest.raises(IdsIgnoredError, match=r"Answering was given the id 'a' and answered"):
        await drive(driver, Rows(store).add(rows, {}))
    assert store.gone == [str(id_) for id_ in answer]


@pytest.mark.parametrize("answer", [None, True])
async def test_a_deletion_that_is_right_or_not_said(driver: Driver, answer: Any) -> None:
    target = Rows(Answering([], answer))
    await drive(driver, target.delete(["a"]))


async def test_a_deletion_that_is_refused(driver: Driver) -> None:
    target = Rows(Answering([], deleted=False))
    with pytest.raises(StoreError, match=r"Answering.delete answered False .* 'a'"):
        await drive(driver, target.delete(["a", "b"]))
