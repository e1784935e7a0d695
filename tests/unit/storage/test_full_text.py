"""The full-text index holds what the docstore holds, and ranks as BM25 does."""

import random
import sqlite3
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical.protocol import LexicalSearch
from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.records import (
    ChunkRecord,
    Variation,
    write_chunk,
    write_variations,
)
from langchain_rag.storage import FullText, SQLDocStore, create_engine
from tests.unit.lexical.reference import bm25
from tests.unit.lexical.test_bm25 import random_texts
from tests.unit.storage.kinds import KINDS, LASTING, on_postgres, on_sqlite

KEYS = StorageKeys("")
PREFIX = KEYS.chunk("").rpartition("/")[0] + "/"


def key_of(name):
    return PREFIX + name


def chunk(content, *, fan_out=1, **metadata):
    return write_chunk(
        ChunkRecord(
            key="k",
            document_id="d",
            content=content,
            ordinal=0,
            metadata=metadata,
            whole=True,
            fan_out=fan_out,
        )
    )


def chunks(texts):
    """Records of texts, or lists of terms, by name."""
    return [
        (key_of(name), chunk(said if isinstance(said, str) else " ".join(said)))
        for name, said in texts.items()
    ]


async def search(driver, store, query, k=10, prefix=PREFIX):
    found = await driver(store, "lexical_search", query, k, prefix=prefix)
    return [(key.removeprefix(prefix), score) for key, score in found]


async def found(driver, store, query, **options):
    return {key for key, _ in await search(driver, store, query, **options)}


async def execute(engine, *statements):
    if isinstance(engine, AsyncEngine):
        async with engine.begin() as connection:
            for statement in statements:
                await connection.execute(text(statement))
        return
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


@pytest.fixture
def store(engine):
    return SQLDocStore(engine, full_text="simple")


async def test_ranks_are_those_of_the_formula_through_updates_and_deletes(driver, store):
    chance = random.Random(5)
    texts = random_texts(chance, 90)
    await driver(store, "mset", chunks(texts))
    changed = {f"k{n:03}": ["w3", "w3", "w9"] * 7 for n in range(0, 90, 9)}
    await driver(store, "mset", chunks(changed))
    texts |= changed
    gone = [f"k{n:03}" for n in range(1, 90, 7)]
    await driver(store, "mdelete", [key_of(name) for name in [*gone, "never-there"]])
    texts = {name: terms for name, terms in texts.items() if name not in gone}
    for _ in range(12):
        query = [f"w{int(40 * chance.random() ** 2)}" for _ in range(chance.randint(1, 6))]
        for k in (1, 5, 100):
            assert await search(driver, store, " ".join(query), k) == bm25(texts, query, k)


async def test_k_of_nothing_and_prefixes_that_are_not_there(driver, store):
    assert await search(driver, store, "word") == []
    await driver(store, "mset", chunks({"a": "word"}))
    assert await search(driver, store, "word", 0) == []
    assert await search(driver, store, "word", -1) == []
    assert await search(driver, store, "word", prefix="chunks/other/") == []
    assert await search(driver, store, "", 4) == []
    assert isinstance(store, LexicalSearch)


async def test_each_namespace_and_prefix_counts_for_itself(driver, engine, store):
    await driver(store, "mset", chunks({"a": "word more", "b": "other"}))
    before = await search(driver, store, "word other")
    other = SQLDocStore(engine, "other", full_text="simple")
    await driver(other, "mset", chunks({"a": "word", "z": "word word"}))
    await driver(store, "mset", [("chunks/elsewhere/q", chunk("word other"))])
    assert await search(driver, store, "word other") == before
    assert await found(driver, other, "word") == {"a", "z"}
    assert await found(driver, store, "word", prefix="chunks/elsewhere/") == {"q"}
    await driver(other, "mdelete", [key_of("a"), key_of("z")])
    assert await search(driver, other, "word") == []
    assert await search(driver, store, "word other") == before


