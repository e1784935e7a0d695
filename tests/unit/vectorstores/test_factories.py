"""`index()` and `aindex()` over what the factories return."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.errors import ConfigurationError, UnstorableMetadataError
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    ScriptedChatModel,
    ScriptedTransformer,
    audit,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore
from langchain_rag.vectorstores.factories import key_encoder

PAGES = [Document(f"page {n}", metadata={"source": "book"}) for n in range(3)]


def store() -> InMemoryVectorStore:
    embeddings: Embeddings = CountingEmbeddings()
    return InMemoryVectorStore(embeddings)


def questions(prompt: str | None = None) -> GenerateQuestionsTransformer:
    llm = ScriptedChatModel(answer=lambda text: "What is it?\nWhy is it so?")
    return GenerateQuestionsTransformer.from_llm(llm, prompt=prompt)


@pytest.mark.parametrize("kind", ["memory", "url", "engine"])
async def test_index_and_index_again(driver: Driver, tmp_path: Path, kind: str) -> None:
    url = f"sqlite:///{tmp_path / 'rag.db'}"
    engine = create_engine(url) if kind == "engine" else None
    options: dict[str, Any] = {"chunk_transformer": questions(), "search_kwargs": {"k": 2}}
    if kind == "memory":
        rag, kwargs = RAGVectorStore.from_vs_in_memory(store(), **options)
    elif kind == "url":
        rag, kwargs = RAGVectorStore.from_vs_in_sql(store(), db_url=url, **options)
    else:
        rag, kwargs = RAGVectorStore.from_vs_in_sql(store(), engine=engine, **options)
    assert kwargs.keys() == {"record_manager", "vector_store", "source_id_key", "key_encoder"}
    assert kwargs["vector_store"] is rag
    result = await driver.index(PAGES, cleanup="scoped_full", **kwargs)
    assert result["num_added"] == 3
    assert len(contents(rag).rows) == 6
    result = await driver.index(PAGES[:2], cleanup="scoped_full", **kwargs)
    assert (result["num_skipped"], result["num_deleted"]) == (2, 1)
    assert len(await driver(rag, "similarity_search", "What is it?")) == 2
    assert audit(rag) == []
    if isinstance(rag.docstore, SQLDocStore):
        rag.docstore.engine.dispose()


async def test_a_sql_store_outlives_its_process(driver: Driver, tmp_path: Path) -> None:
    wrapped = store()

    def start(**options: Any) -> tuple[RAGVectorStore, dict[str, Any]]:
        return RAGVectorStore.from_vs_in_sql(
            wrapped, db_url=f"sqlite:///{tmp_path / 'rag.db'}", **options
        )

    first, kwargs = start(chunk_transformer=questions())
    await driver.index(PAGES, cleanup="full", **kwargs)
    first.docstore.engine.dispose()  # type: ignore[attr-defined]
    rag, kwargs = start(chunk_transformer=questions())
    assert (await driver.index(PAGES, cleanup="full", **kwargs))["num_skipped"] == 3
    # Another namespace has seen nothing of it.
    other, other_kwargs = start(namespace="other", chunk_transformer=questions())
    assert (await driver.index(PAGES[:1], cleanup="full", **other_kwargs))["num_added"] == 1
    assert (await driver.index([], cleanup="full", **other_kwargs))["num_deleted"] == 1
    assert len(await driver(rag, "similarity_search", "page", k=5)) == 3
    rag.docstore.engine.dispose()  # type: ignore[attr-defined]
    other.docstore.engine.dispose()  # type: ignore[attr-defined]


@pytest.fixture
async def async_engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(f"sqlite+aiosqlite:///{tmp_path / 'rag.db'}")
    assert isinstance(engine, AsyncEngine)
    yield engine
    await engine.dispose()


async def test_aindex_over_an_async_engine(async_engine: AsyncEngine) -> None:
    driver = Driver("async")
    rag, kwargs = RAGVectorStore.from_vs_in_sql(
        store(), engine=async_engine, chunk_transformer=questions()
    )
    result = await driver.index(PAGES, cleanup="scoped_full", **kwargs)
    assert result["num_added"] == 3
    result = await driver.index(PAGES[:2], cleanup="scoped_full", **kwargs)
    assert (result["num_skipped"], result["num_deleted"]) == (2, 1)
    assert len(await driver(rag, "similarity_search", "page", k=5)) == 2
    with pytest.raises(ConfigurationError):
        rag.similarity_search("page")


@pytest.mark.parametrize("given", [{}, {"db_url": "sqlite://", "engine": object()}])
def test_one_of_url_and_engine(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="either db_url or engine"):
        RAGVectorStore.from_vs_in_sql(store(), **given)


async def test_a_changed_prompt_is_a_change(driver: Driver) -> None:
    wrapped = store()
    rag, kwargs = RAGVectorStore.from_vs_in_memory(wrapped, chunk_transformer=questions())
    await driver.index(PAGES, cleanup="scoped_full", **kwargs)
    changed = RAGVectorStore(
        vectorstore=wrapped,
        docstore=rag.docstore,
        chunk_transformer=questions("Ask {nb_of_questions} about {context}"),
    )
    kwargs |= {"vector_store": changed, "key_encoder": key_encoder(changed.fingerprints)}
    result = await driver.index(PAGES, cleanup="scoped_full", **kwargs)
    assert (result["num_added"], result["num_deleted"], result["num_skipped"]) == (3, 3, 0)
    assert audit(changed) == []


def test_the_key_says_what_a_document_goes_through() -> None:
    document = Document("text", metadata={"source": "s"})
    others = [
        Document("text 2", metadata={"source": "s"}),
        Document("text", metadata={"source": "t"}),
        Document("text", metadata={"source": "s", "nested": {"a": (1,)}}),
    ]
    prints = [("a", "b"), ("ab", ""), ("", "ab"), (None, "b"), ("a", None), (None, None)]
    keys = [key_encoder(pair)(document) for pair in prints]
    assert len(set(keys)) == len(prints)
    encode = key_encoder(("a", "b"))
    assert len({encode(document), *map(encode, others)}) == 4
    assert encode(document) == encode(document.model_copy(update={"id": "x"}))
    # In one order or the other, metadata is the same.
    pair = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert len({encode(Document("t", metadata=metadata)) for metadata in pair}) == 1


async def test_a_document_that_cannot_be_indexed(driver: Driver) -> None:
    rag, kwargs = RAGVectorStore.from_vs_in_memory(store())
    bad = Document("text of it", metadata={"source": "s", "bad": object()})
    with pytest.raises(UnstorableMetadataError, match=r"'bad'.*begins with 'text of it'"):
        await driver.index([bad], cleanup="scoped_full", **kwargs)
    assert contents(rag) == ({}, {})


async def test_sources_by_function_and_by_key(driver: Driver) -> None:
    for key in ("source", lambda document: document.metadata["source"]):
        rag, kwargs = RAGVectorStore.from_vs_in_memory(
            store(),
            source_id_key=key,
            parent_transformer=ScriptedTransformer(str.split),
            chunk_transformer=CopyDocumentTransformer(),
        )
        await driver.index(PAGES, cleanup="scoped_full", **kwargs)
        assert {
            manifest.metadata["source_id"]
            for manifest in contents(rag).room("manifests").values()
        } == {"book"}


async def test_no_source_needs_no_clean_up_by_source(driver: Driver) -> None:
    _, kwargs = RAGVectorStore.from_vs_in_memory(store(), source_id_key=None)
    assert (await driver.index(PAGES, cleanup="full", **kwargs))["num_added"] == 3
    assert (await driver.index(PAGES[:1], cleanup="full", **kwargs))["num_deleted"] == 2
