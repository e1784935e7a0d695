"""Vector stores outside of memory, and models that count what they are asked."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_postgres import PGEngine, PGVectorStore
from sqlalchemy.engine import make_url

from langchain_rag.local import WordLlamaEmbeddings
from tests import postgres

DIMENSIONS = 256


class CountingEmbeddings(Embeddings):
    """Embeddings that know the text, cost little, and count."""

    def __init__(self) -> None:
        self._model = WordLlamaEmbeddings()
        self._model.embed_query("warm up")
        self.embedded = 0

    @property
    def fingerprint(self) -> str:
        """What a cache keeps its vectors under."""
        return self._model.fingerprint

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._model.embed_query(text)


def chroma(folder: Path | str, embeddings: Embeddings) -> Chroma:
    """Open a collection on disk."""
    settings = Settings(anonymized_telemetry=False, is_persistent=True)
    client = chromadb.PersistentClient(str(folder), settings)
    return Chroma(client=client, embedding_function=embeddings)


@contextmanager
def databases() -> Iterator[str]:
    """Run PostgreSQL with pgvector; yields a URL for `pgvector` and `new_database`."""
    with postgres.server() as server:
        yield postgres.text_of(server.url())


def new_database(server: str) -> str:
    """Make an empty database for vectors; it goes with the server."""
    name = f"bench_{uuid.uuid4().hex}"
    postgres.execute(server, f"CREATE DATABASE {name}")
    url = postgres.text_of(make_url(server).set(database=name))
    postgres.execute(url, "CREATE EXTENSION vector")
    PGEngine.from_connection_string(url).init_vectorstore_table("vectors", DIMENSIONS)
    return url


def pgvector(url: str, embeddings: Embeddings) -> PGVectorStore:
    """Open the collection of a database."""
    engine = PGEngine.from_connection_string(url)
    return PGVectorStore.create_sync(engine, embeddings, "vectors")


def opened(store: str, place: str, embeddings: Embeddings) -> VectorStore:
    """Open a store by the name of its kind.

    Args:
        store: `"chroma"` or `"pgvector"`.
        place: A folder, or a URL.
        embeddings: For it.
    """
    if store == "chroma":
        return chroma(place, embeddings)
    return pgvector(place, embeddings)


class Counted:
    """Counts the rows that a vector store is given and told to delete.

    Args:
        store: The store, whose methods are replaced.
    """

    def __init__(self, store: Any) -> None:
        self.written = self.deleted = 0
        add, delete = store.add_texts, store.delete

        def add_texts(texts: Any, *args: Any, **kwargs: Any) -> Any:
            texts = list(texts)
            self.written += len(texts)
            return add(texts, *args, **kwargs)

        def deleting(ids: list[str] | None = None, **kwargs: Any) -> Any:
            self.deleted += len(ids or [])
            return delete(ids, **kwargs)

        store.add_texts, store.delete = add_texts, deleting
