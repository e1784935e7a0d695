"""What the docstore keeps, refuses and leaves alone."""

import datetime as dt
import math
import threading

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd
from sqlalchemy import event, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import (
    ConfigurationError,
    CorruptStoreError,
    InvalidDocumentError,
    UnstorableMetadataError,
)
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.storage._docstore_statements import after_prefix
from tests.unit.storage.kinds import KINDS, LASTING, SYNC, in_both_drivers, of, on_sqlite


@pytest.fixture
def store(engine):
    return SQLDocStore(engine)


def sync(engine):
    return engine.sync_engine if isinstance(engine, AsyncEngine) else engine


async def execute(engine, statement, **values):
    if isinstance(engine, AsyncEngine):
        async with engine.begin() as connection:
            return await connection.execute(text(statement), values)
    with engine.begin() as connection:
        return connection.execute(text(statement), values)


async def fail_before(engine, change, key):
    """Let a change of one row fail, as the database's own doing."""
    trigger = (
        f"CREATE TRIGGER fail BEFORE {change} ON langchain_rag_documents "
        f"{{}} WHEN (old.key = '{key}') "
    )
    if engine.dialect.name == "sqlite":
        await execute(engine, trigger.format("") + "BEGIN SELECT RAISE(ABORT, 'planned'); END")
        return
    await execute(
        engine,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'planned'; END $$",
    )
    await execute(engine, trigger.format("FOR EACH ROW") + "EXECUTE FUNCTION fail()")


async def tables(engine):
    if isinstance(engine, AsyncEngine):
        async with engine.connect() as connection:
            return await connection.run_sync(lambda c: set(inspect(c).get_table_names()))
    return set(inspect(engine).get_table_names())


@pytest.fixture
def statements(engine):
    """Every statement that the engine runs."""
    seen = []
    event.listen(
        sync(engine),
        "before_cursor_execute",
        lambda _conn, _cursor, statement, *_rest: seen.append(statement),
    )
    return seen


async def test_documents_read_back_whole(driver, store):
    document = Document(
        "Gauß said: \U0001f600\r\n",
        id="ÿ",
        metadata={
            "float": 0.1 + 0.2,
            "big": 2**80,
            "text": "\x00\ud800 \u2028",
            "deep": {"": [[], {}, None, False, -0.0, 1e300]},
        },
    )
    await driver(store, "mset", [("k", document)])
    [read] = await driver(store, "mget", ["k"])
    assert read == document
    assert read.id == "ÿ"
    assert read.type == "Document"
    assert math.copysign(1, read.metadata["deep"][""][4]) == -1


@in_both_drivers
@pytest.mark.parametrize("id_", [None, "i"])
async def test_what_is_read_is_made_as_pydantic_makes_it(driver, store, id_):
    document = Document(page_content="text", id=id_, metadata={"a": [1]})
    await driver(store, "mset", [("k", document)])
    [read] = await driver(store, "mget", ["k"])
    assert type(read) is Document
    assert (read, repr(read), read.__dict__) == (document, repr(document), document.__dict__)
    assert read.model_fields_set == document.model_fields_set
    assert read.model_dump_json() == document.model_dump_json()
    assert read.model_copy(deep=True) == Document.model_validate(read) == document
    assert dumpd(read) == dumpd(document)
    read.page_content = "changed"
    assert read != document


async def test_results_alias_nothing(driver, store):
    document = Document("text", metadata={"tags": ["a"]})
    await driver(store, "mset", [("k", document)])
    first, second = await driver(store, "mget", ["k", "k"])
    first.metadata["tags"].append("changed")
    assert second.metadata == {"tags": ["a"]}
    assert await driver(store, "mget", ["k"]) == [document]
    assert document.metadata == {"tags": ["a"]}


async def test_thousands_of_keys_in_one_call(driver, store):
    documents = {f"k{i:05}": Document(str(i)) for i in range(2600)}
    await driver(store, "mset", list(documents.items()))
    keys = ["none", *reversed(documents)]
    expected = [None, *reversed(documents.values())]
    assert await driver(store, "mget", keys) == expected
    assert await driver(store, "yield_keys") == list(documents)  # three pages
    await driver(store, "mdelete", keys[: 1 + 1600])
    assert await driver(store, "yield_keys") == list(documents)[:1000]


