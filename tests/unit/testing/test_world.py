"""A world with `index()`, through both drivers."""

from __future__ import annotations

from langchain_core.documents import Document

from langchain_rag.testing import Driver, World, audit


async def test_what_one_process_indexed_the_next_one_skips(driver: Driver) -> None:
    world = World()
    pages = [Document("alpha", metadata={"source": "a"})]
    counts = []
    for _ in range(2):
        rag = world.start()
        kwargs = world.index_kwargs(rag)
        counts.append(await driver.index(pages, cleanup="scoped_full", **kwargs))
        assert audit(rag) == []
    assert [count["num_added"] for count in counts] == [1, 0]
    assert [count["num_skipped"] for count in counts] == [0, 1]
    assert world.embeddings.documents == ["alpha"]
