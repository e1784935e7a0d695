"""A tree of summaries in a store: true after every change, and paid for once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import arun
from langchain_rag.document_transformers import ByteStoreVariationCache, SummarizeTransformer
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache, CachedEmbeddings
from langchain_rag.errors import TransformerError
from langchain_rag.testing import Driver, audit, contents
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.topics import Colours, model, page, raptor, reference, said

FIRST = ("red one", "green one", "red two", "red and green", "blue one", "green two", "blue 2")
SECOND = ("grey one", "pink one", "grey two", "pink two")


def store(llm, **options: Any) -> RAGVectorStore:
    embeddings = Colours()
    given: dict[str, Any] = {
        "vectorstore": InMemoryVectorStore(embeddings),
        "docstore": InMemoryStore(),
        "parent_transformer": raptor(llm, embeddings),
        "variation_cache": ByteStoreVariationCache(InMemoryByteStore()),
    }
    return RAGVectorStore(**(given | options))


def rows_of(rag: RAGVectorStore) -> set[str]:
    rows: Any = rag.vectorstore
    return {row["text"] for row in rows.store.values()}


def chunks_of(rag: RAGVectorStore) -> dict[str, int]:
    docs: Any = rag.docstore
    return {
        record.page_content: record.metadata["metadata"]["level"]
        for key, record in docs.store.items()
        if key.startswith("chunks/")
    }


def levels(*documents: tuple[str, ...]) -> dict[str, int]:
    return {text: level for one in documents for text, (level, _) in reference(one).items()}


async def check(rag: RAGVectorStore, driver: Driver, *documents: tuple[str, ...]) -> None:
    wanted = levels(*documents)
    assert chunks_of(rag) == wanted
    assert rows_of(rag) == wanted.keys()
    assert audit(rag) == []
    report = await driver(rag, "verify")
    assert report.ok, str(report)


async def test_every_level_follows_every_change(driver: Driver) -> None:
    llm = model()
    rag = store(llm)
    await driver(rag, "add_documents", [page("a", *FIRST), page("b", *SECOND)], ids=["a", "b"])
    await check(rag, driver, FIRST, SECOND)
    assert llm.calls == 4 + 3
    # Again: nothing. One paragraph: its cluster, and the top.
    await driver(rag, "add_documents", [page("a", *FIRST)], ids=["a"])
    assert llm.calls == 7
    edited = (*FIRST[:-1], "blue 3")
    await driver(rag, "add_documents", [page("a", *edited)], ids=["a"])
    await check(rag, driver, edited, SECOND)
    assert llm.calls == 9
    # One that joined two clusters goes: both, and the top.
    shorter = tuple(one for one in edited if one != "red and green")
    await driver(rag, "add_documents", [page("a", *shorter)], ids=["a"])
    await check(rag, driver, shorter, SECOND)
    assert llm.calls == 12
    await driver(rag, "add_documents", [page("a", "red one")], ids=["a"])
    await check(rag, driver, ("red one",), SECOND)
    await driver(rag, "delete", ["b"])
    await check(rag, driver, ("red one",))
    await driver(rag, "delete", ["a"])
    await check(rag, driver)
    assert llm.calls == 12
    assert not [key for key in contents(rag).records if "chunks/" in key]


async def test_all_levels_are_found_and_can_be_told_apart(driver: Driver) -> None:
    rag = store(model())
    await driver(rag, "add_documents", [page("a", *FIRST), page("b", *SECOND)], ids=["a", "b"])
    found = await driver(rag, "similarity_search", "blue", k=20)
    assert {one.page_content: one.metadata["level"] for one in found} == levels(FIRST, SECOND)
    top = await driver(
        rag,
        "similarity_search",
        "blue",
        k=20,
        filter=lambda document: document.metadata["level"] == 2,
    )
    assert {one.page_content for one in top} == {
        text for text, level in levels(FIRST, SECOND).items() if level == 2
    }
    assert all(set(one.metadata) == {"source", "level"} for one in found)
    # What the manifest says is above each.
    keys = {one.page_content: one.id for one in await driver(rag, "get_by_ids", ["a"])}
    texts = {key: text for text, key in keys.items()}
    manifest = await _manifest(rag, "a")
    tree = {
        texts[entry.key]: (entry.level, {texts[key] for key in entry.parents})
        for entry in manifest.chunks
    }
    assert tree == reference(FIRST)


async def _manifest(rag: RAGVectorStore, document_id: str) -> Any:
    found = await arun(rag._lifecycle.records.manifests([document_id]))
    return found[document_id]


async def test_leaves_go_through_the_chunk_transformer_and_summaries_do_not(
    driver: Driver,
) -> None:
    llm, other = model(), model(model="other")
    rag = store(llm, chunk_transformer=SummarizeTransformer.from_llm(other))
    await driver(rag, "add_documents", [page("b", *SECOND)], ids=["b"])
    assert (llm.calls, other.calls) == (3, 4)
    wanted = {text for text, level in levels(SECOND).items() if level}
    wanted |= {f"SUMMARY:\n{said(one)}" for one in SECOND}
    assert rows_of(rag) == wanted
    assert (await driver(rag, "verify")).ok


async def test_a_summary_that_fails_fails_its_document_and_nothing_else(
    driver: Driver,
) -> None:
    broken = True
    llm = model(fail_when=lambda prompt: broken and "blue" in prompt)
    rag = store(llm)
    await driver(rag, "add_documents", [page("a", "red one", "red two")], ids=["a"])
    documents = [page("a", *FIRST), page("b", *SECOND)]
    for number, document in enumerate(documents):
        document.id = "ab"[number]
    with pytest.raises(TransformerError):
        await driver(rag, "add_documents", documents)
    await check(rag, driver, ("red one", "red two"))
    report = await driver(rag, "index", documents, on_error="skip")
    assert [failure.document_id for failure in report.failed] == ["a"]
    await check(rag, driver, ("red one", "red two"), SECOND)
    broken = False
    paid = llm.calls
    report = await driver(rag, "index", documents)
    await check(rag, driver, FIRST, SECOND)
    assert not report.failed
    # Only what had failed, and what was to come after it: blue and the top.
    assert llm.calls - paid == 2


async def test_a_dry_run_costs_nothing(driver: Driver) -> None:
    llm = model()
    embeddings = Colours()
    rag = store(llm, parent_transformer=raptor(llm, embeddings))
    report = await driver(rag, "index", [page("a", *FIRST)], dry_run=True)
    assert report.llm_calls > 0
    assert (llm.calls, embeddings.batches) == (0, 0)
    await check(rag, driver)


async def test_no_chunk_is_embedded_twice(driver: Driver) -> None:
    inner = Colours()
    embeddings = CachedEmbeddings(inner, ByteStoreEmbeddingCache(InMemoryByteStore()))
    llm = model()
    rag = store(
        llm,
        vectorstore=InMemoryVectorStore(embeddings),
        parent_transformer=raptor(llm, embeddings),
    )
    await driver(rag, "add_documents", [page("a", *FIRST)], ids=["a"])
    assert sorted(inner.documents) == sorted(levels(FIRST))
    edited = (*FIRST[:-1], "blue 3")
    await driver(rag, "add_documents", [page("a", *edited)], ids=["a"])
    assert sorted(inner.documents) == sorted(levels(FIRST).keys() | levels(edited).keys())


def test_nothing_is_changed_that_was_handed_in() -> None:
    document = Document("red one\n\nred two", metadata={"source": "a", "tags": ["x"]})
    before = document.model_copy(deep=True)
    rag = store(model())
    rag.add_documents([document], ids=["a"])
    found = rag.similarity_search("red", k=3)
    assert document == before
    found[0].metadata["tags"].append("y")
    assert all(one.metadata["tags"] == ["x"] for one in rag.similarity_search("red", k=3))
