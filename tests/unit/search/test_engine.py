"""Asking, collapsing, reading, widening."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import Flow, arun, run
from langchain_rag._reserved import CHUNK
from langchain_rag.search.engine import PLAIN, Plan, SearchEngine
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    ScriptedTransformer,
    World,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore


class CountingStore(InMemoryStore):
    """Counts the reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[int] = []

    def mget(self, keys: Sequence[str]) -> Any:
        self.reads.append(len(keys))
        return super().mget(keys)

    async def amget(self, keys: Sequence[str]) -> Any:
        return self.mget(keys)


class Bench:
    """An engine over twelve chunks, and hits that a test makes up."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.docs = CountingStore()
        self.rag = RAGVectorStore(
            vectorstore=InMemoryVectorStore(CountingEmbeddings()),
            docstore=self.docs,
            source_id_key=None,
        )
        self.rag.add_texts([f"t{n}" for n in range(12)], ids=[f"t{n}" for n in range(12)])
        chunks = contents(self.rag).room("chunks")
        self.keys = {record.page_content: key for key, record in chunks.items()}
        self.engine = SearchEngine(self.rag._lifecycle)
        self.docs.reads.clear()
        self.asked: list[int] = []

    async def search(
        self, hits: list[str], k: int, limit: int | None = None, plan: Plan = PLAIN
    ) -> list[Any]:
        """Search a store whose hits are these; it never gives more than `limit`."""

        def fetch(asked: int) -> Flow[list[tuple[Document, int]]]:
            yield from ()
            self.asked.append(asked)
            rows = [
                (Document("x", metadata={CHUNK: self.keys.get(text, text)}), place)
                for place, text in enumerate(hits)
            ]
            return rows[: asked if limit is None else min(asked, limit)]

        flow = self.engine.search(fetch, k, plan)
        found = run(flow) if self.driver.name == "sync" else await arun(flow)
        return [(hit.chunk.content, hit.value) for hit in found]


@pytest.fixture
def bench(driver: Driver) -> Bench:
    return Bench(driver)


async def test_one_round_where_it_is_enough(bench: Bench) -> None:
    assert await bench.search(["t3", "t1", "t2", "t0"], 2) == [("t3", 0), ("t1", 1)]
    assert (bench.asked, bench.docs.reads) == ([2], [2])


async def test_it_widens_past_a_crowd(bench: Bench) -> None:
    hits = ["t0"] * 20 + ["t1"] * 30 + ["t2"]
    assert await bench.search(hits, 3) == [("t0", 0), ("t1", 20), ("t2", 50)]
    assert bench.asked == [3, 12, 48, 192]
    # One read a round at most, and no chunk is read twice.
    assert len(bench.docs.reads) <= len(bench.asked)
    assert sum(bench.docs.reads) == 3


async def test_it_stops_where_nothing_more_comes(bench: Bench) -> None:
    assert await bench.search(["t0"] * 5, 3) == [("t0", 0)]
    assert bench.asked == [3, 12]


async def test_it_stops_at_a_store_that_has_a_limit(bench: Bench) -> None:
    """However much it is asked for, it gives eight: no endless loop."""
    hits = ["t0"] * 50
    assert await bench.search(hits, 3, limit=8) == [("t0", 0)]
    assert bench.asked == [3, 12]
    bench.asked.clear()
    # A limit that happens to be what was asked for takes one round more.
    assert await bench.search(hits, 3, limit=3) == [("t0", 0)]
    assert bench.asked == [3, 12]


@pytest.mark.parametrize("k", [0, -1])
async def test_nothing_wanted_is_nothing_asked(bench: Bench, k: int) -> None:
    assert await bench.search(["t0"], k) == []
    assert (bench.asked, bench.docs.reads) == ([], [])


async def test_no_hits(bench: Bench) -> None:
    assert await bench.search([], 3) == []
    assert bench.docs.reads == []


async def test_hits_without_a_chunk_are_dropped_and_counted(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="langchain_rag.search.engine"):
        found = await bench.search(["gone", "t0", "lost", "gone", "t1", "t2"], 3)
    assert found == [("t0", 1), ("t1", 4), ("t2", 5)]
    assert bench.engine.dropped == 2
    assert {record.args for record in caplog.records} == {("gone",), ("lost",)}
    # They are missing again, in the next search.
    await bench.search(["gone", "t0"], 1)
    assert bench.engine.dropped == 3


async def test_no_more_chunks_are_read_than_needed(bench: Bench) -> None:
    hits = ["t0", "t0", "t0", *(f"t{n}" for n in range(1, 12))]
    bench.rag._lifecycle.fan_out = 3
    assert len(await bench.search(hits, 2)) == 2
    assert (bench.asked, bench.docs.reads) == ([6], [2])


async def test_the_fan_out_is_learnt_from_what_is_read(driver: Driver) -> None:
    world = World()
    options: dict[str, Any] = {
        "source_id_key": None,
        "chunk_transformer": ScriptedTransformer(
            lambda text: [f"{text} {n}" for n in range(7)]
        ),
    }
    rag = world.start(**options)
    await driver(rag, "add_texts", ["one", "two"])
    assert rag._lifecycle.fan_out == 7
    fresh = world.start(**options)
    assert fresh._lifecycle.fan_out == 1
    assert len(await driver(fresh, "similarity_search", "one", k=2)) == 2
    assert fresh._lifecycle.fan_out == 7


class Watched(InMemoryVectorStore):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(CountingEmbeddings())
        self.asked: list[int] = []

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        self.asked.append(k)
        return super().similarity_search_with_score(query, k, **kwargs)

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)


@pytest.mark.parametrize("variations", [1, 3, 40])
async def test_rounds_over_a_real_store(driver: Driver, variations: int) -> None:
    store, docs = Watched(), CountingStore()
    rag = RAGVectorStore(
        vectorstore=store,
        docstore=docs,
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(
            lambda text: [f"{text} {n}" for n in range(variations)]
        ),
    )
    await driver(rag, "add_texts", ["one", "two", "six"])
    docs.reads.clear()
    found = await driver(rag, "similarity_search_with_score", "one", k=3)
    assert len({document.id for document, _ in found}) == 3
    assert len(docs.reads) <= len(store.asked)
    if variations <= 10:
        assert store.asked == [3 * variations]


async def test_one_namespace_does_not_see_another(driver: Driver) -> None:
    world = World()
    one = world.start(source_id_key=None, namespace="one")
    other = world.start(source_id_key=None, namespace="other")
    await driver(one, "add_texts", ["text of one"], ids=["a"])
    await driver(other, "add_texts", ["text of the other"] * 1, ids=["a"])
    for rag, text in ((one, "text of one"), (other, "text of the other")):
        for method in ("similarity_search", "max_marginal_relevance_search"):
            found = await driver(rag, method, "text", k=5)
            assert [document.page_content for document in found] == [text]
        assert len(await driver(rag, "get_by_ids", ["a"])) == 1
    await driver(one, "delete")
    assert await driver(one, "similarity_search", "text") == []
    assert len(await driver(other, "similarity_search", "text")) == 1
