"""A variation cache in a SQL database, whatever its rows hold."""

import logging

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.document_transformers import CachedPiece, CacheKey
from langchain_rag.errors import ConfigurationError, InvalidDocumentError
from langchain_rag.storage import SQLDocStore, SQLVariationCache, create_engine
from tests.unit.document_transformers.cache_behaviour import (
    SUMMARIES,
    VariationCacheBehaviour,
    key,
    pieces,
)
from tests.unit.storage.kinds import KINDS, LASTING, in_both_drivers, on_postgres, on_sqlite


@pytest.fixture
def make_cache(engine):
    return lambda namespace="": SQLVariationCache(engine, namespace)


@pytest.fixture
def cache(make_cache):
    return make_cache()


async def execute(engine, statement, **values):
    if isinstance(engine, AsyncEngine):
        async with engine.begin() as connection:
            return await connection.execute(text(statement), values)
    with engine.begin() as connection:
        return connection.execute(text(statement), values)


class TestSQLVariationCache(VariationCacheBehaviour):
    pass


async def damage(driver, cache, engine, column, value, sql=":value"):
    await driver(cache, "mset", [(key(1), pieces("good")), (key(2), pieces("bad"))])
    await execute(
        engine,
        f"UPDATE langchain_rag_variations SET {column} = {sql} WHERE key LIKE :key",
        key=f"%/{key(2).content}",
        **({} if value is None else {"value": value}),
    )


async def check_a_miss(driver, cache, caplog):
    before = await driver(cache, "stats")
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await driver(cache, "mget", [key(1), key(2)]) == [pieces("good"), None]
    [record] = caplog.records
    assert key(2).content in record.getMessage()
    assert len(record.getMessage()) < 400
    caplog.clear()
    stats = await driver(cache, "stats")
    assert stats.entries == 2
    assert (stats.hits, stats.misses) == (before.hits + 1, before.misses + 1)
    await driver(cache, "mset", [(key(2), pieces("again"))])
    assert await driver(cache, "mget", [key(2)]) == [pieces("again")]


DAMAGED = [
    "",
    "{",
    "null",
    "{}",
    "[]",
    "[" * 100_000,
    '[["a","b"]][]',
    '["ab"]',
    '[["a"]]',
    '[["a","b","c"]]',
    '[["a",1]]',
    '[["a",NaN]]',
    '[["a","\\u0000"]]',
    '[["\\ud800","b"]]',
]


async def test_a_damaged_row_is_a_miss(driver, cache, engine, caplog):
    for value in DAMAGED:
        await damage(driver, cache, engine, "pieces", value)
        await check_a_miss(driver, cache, caplog)


@on_sqlite  # whose columns hold anything
async def test_a_row_that_is_no_text_is_a_miss(driver, cache, engine, caplog):
    for sql in ["x'ff'", "CAST(x'ff' AS TEXT)", "7", "zeroblob(9)"]:
        await damage(driver, cache, engine, "pieces", None, sql)
        await check_a_miss(driver, cache, caplog)


ANYTHING = [
    ("created_at", "'yesterday'"),
    ("created_at", "x'ff'"),
    ("created_at", "9e999"),
    ("created_at", "-9e999"),
    ("created_at", "1e300"),
    ("characters", "'many'"),
    ("characters", "9e999"),
    ("characters", "x'ff'"),
    ("transformer", "x'ff'"),
    ("transformer", "CAST(x'ff' AS TEXT)"),
]


@on_sqlite
async def test_rows_of_anything_are_counted_and_purged(driver, cache, engine):
    for column, sql in ANYTHING:
        await damage(driver, cache, engine, column, None, sql)
        stats = await driver(cache, "stats")
        assert stats.entries == sum(stats.by_transformer.values()) == 2
        assert stats.characters == (4 if column == "characters" else 7)
        assert stats.oldest == stats.newest is not None  # the good one's, or of both
        assert str(stats).startswith("2 answers")
        assert stats.by_transformer[SUMMARIES] == (1 if column == "transformer" else 2)
        assert await driver(cache, "mget", [key(2)]) == [pieces("bad")]
        assert await driver(cache, "purge") == 2


@on_postgres
async def test_times_that_are_none(driver, cache, engine):
    for value in (float("nan"), float("inf"), -float("inf"), 1e300):
        await damage(driver, cache, engine, "created_at", value)
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.characters) == (2, 7)
        assert stats.oldest == stats.newest is not None


async def test_other_errors_of_the_database_are_not_taken_for_damage(driver, cache, engine):
    await driver(cache, "mget", [key(1)])
    await execute(engine, "DROP TABLE langchain_rag_variations")
    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"no such table|does not exist"):
        await driver(cache, "mget", [key(1)])


async def test_it_shares_the_engine_of_the_docstore(driver, cache, engine):
    docstore = SQLDocStore(engine)
    await driver(docstore, "mset", [("k", Document("kept"))])
    await driver(cache, "mset", [(key(1), pieces("a"))])
    assert await driver(cache, "purge") == 1
    assert await driver(docstore, "mget", ["k"]) == [Document("kept")]
    versions = await execute(
        engine, "SELECT component, version FROM langchain_rag_schema ORDER BY component"
    )
    assert [tuple(row) for row in versions] == [("docstore", 2), ("variation cache", 1)]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_it_outlives_its_engine(driver, cache, make_engine, db_url):
    await driver(cache, "mset", [(key(1), pieces("a"))])
    again = SQLVariationCache(make_engine(db_url))
    assert await driver(again, "mget", [key(1)]) == [pieces("a")]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_tables_of_a_newer_langchain_rag_are_refused(
    driver, cache, engine, make_engine, db_url
):
    await driver(cache, "mget", [key(1)])
    await execute(engine, "UPDATE langchain_rag_schema SET version = 2")
    with pytest.raises(ConfigurationError, match=r"variation cache's tables.*version 2"):
        await driver(SQLVariationCache(make_engine(db_url)), "mget", [key(1)])


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
    await driver(cache, "mset", [])
    await driver(cache, "mset", [(key(1), [])])
    await driver(cache, "mget", [])
    assert statements == []


async def test_sync_methods_on_an_async_engine_say_what_to_use(make_engine):
    cache = SQLVariationCache(make_engine("sqlite+aiosqlite://"))
    for call in (
        lambda: cache.mget([key(1)]),
        lambda: cache.mset([(key(1), pieces("a"))]),
        cache.purge,
        cache.stats,
    ):
        with pytest.raises(ConfigurationError, match=r"SQLVariationCache has an async engine"):
            call()


def test_repr_shows_no_url():
    engine = create_engine("sqlite:///secret?timeout=3")
    cache = SQLVariationCache(engine, "ns")
    assert repr(cache) == "SQLVariationCache(dialect='sqlite', namespace='ns')"
    assert cache.engine is engine
    engine.dispose()


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
piece = st.builds(CachedPiece, kind=storable, text=storable)


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.id in ("sync-memory", "sync-postgres")], indirect=True
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(answers=st.dictionaries(st.text(), st.lists(piece, min_size=1), max_size=5))
def test_any_pieces_read_back_the_same(engine, answers):
    cache = SQLVariationCache(engine)
    pairs = [(CacheKey(SUMMARIES, "f", content), kept) for content, kept in answers.items()]
    cache.mset(pairs)
    assert cache.mget([one for one, _ in pairs]) == list(answers.values())
