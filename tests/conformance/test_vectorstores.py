"""LangChain's own suite for vector stores, without overrides, in every combination."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.vectorstores import VectorStore

# Whether there is a parent_transformer, and whether there is a chunk_transformer.
COMBINATIONS = {
    "plain": (False, False),
    "parent": (True, False),
    "chunk": (False, True),
    "parent-chunk": (True, True),
}


@pytest.fixture(params=COMBINATIONS.values(), ids=list(COMBINATIONS))
def combination(request: pytest.FixtureRequest) -> tuple[bool, bool]:
    combination: tuple[bool, bool] = request.param
    return combination


def wrap(wrapped: VectorStore, combination: tuple[bool, bool]) -> RAGVectorStore:
    parent, chunk = combination
    return RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=RecursiveCharacterTextSplitter() if parent else None,
        chunk_transformer=CopyDocumentTransformer() if chunk else None,
    )


class TestOverInMemory(VectorStoreIntegrationTests):
    """Over LangChain's in-memory store."""

    @pytest.fixture
    def vectorstore(self, combination: tuple[bool, bool]) -> VectorStore:
        return wrap(InMemoryVectorStore(self.get_embeddings()), combination)


class TestOverChroma(VectorStoreIntegrationTests):
    """Over Chroma, in memory."""

    @pytest.fixture
    def vectorstore(self, combination: tuple[bool, bool]) -> Iterator[VectorStore]:
        # All ephemeral clients of a process share their collections.
        collection = f"conformance-{uuid.uuid4()}"
        chroma = Chroma(
            collection_name=collection,
            embedding_function=self.get_embeddings(),
            client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
        )
        yield wrap(chroma, combination)
        chroma.delete_collection()
