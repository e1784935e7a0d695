"""What the search by words owes to the store: its filters, kinds, and no chunk twice."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.structured_query import Comparator, Comparison
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import RAGVectorStore
from langchain_rag.document_transformers import DocumentSummaryTransformer
from langchain_rag.errors import ConfigurationError
from langchain_rag.testing import Driver, ScriptedChatModel, ScriptedTransformer

RETRIEVERS = ["as_lexical_retriever", "as_hybrid_retriever"]


def store(**options: Any) -> RAGVectorStore:
    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    rag, _ = RAGVectorStore.from_vs_in_sql(vectors, db_url="sqlite://", **options)
    return rag


def pages(number: int, text: str = "apple pie", groups: int = 20) -> list[Document]:
    return [
        Document(text, metadata={"source": str(n), "group": n % groups}) for n in range(number)
    ]


async def test_no_chunk_comes_twice_where_many_are_equally_good(driver: Driver) -> None:
    rag = store()
    rag.add_documents(pages(1500))
    retriever = rag.as_lexical_retriever(k=75, filter={"group": 15})
    found = await driver(retriever, "invoke", "apple")
    expected = {str(n) for n in range(1500) if n % 20 == 15}
    assert len(found) == 75
    assert {one.metadata["source"] for one in found} == expected


@pytest.mark.parametrize("name", RETRIEVERS)
async def test_the_store_s_own_filter_holds(driver: Driver, name: str) -> None:
    own = Comparison(Comparator.EQ, "group", 1)
    rag = store(search_kwargs={"within": {"1", "2", "4"}, "k": 2})
    rag.add_documents(pages(9, groups=3), ids=[str(n) for n in range(9)])
    found = await driver(getattr(rag, name)(), "invoke", "apple")
    assert {one.metadata["source"] for one in found} == {"1", "2", "4"}
    found = await driver(getattr(rag, name)(filter=own), "invoke", "apple")
    assert {one.metadata["source"] for one in found} == {"1", "4"}


@pytest.mark.parametrize("name", RETRIEVERS)
async def test_a_filter_in_the_store_s_language_is_not_passed_over(
    driver: Driver, name: str
) -> None:
    rag = store(search_kwargs={"filter": lambda document: document.metadata["group"] == 1})
    rag.add_documents(pages(3))
    with pytest.raises(ConfigurationError, match="only one store knows"):
        await driver(getattr(rag, name)(), "invoke", "apple")


@pytest.mark.parametrize("name", RETRIEVERS)
async def test_kinds_hold_for_words_too(driver: Driver, name: str) -> None:
    sentences = ScriptedTransformer(lambda text: text.split(". "))
    model = ScriptedChatModel(answer=lambda _: "Apples in short")
    rag = store(parent_transformer=DocumentSummaryTransformer(model, sentences))
    rag.add_documents([Document("Apples are red. Apples are green", metadata={"source": "a"})])

    async def texts(**options: Any) -> set[str]:
        retriever = getattr(rag, name)(search_kwargs=options)
        return {one.page_content for one in await driver(retriever, "invoke", "apples")}

    summary, chunks = {"Apples in short"}, {"Apples are red", "Apples are green"}
    assert await texts() == summary | chunks
    assert await texts(kinds={"document_summary"}) == summary
    assert await texts(except_kinds={"document_summary"}) == chunks
    assert await texts(kinds={"questions"}) == set()
