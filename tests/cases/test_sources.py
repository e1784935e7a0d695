"""Cases 3, 4, 8 and 21: documents that share a source, share a text, or have no source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    ScriptedChatModel,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore


def questions(llm: ScriptedChatModel) -> GenerateQuestionsTransformer:
    return GenerateQuestionsTransformer.from_llm(llm, version="1")


async def test_case_03_a_source_that_spans_batches_is_skipped_the_second_time(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings
) -> None:
    llm = ScriptedChatModel(answer=lambda prompt: f"What is {len(prompt)}?\nWhy?")
    rag, kwargs = RAGVectorStore.from_vs_in_memory(wrapped, chunk_transformer=questions(llm))
    pages = [Document(f"page {n}", metadata={"source": "book.pdf"}) for n in range(4)]
    options: dict[str, Any] = {"cleanup": "scoped_full", "batch_size": 2, **kwargs}
    first = await driver.index(pages, **options)
    assert first == {"num_added": 4, "num_updated": 0, "num_skipped": 0, "num_deleted": 0}
    assert llm.calls == 4
    before = contents(rag)
    llm.reset()
    embeddings.reset()
    second = await driver.index(pages, **options)
    assert second == {"num_added": 0, "num_updated": 0, "num_skipped": 4, "num_deleted": 0}
    assert (llm.calls, embeddings.documents) == (0, [])
    assert contents(rag) == before
    assert audit(rag) == []


async def test_case_04_twelve_pages_share_a_source(driver: Driver) -> None:
    world = World()
    llm = ScriptedChatModel(answer=lambda prompt: "What is it?\nWhy is it so?")
    rag = world.start(chunk_transformer=questions(llm))
    pages = [
        Document(f"this is page {n}", metadata={"source": "book.pdf", "page": n})
        for n in range(12)
    ]
    options = {"cleanup": "scoped_full", "batch_size": 5, **world.index_kwargs(rag)}
    assert (await driver.index(pages, **options))["num_added"] == 12
    assert len(contents(rag).room("manifests")) == 12
    llm.reset()
    changed = Document("page 3 as corrected", metadata={"source": "book.pdf", "page": 3})
    result = await driver.index([*pages[:3], changed, *pages[4:11]], **options)
    assert result == {"num_added": 1, "num_updated": 0, "num_skipped": 10, "num_deleted": 2}
    assert llm.calls == 1
    texts = {text for _, text, _ in reachable(rag)}
    assert texts == {p.page_content for p in pages[:11] if p.metadata["page"] != 3} | {
        "page 3 as corrected"
    }
    assert audit(rag) == []
    # Without index(), the pages are twelve documents as well.
    direct = World().start(chunk_transformer=questions(llm))
    ids = await driver(direct, "add_documents", pages)
    assert len(set(ids)) == 12
    assert len(await driver(direct, "get_by_ids", ids)) == 12


async def test_case_08_sources_that_share_a_paragraph(driver: Driver) -> None:
    world = World()
    rag = world.start(
        parent_transformer=ScriptedTransformer(str.splitlines),
        chunk_transformer=CopyDocumentTransformer(),
    )
    shared = "the shared paragraph"
    a = Document(f"only a\n{shared}", metadata={"source": "a"})
    b = Document(f"{shared}\nonly b", metadata={"source": "b"})
    await driver(rag, "add_documents", [a, b], ids=["a", "b"])
    rows = contents(rag).rows
    assert [row.page_content for row in rows.values()].count(shared) == 2
    assert await driver(rag, "delete", ["a"]) is True
    (hit,) = await driver(rag, "similarity_search", shared, k=1)
    assert (hit.page_content, hit.metadata) == (shared, {"source": "b"})
    assert {row[0] for row in reachable(rag)} == {"b"}
    assert audit(rag) == []


async def test_case_08_two_copies_of_one_document(driver: Driver) -> None:
    world = World()
    rag = world.start()
    same = [Document("the same", metadata={"source": source}) for source in "ab"]
    first, second = await driver(rag, "add_documents", same)
    assert first != second
    assert await driver(rag, "delete", [first]) is True
    assert [d.metadata["source"] for d in await driver(rag, "similarity_search", "same")] == [
        "b"
    ]


async def test_case_21_no_source_and_distinct_documents_stay_distinct(driver: Driver) -> None:
    world = World()
    rag = world.start(
        source_id_key=None,
        parent_transformer=RecursiveCharacterTextSplitter(chunk_size=20, chunk_overlap=0),
    )
    documents = [
        Document("the first half. the second half."),
        Document("the first half. the other half."),
        Document("the first half. the second half.", metadata={"edition": 2}),
    ]
    ids = await driver(rag, "add_documents", documents)
    assert len(set(ids)) == 3
    for id_, document in zip(ids, documents, strict=True):
        chunks = await driver(rag, "get_by_ids", [id_])
        assert " ".join(c.page_content for c in chunks) == document.page_content
        assert all(chunk.metadata == document.metadata for chunk in chunks)
    # One that is there already is the same one, not another.
    assert await driver(rag, "add_documents", documents) == ids
    assert len(contents(rag).room("manifests")) == 3


async def test_case_21_equal_documents_without_ids_are_one(driver: Driver) -> None:
    rag = World().start(source_id_key=None)
    ids = await driver(rag, "add_documents", [Document("same"), Document("same")])
    assert ids[0] == ids[1]
    assert len(contents(rag).rows) == 1


@pytest.mark.parametrize("fresh", [True, False])
async def test_case_21_nothing_to_do_is_no_operation(driver: Driver, fresh: bool) -> None:
    world = World()
    rag = world.start(source_id_key=None, chunk_transformer=CopyDocumentTransformer())
    if not fresh:
        await driver(rag, "add_documents", [Document("stays")], ids=["1"])
    before = contents(rag)
    world.plan.forget()
    assert await driver(rag, "add_documents", []) == []
    assert await driver(rag, "add_documents", [], ids=[]) == []
    assert await driver(rag, "add_texts", []) == []
    assert await driver(rag, "add_texts", [], []) == []
    assert await driver(rag, "delete", []) is True
    assert await driver(rag, "get_by_ids", []) == []
    assert world.plan.calls == []
    assert contents(rag) == before
