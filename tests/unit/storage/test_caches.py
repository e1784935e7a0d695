"""A cache in a SQL database, whatever its rows hold."""

import logging
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.document_transformers import CachedPiece, CacheKey
from langchain_rag.errors import ConfigurationError, InvalidDocumentError
from langchain_rag.storage import (
    SQLDocStore,
    SQLEmbeddingCache,
    SQLVariationCache,
    create_engine,
)
from tests.unit.caches.behaviour import (
    EmbeddingCacheBehaviour,
    VariationCacheBehaviour,
    same,
)
from tests.unit.caches.kept import KEPT, MODEL, SUMMARIES, Embeddings, Variations
from tests.unit.storage.kinds import (
    KINDS,
    LASTING,
    SYNC,
    in_both_drivers,
    on_postgres,
    on_sqlite,
)


@pytest.fixture(params=KEPT)
def kept(request):
    return request.param


@pytest.fixture
def make_cache(kept, engine):
    return lambda namespace="": kept.in_sql(engine, namespace=namespace)


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


class TestSQLEmbeddingCache(EmbeddingCacheBehaviour):
    pass


async def damage(driver, kept, cache, engine, column, value, sql=":value"):
    pairs = [(1, kept.value(1)), (2, kept.value(2, length=3))]
    await kept.mset(driver, cache, pairs)
    await execute(
        engine,
        f"UPDATE {kept.table} SET {column} = {sql} WHERE key = :key",
        key=kept.name(2),
        **({} if value is None else {"value": value}),
    )


async def check_a_miss(driver, kept, cache, caplog):
    before = await driver(cache, "stats")
    with caplog.at_level(logging.WARNING, "langchain_rag"):
        assert await kept.mget(driver, cache, [1, 2]) == [kept.value(1), None]
    [record] = caplog.records
    assert kept.name(2) in record.getMessage()
    assert len(record.getMessage()) < 400
    caplog.clear()
    stats = await driver(cache, "stats")
    assert stats.entries == 2
    assert (stats.hits, stats.misses) == (before.hits + 1, before.misses + 1)
    await kept.mset(driver, cache, [(2, kept.value(3))])
    assert await kept.mget(driver, cache, [2]) == [kept.value(3)]


DAMAGED: dict[Any, list[Any]] = {
    Variations: [
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
    ],
    Embeddings: [b"", b"\0", b"\x01\x04", b"[3.0, 4.0]", b"\x80\x04N." * 9, bytes(18)],
}
# SQLite's columns hold anything.
DAMAGED_IN_SQLITE: dict[Any, list[str]] = {
    Variations: ["x'ff'", "CAST(x'ff' AS TEXT)", "7", "zeroblob(9)"],
    Embeddings: ["'text'", "CAST(x'ff' AS TEXT)", "7", "1.5", "zeroblob(9)"],
}
ANYTHING = {
    "created_at": ["'yesterday'", "x'ff'", "9e999", "-9e999", "1e300"],
    "size": ["'many'", "9e999", "x'ff'"],
    "label": ["x'ff'", "CAST(x'ff' AS TEXT)"],
}


async def test_a_damaged_row_is_a_miss(driver, kept, cache, engine, caplog):
    for value in DAMAGED[kept]:
        await damage(driver, kept, cache, engine, kept.column, value)
        await check_a_miss(driver, kept, cache, caplog)


@on_sqlite
async def test_a_row_of_another_type_is_a_miss(driver, kept, cache, engine, caplog):
    for sql in DAMAGED_IN_SQLITE[kept]:
        await damage(driver, kept, cache, engine, kept.column, None, sql)
        await check_a_miss(driver, kept, cache, caplog)


@pytest.mark.parametrize("kept", [Embeddings], indirect=True)
async def test_the_vector_of_another_text_is_a_miss(driver, kept, cache, engine, caplog):
    sql = f"(SELECT vector FROM {kept.table} WHERE key = :value)"
    await damage(driver, kept, cache, engine, "vector", kept.name(1), sql)
    await check_a_miss(driver, kept, cache, caplog)


@on_sqlite
async def test_rows_of_anything_are_counted_and_purged(driver, kept, cache, engine):
    columns = {"size": kept.unit, "label": kept.by}
    good, both = kept.sizes
    for column, values in ANYTHING.items():
        for sql in values:
            await damage(driver, kept, cache, engine, columns.get(column, column), None, sql)
            stats = await driver(cache, "stats")
            by_label = getattr(stats, f"by_{kept.by}")
            assert stats.entries == sum(by_label.values()) == 2
            assert kept.size(stats) == (good if column == "size" else both)
            assert stats.oldest == stats.newest is not None  # the good one's, or of both
            assert str(stats).startswith(f"2 {kept.noun}")
            assert by_label[kept.label] == (1 if column == "label" else 2)
            assert await kept.mget(driver, cache, [2]) == [kept.value(2, length=3)]
            assert await driver(cache, "purge") == 2


