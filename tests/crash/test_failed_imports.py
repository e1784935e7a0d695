"""A transformer that raises, and what is left after everything has been deleted."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag.errors import TransformerError
from langchain_rag.testing import (
    Contents,
    Driver,
    InjectedFault,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore

OLD = [Document("a1 alpha\na2 beta", metadata={"source": "a"})]
NEW = [Document("a1 alpha\na3 gamma", metadata={"source": "a"})]
EMPTY = Contents({}, {})


class Site:
    """A store with two transformers that can be told to fail."""

    def __init__(self, failing: str) -> None:
        self.world = World()
        self.parent = ScriptedTransformer(str.splitlines)
        self.chunk = ScriptedTransformer(lambda text: [text, *text.split()])
        self.failing = {"parent": self.parent, "chunk": self.chunk}[failing]
        self.rag: RAGVectorStore = self.world.start(
            parent_transformer=self.parent, chunk_transformer=self.chunk
        )
        self.index_kwargs: dict[str, Any] = self.world.index_kwargs(self.rag)

    def fail_on(self, word: str | None) -> None:
        self.failing.fail_when = None if word is None else lambda text: word in text


@pytest.fixture(params=["parent", "chunk"])
def site(request: pytest.FixtureRequest) -> Site:
    return Site(request.param)


async def test_case_1_the_old_version_stays_whole(driver: Driver, site: Site) -> None:
    await driver.index(OLD, cleanup="scoped_full", **site.index_kwargs)
    before = contents(site.rag)
    site.world.plan.forget()
    site.fail_on("gamma")
    with pytest.raises(TransformerError, match="told to fail") as raised:
        await driver.index(NEW, cleanup="scoped_full", **site.index_kwargs)
    assert isinstance(raised.value.__cause__, InjectedFault)
    # Nothing was even touched.
    assert site.world.plan.calls == []
    assert contents(site.rag) == before
    found = await driver(site.rag, "similarity_search", "beta", k=2)
    assert {document.page_content for document in found} == {"a1 alpha", "a2 beta"}


async def test_case_1_with_the_users_own_ids(driver: Driver, site: Site) -> None:
    await driver(site.rag, "add_documents", OLD, ids=["a"])
    before = contents(site.rag)
    site.fail_on("gamma")
    with pytest.raises(TransformerError, match="told to fail"):
        await driver(site.rag, "add_documents", NEW, ids=["a"])
    assert contents(site.rag) == before
    site.fail_on(None)
    await driver(site.rag, "add_documents", NEW, ids=["a"])
    assert audit(site.rag) == []
    assert {chunk for _, chunk, _ in reachable(site.rag)} == {"a1 alpha", "a3 gamma"}


async def test_case_2_the_same_call_again_is_processed(driver: Driver, site: Site) -> None:
    await driver.index(OLD, cleanup="scoped_full", **site.index_kwargs)
    site.fail_on("gamma")
    with pytest.raises(TransformerError):
        await driver.index(NEW, cleanup="scoped_full", **site.index_kwargs)
    site.fail_on(None)
    result = await driver.index(NEW, cleanup="scoped_full", **site.index_kwargs)
    assert result == {"num_added": 1, "num_updated": 0, "num_skipped": 0, "num_deleted": 1}
    assert audit(site.rag) == []
    assert {chunk for _, chunk, _ in reachable(site.rag)} == {"a1 alpha", "a3 gamma"}


async def test_a_later_batch_fails_and_the_earlier_ones_stay(
    driver: Driver, site: Site
) -> None:
    pages = [Document(f"page {n}", metadata={"source": str(n)}) for n in range(6)]
    ids = [str(n) for n in range(6)]
    site.fail_on("4")
    with pytest.raises(TransformerError):
        await driver(site.rag, "add_documents", pages, ids=ids, batch_size=2)
    assert audit(site.rag) == []
    assert {id_ for id_, _, _ in reachable(site.rag)} == {"0", "1", "2", "3"}
    site.fail_on(None)
    assert await driver(site.rag, "add_documents", pages, ids=ids, batch_size=2) == ids
    assert audit(site.rag) == []
    assert {id_ for id_, _, _ in reachable(site.rag)} == set(ids)


async def test_case_24_nothing_is_left(driver: Driver, site: Site) -> None:
    site.fail_on("gamma")
    with pytest.raises(TransformerError):
        await driver(site.rag, "add_documents", [*OLD, *NEW], ids=["old", "new"])
    assert contents(site.rag) == EMPTY
    site.fail_on(None)
    await driver(site.rag, "add_documents", [*OLD, *NEW], ids=["old", "new"])
    await driver(site.rag, "add_documents", [*OLD, *NEW], ids=["old", "new"])
    assert audit(site.rag) == []
    assert await driver(site.rag, "delete", ["old", "new"]) is True
    assert contents(site.rag) == EMPTY


async def test_case_24_nothing_is_left_after_index(driver: Driver, site: Site) -> None:
    site.fail_on("gamma")
    with pytest.raises(TransformerError):
        await driver.index([*OLD, *NEW], cleanup="full", batch_size=1, **site.index_kwargs)
    site.fail_on(None)
    await driver.index([*OLD, *NEW], cleanup="full", batch_size=1, **site.index_kwargs)
    assert audit(site.rag) == []
    result = await driver.index([], cleanup="full", **site.index_kwargs)
    assert result["num_deleted"] == 2
    assert contents(site.rag) == EMPTY
    assert site.world.record_manager.list_keys() == []


@pytest.mark.parametrize(("batch_size", "batches"), [(10, 1), (2, 2)])
async def test_one_write_for_each_phase_and_batch(
    driver: Driver, batch_size: int, batches: int
) -> None:
    site = Site("chunk")
    log = site.world.plan
    docs = [Document(f"{n} alpha\n{n} beta", metadata={"source": "s"}) for n in range(4)]
    changed = [Document(f"{n} gamma\n{n} beta", metadata={"source": "s"}) for n in range(4)]
    ids = ["0", "1", "2", "3"]
    new = ["mset", "mset", "add_documents", "mset"]  # intents, chunks, rows, manifests

    await driver(site.rag, "add_documents", docs, ids=ids, batch_size=batch_size)
    assert log.names() == [*new, "mdelete"] * batches
    log.forget()
    await driver(site.rag, "add_documents", changed, ids=ids, batch_size=batch_size)
    assert log.names() == [*new, "delete", "mdelete", "mdelete"] * batches
    log.forget()
    await driver(site.rag, "delete", ids)
    assert log.names() == ["mset", "mdelete", "delete", "mdelete", "mdelete"]
    log.forget()
    for nothing in ([], ["unknown"]):
        assert await driver(site.rag, "delete", nothing) is True
    assert await driver(site.rag, "add_documents", []) == []
    assert log.names() == []
