"""Engines by URL, and what is set up on them."""

import asyncio
import logging
import sqlite3
import sys
import threading
from typing import Any

import pytest
import sqlalchemy
from langchain_core.documents import Document
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage import SQLDocStore, SQLRecordManager, create_engine


def test_the_driver_decides(make_engine):
    assert isinstance(make_engine("sqlite://"), sqlalchemy.Engine)
    assert isinstance(make_engine(sqlalchemy.make_url("sqlite+aiosqlite://")), AsyncEngine)


@pytest.mark.parametrize("url", ["sqlite:///{}/rag.db", "sqlite+aiosqlite:///{}/rag.db"])
async def test_sqlite_files_are_in_wal_mode_and_wait(make_engine, tmp_path, url):
    engine = make_engine(url.format(tmp_path))
    if isinstance(engine, AsyncEngine):
        async with engine.connect() as connection:
            mode = await connection.scalar(text("PRAGMA journal_mode"))
            timeout = await connection.scalar(text("PRAGMA busy_timeout"))
    else:
        with engine.connect() as connection:
            mode = connection.scalar(text("PRAGMA journal_mode"))
            timeout = connection.scalar(text("PRAGMA busy_timeout"))
    assert (mode, timeout) == ("wal", 30_000)


def test_a_read_only_file_can_be_read(make_engine, tmp_path):
    path = tmp_path / "rag.db"
    engine = make_engine(f"sqlite:///{path}")
    SQLDocStore(engine).mset([("k", Document("text"))])
    engine.dispose()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    read_only = make_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert SQLDocStore(read_only).mget(["k"]) == [Document("text")]


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"]
)
def test_threads_share_a_database_in_memory(make_engine, url):
    store = SQLDocStore(make_engine(url))
    thread = threading.Thread(target=store.mset, args=([("k", Document("text"))],))
    thread.start()
    thread.join()
    assert store.mget(["k"]) == [Document("text")]


async def test_a_database_in_memory_gives_each_call_its_transaction(make_engine):
    store = SQLDocStore(make_engine("sqlite+aiosqlite://"))

    async def work(number):
        for i in range(10):
            await store.amset([(f"{number}/{i}", Document("x"))])

    await asyncio.gather(*(work(number) for number in range(5)))
    assert len([key async for key in store.ayield_keys()]) == 50


async def test_a_new_connection_to_memory_gets_its_tables(make_engine):
    engine = make_engine("sqlite+aiosqlite://")
    store = SQLDocStore(engine)
    await store.amset([("k", Document("x"))])
    await engine.dispose()  # as a cancelled statement does with its connection
    assert await store.amget(["k"]) == [None]


@pytest.mark.parametrize("url", ["sqlite+aiosqlite:///{}/rag.db", "sqlite+aiosqlite://"])
@pytest.mark.parametrize("wait", [0.0, 0.02, 0.1])
async def test_a_cancelled_call_is_whole_or_nothing(make_engine, tmp_path, url, wait):
    store = SQLDocStore(make_engine(url.format(tmp_path)))
    await store.amset([("before", Document("x"))])
    many = [(f"k{i}", Document("x")) for i in range(5000)]
    task = asyncio.create_task(store.amset(many))
    await asyncio.sleep(wait)
    task.cancel()
    await asyncio.wait([task])
    assert len([key async for key in store.ayield_keys(prefix="k")]) in (0, 5000)
    assert await store.amget(["before"]) == [Document("x")]


@pytest.mark.parametrize(
    "make", [SQLDocStore, lambda engine: SQLRecordManager("n", engine=engine)]
)
def test_an_engine_with_a_database_for_each_thread_is_refused(make):
    with pytest.raises(ConfigurationError, match=r"langchain_rag.storage.create_engine"):
        make(sqlalchemy.create_engine("sqlite://"))


def test_an_engine_that_begins_by_itself_serves(tmp_path):
    # The recipe in SQLAlchemy's documentation for full transactions on SQLite.
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/mine.db")

    @event.listens_for(engine, "connect")
    def connect(connection, _record):
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN")

    store = SQLDocStore(engine)
    store.mset([("k", Document("x"))])
    assert store.mget(["k"]) == [Document("x")]
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    ["nonsense", "oracle9://u:hunter2@h/d", "sqlite+none://", "postgresql://u:hunter2@h:x/d"],
)
def test_urls_that_cannot_be_read(url):
    with pytest.raises(ConfigurationError, match="db_url is not a database URL") as caught:
        create_engine(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("url", "module", "remedy"),
    [
        (
            "postgresql+psycopg://u:hunter2@h/d",
            "psycopg",
            r"pip install 'langchain-rag\[postgres\]'",
        ),
        ("sqlite+aiosqlite://", "aiosqlite", r"pip install 'langchain-rag\[async-sqlite\]'"),
        ("mysql+pymysql://u:hunter2@h/d", "pymysql", "pip install pymysql"),
    ],
)
def test_drivers_that_are_not_installed(monkeypatch, url, module, remedy):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=remedy) as caught:
        create_engine(url)
    assert "hunter2" not in str(caught.value)