async def test_headings_are_text_and_inner_nodes_are_not_found(driver, engine):
    store = SQLDocStore(engine, full_text="english")
    records = {
        "heading": chunk("text", **{"Header 1": "Prime numbers", "Header 2": "Sieves"}),
        "path": chunk("text", headings=["Botany", "Ferns"]),
        "tuple": chunk("text", headings={"$type": "tuple", "value": ["Zoology"]}),
        "context": chunk("text", context="From the chapter on clocks", title="Watches"),
        "inner": chunk("Sieves, ferns and clocks", fan_out=0),
        "other": chunk("text", note="Sieves, ferns and clocks"),
        "odd": chunk("text", title=7, headings=[["Nested"], None]),
    }
    await driver(store, "mset", [(key_of(name), record) for name, record in records.items()])
    for query, names in (
        ("sieve", {"heading"}),
        ("fern", {"path"}),
        ("zoologies", {"tuple"}),
        ("type", set()),
        ("clock watch", {"context"}),
        ("nested", {"odd"}),
    ):
        assert await found(driver, store, query) == names
    # A chunk that becomes an inner node is found no more, and the other way round.
    await driver(store, "mset", [(key_of("heading"), chunk("sieve", fan_out=0))])
    await driver(store, "mset", [(key_of("inner"), chunk("sieve", fan_out=2))])
    assert await found(driver, store, "sieve") == {"inner"}


async def test_variations_count_where_they_are_asked_for(driver, engine):
    store = SQLDocStore(engine, full_text=FullText(variations=True))
    said = [Variation("questions", None, text, {}) for text in ("Who paints?", "the content")]
    record = write_variations("k", said, "the content")
    variations = key_of("a").replace("chunks/", "variations/", 1)
    # In either order, in one call or in two.
    await driver(store, "mset", [(variations, record)])
    await driver(store, "mset", [(key_of("a"), chunk("the content"))])
    await driver(store, "mset", [(key_of("b"), chunk("other content"))])
    assert await found(driver, store, "painting") == {"a"}
    assert await found(driver, SQLDocStore(engine, full_text="english"), "painting") == set()
    again = SQLDocStore(engine, full_text=FullText(variations=True))
    assert await found(driver, again, "painting") == {"a"}
    await driver(again, "mdelete", [variations])
    assert await found(driver, again, "painting") == set()
    await driver(again, "mdelete", [key_of("a")])
    assert await found(driver, again, "content") == {"b"}


async def test_claims_keep_the_index(driver, store):
    await driver(store, "mset", chunks({"a": "old", "b": "old"}))
    claim = store.claim({"key": "document"})
    await driver(claim, "acquire")
    await driver(claim, "mset", chunks({"a": "new"}))
    await driver(claim, "mdelete", [key_of("b")])
    await driver(claim, "release")
    assert await found(driver, store, "old new") == {"a"}
    assert await found(driver, store, "old") == set()


async def fail(engine, table):
    """Let every insert into a table fail, as the database's own doing."""
    trigger = f"CREATE TRIGGER fail BEFORE INSERT ON {table} "
    if engine.dialect.name == "sqlite":
        await execute(engine, trigger + "BEGIN SELECT RAISE(ABORT, 'planned'); END")
        return
    await execute(
        engine,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'planned'; END $$",
        trigger + "FOR EACH ROW EXECUTE FUNCTION fail()",
    )


@pytest.mark.parametrize("table", ["langchain_rag_documents", "langchain_rag_full_text"])
async def test_records_and_index_are_written_together_or_not_at_all(
    driver, engine, store, table
):
    await driver(store, "mset", chunks({"a": "old", "b": "same"}))
    before = await search(driver, store, "old same new")
    await fail(engine, table)
    with pytest.raises(Exception, match="planned"):
        await driver(store, "mset", chunks({"a": "new", "c": "new"}))
    assert await search(driver, store, "old same new") == before
    [kept] = await driver(store, "mget", [key_of("a")])
    assert kept.page_content == "old"