@pytest.mark.full
@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_ten_thousand_documents_are_replaced_exactly(driver, store):
    keys = [f"k{i:05}" for i in range(10_000)]
    await driver(store, "mset", [(k, Document("1", id=k, metadata={"a": [1]})) for k in keys])
    await driver(store, "mset", [(k, Document("2")) for k in keys[::2]])
    read = await driver(store, "mget", keys)
    assert read[::2] == [Document("2")] * 5000
    assert read[1::2] == [Document("1", id=k, metadata={"a": [1]}) for k in keys[1::2]]
    await driver(store, "mdelete", keys[1:])
    assert await driver(store, "mget", keys) == [Document("2"), *[None] * 9999]


async def test_an_update_leaves_nothing_of_what_was_there(driver, store):
    for document in [
        Document("1", id="i", metadata={"kept": 1, "removed": {"deep": [None]}}),
        Document("1", id="i", metadata={"kept": 1}),
        Document("1", metadata={}),
        Document("", metadata={"new": None}),
    ]:
        await driver(store, "mset", [("k", document)])
        [read] = await driver(store, "mget", ["k"])
        assert (read.page_content, read.id, read.metadata) == (
            document.page_content,
            document.id,
            document.metadata,
        )


async def test_the_last_of_equal_keys_stays(driver, store):
    await driver(store, "mset", [("k", Document("1")), ("k", Document("2"))])
    assert await driver(store, "mget", ["k"]) == [Document("2")]


@in_both_drivers
async def test_pairs_may_come_from_an_iterator(driver, store):
    await driver(store, "mset", zip(["a", "b"], [Document("1"), Document("2")], strict=True))
    await driver(store, "mset", iter(()))
    assert await driver(store, "mget", ["a", "b"]) == [Document("1"), Document("2")]


@in_both_drivers
async def test_empty_calls_touch_nothing(driver, store, statements):
    assert await driver(store, "mget", []) == []
    await driver(store, "mset", [])
    await driver(store, "mdelete", [])
    assert statements == []


async def test_one_write_is_one_transaction(driver, store, engine):
    await driver(store, "mset", [("a", Document("old"))])
    commits: list[object] = []
    event.listen(sync(engine), "commit", commits.append)
    await driver(store, "mset", [(f"k{i}", Document("")) for i in range(1200)])
    await driver(store, "mdelete", [f"k{i}" for i in range(1200)])
    assert len(commits) == 2


@pytest.mark.parametrize("method", ["mset", "mdelete"])
async def test_a_failed_write_changes_nothing(driver, store, engine, method):
    await driver(store, "mset", [(f"k{i:04}", Document("old")) for i in range(1200)])
    await fail_before(engine, "UPDATE" if method == "mset" else "DELETE", "k1100")
    keys = [f"k{i:04}" for i in range(1200)]
    argument = [(key, Document("new")) for key in keys] if method == "mset" else keys
    with pytest.raises(sqlalchemy.exc.DBAPIError, match="planned"):
        await driver(store, method, argument)
    assert await driver(store, "mget", keys) == [Document("old")] * 1200


@in_both_drivers
@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"ok": 1, "when": dt.date(2024, 1, 1)}, "'when'"),
        ({"pair": (1, 2)}, "'pair'"),
        ({"nan": math.nan}, "'nan'"),
        ({"inf": [math.inf]}, "'inf'"),
        ({"raw": b"x"}, "'raw'"),
        ({"set": {1}}, "'set'"),
        ({"by_number": {1: "a"}}, "'by_number'"),
    ],
)
async def test_metadata_that_would_not_read_back_is_refused(driver, store, metadata, name):
    good, bad = ("a", Document("")), ("b", Document("", metadata=metadata))
    with pytest.raises(UnstorableMetadataError, match=r"key 'b'.*" + name):
        await driver(store, "mset", [good, bad])
    assert await driver(store, "mget", ["a", "b"]) == [None, None]


