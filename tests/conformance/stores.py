"""The vector stores that run here without a server of their own, each made empty.

`tests/conformance/test_stores.py` runs the suite over them, `tests/conformance/table.py` makes
the table of them in `docs/stores.md`.
"""

from __future__ import annotations

import uuid
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.testing._over_store import OverStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from langchain_core.vectorstores import VectorStore

    from langchain_rag.testing import CountingEmbeddings


def community(name: str) -> Any:
    """Import a module of langchain-community, which says each time that it is being sunset."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*langchain-community.* is being sunset")
        return import_module(f"langchain_community.{name}")


# By the default, squared Euclidean distances, LangChain's relevances may be below 0.
COSINE = {"hnsw:space": "cosine"}


def nearness(distance: float) -> float:
    """Turn the squared Euclidean distance of unit vectors into a relevance."""
    return float(1 - distance / 4)


class Store(OverStore):
    """A store, and where it may keep what it has.

    Attributes:
        title: What it is called in `docs/stores.md`.
        folder: For stores on disk; every store that is made takes a new name in it.
        url: Of a PostgreSQL database.
    """

    title: ClassVar[str]
    folder: Path
    url: str

    @staticmethod
    def new_name() -> str:
        return f"t{uuid.uuid4().hex}"


class InMemory(Store):
    title = "`InMemoryVectorStore`"

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        return InMemoryVectorStore(embeddings)


def chroma_client(folder: Path | None) -> Any:
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if folder is None:
        return chromadb.EphemeralClient(settings)
    return chromadb.PersistentClient(folder, settings)


class ChromaInMemory(Store):
    title = "Chroma"

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        from langchain_chroma import Chroma

        # All ephemeral clients of a process share their collections.
        store = Chroma(
            self.new_name(),
            embeddings,
            client=chroma_client(None),
            collection_metadata=COSINE,
        )
        yield store
        store.delete_collection()


class ChromaOnDisk(Store):
    title = "Chroma, on disk"

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        from langchain_chroma import Chroma

        client = chroma_client(self.folder / "chroma")
        store = Chroma(self.new_name(), embeddings, client=client, collection_metadata=COSINE)
        yield store
        store.delete_collection()


class CommunityChroma(Store):
    title = "Chroma, by `langchain_community`"
    lacks = frozenset({"get_by_ids"})

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        kind = community("vectorstores.chroma").Chroma
        with warnings.catch_warnings():
            # It points to langchain-chroma.
            warnings.filterwarnings("ignore", message="The class `Chroma` was deprecated")
            store = kind(
                self.new_name(),
                embeddings,
                client=chroma_client(None),
                collection_metadata=COSINE,
            )
        yield store
        store.delete_collection()


class Postgres(Store):
    title = "PostgreSQL, `PGVectorStore`"
    synchronous = True

    async def make_store(self, embeddings: CountingEmbeddings) -> AsyncIterator[VectorStore]:
        from langchain_postgres import PGEngine, PGVectorStore
        from sqlalchemy.ext.asyncio import create_async_engine

        table = self.new_name()
        if self.synchronous:
            engine = PGEngine.from_connection_string(self.url)
            engine.init_vectorstore_table(table, embeddings.size)
            store = PGVectorStore.create_sync(engine, embeddings, table)
        else:
            engine = PGEngine.from_engine(create_async_engine(self.url))
            await engine.ainit_vectorstore_table(table, embeddings.size)
            store = await PGVectorStore.create(engine, embeddings, table)
        yield store
        await engine.adrop_table(table)
        await engine.close()

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        return {"filter": {key: {"$eq": value}}}


class Qdrant(Store):
    title = "Qdrant"

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        from langchain_qdrant import QdrantVectorStore
        from qdrant_client import QdrantClient
        from qdrant_client.models import Distance, VectorParams

        client = QdrantClient(":memory:")
        name = self.new_name()
        client.create_collection(
            name, vectors_config=VectorParams(size=embeddings.size, distance=Distance.COSINE)
        )
        yield QdrantVectorStore(client, name, embeddings)
        client.close()

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        from qdrant_client.models import FieldCondition, Filter, MatchValue

        match = MatchValue(value=value)
        return {"filter": Filter(must=[FieldCondition(key=f"metadata.{key}", match=match)])}


class MilvusLite(Store):
    title = "Milvus (Lite)"
    lacks = frozenset({"get_by_ids", "replaces"})

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        from langchain_milvus import Milvus

        store = Milvus(
            embeddings,
            collection_name=self.new_name(),
            connection_args={"uri": str(self.folder / "milvus.db")},
            index_params={"index_type": "FLAT", "metric_type": "COSINE"},
            enable_dynamic_field=True,
        )
        yield store
        store.drop()

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        literal = str(value).lower() if isinstance(value, bool) else repr(value)
        return {"expr": f"{key} == {literal}"}


class Faiss(Store):
    title = "FAISS, by `langchain_community`"
    lacks = frozenset({"replaces"})

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        # faiss has no types.
        index = import_module("faiss").IndexFlatL2(embeddings.size)
        documents = community("docstore.in_memory").InMemoryDocstore()
        return community("vectorstores.faiss").FAISS(
            embeddings, index, documents, {}, relevance_score_fn=nearness
        )

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        return {"filter": {key: value}}


class Lance(Store):
    title = "LanceDB, by `langchain_community`"
    lacks = frozenset({"get_by_ids", "replaces"})

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        return community("vectorstores.lancedb").LanceDB(
            embedding=embeddings,
            uri=str(self.folder / "lance"),
            table_name=self.new_name(),
            mode="append",
            relevance_score_fn=nearness,
        )

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        literal = str(value).lower() if isinstance(value, bool) else repr(value)
        return {"filter": f"metadata.{key} = {literal}"}


class SqliteVec(Store):
    title = "sqlite-vec, by `langchain_community`"

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        # Not opened: many builds of Python cannot load SQLite's extensions, and it is refused
        # before anything of it is touched.
        kind = community("vectorstores.sqlitevec").SQLiteVec
        return kind.__new__(kind)


STORES: tuple[type[Store], ...] = (
    InMemory,
    ChromaInMemory,
    ChromaOnDisk,
    Postgres,
    Qdrant,
    MilvusLite,
    Faiss,
    Lance,
    CommunityChroma,
    SqliteVec,
)
