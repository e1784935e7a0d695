"""Stores for the retrievers: two vector stores, each with two docstores."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.api import ClientAPI
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.vectorstores import RAGVectorStore
from tests.scattered import Scattered
from tests.tiers import everyday


@dataclass
class Space:
    """Where a store's things are.

    Attributes:
        vectorstore: To be wrapped.
        docstore: For the chunks.
        embeddings: Of the vector store.
    """

    vectorstore: VectorStore
    docstore: BaseStore[str, Document]
    embeddings: Scattered

    def rag(self, **options: Any) -> RAGVectorStore:
        """Make a store, as a new process would."""
        options.setdefault("source_id_key", None)
        return RAGVectorStore(vectorstore=self.vectorstore, docstore=self.docstore, **options)

    def score(self, similarity: float) -> float:
        """What the wrapped store's score is: Chroma's is a distance."""
        return 1 - similarity if isinstance(self.vectorstore, Chroma) else similarity


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> ClientAPI:
    """A Chroma on disk; each test has a collection of its own."""
    folder = tmp_path_factory.mktemp("chroma")
    return chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))


@pytest.fixture(
    params=everyday(
        ["memory", "chroma sql"], of=["memory", "memory sql", "chroma", "chroma sql"]
    )
)
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Space]:
    """A test that takes it runs over both vector stores and both docstores."""
    rows, _, docs = request.param.partition(" ")
    embeddings = Scattered(16)
    vectorstore: VectorStore = InMemoryVectorStore(embeddings)
    if rows == "chroma":
        vectorstore = Chroma(
            f"test-{uuid.uuid4()}",
            embeddings,
            client=request.getfixturevalue("disk"),
            collection_metadata={"hnsw:space": "cosine"},
        )
    if not docs:
        yield Space(vectorstore, InMemoryStore(), embeddings)
    else:
        engine = create_engine(f"sqlite:///{tmp_path / 'docs.sqlite'}")
        assert not isinstance(engine, AsyncEngine)
        yield Space(vectorstore, SQLDocStore(engine), embeddings)
        engine.dispose()
    if isinstance(vectorstore, Chroma):
        vectorstore.delete_collection()
