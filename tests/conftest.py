"""Shared by all tests: both drivers, stores, and no network."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pytest_socket import disable_socket, enable_socket
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.document_transformers.llm.base import LLMDocumentTransformer
from langchain_rag.document_transformers.llm.retries import Retries
from langchain_rag.storage import create_engine
from langchain_rag.testing import DRIVERS, CountingEmbeddings, Driver
from tests import postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> Driver:
    """Runs a test twice: `await driver(rag, "add_documents", docs, ids=...)`."""
    driver: Driver = request.param
    return driver


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model calls that failed are tried again at once."""
    monkeypatch.setattr(LLMDocumentTransformer, "retries", Retries(first=0, most=0))


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """No sockets, except in a test marked `integration`."""
    if request.node.get_closest_marker("integration"):
        enable_socket()
        yield
        return
    # An event loop wakes itself through a pair of Unix sockets.
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture
def embeddings() -> CountingEmbeddings:
    return CountingEmbeddings()


@pytest.fixture
def chroma(embeddings: CountingEmbeddings) -> Iterator[Chroma]:
    # All ephemeral clients of a process share their collections.
    store = Chroma(
        collection_name=f"test-{uuid.uuid4()}",
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


@pytest.fixture(scope="session")
def postgres_url(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    """A database of this worker's own, for tests marked `integration`.

    pytest-xdist's workers share one server. What one test leaves the next one finds; take
    `postgres_database` for an empty one.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    with postgres.shared_server(folder) as server, postgres.new_database(server.url()) as url:
        postgres.execute(url, "CREATE EXTENSION IF NOT EXISTS vector")
        yield postgres.text_of(url)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database, which is dropped after the test."""
    with postgres.new_database(postgres_url) as url:
        yield postgres.text_of(url)


@pytest.fixture
def postgres_engine(postgres_database: str) -> Iterator[Engine]:
    """A sync engine on an empty database."""
    engine = create_engine(postgres_database)
    assert not isinstance(engine, AsyncEngine)
    yield engine
    engine.dispose()
