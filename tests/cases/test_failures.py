"""Cases 1, 2 and 24: a transformer fails, and nothing is lost, skipped or left."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.errors import TransformerError
from langchain_rag.testing import (
    Driver,
    InjectedFault,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)

OLD = Document("one\ntwo", metadata={"source": "a.md"})
NEW = Document("one\nthree", metadata={"source": "a.md"})


class Moody:
    """A transformer that fails on some text until it is told otherwise."""

    def __init__(self) -> None:
        self.bad = "\0"
        self.transformer = ScriptedTransformer(str.splitlines, lambda text: self.bad in text)


@pytest.fixture(params=["parent_transformer", "chunk_transformer"])
def stage(request: pytest.FixtureRequest) -> str:
    stage: str = request.param
    return stage


async def test_case_01_next_version_raises_and_the_old_one_is_found_whole(
    driver: Driver, stage: str
) -> None:
    moody, world = Moody(), World()
    rag = world.start(**{stage: moody.transformer})
    await driver(rag, "add_documents", [OLD], ids=["a"])
    before, found = contents(rag), reachable(rag)
    world.plan.forget()
    moody.bad = "three"
    with pytest.raises(TransformerError, match=r"InjectedFault .*told to fail") as caught:
        await driver(rag, "add_documents", [NEW], ids=["a"])
    assert isinstance(caught.value.__cause__, InjectedFault)
    assert world.plan.calls == []
    assert contents(rag) == before
    assert reachable(rag) == found
    hits = await driver(rag, "similarity_search", "two", k=10)
    assert "two" in "".join(hit.page_content for hit in hits)


async def test_case_01_with_index(driver: Driver, stage: str) -> None:
    moody, world = Moody(), World()
    rag = world.start(**{stage: moody.transformer})
    kwargs = world.index_kwargs(rag)
    await driver.index([OLD], cleanup="scoped_full", **kwargs)
    found = reachable(rag)
    moody.bad = "three"
    with pytest.raises(TransformerError):
        await driver.index([NEW], cleanup="scoped_full", **kwargs)
    assert reachable(rag) == found
    moody.bad = "\0"
    result = await driver.index([NEW], cleanup="scoped_full", **kwargs)
    assert (result["num_added"], result["num_deleted"]) == (1, 1)
    assert {text for _, text, _ in reachable(rag)}.isdisjoint({"two", "one\ntwo"})
    assert audit(rag) == []


async def test_case_02_a_call_that_raised_is_processed_when_repeated(
    driver: Driver, stage: str
) -> None:
    moody, world = Moody(), World()
    rag = world.start(**{stage: moody.transformer})
    moody.bad = "one"
    with pytest.raises(TransformerError):
        await driver(rag, "add_documents", [OLD], ids=["a"])
    assert contents(rag) == ({}, {})
    moody.bad = "\0"
    assert await driver(rag, "add_documents", [OLD], ids=["a"]) == ["a"]
    assert {text for _, _, text in reachable(rag)} == {"one", "two"}
    assert audit(rag) == []


async def test_case_02_with_index(driver: Driver, stage: str) -> None:
    moody, world = Moody(), World()
    rag = world.start(**{stage: moody.transformer})
    kwargs = world.index_kwargs(rag)
    moody.bad = "one"
    with pytest.raises(TransformerError):
        await driver.index([OLD], cleanup="scoped_full", **kwargs)
    moody.bad = "\0"
    result = await driver.index([OLD], cleanup="scoped_full", **kwargs)
    assert (result["num_added"], result["num_skipped"]) == (1, 0)
    assert {text for _, _, text in reachable(rag)} == {"one", "two"}


@pytest.mark.parametrize("call", range(1, 8))
async def test_case_24_no_row_is_left(driver: Driver, call: int) -> None:
    world = World()
    options: dict[str, Any] = {
        "parent_transformer": RecursiveCharacterTextSplitter(
            separators=["\n"], chunk_size=5, chunk_overlap=0
        ),
        "chunk_transformer": ScriptedTransformer(lambda text: [text, text * 2]),
    }
    rag = world.start(**options)
    world.plan.arm(call, "inside")
    try:
        await driver(rag, "add_documents", [OLD], ids=["a"])
    except InjectedFault:
        pass
    else:  # a first import has nothing to delete
        assert call > 5
        assert world.plan.armed
    world.plan.disarm()
    await driver(rag, "add_documents", [OLD], ids=["a"])
    assert len(contents(rag).rows) == 4
    assert audit(rag) == []
    assert await driver(rag, "delete", ["a"]) is True
    assert contents(rag) == ({}, {})
