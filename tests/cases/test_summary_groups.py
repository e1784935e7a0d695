"""Summaries over several documents: refreshed for what changed, gone with the members."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import ByteStoreVariationCache
from langchain_rag.errors import ConfigurationError, TransformerError
from langchain_rag.testing import Driver, InjectedCrash, World, audit
from langchain_rag.vectorstores import RAGVectorStore
from langchain_rag.vectorstores.groups import SummaryGroup
from tests.cases.topics import Colours, model, page, raptor, reference, splitter

PAGES = {
    "a": ("red one", "green one"),
    "b": ("green two", "red two"),
    "c": ("blue one", "red three", "blue two"),
}


def store(**options: Any) -> RAGVectorStore:
    given: dict[str, Any] = {
        "vectorstore": InMemoryVectorStore(Colours()),
        "docstore": InMemoryStore(),
        "parent_transformer": splitter(),
        "variation_cache": ByteStoreVariationCache(InMemoryByteStore()),
    }
    return RAGVectorStore(**(given | options))


async def filled(driver: Driver, **options: Any) -> RAGVectorStore:
    rag = store(**options)
    documents = [page(name, *texts, shelf="colours") for name, texts in PAGES.items()]
    await driver(rag, "add_documents", documents, ids=list(PAGES))
    return rag


def summaries(*documents: tuple[str, ...]) -> set[tuple[str, int]]:
    leaves = tuple(text for one in documents for text in one)
    return {(text, level) for text, (level, _) in reference(leaves).items() if level}


async def check(rag: Any, driver: Driver, *documents: tuple[str, ...]) -> None:
    """All of both stores: the chunks of pages that are there, and the group's summaries."""
    wanted = summaries(*documents)
    stored = {
        one.page_content: one.metadata["metadata"]
        for key, one in rag.docstore.store.items()
        if key.startswith("chunks/")
    }
    found = {(text, one["level"]) for text, one in stored.items() if "group" in one}
    assert found == wanted
    rows = {
        row["text"]
        for row in rag.vectorstore.store.values()
        if row["metadata"].get("group") == "manuals"
    }
    assert rows == {text for text, _ in wanted}
    assert audit(rag) == []
    report = await driver(rag, "verify")
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "members",
    [
        {"ids": ["a", "b", "c"]},
        {"sources": ["a", "b", "c"]},
        {"filter": {"shelf": "colours"}},
        {"filter": lambda metadata: metadata.get("shelf") == "colours"},
    ],
    ids=["ids", "sources", "metadata", "function"],
)
async def test_a_group_follows_its_members(driver: Driver, members: Any) -> None:
    rag = await filled(driver)
    # Somebody else's, and a group beside: no members.
    await driver(rag, "add_documents", [page("z", "red of another")], ids=["z"])
    llm = model()
    group = SummaryGroup(rag, "manuals", transformer=raptor(llm), **members)
    assert await driver(group, "stale")
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, *PAGES.values())
    assert llm.calls == 4
    assert not await driver(group, "stale")
    assert await driver(group, "refresh") == "unchanged"
    assert llm.calls == 4

    # One member changed: until the refresh the old summaries are found, and known as such.
    new = ("blue one", "red three", "blue 3")
    await driver(rag, "add_documents", [page("c", *new, shelf="colours")], ids=["c"])
    assert await driver(group, "stale")
    await check(rag, driver, *PAGES.values())
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, PAGES["a"], PAGES["b"], new)
    assert llm.calls == 4 + 2

    # One goes, one is left, and then none.
    await driver(rag, "delete", ["b"])
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, PAGES["a"], new)
    await driver(rag, "delete", ["c"])
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, PAGES["a"])
    await driver(rag, "delete", ["a"])
    assert await driver(group, "stale")
    assert await driver(group, "refresh") == "removed"
    assert await driver(group, "refresh") == "unchanged"
    await check(rag, driver)


async def test_searches_find_a_group_beside_the_chunks(driver: Driver) -> None:
    rag = await filled(driver)
    group = SummaryGroup(rag, "manuals", transformer=raptor(model()), ids=PAGES)
    await driver(group, "refresh")
    found = await driver(rag, "similarity_search", "blue", k=50)
    marked = {
        (one.page_content, one.metadata["level"]) for one in found if "group" in one.metadata
    }
    assert marked == summaries(*PAGES.values())
    assert {one.metadata["source"] for one in found} == {*PAGES, "summary-group:manuals"}
    assert all(one.metadata["shelf"] == "colours" for one in found)
    same = await driver(rag, "get_by_ids", [group.document_id])
    assert {one.page_content for one in same} == {text for text, _ in marked}


async def test_a_group_of_a_store_without_sources(driver: Driver) -> None:
    rag = await filled(driver, source_id_key=None)
    group = SummaryGroup(rag, "manuals", transformer=raptor(model()), filter={"source": "a"})
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, PAGES["a"])
    await driver(group, "delete")
    await check(rag, driver)
    assert await driver(group, "stale")


