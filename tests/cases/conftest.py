"""Shared by the cases that public users hit: the stores, and what they were asked."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.testing import CountingEmbeddings, ScriptedTransformer
from langchain_rag.vectorstores import RAGVectorStore

MakeRag: TypeAlias = Callable[..., RAGVectorStore]


@pytest.fixture
def embeddings() -> CountingEmbeddings:
    return CountingEmbeddings()


@pytest.fixture
def chroma(embeddings: CountingEmbeddings) -> Iterator[Chroma]:
    # All ephemeral clients of a process share their collections.
    store = Chroma(
        collection_name=f"case-{uuid.uuid4()}",
        embedding_function=embeddings,
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
        collection_metadata={"hnsw:space": "cosine"},
    )
    yield store
    store.delete_collection()


@pytest.fixture
def memory(embeddings: CountingEmbeddings) -> InMemoryVectorStore:
    return InMemoryVectorStore(embeddings)


@pytest.fixture(params=["memory", "chroma"])
def wrapped(request: pytest.FixtureRequest) -> VectorStore:
    """A test that takes it runs over both stores."""
    store: VectorStore = request.getfixturevalue(request.param)
    return store


@pytest.fixture
def make(memory: InMemoryVectorStore) -> MakeRag:
    """Makes a store; in memory where nothing else is said."""

    def make(vectorstore: VectorStore | None = None, **options: Any) -> RAGVectorStore:
        return RAGVectorStore(
            vectorstore=memory if vectorstore is None else vectorstore,
            docstore=options.pop("docstore", None) or InMemoryStore(),
            **options,
        )

    return make


@pytest.fixture
def lines() -> ScriptedTransformer:
    """Cuts a text into its lines."""
    return ScriptedTransformer(str.splitlines)


@pytest.fixture
def words() -> ScriptedTransformer:
    """Makes one variation of each word."""
    return ScriptedTransformer(str.split)