def test_documents_stay_out_of_logs_and_exceptions(make_engine, tmp_path, caplog):
    engine = make_engine(f"sqlite:///{tmp_path}/rag.db")
    store = SQLDocStore(engine)
    with caplog.at_level(logging.INFO, logger="sqlalchemy.engine"):
        store.mset([("k", Document("my secret"))])
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE langchain_rag_documents"))
        with pytest.raises(sqlalchemy.exc.OperationalError) as caught:
            store.mset([("k", Document("my secret"))])
    assert caplog.records
    assert "my secret" not in caplog.text + str(caught.value)


def test_other_databases_are_refused(tmp_path):
    engine: Any = sqlalchemy.create_mock_engine("mysql://", lambda *_: None)
    from langchain_rag.storage._schema import DOCUMENTS, upsert

    with pytest.raises(ConfigurationError, match=r"SQLite and PostgreSQL.*'mysql'"):
        upsert(engine, DOCUMENTS)


PLACES = [
    [
        "sqlite:///rag.db",
        "sqlite+aiosqlite:///./rag.db",
        "sqlite:///file:rag.db?uri=true&mode=rwc",
    ],
    ["sqlite:///other.db"],
    [
        "postgresql+psycopg://a:hunter2@host/db",
        "postgresql+asyncpg://b:hunter2@host:5432/db",
        "postgresql+psycopg_async:///db?host=host&port=5432&user=a&password=hunter2",
    ],
    ["postgresql+psycopg://a@host:5433/db"],
    ["postgresql+psycopg://a@host/db2"],
    ["postgresql+psycopg://a@host2/db"],
    [
        "postgresql+psycopg://a:hunter2@/db?host=/run/pg",
        "postgresql+asyncpg://a@/db?host=/run/../run/pg/&port=5432",
    ],
    ["postgresql+psycopg://a@/db2?host=/run/pg"],
    ["postgresql+psycopg://a@/db?host=/run/pg2"],
    ["postgresql+psycopg://a@/db?host=/run/pg&port=1"],
    ["postgresql+psycopg://a@/db?host=/run/pg&options=-csearch_path%3Dmine"],
    ["postgresql+psycopg://"],
]


def test_the_identity_says_which_database_it_is(make_engine):
    identities = [
        {SQLDocStore(make_engine(url), "n").identity for url in urls} for urls in PLACES
    ]
    assert [len(same) for same in identities] == [1] * len(PLACES)
    assert len(set.union(*identities)) == len(PLACES)
    assert "hunter2" not in repr(identities)
    engine = make_engine("sqlite://")
    assert SQLDocStore(engine).identity == SQLDocStore(engine).identity
    assert SQLDocStore(engine).identity != SQLDocStore(make_engine("sqlite://")).identity
    assert SQLDocStore(engine).identity != SQLDocStore(engine, "other").identity


async def test_a_file_on_two_threads_and_two_event_loops(make_engine, tmp_path):
    """Each loop has an engine of its own, as SQLAlchemy wants; both threads share one."""
    shared = SQLDocStore(make_engine(f"sqlite:///{tmp_path}/rag.db"))
    start, errors = threading.Barrier(4), []

    def on_a_thread(name):
        start.wait()
        for i in range(10):
            shared.mset([(f"{name}/{i}", Document(name))])
            assert shared.mget([f"{name}/{i}"]) == [Document(name)]

    async def in_a_loop(name):
        engine = create_engine(f"sqlite+aiosqlite:///{tmp_path}/rag.db")
        store = SQLDocStore(engine)
        start.wait()

        async def work(i):
            await store.amset([(f"{name}/{i}", Document(name))])
            assert await store.amget([f"{name}/{i}"]) == [Document(name)]
            # LangChain's executor, on the engine that the threads use.
            await shared.amset([(f"{name}/shared/{i}", Document(name))])

        await asyncio.gather(*(work(i) for i in range(10)))
        assert isinstance(engine, AsyncEngine)
        await engine.dispose()

    def guarded(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [
        threading.Thread(target=guarded, args=(work,))
        for work in (
            lambda: on_a_thread("a"),
            lambda: on_a_thread("b"),
            lambda: asyncio.run(in_a_loop("c")),
            lambda: asyncio.run(in_a_loop("d")),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list(shared.yield_keys())) == 60


def test_the_users_own_transaction_goes_on(make_engine, tmp_path):
    engine = make_engine(f"sqlite:///{tmp_path}/rag.db")
    store = SQLDocStore(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mine (a INTEGER)"))
        connection.execute(text("INSERT INTO mine VALUES (1)"))
    with engine.connect() as connection:
        # Reads on both sides of our write see one state.
        connection.exec_driver_sql("BEGIN")
        assert connection.scalar(text("SELECT count(*) FROM mine")) == 1
        store.mset([("k", Document("x"))])
        count = text("SELECT count(*) FROM sqlite_master WHERE name LIKE 'langchain_rag%'")
        assert connection.scalar(count) == 0
        connection.rollback()
        # Our reads wait for no write of the user's.
        connection.execute(text("INSERT INTO mine VALUES (2)"))
        assert store.mget(["k"]) == [Document("x")]
        connection.rollback()
        assert connection.scalar(text("SELECT count(*) FROM mine")) == 1
    store.mdelete(["k"])


def test_other_names_are_not_there():
    from langchain_rag import storage

    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        storage.Nothing  # noqa: B018