async def test_trees_of_members_are_not_summarised_again(driver: Driver) -> None:
    llm = model()
    rag = await filled(driver, parent_transformer=raptor(llm))
    group = SummaryGroup(rag, "manuals", transformer=raptor(llm), ids=PAGES)
    other = SummaryGroup(rag, "all", transformer=raptor(llm), filter=lambda metadata: True)
    await driver(group, "refresh")
    await check(rag, driver, *PAGES.values())
    await driver(other, "refresh")
    assert not await driver(group, "stale")
    await driver(group, "refresh")
    texts = {one.page_content for one in await driver(rag, "get_by_ids", [other.document_id])}
    assert texts == {text for text, _ in summaries(*PAGES.values())}


async def test_another_prompt_is_another_group(driver: Driver) -> None:
    rag = await filled(driver)
    llm = model()
    group = SummaryGroup(rag, "manuals", transformer=raptor(llm), ids=PAGES)
    await driver(group, "refresh")
    changed = raptor(llm, prompt="{context}\n\nBriefly.")
    group = SummaryGroup(rag, "manuals", transformer=changed, ids=PAGES)
    assert await driver(group, "stale")
    assert await driver(group, "refresh") == "updated"
    assert not await driver(group, "stale")
    assert llm.calls == 8
    assert await driver(group, "refresh", force=True) == "updated"
    assert llm.calls == 12


async def test_a_full_clean_up_leaves_the_group(driver: Driver) -> None:
    rag = store()
    documents = [page(name, *texts, shelf="colours") for name, texts in PAGES.items()]
    await driver(rag, "index", documents)
    llm = model()
    group = SummaryGroup(rag, "manuals", transformer=raptor(llm), sources=PAGES)
    await driver(group, "refresh")
    await driver(rag, "index", documents, cleanup="scoped_full")
    assert not await driver(group, "stale")
    # Not counted among what may go, either.
    report = await driver(rag, "index", documents, cleanup="full", max_deletes=0)
    assert report.num_deleted == 0
    assert not await driver(group, "stale")
    assert await driver(group, "refresh") == "unchanged"
    await check(rag, driver, *PAGES.values())
    assert llm.calls == 4


async def test_a_failed_refresh_leaves_the_group_as_it_was(driver: Driver) -> None:
    rag = await filled(driver)
    broken = False
    llm = model(fail_when=lambda prompt: broken and "blue" in prompt)
    group = SummaryGroup(rag, "manuals", transformer=raptor(llm), ids=PAGES)
    await driver(group, "refresh")
    broken = True
    new = ("blue one", "blue 3")
    await driver(rag, "add_documents", [page("c", *new, shelf="colours")], ids=["c"])
    with pytest.raises(TransformerError):
        await driver(group, "refresh")
    await check(rag, driver, *PAGES.values())
    assert await driver(group, "stale")
    broken = False
    assert await driver(group, "refresh") == "updated"
    await check(rag, driver, PAGES["a"], PAGES["b"], new)


async def test_a_crash_in_a_refresh_is_mended_by_the_next_one(driver: Driver) -> None:
    options = {"parent_transformer": splitter()}
    world = World()
    world.rows.embedding = Colours()
    rag = world.start(**options)
    await driver(rag, "add_documents", [page(n, *PAGES[n]) for n in "abc"], ids=list("abc"))
    saved = world.save()
    llm = model()

    def group(rag):
        return SummaryGroup(rag, "manuals", transformer=raptor(llm), ids=PAGES)

    await driver(group(rag), "refresh")
    wanted = summaries(*PAGES.values())
    for call in range(1, 20):
        world.load(saved)
        rag = world.start(**options)
        await driver(rag, "delete", ["never there"])
        world.plan.forget()
        world.plan.arm(call, "inside", InjectedCrash)
        try:
            await driver(group(rag), "refresh")
        except InjectedCrash:
            rag = world.start(**options)
            assert await driver(group(rag), "refresh") in {"updated", "unchanged"}
        else:
            break
        assert audit(rag) == []
        found = await driver(rag, "get_by_ids", ["summary-group:manuals"])
        assert {(one.page_content, one.metadata["level"]) for one in found} == wanted
    else:
        pytest.fail("the refresh never came to its end")
    assert call > 3


def test_what_cannot_work_is_refused() -> None:
    rag = store()
    transformer = raptor(model())
    with pytest.raises(ConfigurationError, match="ids, sources or a filter"):
        SummaryGroup(rag, "manuals", transformer=transformer)
    with pytest.raises(ValueError, match="ids must be a list"):
        SummaryGroup(rag, "manuals", transformer=transformer, ids="a")
    with pytest.raises(ValueError, match="not empty"):
        SummaryGroup(rag, "", transformer=transformer, ids=["a"])
