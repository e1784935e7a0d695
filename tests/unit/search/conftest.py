"""The stores that the tests of searches run over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.testing import CountingEmbeddings


@pytest.fixture
def embeddings() -> CountingEmbeddings:
    return CountingEmbeddings()


@pytest.fixture
def chroma(embeddings: CountingEmbeddings) -> Iterator[Chroma]:
    # All ephemeral clients of a process share their collections.
    store = Chroma(
        collection_name=f"search-{uuid.uuid4()}",
        embedding_function=embeddings,
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
        collection_metadata={"hnsw:space": "cosine"},
    )
    yield store
    store.delete_collection()


@pytest.fixture(params=["memory", "chroma"])
def wrapped(request: pytest.FixtureRequest, embeddings: CountingEmbeddings) -> VectorStore:
    if request.param == "memory":
        return InMemoryVectorStore(embeddings)
    store: VectorStore = request.getfixturevalue("chroma")
    return store
