"""An embedding cache in a SQL database, whatever its rows hold."""

import logging

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.caches.embedding_codec import EmbeddingCodec
from langchain_rag.document_transformers import CachedPiece, CacheKey
from langchain_rag.errors import ConfigurationError, InvalidDocumentError
from langchain_rag.storage import (
    SQLDocStore,
    SQLEmbeddingCache,
    SQLVariationCache,
    create_engine,
)
from tests.unit.embedding_cache.cache_behaviour import MODEL, EmbeddingCacheBehaviour, same
from tests.unit.storage.kinds import KINDS, LASTING, in_both_drivers, on_postgres, on_sqlite

name_of = EmbeddingCodec().name_of


@pytest.fixture
def make_cache(engine):
    return lambda namespace="": SQLEmbeddingCache(engine, namespace=namespace)


@pytest.fixture
def cache(make_cache):
    return make_cache()


async def execute(engine, statement, **values):
    if isinstance(engine, AsyncEngine):
        async with engine.begin() as connection:
            return await connection.execute(text(statement), values)
    with engine.begin() as connection:
        return connection.execute(text(statement), values)


class TestSQLEmbeddingCache(EmbeddingCacheBehaviour):
    pass


async def damage(driver, cache, engine, column, value, sql=":value"):
    await driver(cache, "mset", MODEL, [("good", [1.0, 2.0]), ("bad", [3.0, 4.0])])
    await execute(
        engine,
        f"UPDATE langchain_rag_embeddings SET {column} = {sql} WHERE key = :key",
        key=name_of((MODEL, "bad")),
        **({} if value is None else {"value": value}),
    )


async def check_a_miss(driver, cache, caplog):
    before = await driver(cache, "stats")
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await driver(cache, "mget", MODEL, ["good", "bad"]) == [[1.0, 2.0], None]
    [record] = caplog.records
    assert name_of((MODEL, "bad")) in record.getMessage()
    assert len(record.getMessage()) < 400
    caplog.clear()
    stats = await driver(cache, "stats")
    assert stats.entries == 2
    assert (stats.hits, stats.misses) == (before.hits + 1, before.misses + 1)
    await driver(cache, "mset", MODEL, [("bad", [5.0, 6.0])])
    assert await driver(cache, "mget", MODEL, ["bad"]) == [[5.0, 6.0]]


async def test_a_damaged_row_is_a_miss(driver, cache, engine, caplog):
    for value in (b"", b"\0", b"\x01\x04", b"[3.0, 4.0]", b"\x80\x04N." * 9, bytes(18)):
        await damage(driver, cache, engine, "vector", value)
        await check_a_miss(driver, cache, caplog)


async def test_the_row_of_another_text_is_a_miss(driver, cache, engine, caplog):
    sql = "(SELECT vector FROM langchain_rag_embeddings WHERE key = :value)"
    await damage(driver, cache, engine, "vector", name_of((MODEL, "good")), sql)
    await check_a_miss(driver, cache, caplog)


@on_sqlite  # whose columns hold anything
async def test_a_row_that_is_no_vector_is_a_miss(driver, cache, engine, caplog):
    for sql in ["'text'", "CAST(x'ff' AS TEXT)", "7", "1.5", "zeroblob(9)"]:
        await damage(driver, cache, engine, "vector", None, sql)
        await check_a_miss(driver, cache, caplog)


ANYTHING = [
    ("created_at", "'yesterday'"),
    ("created_at", "9e999"),
    ("bytes", "'many'"),
    ("bytes", "9e999"),
    ("model", "x'ff'"),
    ("model", "CAST(x'ff' AS TEXT)"),
]


@on_sqlite
async def test_rows_of_anything_are_counted_and_purged(driver, cache, engine):
    for column, sql in ANYTHING:
        await damage(driver, cache, engine, column, None, sql)
        stats = await driver(cache, "stats")
        assert stats.entries == sum(stats.by_model.values()) == 2
        assert stats.size == (18 if column == "bytes" else 36)
        assert stats.oldest == stats.newest is not None  # the good one's, or of both
        assert str(stats).startswith("2 vectors")
        assert stats.by_model[MODEL] == (1 if column == "model" else 2)
        assert await driver(cache, "mget", MODEL, ["bad"]) == [[3.0, 4.0]]
        assert await driver(cache, "purge") == 2


