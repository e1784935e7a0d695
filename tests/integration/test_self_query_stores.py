"""`SelfQueryRetriever` over a `RAGVectorStore` on each vector store that runs here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_text_splitters import CharacterTextSplitter
from sqlalchemy.exc import DataError

from langchain_rag import CopyDocumentTransformer, RAGVectorStore
from langchain_rag.retrievers import SelfQueryRetriever
from langchain_rag.structured_query import translator_for
from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel
from langchain_rag.testing._over_store import opened
from tests.conformance import stores

FIELDS: list[Any] = [
    {"name": "born", "description": "Year of birth", "type": "integer"},
    {"name": "height", "description": "In metres", "type": "float"},
    {"name": "country", "description": "Country of birth", "type": "string"},
    {"name": "alive", "description": "Whether they live", "type": "boolean"},
    {"name": "when", "description": "Date of the article", "type": "string"},
    {"name": "seconds", "description": "The same date", "type": "integer"},
]
DAY = 86_400
JANUARY = 1_704_067_200  # 2024-01-01, in seconds since 1970
LIVES = [
    Document("Euler. Graphs and\n\nseries", metadata={"born": 1707, "country": "CH"}),
    Document("Gauss. Numbers and\n\nsurfaces", metadata={"born": 1777, "country": "DE"}),
    Document("Noether. Rings", metadata={"born": 1882, "country": "DE"}),
    Document("Tao. Primes", metadata={"born": 1975, "country": "AU", "alive": True}),
    Document("Hypatia. Cones", metadata={"country": "EG"}),
    Document("Anonymous"),
]
for number, life in enumerate(LIVES):
    life.metadata.setdefault("alive", False)
    if number != 2:
        life.metadata["height"] = 1.5 + number / 10
        life.metadata["when"] = f"2024-01-{number + 1:02}"
        life.metadata["seconds"] = JANUARY + number * DAY
NAMES = [life.page_content.partition(".")[0] for life in LIVES]

# What a model writes, and which documents that is, as a plain function of the metadata.
CASES: list[tuple[str, str, Any]] = [
    ("eq", 'eq("born", 1777)', lambda m: m.get("born") == 1777),
    ("eq", 'eq("country", "DE")', lambda m: m.get("country") == "DE"),
    ("eq", 'eq("alive", true)', lambda m: m["alive"] is True),
    ("eq", 'eq("when", "2024-01-02")', lambda m: m.get("when") == "2024-01-02"),
    ("ne", 'ne("country", "DE")', lambda m: m.get("country") != "DE"),
    ("ne", 'ne("born", 1777)', lambda m: m.get("born") != 1777),
    ("lt", 'lt("born", 1777)', lambda m: m.get("born", 9999) < 1777),
    ("lte", 'lte("born", 1777)', lambda m: m.get("born", 9999) <= 1777),
    ("gt", 'gt("height", 1.6)', lambda m: m.get("height", 0) > 1.6),
    ("gte", 'gte("height", 1.6)', lambda m: m.get("height", 0) >= 1.6),
    ("lt", 'lt("born", 1776.5)', lambda m: m.get("born", 9999) < 1776.5),
    ("in", 'in("country", ["CH", "EG"])', lambda m: m.get("country") in ("CH", "EG")),
    ("in", 'in("born", [1707, 1975, 3])', lambda m: m.get("born") in (1707, 1975)),
    ("nin", 'nin("country", ["CH", "EG"])', lambda m: m.get("country") not in ("CH", "EG")),
    ("nin", 'nin("born", [1707])', lambda m: m.get("born") != 1707),
    ("contain", 'contain("country", "E")', lambda m: "E" in m.get("country", "")),
    ("like", 'like("country", "_e")', lambda m: m.get("country") == "DE"),
    ("eq", 'not(eq("country", "DE"))', lambda m: m.get("country") != "DE"),
    ("lt", 'not(lt("born", 1800))', lambda m: m.get("born", 0) >= 1800),
    (
        "eq",
        'or(and(eq("country", "DE"), gt("born", 1800)), eq("country", "CH"))',
        lambda m: (m.get("country") == "DE" and m["born"] > 1800) or m.get("country") == "CH",
    ),
    (
        "eq",
        'and(not(or(eq("country", "DE"), gte("born", 1900))), ne("alive", true))',
        lambda m: m.get("country") != "DE" and m.get("born", 9999) < 1900 and not m["alive"],
    ),
    ("gte", 'gte("seconds", 1704153600)', lambda m: m.get("seconds", 0) >= JANUARY + DAY),
    ("dates", 'gt("when", "2024-01-02")', lambda m: m.get("when", "") > "2024-01-02"),
    (
        "dates",
        'and(gte("when", "2024-01-02"), lt("when", "2024-01-05"))',
        lambda m: "2024-01-02" <= m.get("when", "") < "2024-01-05",
    ),
]


class PGVector(stores.Store):
    title = "PGVector"
    asynchronous = False

    async def make_store(self, embeddings):
        from langchain_postgres import PGVector

        store: Any
        from sqlalchemy.ext.asyncio import create_async_engine

        name = self.new_name()
        if not self.asynchronous:
            store = PGVector(embeddings, connection=self.url, collection_name=name)
            yield store
            store.delete_collection()
            store._engine.dispose()
            return
        engine = create_async_engine(self.url)
        store = PGVector(embeddings, connection=engine, collection_name=name, async_mode=True)
        yield store
        await store.adelete_collection()
        await engine.dispose()


class MilvusInOneField(stores.MilvusLite):
    """All metadata in one JSON field."""

    def make_store(self, embeddings):
        from langchain_milvus import Milvus

        store = Milvus(
            embeddings,
            collection_name=self.new_name(),
            connection_args={"uri": str(self.folder / "milvus.db")},
            index_params={"index_type": "FLAT", "metric_type": "COSINE"},
            metadata_field="meta",
        )
        yield store
        store.drop()

    def filter_for(self, store, key, value):
        return {"expr": f"meta['{key}'] == {value!r}"}


class PostgresInColumns(stores.Postgres):
    """Some metadata in columns of their own."""

    async def make_store(self, embeddings):
        from langchain_postgres import Column, PGEngine, PGVectorStore

        table = self.new_name()
        engine = PGEngine.from_connection_string(self.url)
        columns: list[Any] = [
            Column("born", "INTEGER"),
            Column("height", "DOUBLE PRECISION"),
            Column("country", "TEXT"),
            Column("alive", "BOOLEAN"),
        ]
        engine.init_vectorstore_table(table, embeddings.size, metadata_columns=columns)
        names = [column.name for column in columns]
        yield PGVectorStore.create_sync(engine, embeddings, table, metadata_columns=names)
        await engine.adrop_table(table)
        await engine.close()


SERVER = [pytest.mark.integration, pytest.mark.full]
ALL = {"eq", "ne", "lt", "lte", "gt", "gte", "in", "nin", "contain", "like", "dates"}
# What each does not have.
STORES: list[Any] = [
    pytest.param(stores.InMemory, set(), id="memory"),
    pytest.param(stores.ChromaInMemory, {"contain", "like", "dates"}, id="chroma"),
    pytest.param(stores.Qdrant, {"like"}, id="qdrant", marks=pytest.mark.full),
    pytest.param(stores.Faiss, set(), id="faiss", marks=pytest.mark.full),
    pytest.param(
        stores.Lance,
        set(),
        id="lance",
        marks=[
            pytest.mark.full,
            pytest.mark.filterwarnings("ignore:No results found for the query"),
        ],
    ),
    pytest.param(stores.MilvusLite, {"like"}, id="milvus", marks=SERVER),
    pytest.param(MilvusInOneField, {"like"}, id="milvus-in-one-field", marks=SERVER),
    pytest.param(PostgresInColumns, set(), id="postgres-in-columns", marks=SERVER),
    pytest.param(stores.Postgres, set(), id="postgres", marks=SERVER),
    pytest.param(PGVector, set(), id="pgvector", marks=SERVER),
]


def answer(query, filter_text="NO_FILTER", **more):
    return json.dumps({"query": query, "filter": filter_text, **more})


def names(documents):
    return sorted({document.page_content.partition(".")[0] for document in documents})


@pytest.fixture
def world(request, tmp_path, driver):
    def make(kind):
        world = kind()
        world.asynchronous = driver.name == "async"
        world.folder = tmp_path
        if issubclass(kind, stores.Postgres | PGVector):
            world.url = request.getfixturevalue("postgres_url")
        return world

    return make


@pytest.mark.parametrize(("kind", "lacks"), STORES)
async def test_each_filter_finds_what_python_finds(driver, world, kind, lacks):
    async with opened(world(kind).make_store(CountingEmbeddings())) as store:
        rag = RAGVectorStore(
            vectorstore=store,
            docstore=InMemoryStore(),
            source_id_key=None,
            chunk_transformer=CopyDocumentTransformer()
            + CharacterTextSplitter(chunk_size=20, chunk_overlap=0),
        )
        await driver(rag, "add_documents", LIVES)
        said = [answer("lives")]
        llm = ScriptedChatModel(answer=lambda _: said[0])
        retriever = SelfQueryRetriever.from_llm(
            llm,
            rag,
            "Lives of mathematicians",
            FIELDS,
            enable_limit=True,
            use_original_query=True,
            search_kwargs={"k": 10},
            fallback=False,
        )
        translator = retriever.structured_query_translator
        allowed = {comparator.value for comparator in translator.allowed_comparators or ()}
        assert allowed == ALL - lacks - {"dates"}
        for comparator, filter_text, passes in CASES:
            if comparator in lacks:
                continue
            said[0] = answer("lives", filter_text)
            expected = sorted(
                name for name, life in zip(NAMES, LIVES, strict=True) if passes(life.metadata)
            )
            assert expected
            assert names(await driver(retriever, "invoke", "who?")) == expected, filter_text

        # The prompt lists what there is.
        assert ("like" in llm.prompts[0].split("<< Example")[0]) == ("like" not in lacks)

        # The model says how many; the question is searched for as it was asked.
        said[0] = answer("Noether", 'ne("country", "DE")', limit=1)
        assert names(await driver(retriever, "invoke", "Hypatia")) == ["Hypatia"]
        said[0] = answer("Noether", limit=2)
        found = await driver(retriever, "invoke", "Euler")
        assert len(found) == 2
        assert found[0].page_content == LIVES[0].page_content
        assert found[0].metadata == LIVES[0].metadata
        assert len(await driver(retriever, "batch", ["Euler", "Gauss"])) == 2

        # Dates as seconds since 1970, which every store can order.
        seconds = translator_for(rag, dates="timestamp")
        dated = retriever.model_copy(update={"structured_query_translator": seconds})
        said[0] = answer("lives", 'gt("seconds", "2024-01-04")')
        assert names(await driver(dated, "invoke", "who?")) == ["Anonymous", "Hypatia"]
        said[0] = answer("lives", 'eq("seconds", "2024-01-02T00:00:00Z")')
        assert names(await driver(dated, "invoke", "who?")) == ["Gauss"]

        # A filter that the caller sets holds beside the model's.
        given = world(kind).filter_for(rag, "country", "DE")
        assert given
        narrow = retriever.model_copy(update={"search_kwargs": {"k": 10, **given}})
        said[0] = answer("lives", 'lt("born", 1800)')
        assert names(await driver(narrow, "invoke", "who?")) == ["Gauss"]
        said[0] = answer("lives")
        assert names(await driver(narrow, "invoke", "who?")) == ["Gauss", "Noether"]

        # What cannot be translated, or read, is searched for without a filter.
        falling = retriever.model_copy(update={"fallback": True})
        for text in ("nonsense", answer("lives", 'eq("colour", "red")')):
            said[0] = text
            assert names(await driver(falling, "invoke", "Gauss")) == sorted(NAMES)


@pytest.mark.full
@pytest.mark.integration
async def test_postgres_orders_no_text_among_numbers(driver, world):
    """It is the store that says so; nothing is left out in silence."""
    async with opened(world(stores.Postgres).make_store(CountingEmbeddings())) as store:
        rag = RAGVectorStore(vectorstore=store, docstore=InMemoryStore(), source_id_key=None)
        lives = [Document("Euler", metadata={"born": 1707}), LIVES[1]]
        unknown = Document("Homer", metadata={"born": "unknown"})
        await driver(rag, "add_documents", [*lives, unknown])
        said = [answer("lives", 'lt("born", 1750)')]
        retriever = SelfQueryRetriever.from_llm(
            ScriptedChatModel(answer=lambda _: said[0]), rag, "Lives", FIELDS
        )
        with pytest.raises(DataError, match="unknown"):
            await driver(retriever, "invoke", "who?")
        for filter_text, expected in [
            ('eq("born", 1707)', ["Euler"]),
            ('ne("born", 1707)', ["Gauss", "Homer"]),
            ('in("born", [1777, "unknown"])', ["Gauss", "Homer"]),
        ]:
            said[0] = answer("lives", filter_text)
            assert names(await driver(retriever, "invoke", "who?")) == expected
