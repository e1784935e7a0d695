"""Shared by the cases that public users hit: the stores, and what they were asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.testing import ScriptedTransformer
from langchain_rag.vectorstores import RAGVectorStore

MakeRag: TypeAlias = Callable[..., RAGVectorStore]


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