@on_postgres
async def test_times_that_are_none(driver, cache, engine):
    for value in (float("nan"), float("inf"), -float("inf"), 1e300):
        await damage(driver, cache, engine, "created_at", value)
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.size) == (2, 36)
        assert stats.oldest == stats.newest is not None


async def test_other_errors_of_the_database_are_not_taken_for_damage(driver, cache, engine):
    await driver(cache, "mget", MODEL, ["a"])
    await execute(engine, "DROP TABLE langchain_rag_embeddings")
    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"no such table|does not exist"):
        await driver(cache, "mget", MODEL, ["a"])


async def test_it_shares_the_engine_with_the_other_stores(driver, cache, engine):
    docstore, variations = SQLDocStore(engine), SQLVariationCache(engine)
    key = CacheKey("SummarizeTransformer", "f", "c")
    await driver(docstore, "mset", [("k", Document("kept"))])
    await driver(variations, "mset", [(key, [CachedPiece("summary", "kept")])])
    await driver(cache, "mset", MODEL, [("a", [1.0])])
    assert await driver(cache, "purge") == 1
    assert await driver(docstore, "mget", ["k"]) == [Document("kept")]
    assert await driver(variations, "mget", [key]) == [[CachedPiece("summary", "kept")]]
    versions = await execute(
        engine, "SELECT component, version FROM langchain_rag_schema ORDER BY component"
    )
    assert [tuple(row) for row in versions] == [
        ("docstore", 2),
        ("embedding cache", 1),
        ("variation cache", 1),
    ]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_it_outlives_its_engine(driver, cache, make_engine, db_url):
    await driver(cache, "mset", MODEL, [("a", [1.0])])
    again = SQLEmbeddingCache(make_engine(db_url))
    assert await driver(again, "mget", MODEL, ["a"]) == [[1.0]]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_tables_of_a_newer_langchain_rag_are_refused(
    driver, cache, engine, make_engine, db_url
):
    await driver(cache, "mget", MODEL, ["a"])
    await execute(engine, "UPDATE langchain_rag_schema SET version = 2")
    with pytest.raises(ConfigurationError, match=r"embedding cache's tables.*version 2"):
        await driver(SQLEmbeddingCache(make_engine(db_url)), "mget", MODEL, ["a"])


@in_both_drivers
@pytest.mark.parametrize("namespace", ["\0", "\ud800"])
def test_a_namespace_is_one_that_every_database_takes(make_cache, namespace):
    with pytest.raises(InvalidDocumentError, match="cannot be stored"):
        make_cache(namespace)


@in_both_drivers
async def test_nothing_to_keep_writes_nothing(driver, cache, engine):
    statements = []
    listened = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
    sqlalchemy.event.listen(
        listened, "before_cursor_execute", lambda *args: statements.append(args[2])
    )
    await driver(cache, "mset", MODEL, [])
    await driver(cache, "mset", MODEL, [("a", [])])
    await driver(cache, "mget", MODEL, [])
    assert statements == []


async def test_sync_methods_on_an_async_engine_say_what_to_use(make_engine):
    cache = SQLEmbeddingCache(make_engine("sqlite+aiosqlite://"))
    for call in (
        lambda: cache.mget(MODEL, ["a"]),
        lambda: cache.mset(MODEL, [("a", [1.0])]),
        cache.purge,
        cache.stats,
    ):
        with pytest.raises(ConfigurationError, match=r"SQLEmbeddingCache has an async engine"):
            call()


def test_repr_shows_no_url():
    engine = create_engine("sqlite:///secret?timeout=3")
    cache = SQLEmbeddingCache(engine, namespace="ns")
    assert repr(cache) == "SQLEmbeddingCache(dialect='sqlite', namespace='ns')"
    assert cache.engine is engine
    engine.dispose()


vector = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1)


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.id in ("sync-memory", "sync-postgres")], indirect=True
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(vectors=st.dictionaries(st.text(), vector, max_size=5))
def test_any_floats_read_back_the_same(engine, vectors):
    cache = SQLEmbeddingCache(engine)
    cache.mset(MODEL, list(vectors.items()))
    found = cache.mget(MODEL, list(vectors))
    assert all(same(*pair) for pair in zip(found, vectors.values(), strict=True))