async def test_what_fails_while_the_index_is_built_leaves_nothing(driver, engine):
    plain = SQLDocStore(engine)
    await driver(plain, "mset", chunks({"a": "word", "b": "word"}))
    # The tables are there, from another namespace.
    await driver(SQLDocStore(engine, "other", full_text="simple"), "mset", chunks({"x": "y"}))
    await fail(engine, "langchain_rag_full_text")
    store = SQLDocStore(engine, full_text="simple")
    for _ in range(2):
        with pytest.raises(Exception, match="planned"):
            await driver(store, "mset", chunks({"c": "word"}))
    with pytest.raises(Exception, match="planned"):
        await search(driver, store, "word")
    assert await driver(plain, "mget", [key_of("c")]) == [None]
    gone = "DROP TRIGGER fail"
    on_postgres = engine.dialect.name == "postgresql"
    await execute(engine, f"{gone} ON langchain_rag_full_text" if on_postgres else gone)
    assert await found(driver, store, "word") == {"a", "b"}


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_what_was_written_without_it_is_indexed_by_the_first_use(
    driver, make_engine, db_url, monkeypatch
):
    monkeypatch.setattr("langchain_rag.storage._docstore_statements._PAGE", 7)
    plain = SQLDocStore(make_engine(db_url))
    texts = {f"k{n:02}": f"word{n} word" for n in range(20)}
    await driver(plain, "mset", [*chunks(texts), ("manifests/a", Document("word"))])
    first = SQLDocStore(make_engine(db_url), full_text="simple")
    assert await found(driver, first, "word7 word19") == {"k07", "k19"}
    # Another writer that does not keep it...
    await driver(plain, "mset", chunks({"k07": "nothing", "new": "word7"}))
    await driver(plain, "mdelete", [key_of("k19")])
    # ... while one that keeps it writes on, and has written before.
    await driver(first, "mset", chunks({"own": "word7"}))
    assert await found(driver, first, "word7 word19") == {"new", "own"}
    # The first write of another process brings it up to date, too.
    await driver(plain, "mset", chunks({"late": "word7"}))
    second = SQLDocStore(make_engine(db_url), full_text="simple")
    await driver(second, "mset", chunks({"last": "word7"}))
    third = SQLDocStore(make_engine(db_url), full_text="simple")
    assert await found(driver, third, "word7") == {"new", "own", "late", "last"}
    assert len(await found(driver, third, "word", k=50)) == 18


async def test_another_language_is_another_index(driver, engine):
    english = SQLDocStore(engine, full_text="english")
    simple = SQLDocStore(engine, full_text="simple")
    await driver(english, "mset", chunks({"a": "the runners"}))
    assert await found(driver, english, "runner") == {"a"}
    assert await found(driver, simple, "runner") == set()
    assert await found(driver, simple, "the") == {"a"}
    # Each writes what the other cannot read, and says so.
    await driver(english, "mset", chunks({"b": "the runners"}))
    assert await found(driver, simple, "the") == {"a", "b"}
    await driver(simple, "mset", chunks({"c": "the runners"}))
    assert await found(driver, english, "runner") == {"a", "b", "c"}
    assert await found(driver, english, "the") == set()


async def test_only_writes_of_chunks_concern_the_index(driver, engine, store):
    await driver(store, "mset", chunks({"a": "word"}))
    await driver(SQLDocStore(engine), "mset", [("manifests/x", Document("m"))])
    sync_engine = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
    seen = []
    event.listen(
        sync_engine,
        "before_cursor_execute",
        lambda _conn, _cursor, statement, *_rest: seen.append(statement),
    )
    await driver(store, "mset", [("manifests/y", Document("m"))])
    await driver(store, "mdelete", ["manifests/x"])
    assert not [statement for statement in seen if "full_text" in statement]
    seen.clear()
    assert await found(driver, store, "word") == {"a"}
    assert not [s for s in seen if s.startswith(("INSERT", "UPDATE", "DELETE", "CREATE"))]


async def test_without_an_index_a_search_says_how_to_get_one(driver, engine):
    with pytest.raises(ConfigurationError, match="full_text='english'"):
        await search(driver, SQLDocStore(engine), "word")
    with pytest.raises(ConfigurationError, match="no stemmer for 'klingon'"):
        SQLDocStore(engine, full_text="klingon")


