"""Documents with a summary each, in a store: the first stage of a search in two."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import ByteStoreVariationCache
from langchain_rag.document_transformers.trees.document_summary import (
    DocumentSummaryTransformer,
)
from langchain_rag.errors import TransformerError
from langchain_rag.testing import Driver, audit
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.topics import Colours, model, page, said, splitter


def store(llm) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(Colours()),
        docstore=InMemoryStore(),
        parent_transformer=DocumentSummaryTransformer(llm, splitter()),
        variation_cache=ByteStoreVariationCache(InMemoryByteStore()),
    )


def wanted(*documents: tuple[str, ...]) -> set[tuple[str, str]]:
    chunks = {(text, "chunk") for one in documents for text in one}
    return chunks | {(said("\n\n".join(one)), "document_summary") for one in documents}


async def check(rag: RAGVectorStore, driver: Driver, *documents: tuple[str, ...]) -> None:
    rows: Any = rag.vectorstore
    found = {
        (row["text"], row["metadata"]["langchain_rag_kind"]) for row in rows.store.values()
    }
    assert found == wanted(*documents)
    docs: Any = rag.docstore
    chunks = {one.page_content for key, one in docs.store.items() if key.startswith("chunks/")}
    assert chunks == {text for text, _ in wanted(*documents)}
    assert audit(rag) == []
    report = await driver(rag, "verify")
    assert report.ok, str(report)


async def test_the_summary_follows_every_change(driver: Driver) -> None:
    llm = model()
    rag = store(llm)
    documents = [page("a", "red one", "green one"), page("b", "blue one")]
    await driver(rag, "add_documents", documents, ids=["a", "b"])
    await check(rag, driver, ("red one", "green one"), ("blue one",))
    assert llm.calls == 2
    await driver(rag, "add_documents", [page("a", "red one", "green two")], ids=["a"])
    await check(rag, driver, ("red one", "green two"), ("blue one",))
    assert llm.calls == 3
    # Other metadata, the same text: no call.
    changed = [page("a", "red one", "green two", year=1)]
    await driver(rag, "add_documents", changed, ids=["a"])
    found = await driver(rag, "get_by_ids", ["a"])
    assert [(one.metadata["level"], one.metadata["year"]) for one in found] == [
        (0, 1),
        (0, 1),
        (1, 1),
    ]
    assert llm.calls == 3
    await driver(rag, "delete", ["b"])
    await check(rag, driver, ("red one", "green two"))
    await driver(rag, "delete", ["a"])
    await check(rag, driver)


async def test_a_failure_leaves_the_old_version(driver: Driver) -> None:
    llm = model(fail_when=lambda prompt: "blue" in prompt)
    rag = store(llm)
    await driver(rag, "add_documents", [page("a", "red one", "green one")], ids=["a"])
    with pytest.raises(TransformerError):
        await driver(rag, "add_documents", [page("a", "blue", "green one")], ids=["a"])
    await check(rag, driver, ("red one", "green one"))
