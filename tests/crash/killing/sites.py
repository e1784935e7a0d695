"""The two places where everything is kept, opened as a new process opens them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_postgres import PGEngine, PGVectorStore
from sqlalchemy import make_url

from langchain_rag.embedding_cache import CachedEmbeddings
from langchain_rag.storage import create_engine
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.vectorstores import RAGVectorStore
from tests.crash.killing import corpus, counting
from tests.crash.killing.points import Points

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

VECTOR_SIZE = 64
TABLE = "rows"


@dataclass(frozen=True)
class Place:
    """Where a process finds its stores. It goes to other processes as JSON.

    Attributes:
        kind: `"chroma"` (on disk, beside SQLite), `"postgres"` (all in one database), or
            `"mixed"` (pgvector beside SQLite).
        folder: For Chroma and SQLite, and for the log of the model's calls.
        vectors: For Chroma where it is not in `folder`.
        url: Of PostgreSQL.
        schema: In PostgreSQL.
    """

    kind: str
    folder: str
    vectors: str = ""
    url: str = ""
    schema: str = "public"

    @property
    def log(self) -> Path:
        """Where the model's calls are noted."""
        return Path(self.folder, "calls.jsonl")

    def as_json(self) -> dict[str, str]:
        """Return what `Place(**...)` takes."""
        return asdict(self)


@dataclass
class Site:
    """What one process has opened.

    Attributes:
        rag: The store.
        index_kwargs: For `index()`.
        embeddings: Counts what is embedded.
        place: Where it is.
    """

    rag: RAGVectorStore
    index_kwargs: dict[str, Any]
    embeddings: CountingEmbeddings
    place: Place


def database_url(place: Place, driver: str) -> str:
    """Return the URL of the docstore, for a sync or an async engine."""
    if place.kind != "postgres":
        name = "sqlite" if driver == "sync" else "sqlite+aiosqlite"
        return f"{name}:///{Path(place.folder, 'docs.db')}"
    return postgres_url(place, driver)


def postgres_url(place: Place, driver: str) -> str:
    """Return the URL of a schema, for a sync or an async engine."""
    name = "postgresql+psycopg" if driver == "sync" else "postgresql+psycopg_async"
    url = make_url(place.url).set(drivername=name)
    # What tells one place from another stays out of the tables' names.
    url = url.update_query_dict({"options": f"-csearch_path={place.schema},public"})
    return url.render_as_string(hide_password=False)


async def open_site(
    place: Place, driver: str, points: Points, *, chunk_transformers: Any = None, **options: Any
) -> Site:
    """Open everything, as a process that has just started.

    Args:
        place: Where.
        driver: `"sync"` or `"async"`; it decides the engine.
        points: Count what is done, the opening left out.
        chunk_transformers: Other transformers than those of `corpus`.
        **options: Further arguments of `RAGVectorStore`.
    """
    embeddings = corpus.NotedEmbeddings(VECTOR_SIZE, place.log)
    vectors = open_vectors(place, driver, embeddings, points)
    engine = create_engine(database_url(place, driver))
    made = chunk_transformers or corpus.transformers(place.log, points)
    rag, index_kwargs = RAGVectorStore.from_vs_in_sql(
        vectors, engine=engine, **{**made, "max_concurrency": corpus.CONCURRENCY, **options}
    )
    counting.count_statements(points, engine, "sql")
    if isinstance(rag.embeddings, CachedEmbeddings):
        counting.tell_after(rag.embeddings.cache, "mset", embeddings.note_kept)
    counting.count_methods(points, rag.docstore, counting.DOCSTORE)
    counting.count_claims(points, rag.docstore)
    counting.count_methods(points, rag.vectorstore, counting.VECTORS)
    records = index_kwargs["record_manager"].records
    counting.count_methods(points, records, counting.RECORDS)
    return Site(rag, index_kwargs, embeddings, place)


def open_vectors(
    place: Place, driver: str, embeddings: CountingEmbeddings, points: Points
) -> VectorStore:
    """Open the vector store of a place."""
    if place.kind == "chroma":
        folder = place.vectors or str(Path(place.folder, "chroma"))
        client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        store = Chroma("rows", embeddings, client=client)
        counting.count_rows(points, store._collection)
        return store
    # PGVectorStore is async inside; its sync methods go through a loop in a thread.
    engine = PGEngine.from_connection_string(postgres_url(place, "async"))
    vectors = PGVectorStore.create_sync(engine, embeddings, TABLE, schema_name=place.schema)
    counting.count_statements(points, engine._pool, "rows")
    return vectors