async def test_damaged_records_do_not_keep_the_others_from_being_found(driver, engine):
    plain = SQLDocStore(engine)
    texts = {"a": "word", "b": "word", "c": "word"}
    await driver(plain, "mset", [*chunks(texts), (key_of("d"), Document("word"))])
    damage = f"UPDATE langchain_rag_documents SET metadata = '{{' WHERE key = '{key_of('b')}'"
    await execute(engine, damage)
    store = SQLDocStore(engine, full_text="simple")
    assert await found(driver, store, "word") == {"a", "c"}


HOSTILE = [
    '"',
    '"word',
    "word*",
    "NEAR(word other)",
    "-word",
    "word AND NOT other",
    "tokens: word",
    "tokens : ^ word",
    "{word other}",
    "(((",
    "word' OR 1=1 --",
    "'; DROP TABLE langchain_rag_documents; --",
    "word & !other | (x <-> y):*",
    "\\ \\' word",
    "1·word·1 word",
    "word \0 other",
    "\ud800 word \udfff",
    "\U0001f600 word",
    "%_word%",
    ":these :key",
    "word " * 2000,
    " ".join(f"x{n}" for n in range(3000)),
    "x" * 10_000,
]


async def test_queries_are_text_never_syntax(driver, store):
    await driver(store, "mset", chunks({"a": "word", "b": "other", "c": "near"}))
    for query in HOSTILE:
        names = await found(driver, store, query)
        assert names <= {"a", "b", "c"}
        assert ("a" in names) == ("word" in query)


@pytest.fixture(scope="module")
def letters():
    engine = create_engine("sqlite://")
    store = SQLDocStore(engine, full_text="simple")
    store.mset(chunks({"a": "a é 語 1", "b": "b b ñ", "c": "near and or not tokens"}))
    yield store
    engine.dispose()


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60), st.integers(-1, 5))
def test_any_query_finds_at_most_what_is_there(letters, query, k):
    pairs = letters.lexical_search(query, k, prefix=PREFIX)
    assert len(pairs) <= max(k, 0)
    assert {key for key, _ in pairs} <= {key_of(name) for name in "abc"}
    assert all(score > 0 for _, score in pairs)


@on_postgres
async def test_a_chunk_of_more_words_than_postgres_takes_is_found_by_the_first(driver, store):
    words = [f"{n}{'x' * 50}" for n in range(40_000)]
    await driver(store, "mset", chunks({"a": " ".join(words), "b": "other"}))
    assert await found(driver, store, words[0]) == {"a"}
    await driver(store, "mset", chunks({"a": "small"}))
    assert await found(driver, store, f"{words[0]} small") == {"a"}
    assert await found(driver, store, words[0]) == set()


@pytest.mark.parametrize("kind", [k for k in KINDS if k.id == "sync-file"], indirect=True)
def test_vacuum_leaves_it_true(engine, store):
    store.mset(chunks({f"k{n}": f"w{n}" for n in range(50)}))
    store.mdelete([key_of(f"k{n}") for n in range(0, 50, 2)])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM"))
    store.mset(chunks({"new": "w1"}))
    assert store.lexical_search("w49", 4, prefix=PREFIX)[0][0] == key_of("k49")
    keys = {key for key, _ in store.lexical_search("w1", 4, prefix=PREFIX)}
    assert keys == {key_of("k1"), key_of("new")}


@on_sqlite
async def test_sqlite_without_fts5_says_so(driver, store, monkeypatch):
    monkeypatch.setattr(
        "langchain_rag.storage._full_text_tables._TOKENS",
        "CREATE VIRTUAL TABLE t USING fts99(x)",
    )
    with pytest.raises(ConfigurationError, match="without FTS5"):
        await driver(store, "mset", chunks({"a": "word"}))
    assert await driver(SQLDocStore(store.engine), "mget", [key_of("a")]) == [None]


def test_this_sqlite_is_as_old_as_what_it_needs():
    assert sqlite3.sqlite_version_info >= (3, 38), sys.version