@on_postgres
async def test_times_that_are_none(driver, kept, cache, engine):
    for value in (float("nan"), float("inf"), -float("inf"), 1e300):
        await damage(driver, kept, cache, engine, "created_at", value)
        stats = await driver(cache, "stats")
        assert (stats.entries, kept.size(stats)) == (2, kept.sizes[1])
        assert stats.oldest == stats.newest is not None


async def test_other_errors_of_the_database_are_not_taken_for_damage(
    driver, kept, cache, engine
):
    await kept.mget(driver, cache, [1])
    await execute(engine, f"DROP TABLE {kept.table}")
    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"no such table|does not exist"):
        await kept.mget(driver, cache, [1])


@pytest.mark.parametrize("kept", [Embeddings], indirect=True)
async def test_they_share_the_engine_with_the_docstore(driver, cache, engine):
    docstore, variations = SQLDocStore(engine), SQLVariationCache(engine)
    await driver(docstore, "mset", [("k", Document("kept"))])
    await Variations.mset(driver, variations, [(1, Variations.value(1))])
    await Embeddings.mset(driver, cache, [(1, Embeddings.value(1))])
    assert await driver(cache, "purge") == 1
    assert await driver(docstore, "mget", ["k"]) == [Document("kept")]
    assert await Variations.mget(driver, variations, [1]) == [Variations.value(1)]
    versions = await execute(
        engine, "SELECT component, version FROM langchain_rag_schema ORDER BY component"
    )
    assert [tuple(row) for row in versions] == [
        ("docstore", 2),
        ("embedding cache", 1),
        ("variation cache", 1),
    ]
    assert await driver(variations, "purge") == 1
    assert await driver(docstore, "mget", ["k"]) == [Document("kept")]


async def test_a_cache_brings_its_own_table_only(driver, kept, cache, engine):
    await kept.mget(driver, cache, [1])
    versions = await execute(engine, "SELECT component, version FROM langchain_rag_schema")
    assert [tuple(row) for row in versions] == [(kept.component, 1)]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_it_outlives_its_engine(driver, kept, cache, make_engine, db_url):
    await kept.mset(driver, cache, [(1, kept.value(1))])
    again = kept.in_sql(make_engine(db_url))
    assert await kept.mget(driver, again, [1]) == [kept.value(1)]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_tables_of_a_newer_langchain_rag_are_refused(
    driver, kept, cache, engine, make_engine, db_url
):
    await kept.mget(driver, cache, [1])
    await execute(engine, "UPDATE langchain_rag_schema SET version = 2")
    with pytest.raises(ConfigurationError, match=rf"{kept.component}'s tables.*version 2"):
        await kept.mget(driver, kept.in_sql(make_engine(db_url)), [1])


@in_both_drivers
@pytest.mark.parametrize("namespace", ["\0", "\ud800"])
def test_a_namespace_is_one_that_every_database_takes(make_cache, namespace):
    with pytest.raises(InvalidDocumentError, match="cannot be stored"):
        make_cache(namespace)


@in_both_drivers
async def test_nothing_to_keep_writes_nothing(driver, kept, cache, engine):
    statements = []
    listened = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
    sqlalchemy.event.listen(
        listened, "before_cursor_execute", lambda *args: statements.append(args[2])
    )
    await kept.mset(driver, cache, [])
    await kept.mset(driver, cache, [(1, [])])
    await kept.mget(driver, cache, [])
    assert statements == []


async def test_sync_methods_on_an_async_engine_say_what_to_use(kept, make_engine):
    cache = kept.in_sql(make_engine("sqlite+aiosqlite://"))
    for method, args in (
        (kept.mget, [[1]]),
        (kept.mset, [[(1, kept.value(1))]]),
        (SYNC, ["purge"]),
        (SYNC, ["stats"]),
    ):
        with pytest.raises(
            ConfigurationError, match=rf"{kept.in_sql.__name__} has an async engine"
        ):
            await (method(cache, *args) if method is SYNC else method(SYNC, cache, *args))


def test_repr_shows_no_url(kept):
    engine = create_engine("sqlite:///secret?timeout=3")
    cache = kept.in_sql(engine, namespace="ns")
    assert repr(cache) == f"{kept.in_sql.__name__}(dialect='sqlite', namespace='ns')"
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
