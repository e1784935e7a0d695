"""What the docstore keeps, refuses and leaves alone."""

import datetime as dt
import math
import threading

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import (
    ConfigurationError,
    CorruptStoreError,
    InvalidDocumentError,
    UnstorableMetadataError,
)
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.storage._documents import after_prefix


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
        "Gauß\x00 said: \U0001f600\r\n",
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


async def test_the_last_of_equal_keys_stays(driver, store):
    await driver(store, "mset", [("k", Document("1")), ("k", Document("2"))])
    assert await driver(store, "mget", ["k"]) == [Document("2")]


async def test_pairs_may_come_from_an_iterator(driver, store):
    await driver(store, "mset", zip(["a", "b"], [Document("1"), Document("2")], strict=True))
    await driver(store, "mset", iter(()))
    assert await driver(store, "mget", ["a", "b"]) == [Document("1"), Document("2")]


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
    await execute(
        engine,
        "CREATE TRIGGER fail BEFORE "
        + ("UPDATE" if method == "mset" else "DELETE")
        + " ON langchain_rag_documents WHEN old.key = 'k1100'"
        " BEGIN SELECT RAISE(ABORT, 'planned'); END",
    )
    keys = [f"k{i:04}" for i in range(1200)]
    argument = [(key, Document("new")) for key in keys] if method == "mset" else keys
    with pytest.raises(sqlalchemy.exc.IntegrityError, match="planned"):
        await driver(store, method, argument)
    assert await driver(store, "mget", keys) == [Document("old")] * 1200


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


async def test_endless_metadata_is_refused(driver, store):
    loop: list[object] = []
    loop.append(loop)
    deep = Document("")
    deep.metadata["loop"] = loop
    with pytest.raises(UnstorableMetadataError, match="'loop'"):
        await driver(store, "mset", [("k", deep)])


class Richer(Document):
    extra: int = 0


@pytest.mark.parametrize("value", [b"bytes", None, Richer(page_content="", extra=1)])
async def test_only_documents_are_stored(driver, store, value):
    with pytest.raises(InvalidDocumentError, match=r"key 'k'.*Store a langchain_core Document"):
        await driver(store, "mset", [("k", value)])


class Plain(Document):
    """A subclass that adds nothing reads back as a Document."""


async def test_a_subclass_without_fields_is_stored(driver, store):
    await driver(store, "mset", [("k", Plain(page_content="text"))])
    assert await driver(store, "mget", ["k"]) == [Document("text")]


async def test_lone_surrogates_are_refused(driver, store):
    with pytest.raises(InvalidDocumentError, match=r"page_content.*'k'.*surrogates"):
        await driver(store, "mset", [("k", Document("\ud800"))])
    with pytest.raises(InvalidDocumentError, match="id of the document"):
        await driver(store, "mset", [("k", Document("", id="\udfff"))])
    for method, argument in [
        ("mset", [("\ud800", Document(""))]),
        ("mget", ["\ud800"]),
        ("mget", [1]),
        ("mdelete", ["\ud800"]),
    ]:
        with pytest.raises(InvalidDocumentError, match="The key"):
            await driver(store, method, argument)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", "{"),
        ("metadata", "[]"),
        ("metadata", '{"a": NaN}'),
        ("metadata", b"\xff"),
        ("page_content", b"\xff"),
        ("id", b"\xff"),
    ],
)
async def test_a_damaged_row_is_an_error_with_its_key(driver, store, engine, column, value):
    await driver(store, "mset", [("good", Document("")), ("bad", Document(""))])
    await execute(
        engine,
        f"UPDATE langchain_rag_documents SET {column} = :value WHERE key = 'bad'",
        value=value,
    )
    with pytest.raises(CorruptStoreError, match=r"'bad'.*Delete the key"):
        await driver(store, "mget", ["good", "bad"])
    assert await driver(store, "mget", ["good"]) == [Document("")]


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
    with pytest.raises(sqlalchemy.exc.OperationalError, match="no such table"):
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
    "퟿x",
    "z\x00",
]


@pytest.mark.parametrize("prefix", [None, *KEYS, "\U0010ffff\U0010ffff", "nothing"])
async def test_prefixes_are_taken_to_the_letter(driver, store, prefix):
    await driver(store, "mset", [(key, Document("")) for key in KEYS])
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
    await execute(engine, "CREATE TABLE mine (a)")
    await execute(engine, "INSERT INTO mine VALUES (1)")
    await driver(store, "mset", [("k", Document(""))])
    await driver(store, "mdelete", ["k"])
    tables = (await execute(engine, "SELECT name FROM sqlite_master ORDER BY name")).all()
    names = {name for (name,) in tables if not name.startswith("sqlite_")}
    assert names == {"mine", "langchain_rag_documents", "langchain_rag_schema"}
    assert (await execute(engine, "SELECT a FROM mine")).all() == [(1,)]


@pytest.mark.parametrize("url", ["sqlite:///{}/rag.db", "sqlite+aiosqlite:///{}/rag.db"])
async def test_tables_of_a_newer_version_are_refused(make_engine, tmp_path, url):
    engine = make_engine(url.format(tmp_path))
    await SQLDocStore(engine).amget(["k"])
    await execute(engine, "UPDATE langchain_rag_schema SET version = 2")
    with pytest.raises(ConfigurationError, match=r"version 2.*upgrade"):
        await SQLDocStore(make_engine(url.format(tmp_path))).amget(["k"])


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


@pytest.mark.parametrize("url", ["sqlite:///{}/rag.db", "sqlite://"])
async def test_threads_write_to_one_database(make_engine, tmp_path, url):
    store = SQLDocStore(make_engine(url.format(tmp_path)))
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


metadata = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    documents=st.dictionaries(
        st.text(),
        st.builds(
            Document,
            page_content=st.text(),
            id=st.none() | st.text(),
            metadata=st.dictionaries(st.text(), metadata, max_size=3),
        ),
        max_size=5,
    )
)
async def test_anything_of_json_reads_back_the_same(documents):
    engine = create_engine("sqlite://")
    try:
        store = SQLDocStore(engine)
        store.mset(list(documents.items()))
        assert dict(zip(documents, store.mget(list(documents)), strict=True)) == documents
        assert sorted(store.yield_keys()) == sorted(documents)
    finally:
        engine.dispose()
