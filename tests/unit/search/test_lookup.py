"""Documents and chunks by id."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_rag._flow import Flow, Operation, run
from langchain_rag.search.documents import get_by_ids
from langchain_rag.testing import Driver, ScriptedTransformer, World, contents
from langchain_rag.vectorstores import RAGVectorStore


def lines() -> ScriptedTransformer:
    return ScriptedTransformer(str.splitlines)


async def filled(driver: Driver) -> RAGVectorStore:
    rag = World().start(source_id_key=None, parent_transformer=lines())
    texts = ["one\ntwo\nthree", "whole", " "]
    await driver(rag, "add_texts", texts, ids=["cut", "whole", "blank"])
    return rag


async def test_the_order_is_that_of_the_ids(driver: Driver) -> None:
    rag = await filled(driver)
    one, two, three = await driver(rag, "get_by_ids", ["cut"])
    (whole,) = await driver(rag, "get_by_ids", ["whole"])
    assert [d.page_content for d in (one, two, three)] == ["one", "two", "three"]
    for ids, expected in (
        (["whole", "cut"], [whole, one, two, three]),
        ([three.id, "unknown", one.id], [three, one]),
        ([two.id, "cut"], [two, one, three]),
        (["cut", "cut", one.id], [one, two, three]),
        (["blank", "unknown"], []),
    ):
        assert await driver(rag, "get_by_ids", ids) == expected


async def test_the_key_of_a_whole_chunk_finds_it_too(driver: Driver) -> None:
    rag = await filled(driver)
    key = next(
        k for k, chunk in contents(rag).room("chunks").items() if chunk.page_content == "whole"
    )
    assert await driver(rag, "get_by_ids", [key, "whole"]) == [Document("whole", id="whole")]


def test_two_reads_at_most() -> None:
    world = World()
    rag = world.start(source_id_key=None, parent_transformer=lines())
    ids = [f"d{n}" for n in range(30)]
    rag.add_texts(["a\nb"] * 30, ids=ids)
    reads: list[int] = []

    def counted() -> Flow[list[Document]]:
        flow = get_by_ids(rag._lifecycle, ids)
        result: Any = None
        while True:
            try:
                operation = flow.send(result)
            except StopIteration as stop:
                return list(stop.value)
            assert isinstance(operation, Operation)
            reads.append(len(operation.args[0]))
            result = yield operation

    assert len(run(counted())) == 60
    assert reads == [60, 60]
    assert run(get_by_ids(rag._lifecycle, [])) == []