@in_both_drivers
async def test_endless_metadata_is_refused(driver, store):
    loop: list[object] = []
    loop.append(loop)
    deep = Document("")
    deep.metadata["loop"] = loop
    with pytest.raises(UnstorableMetadataError, match="'loop'"):
        await driver(store, "mset", [("k", deep)])


class Richer(Document):
    extra: int = 0


@in_both_drivers
@pytest.mark.parametrize("value", [b"bytes", None, Richer(page_content="", extra=1)])
async def test_only_documents_are_stored(driver, store, value):
    with pytest.raises(InvalidDocumentError, match=r"key 'k'.*Store a langchain_core Document"):
        await driver(store, "mset", [("k", value)])


class Plain(Document):
    """A subclass that adds nothing reads back as a Document."""


@in_both_drivers
async def test_a_subclass_without_fields_is_stored(driver, store):
    await driver(store, "mset", [("k", Plain(page_content="text"))])
    assert await driver(store, "mget", ["k"]) == [Document("text")]


@in_both_drivers
@pytest.mark.parametrize("bad", ["\ud800", "a\0b"])
async def test_text_that_not_every_database_takes_is_refused(driver, store, bad):
    with pytest.raises(InvalidDocumentError, match=r"page_content.*'k'.*surrogates"):
        await driver(store, "mset", [("good", Document("")), ("k", Document(bad))])
    with pytest.raises(InvalidDocumentError, match="id of the document for key 'k'"):
        await driver(store, "mset", [("k", Document("", id=bad))])
    for method, argument in [
        ("mset", [(bad, Document(""))]),
        ("mget", ["k", bad]),
        ("mdelete", [bad]),
    ]:
        with pytest.raises(InvalidDocumentError) as caught:
            await driver(store, method, argument)
        assert repr(bad) in str(caught.value)
    with pytest.raises(InvalidDocumentError, match="The key"):
        await driver(store, "yield_keys", prefix=bad)
    with pytest.raises(InvalidDocumentError, match="The key"):
        SQLDocStore(store.engine, bad)
    assert await driver(store, "yield_keys") == []


@in_both_drivers
async def test_keys_are_texts(driver, store):
    with pytest.raises(InvalidDocumentError, match="The key 1 cannot"):
        await driver(store, "mget", [1])


async def test_a_damaged_row_is_an_error_with_its_key(driver, store, engine):
    for value in ["{", "[]", '{"a": NaN}', "null", "{}{}", ""]:
        await damage_and_read(driver, store, engine, "metadata", value)


@on_sqlite  # whose columns hold anything
async def test_bytes_are_an_error_with_their_key(driver, store, engine):
    for column in ["metadata", "page_content", "id"]:
        await damage_and_read(driver, store, engine, column, b"\xff")


async def damage_and_read(driver, store, engine, column, value):
    await driver(store, "mset", [("good", Document("")), ("bad", Document(""))])
    await execute(
        engine,
        f"UPDATE langchain_rag_documents SET {column} = :value WHERE key = 'bad'",
        value=value,
    )
    with pytest.raises(CorruptStoreError, match=r"'bad'.*Delete the key"):
        await driver(store, "mget", ["good", "bad"])
    assert await driver(store, "mget", ["good"]) == [Document("")]


@on_sqlite
async def test_text_that_is_not_utf8_is_an_error_with_its_key(driver, store, engine):
    await driver(store, "mset", [("good", Document("")), ("bad", Document(""))])
    await execute(
        engine,
        "UPDATE langchain_rag_documents SET page_content = CAST(x'ff' AS TEXT) "
        "WHERE key = 'bad'",
    )
    with pytest.raises(CorruptStoreError, match=r"'bad'.*UTF-8"):
        await driver(store, "mget", ["good", "bad"])


async def test_other_errors_of_the_database_are_not_taken_for_damage(driver, store, engine):
    await driver(store, "mget", ["k"])
    await execute(engine, "DROP TABLE langchain_rag_documents")
    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"no such table|does not exist"):
        await driver(store, "mget", ["k"])


KEYS = [
    "",
    "%",
    "%a",
    "_",
    "a%",
    "a_",
    "ab",
    "a\\",
    "a'b",
    "A",
    "é",
    "\U0010ffff",
    "\ud7ffx",
    "z\x01",
]


