"""LangChain's own suite for retrievers over `rag.as_retriever()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

TEXTS = [f"Theorem {n} follows from theorem {n - 1}" for n in range(1, 7)]


def filled(*, chunk_transformer: bool) -> RAGVectorStore:
    words = CharacterTextSplitter(separator=" ", chunk_size=12, chunk_overlap=0)
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
        # A copy and several near pieces of each: a naive search would return one twice.
        chunk_transformer=CopyDocumentTransformer() + words if chunk_transformer else None,
    )
    rag.add_documents([Document(text) for text in TEXTS])
    return rag


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
@pytest.mark.parametrize("variations", [False, True], ids=["plain", "variations"])
class TestRetriever(RetrieversIntegrationTests):
    """The retriever that every LangChain user gets."""

    @pytest.fixture(autouse=True)
    def _filled(self, search_type: str, variations: bool) -> None:
        rag = filled(chunk_transformer=variations)

        def construct(**search_kwargs: Any) -> BaseRetriever:
            return rag.as_retriever(search_type=search_type, search_kwargs=search_kwargs)

        self._construct = construct

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return cast("type[BaseRetriever]", self._construct)

    @property
    def retriever_query_example(self) -> str:
        return "which theorem follows from theorem 3"
