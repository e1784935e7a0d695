"""The record manager of a store, and what uses it. What is found is in tests/unit/audit."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import ConfigurationError
from langchain_rag.vectorstores import RAGVectorStore
from langchain_rag.vectorstores.record_manager import StoredRecordManager


def store(**options: Any) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(DeterministicFakeEmbedding(size=4)),
        docstore=InMemoryStore(),
        **options,
    )


def test_the_constructors_is_the_default() -> None:
    manager = InMemoryRecordManager("mine")
    rag = store(record_manager=manager)
    assert rag.record_manager is manager
    wrapped = rag.index_kwargs()["record_manager"]
    assert isinstance(wrapped, StoredRecordManager)
    assert wrapped.records is manager


def test_a_given_one_beats_it() -> None:
    other = InMemoryRecordManager("other")
    rag = store(record_manager=InMemoryRecordManager("mine"))
    wrapped = rag.index_kwargs(other)["record_manager"]
    assert wrapped.records is other


def test_one_that_is_wrapped_already_is_not_wrapped_again() -> None:
    manager = InMemoryRecordManager("mine")
    wrapped = store().index_kwargs(manager)["record_manager"]
    rag = store(record_manager=wrapped)
    assert rag.record_manager is manager
    assert rag.index_kwargs(wrapped)["record_manager"].records is manager


def test_without_one_index_cannot_be_called() -> None:
    with pytest.raises(ConfigurationError, match=r"index_kwargs\(\) or to the constructor"):
        store().index_kwargs()


def test_what_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="record_manager is a str"):
        store(record_manager="mine")
    with pytest.raises(ConfigurationError, match="record_manager is a int"):
        store().verify(record_manager=cast("Any", 3))


@pytest.mark.parametrize("factory", ["in_memory", "in_sql"])
def test_the_factories_give_theirs(factory: str) -> None:
    wrapped = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    if factory == "in_memory":
        rag, index_kwargs = RAGVectorStore.from_vs_in_memory(wrapped)
    else:
        rag, index_kwargs = RAGVectorStore.from_vs_in_sql(wrapped, db_url="sqlite://")
    assert index_kwargs["record_manager"].records is rag.record_manager
    mine = InMemoryRecordManager("mine")
    rag, index_kwargs = RAGVectorStore.from_vs_in_memory(wrapped, record_manager=mine)
    assert index_kwargs["record_manager"].records is rag.record_manager is mine
