"""A whole document is the old or the new one, also while it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag import RAGVectorStore
from langchain_rag.testing import CountingEmbeddings, Driver

SENTENCES = CharacterTextSplitter(separator=" ", chunk_size=1, chunk_overlap=0)


class Meddling(InMemoryStore):
    """Does something before it reads the chunks of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], Any] | None = None

    def mget(self, keys: Sequence[str]) -> list[Document | None]:
        if len(keys) > 2 and self.before is not None:
            before, self.before = self.before, None
            before()
        return super().mget(keys)

    async def amget(self, keys: Sequence[str]) -> list[Document | None]:
        return self.mget(keys)


def store(docs: InMemoryStore) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docs,
        source_id_key=None,
        parent_transformer=SENTENCES,
    )


async def test_a_document_that_changes_meanwhile_is_read_again(driver: Driver) -> None:
    docs = Meddling()
    rag = store(docs)
    rag.add_texts(["old1 old2 same"], ids=["a"])
    docs.before = lambda: rag.add_texts(["new1 new2 same"], ids=["a"])
    found = await driver(rag, "similarity_search", "same", k=1, return_documents=True)
    assert [one.page_content for one in found] == ["new1 new2 same"]


async def test_a_document_that_goes_meanwhile_is_left_out(driver: Driver) -> None:
    docs = Meddling()
    rag = store(docs)
    rag.add_texts(["old1 old2 same"], ids=["a"])
    docs.before = lambda: rag.delete(["a"])
    assert await driver(rag, "similarity_search", "same", k=1, return_documents=True) == []


async def test_one_that_lacks_a_chunk_is_left_out_and_logged(driver: Driver, caplog) -> None:
    docs = Meddling()
    rag = store(docs)
    rag.add_texts(["one two three"], ids=["a"])
    [lost] = [key for key, value in docs.store.items() if value.page_content == "two"]
    del docs.store[lost]
    assert await driver(rag, "similarity_search", "three", k=1, return_documents=True) == []
    assert "'a' was left out" in caplog.text