async def test_prefixes_are_taken_to_the_letter(driver, store):
    await driver(store, "mset", [(key, Document("")) for key in KEYS])
    for prefix in [None, *KEYS, "\U0010ffff\U0010ffff", "nothing"]:
        expected = sorted(key for key in KEYS if key.startswith(prefix or ""))
        assert await driver(store, "yield_keys", prefix=prefix) == expected


@given(prefix=st.text(min_size=1), rest=st.text(), other=st.text())
def test_after_prefix_bounds_exactly_the_keys_with_the_prefix(prefix, rest, other):
    end = after_prefix(prefix)
    assert end is None or prefix + rest < end
    assert (prefix <= other and (end is None or other < end)) == other.startswith(prefix)


async def test_keys_may_be_deleted_while_going_through_them(make_engine):
    store = SQLDocStore(make_engine("sqlite://"))
    store.mset([(f"k{i:04}", Document("")) for i in range(1500)])
    for key in store.yield_keys():
        store.mdelete([key])
    assert list(store.yield_keys()) == []


async def test_namespaces_share_nothing(driver, engine):
    one, two = SQLDocStore(engine, "one"), SQLDocStore(engine, "two")
    await driver(one, "mset", [("k", Document("1"))])
    await driver(two, "mset", [("k", Document("2"))])
    await driver(two, "mdelete", ["k"])
    assert await driver(one, "mget", ["k"]) == [Document("1")]
    assert await driver(two, "yield_keys") == []


async def test_other_tables_of_the_engine_are_left_alone(driver, store, engine):
    await execute(engine, "CREATE TABLE mine (a INTEGER)")
    await execute(engine, "INSERT INTO mine VALUES (1)")
    await driver(store, "mset", [("k", Document(""))])
    await driver(store, "mdelete", ["k"])
    assert await tables(engine) == {
        "mine",
        "langchain_rag_claims",
        "langchain_rag_documents",
        "langchain_rag_full_text_settings",
        "langchain_rag_schema",
    }
    assert (await execute(engine, "SELECT a FROM mine")).all() == [(1,)]


async def test_sync_methods_on_an_async_engine_say_what_to_use(make_engine):
    store = SQLDocStore(make_engine("sqlite+aiosqlite://"))
    for call in (
        lambda: store.mget(["k"]),
        lambda: store.mset([("k", Document(""))]),
        lambda: store.mdelete(["k"]),
        lambda: list(store.yield_keys()),
    ):
        with pytest.raises(ConfigurationError, match=r"async engine.*sync engine"):
            call()


def test_repr_shows_no_url():
    engine = create_engine("sqlite:///secret?timeout=3")
    store = SQLDocStore(engine, "ns")
    assert repr(store) == "SQLDocStore(dialect='sqlite', namespace='ns')"
    assert store.engine is engine
    engine.dispose()


@pytest.mark.parametrize("kind", of(SYNC), indirect=True)
async def test_threads_write_to_one_database(engine):
    store = SQLDocStore(engine)
    start, errors = threading.Barrier(8), []

    def work(number):
        try:
            start.wait()  # all at the tables that are not there yet
            for i in range(15):
                store.mset([(f"{number}/{i}/{j}", Document("x")) for j in range(5)])
                assert store.mget([f"{number}/{i}/0"]) == [Document("x")]
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list(store.yield_keys())) == 8 * 15 * 5


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
metadata = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))


a_document = st.builds(
    Document,
    page_content=storable,
    id=st.none() | storable,
    metadata=st.dictionaries(st.text(), metadata, max_size=3),
)


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.id in ("sync-memory", "sync-postgres")], indirect=True
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(documents=st.dictionaries(storable, a_document, max_size=5))
def test_anything_of_json_reads_back_the_same(engine, documents):
    store = SQLDocStore(engine)
    store.mdelete(list(store.yield_keys()))
    store.mset(list(documents.items()))
    assert dict(zip(documents, store.mget(list(documents)), strict=True)) == documents
    assert list(store.yield_keys()) == sorted(documents)
