"""Two stores on one collection and one docstore, or one database: neither sees the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import run
from langchain_rag.storage import SQLDocStore, SQLRecordManager, create_engine
from langchain_rag.testing import Driver
from langchain_rag.vectorstores import RAGVectorStore
from tests.unit.audit.conftest import PAGES, page, transformers

Make = Callable[[str], RAGVectorStore]


@pytest.fixture(params=["one docstore", "one table"])
def make(request: pytest.FixtureRequest, wrapped: VectorStore) -> Iterator[Make]:
    """Makes a store of a namespace, with its record manager on the same database."""
    engine = create_engine("sqlite://")
    shared = InMemoryStore()

    def make(namespace: str) -> RAGVectorStore:
        docs: BaseStore[str, Any] = shared
        if request.param == "one table":
            docs = SQLDocStore(engine, namespace=namespace)
        return RAGVectorStore(
            vectorstore=wrapped,
            docstore=docs,
            namespace=namespace,
            record_manager=SQLRecordManager(namespace, engine=engine),
            **transformers(),
        )

    yield make
    engine.dispose()


def state(rag: RAGVectorStore, wrapped: VectorStore) -> tuple[Any, ...]:
    tag = rag._lifecycle.keys.manifests.split("/")[1]
    records = {key for key in rag.docstore.yield_keys() if f"/{tag}/" in key}
    manager = rag.record_manager
    assert manager is not None
    return records, rag.stats().rows, sorted(manager.list_keys())


@pytest.mark.parametrize("names", [("", "x"), ("x", ""), ("x", "y")])
async def test_one_is_damaged_and_repaired_and_the_other_stays(
    driver: Driver, make: Make, wrapped: VectorStore, names: tuple[str, str]
) -> None:
    mine, theirs = (make(name) for name in names)
    for rag in (mine, theirs):
        await driver.index(PAGES, cleanup="scoped_full", **rag.index_kwargs())
        assert (await driver(rag, "verify")).ok
    rows = (await driver(theirs, "verify")).rows
    before = state(theirs, wrapped)
    keys = mine._lifecycle.keys
    manifests = list(mine.docstore.yield_keys(prefix=keys.manifests))
    # A missing document's rows and chunks are orphans, and another one loses its rows.
    (lost,) = run(mine._lifecycle.records.manifests_at(manifests[1:2]))
    mine.docstore.mdelete(manifests[:1])
    wrapped.delete(lost.chunks[0].variation_ids())
    assert not (await driver(mine, "verify")).ok
    assert (await driver(theirs, "verify")).ok
    assert (await driver(theirs, "repair")).repaired == ()
    assert not (await driver(mine, "verify")).ok
    assert (await driver(mine, "repair")).ok
    assert (await driver(mine, "verify")).ok
    assert (await driver(theirs, "verify")).rows == rows
    assert state(theirs, wrapped) == before
    assert (await driver(mine, "verify")).foreign_rows == 0


async def test_stats_count_one_namespace(driver: Driver, make: Make) -> None:
    mine, theirs = make(""), make("x")
    await driver(mine, "add_documents", [page("a"), page("b")], ids=["a", "b"])
    await driver(theirs, "add_documents", [page("c", 3)], ids=["c"])
    one, other = await driver(mine, "stats"), await driver(theirs, "stats")
    assert (one.documents, one.sources, one.chunks, one.rows) == (2, 2, 4, 12)
    assert (other.documents, other.sources, other.chunks, other.rows) == (1, 1, 3, 9)
    assert one.variations == {"copy": 4, "CharacterTextSplitter": 8}
    assert (one.current, one.foreign, one.unknown, one.doubtful) == (2, 0, 0, 0)
    assert one.characters == 4 * len("a0 alpha")
