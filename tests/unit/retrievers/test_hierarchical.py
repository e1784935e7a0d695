"""Two stages, against a reference that goes through all summaries and chunks."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import CopyDocumentTransformer, marked
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.nodes import Node
from langchain_rag.document_transformers.trees.document_summary import (
    DocumentSummaryTransformer,
)
from langchain_rag.retrievers.hierarchical import HierarchicalRetriever
from langchain_rag.testing import (
    InjectedFault,
    ScriptedChatModel,
    ScriptedTransformer,
    SyncOnlyVectorStore,
)
from langchain_rag.vectorstores import RAGVectorStore

CORPUS = {f"d{d}": [f"chunk {d}.{n}" for n in range(2 + d % 3)] for d in range(8)}
LINES = ScriptedTransformer(str.splitlines)


def summary_of(lines: list[str]) -> str:
    return f"About {lines[0]} and {len(lines) - 1} more."


def summarising() -> DocumentSummaryTransformer:
    llm = ScriptedChatModel(
        answer=lambda prompt: summary_of(prompt.partition("\n\n")[0].splitlines())
    )
    return DocumentSummaryTransformer(llm, LINES)


def documents() -> list[Document]:
    return [
        Document("\n".join(lines), id=id_, metadata={"odd": int(id_[1:]) % 2 == 1})
        for id_, lines in CORPUS.items()
    ]


def reference(space, query: str, number: int, k: int, among=tuple(CORPUS)) -> list[str]:
    summaries = [summary_of(CORPUS[id_]) for id_ in among]
    nearest = space.embeddings.ranked(query, summaries)[:number]
    chunks = [chunk for n in nearest for chunk in CORPUS[among[n]]]
    return [chunks[n] for n in space.embeddings.ranked(query, chunks)[:k]]


@pytest.fixture
async def rag(driver, space):
    rag = space.rag(
        parent_transformer=summarising(),
        chunk_transformer=CopyDocumentTransformer(),
    )
    await driver(rag, "add_documents", documents())
    return rag


async def test_against_a_reference(driver, space, rag):
    differs = 0
    for number, k in [(1, 3), (2, 3), (3, 10), (8, 5), (20, 4)]:
        retriever = HierarchicalRetriever(
            vectorstore=rag, documents=number, k=k, fallback=False
        )
        for query in ("first", "second", "third"):
            space.embeddings.reset()
            found = await driver(retriever, "invoke", query)
            assert space.embeddings.queries == [query]
            texts = [one.page_content for one in found]
            assert texts == reference(space, query, number, k)
            chunks = [chunk for lines in CORPUS.values() for chunk in lines]
            plain = [chunks[n] for n in space.embeddings.ranked(query, chunks)[:k]]
            differs += texts != plain
            assert all(one.metadata["level"] == 0 for one in found)
    assert differs > 3


async def test_a_filter_holds_in_both_stages(driver, space, rag):
    if isinstance(space.vectorstore, InMemoryVectorStore):
        odd: dict[str, Any] = {"filter": lambda row: row.metadata["odd"]}
    else:
        odd = {"filter": {"odd": True}}
    retriever = HierarchicalRetriever(
        vectorstore=rag, documents=2, k=4, search_kwargs=odd, fallback=False
    )
    among = tuple(id_ for id_ in CORPUS if int(id_[1:]) % 2)
    found = await driver(retriever, "invoke", "which?")
    assert [one.page_content for one in found] == reference(space, "which?", 2, 4, among)


async def test_what_else_a_caller_wants(driver, space, rag):
    retriever = HierarchicalRetriever(vectorstore=rag, documents=2, k=9, fallback=False)
    within = {"d1", "d2", "d3"}
    found = await driver(retriever, "invoke", "which?", within=within, match_details=True)
    expected = reference(space, "which?", 2, 9, ("d1", "d2", "d3"))
    assert [one.page_content for one in found] == expected
    matches = [one.metadata["langchain_rag_match"] for one in found]
    assert [one["text"] for one in matches] == expected
    assert {one["kind"] for one in matches} == {"copy"}

    whole = await driver(retriever, "invoke", "which?", return_documents=True)
    first, second = (one.id for one in whole)
    assert first != second
    assert [one.page_content for one in whole] == ["\n".join(CORPUS[one.id]) for one in whole]
    assert CORPUS[first][0] or expected


async def test_summaries_are_found_only_where_they_are_asked_for(driver, space, rag):
    summaries = [summary_of(lines) for lines in CORPUS.values()]
    for query in summaries[:2]:
        found = await driver(
            HierarchicalRetriever(vectorstore=rag, k=30, fallback=False), "invoke", query
        )
        assert not {one.page_content for one in found} & set(summaries)
        [one] = await driver(rag, "similarity_search", query, k=1, kinds={"document_summary"})
        assert (one.page_content, one.metadata["level"]) == (query, 1)
        assert {
            one.page_content
            for one in await driver(
                rag, "similarity_search", query, k=50, except_kinds={"document_summary"}
            )
        } == {chunk for lines in CORPUS.values() for chunk in lines}


async def test_without_summaries_all_chunks_are_searched(driver, space):
    rag = space.rag(parent_transformer=LINES)
    await driver(rag, "add_documents", documents())
    retriever = HierarchicalRetriever(vectorstore=rag, documents=1, k=3, fallback=False)
    found = await driver(retriever, "invoke", "which?")
    assert found == await driver(rag, "similarity_search", "which?", k=3)


async def test_a_new_document_and_one_that_is_gone(driver, space, rag):
    retriever = HierarchicalRetriever(vectorstore=rag, documents=1, k=2, fallback=False)
    query = summary_of(CORPUS["d3"])
    [first, _] = await driver(retriever, "invoke", query)
    assert first.page_content in CORPUS["d3"]
    await driver(rag, "delete", ["d3"])
    found = await driver(retriever, "invoke", query)
    assert not {one.page_content for one in found} & set(CORPUS["d3"])
    space.embeddings.reset()
    await driver(rag, "add_documents", [Document("chunk 3.0\nnew 1\nnew 2", id="d3")])
    found = await driver(retriever, "invoke", summary_of(["chunk 3.0", "", ""]))
    assert {one.page_content for one in found} < {"chunk 3.0", "new 1", "new 2"}


class Sections(LazyDocumentTransformer):
    """Has summaries of a kind of its own."""

    def transform_document(self, document: Document):
        for n, line in enumerate(document.page_content.splitlines()):
            yield marked(Document(line), Node(f"l{n}", ("top",)))
        yield marked(Document(f"abstract {document.id}"), Node("top", level=1, kind="abstract"))


@pytest.mark.parametrize("store", [InMemoryVectorStore, SyncOnlyVectorStore])
async def test_kinds_of_one_s_own(driver, embeddings, store):
    rag = RAGVectorStore(
        vectorstore=store(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=Sections(),
    )
    await driver(
        rag,
        "add_documents",
        [Document("abstract two\nx", id="one"), Document("abstract one\ny", id="two")],
    )
    retriever = HierarchicalRetriever(
        vectorstore=rag, documents=1, k=5, summary_kinds=frozenset({"abstract"}), fallback=False
    )
    found = await driver(retriever, "invoke", "abstract two")
    assert {one.page_content for one in found} == {"abstract one", "y"}


@pytest.mark.parametrize("fallback", [True, False])
async def test_a_first_stage_that_fails(driver, embeddings, caplog, fallback):
    """A store that does not know such filters, with `$in` of ours, say."""

    class Picky(SyncOnlyVectorStore):
        def similarity_search_with_score(self, query, k=4, **kwargs):
            if kwargs:
                raise InjectedFault("no filters here")
            return super().similarity_search_with_score(query, k)

    rag = RAGVectorStore(
        vectorstore=Picky(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=Sections(),
    )
    await driver(rag, "add_documents", [Document("alpha\nbeta", id="one")])
    retriever = HierarchicalRetriever(
        vectorstore=rag, k=2, summary_kinds=frozenset({"abstract"}), fallback=fallback
    )
    if not fallback:
        with pytest.raises(InjectedFault, match="no filters here"):
            await driver(retriever, "invoke", "alpha")
        return
    with caplog.at_level(logging.WARNING):
        found = await driver(retriever, "invoke", "alpha")
    assert found == await driver(rag, "similarity_search", "alpha", k=2)
    assert [one.page_content for one in found][:1] == ["alpha"]
    [message] = caplog.messages
    assert message.startswith("HierarchicalRetriever failed (InjectedFault: no filters here);")
