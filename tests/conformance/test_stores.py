"""The suite over every vector store that runs here without a server of its own."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_rag.errors import ConfigurationError, IdsIgnoredError
from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing import (
    DRIVERS,
    CountingEmbeddings,
    Driver,
    IdIgnoringVectorStore,
    ScriptedTransformer,
    StoreReport,
)
from langchain_rag.testing._over_store import opened
from langchain_rag.testing.conformance import VectorStoreConformance
from langchain_rag.vectorstores import RAGVectorStore
from tests.conformance import stores, table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, since a client of Chroma or Milvus Lite takes its time to start."""
    return tmp_path_factory.mktemp("stores")


class Base(VectorStoreConformance, stores.Store):
    """Gives a store its folder, and compares what it does with its page."""

    @pytest.fixture(autouse=True)
    def _folder(self, folder: Path) -> None:
        self.folder = folder

    def test_the_docs_say_what_it_does(self) -> None:
        assert table.row(self.report(self.title)) in table.in_docs().splitlines()


class TestInMemory(stores.InMemory, Base):
    """LangChain's own."""


class TestChroma(stores.ChromaInMemory, Base):
    """In memory."""


@pytest.mark.full
class TestChromaOnDisk(stores.ChromaOnDisk, Base):
    """Its client's folder."""


@pytest.mark.full
class TestCommunityChroma(stores.CommunityChroma, Base):
    """The older class."""


@pytest.mark.full
@pytest.mark.integration
class TestPostgres(stores.Postgres, Base):
    """With an engine that works sync and async."""

    @pytest.fixture(autouse=True)
    def _url(self, postgres_url: str) -> None:
        self.url = postgres_url


class TestPostgresAsync(TestPostgres):
    """With an engine that works async only."""

    synchronous = False
    # The same statements, row by row, as with the other engine: ten seconds for nothing new.
    test_many_rows_in_one_call = None  # type: ignore[assignment]

    @pytest.fixture(params=DRIVERS[1:], ids=["async"])
    def driver(self, request: pytest.FixtureRequest) -> Driver:
        driver: Driver = request.param
        return driver


class TestQdrant(stores.Qdrant, Base):
    """Its client's local mode."""


@pytest.mark.full
@pytest.mark.integration
class TestMilvusLite(stores.MilvusLite, Base):
    """Its server runs in this process, and is spoken to over a socket."""


class TestFaiss(stores.Faiss, Base):
    """In memory."""


@pytest.mark.full
# What its class says of every search that finds nothing.
@pytest.mark.filterwarnings("ignore:No results found for the query:UserWarning")
class TestLance(stores.Lance, Base):
    """On disk."""


def test_the_docs_have_all_stores() -> None:
    head, _, *rows = table.in_docs().splitlines()
    assert [head] == table.table([]).splitlines()[:1]
    assert [row.split("|")[1].strip() for row in rows] == [s.title for s in stores.STORES]


def importing(store: Any, seen: ScriptedTransformer) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=store,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=seen,
    )


async def refused(driver: Driver, store: Any, kind: type[Exception], says: str) -> None:
    """Nothing is transformed, which would cost, and nothing is written anywhere."""
    seen = ScriptedTransformer(lambda text: [text])
    rag = importing(store, seen)
    with pytest.raises(kind, match=says):
        await driver(rag, "add_documents", [Document("cats")], ids=["c"])
    assert seen.seen == []
    assert list(rag.docstore.yield_keys()) == []


async def test_sqlite_vec_is_refused(driver: Driver) -> None:
    store = stores.SqliteVec().make_store(CountingEmbeddings())
    await refused(driver, store, IdsIgnoredError, "SQLiteVec numbers its rows itself")
    row = table.row(StoreReport(stores.SqliteVec.title, refused="it numbers its rows itself"))
    assert row in table.in_docs().splitlines()


@pytest.mark.full
async def test_a_lance_that_overwrites_is_refused(driver: Driver, tmp_path: Path) -> None:
    kind = stores.community("vectorstores.lancedb").LanceDB
    store = kind(embedding=CountingEmbeddings(), uri=str(tmp_path))
    await refused(driver, store, ConfigurationError, "mode='append'")


@pytest.mark.full
@pytest.mark.integration
@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"auto_id": True, "enable_dynamic_field": True}, IdsIgnoredError, "auto_id=False"),
        ({}, ConfigurationError, "enable_dynamic_field=True"),
    ],
)
async def test_a_milvus_that_cannot_serve_is_refused(
    driver: Driver, folder: Path, options: Any, kind: type[Exception], says: str
) -> None:
    from langchain_milvus import Milvus

    store = Milvus(
        CountingEmbeddings(),
        collection_name=stores.Store.new_name(),
        connection_args={"uri": str(folder / "milvus.db")},
        **options,
    )
    await refused(driver, store, kind, says)


async def test_a_store_that_ignores_ids_is_refused_at_the_first_add(driver: Driver) -> None:
    """One that nobody knows of: its rows are taken back, and nothing is left."""
    store = IdIgnoringVectorStore(CountingEmbeddings())
    rag = importing(store, ScriptedTransformer(lambda text: [text]))
    with pytest.raises(IdsIgnoredError, match="does not keep ids"):
        await driver(rag, "add_documents", [Document("cats")], ids=["c"])
    assert store.store == {}
    assert list(rag.docstore.yield_keys()) == []


async def test_qdrant_takes_hashes_only_because_rows_have_uuids(driver: Driver) -> None:
    embeddings = CountingEmbeddings()
    page = Document("cats", metadata={"source": "cats.md"})
    sha256 = hashlib.sha256(b"cats").hexdigest()
    async with opened(stores.Qdrant().make_store(embeddings)) as store:
        with pytest.raises(ValueError, match="not a valid UUID"):
            await driver(store, "add_documents", [page], ids=[sha256])
        rag = RAGVectorStore(vectorstore=store, docstore=InMemoryStore())
        assert await driver(rag, "add_documents", [page], ids=[sha256]) == [sha256]
        await driver(rag, "delete", [sha256])
        records = InMemoryRecordManager("qdrant")
        options = rag.index_kwargs(records)
        assert len(options["key_encoder"](page)) == len(sha256)
        counts = await driver.index([page], cleanup="scoped_full", **options)
        assert counts["num_added"] == 1
        (key,) = records.list_keys()
        assert [chunk.id for chunk in await driver(rag, "get_by_ids", [key])] == [key]
        assert (await driver.index([], cleanup="full", **options))["num_deleted"] == 1
        assert await driver(rag, "similarity_search", "cats") == []
