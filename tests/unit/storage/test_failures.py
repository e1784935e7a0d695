"""A database that cannot be reached: what to do, and never a password."""

import asyncio
import logging
import sqlite3
import traceback

import psycopg
import pytest
import sqlalchemy
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from sqlalchemy import URL, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from langchain_rag import RAGVectorStore
from langchain_rag.errors import ConfigurationError, StoreError
from langchain_rag.storage import SQLDocStore, SQLRecordManager, create_engine
from langchain_rag.testing import DRIVERS, CountingEmbeddings
from tests.postgres import execute, server
from tests.unit.storage.kinds import SYNC

SECRET = "p@ss/w:rd%41#?"
DRIVERS_OF = {"postgresql+psycopg": SYNC, "postgresql+psycopg_async": DRIVERS[1]}
DRIVERS_OF |= {"postgresql+asyncpg": DRIVERS[1]}
drivername = pytest.mark.parametrize("drivername", DRIVERS_OF)


def everything_said(error, caplog):
    return "".join([repr(error), *traceback.format_exception(error), caplog.text])


def sqlite_urls(tmp_path):
    no_folder, a_folder = tmp_path / "none" / "rag.db", tmp_path
    other_file = tmp_path / "mine.txt"
    other_file.write_text("Not a database, but long enough to be taken for one." * 100)
    return {
        f"sqlite:///{no_folder}": r"none/rag.db'.*Its folder must exist",
        f"sqlite:///{a_folder}": r"unable to open database file.*Its folder must exist",
        f"sqlite:///{other_file}": r"mine.txt'.*not a database.*use another path",
    }


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("scheme", ["sqlite", "executor", "sqlite+aiosqlite"])
async def test_a_path_that_cannot_be_opened(make_engine, tmp_path, scheme, number):
    url, message = list(sqlite_urls(tmp_path).items())[number]
    driver = SYNC if scheme == "sqlite" else DRIVERS[1]
    engine = make_engine(url.replace("sqlite", scheme.replace("executor", "sqlite"), 1))
    manager = SQLRecordManager("docs", engine=engine)
    for target, method in [(SQLDocStore(engine), "mget"), (manager, "exists")]:
        with pytest.raises(ConfigurationError, match=message):
            await driver(target, method, ["k"])
    # aiosqlite's thread still answers to the loop, which must not be closed before.
    await asyncio.sleep(0.2 if scheme == "sqlite+aiosqlite" else 0)


async def test_a_file_that_another_connection_writes_to(make_engine, tmp_path):
    engine = make_engine(f"sqlite:///{tmp_path}/rag.db")
    store = SQLDocStore(engine)
    store.mset([("k", Document("x"))])
    # The user's own engine, with the user's own patience.
    impatient = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/rag.db?timeout=0.01")
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        assert SQLDocStore(impatient).mget(["k"]) == [Document("x")]
        with pytest.raises(StoreError, match=r"locked.*raise the timeout.*make the call again"):
            SQLDocStore(impatient).mset([("k", Document("y"))])
    SQLDocStore(impatient).mset([("k", Document("y"))])
    impatient.dispose()
    assert store.mget(["k"]) == [Document("y")]


def test_a_file_that_may_not_be_written(make_engine, tmp_path):
    SQLDocStore(make_engine(f"sqlite:///{tmp_path}/rag.db")).mget(["k"])
    read_only = make_engine(f"sqlite:///file:{tmp_path}/rag.db?mode=ro&uri=true")
    with pytest.raises(StoreError, match=r"readonly.*write permission"):
        SQLDocStore(read_only).mset([("k", Document("y"))])


def test_a_full_disk(make_engine, tmp_path):
    engine = make_engine(f"sqlite:///{tmp_path}/rag.db")
    store = SQLDocStore(engine)
    store.mset([("k", Document("x"))])
    with engine.connect() as connection:  # SQLite's own way to run out of space
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"disk is full.*Free some space"):
        store.mset([("k", Document("y" * 100_000)), ("l", Document("y"))])
    assert store.mget(["k", "l"]) == [Document("x"), None]


def test_no_connection_is_free(make_engine):
    engine = make_engine("sqlite://", pool_timeout=0.01)
    store = SQLDocStore(engine)
    with engine.connect(), pytest.raises(StoreError, match=r"in use.*larger pool_size"):
        store.mget(["k"])
    assert store.mget(["k"]) == [None]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://user:hun@xyz/x:2@host/db",
        "postgresql+psycopg://user:hun@xyz/x:2@host:5432/db",
        "postgresql+psycopg://user:hun@xyz@host/db",
        "postgresql+psycopg://user:hun@x:yz@host:5432/db",
        "postgresql+asyncpg://user:hun@xyz/2@/db?host=/folder",
    ],
)
def test_an_at_sign_that_belongs_to_the_password(url):
    with pytest.raises(ConfigurationError, match="%40") as caught:
        create_engine(url)
    assert not any(part in str(caught.value) for part in ("hun", "xyz", "yz@"))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_values_in_the_url_that_are_none(tmp_path):
    with pytest.raises(ConfigurationError, match="db_url") as caught:
        create_engine(f"sqlite:///{tmp_path}/rag.db?timeout=hunter2")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.fixture(scope="module")
def locked_server():
    """A server that wants a password from one user."""
    with server() as running:
        # A role's password goes in as a literal; this one has nothing to escape there.
        execute(running.url(), f"CREATE ROLE someone LOGIN PASSWORD '{SECRET}'")
        execute(running.url(), "GRANT CREATE, USAGE ON SCHEMA public TO someone")
        rules = running.folder / "pg_hba.conf"
        rules.write_text("local all someone scram-sha-256\n" + rules.read_text())
        execute(running.url(), "SELECT pg_reload_conf()")
        yield running


def engine_of(make_engine, url, own):
    if not own:
        return make_engine(url)
    make = create_async_engine if url.get_dialect().is_async else sqlalchemy.create_engine
    return make(url)  # as users make one: it shows parameters in its errors


async def dispose(engine):
    if isinstance(engine, AsyncEngine):
        await engine.dispose()
    else:
        engine.dispose()


@pytest.mark.full
@pytest.mark.integration
@drivername
@pytest.mark.parametrize("as_text", [True, False])
async def test_a_password_with_every_sign(make_engine, locked_server, drivername, as_text):
    url = locked_server.url().set(drivername=drivername, username="someone", password=SECRET)
    engine = make_engine(url.render_as_string(hide_password=False) if as_text else url)
    store = SQLDocStore(engine, drivername)
    await DRIVERS_OF[drivername](store, "mset", [("k", Document("x"))])
    assert await DRIVERS_OF[drivername](store, "mget", ["k"]) == [Document("x")]
    shown = repr(store) + repr(SQLRecordManager("docs", engine=engine)) + repr(store.identity)
    assert SECRET not in shown
    assert "p%40ss" not in shown


def unreachable(running):
    nowhere = URL.create("postgresql", "someone", SECRET, "127.0.0.1", 1, "db")
    folder = running.url().set(username="someone", password=SECRET)
    return {
        "wrong password": folder.set(password=SECRET + "x"),
        "no such database": folder.set(database="none"),
        "no such folder": folder.update_query_dict({"host": "/none"}),
        "no server": nowhere,
        "no such host": nowhere.set(host="no-such-host.invalid"),
        "password in the query": URL.create(
            "postgresql", "someone", database="postgres", query=folder.query
        ).update_query_dict({"password": "hunter2"}),
        "nonsense in the query": folder.update_query_dict({"nonsense": "hunter2"}),
    }


@pytest.mark.full
@pytest.mark.integration
@drivername
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("case", range(7))
async def test_no_connection(make_engine, locked_server, drivername, own, case, caplog):
    caplog.set_level(logging.DEBUG)
    url = list(unreachable(locked_server).values())[case].set(drivername=drivername)
    engine = engine_of(make_engine, url, own)
    try:
        rag, kwargs = RAGVectorStore.from_vs_in_sql(
            InMemoryVectorStore(CountingEmbeddings()), engine=engine
        )
        for target, method in [
            (SQLDocStore(engine), "mget"),
            (kwargs["record_manager"], "exists"),
            (rag, "get_by_ids"),
        ]:
            with pytest.raises(StoreError, match=r"no connection.*See whether") as caught:
                await DRIVERS_OF[drivername](target, method, ["k"])
            said = everything_said(caught.value, caplog) + repr(rag) + repr(kwargs)
            # The lines of this file that a traceback quotes hold no value.
            for secret in (SECRET, "p%40ss", "hunter2"):
                assert secret not in said
    finally:
        await dispose(engine)


@pytest.mark.parametrize(
    ("url", "said", "shown"),
    [
        ("postgresql+psycopg://u:hunter2@h/d", "bad password 'hunter2'", "OperationalError"),
        ("postgresql+psycopg://u:h%40nter2@h/d", "no host 'h@nter2'", "OperationalError"),
        ("postgresql+psycopg://h/d?token=hunter2", "bad token hunter2", "OperationalError"),
        ("postgresql+psycopg://u:hunter2@h/d", "no such role", "no such role"),
    ],
)
def test_what_a_driver_repeats_of_the_url_is_left_out(url, said, shown):
    def connect():
        raise psycopg.OperationalError(said)

    engine = sqlalchemy.create_engine(url, creator=connect)
    with pytest.raises(StoreError, match=rf"{shown}\. See whether") as caught:
        SQLDocStore(engine).mget(["k"])
    assert "nter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_reason_is_kept_where_it_is_no_secret(make_engine, tmp_path):
    with sqlite3.connect(tmp_path / "rag.db") as connection:
        connection.execute("CREATE TABLE langchain_rag_documents (mine)")
    connection.close()
    store = SQLDocStore(make_engine(f"sqlite:///{tmp_path}/rag.db"))
    # The user's mistake, which only the driver's own words explain.
    with pytest.raises(sqlalchemy.exc.OperationalError, match="no such column"):
        store.mget(["k"])


def test_nothing_of_ours_logs_the_url(make_engine, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    engine = make_engine(make_url(f"sqlite:///{tmp_path}/rag.db?timeout=7"), echo="debug")
    store = SQLDocStore(engine)
    store.mset([("k", Document("my text"))])
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    assert "SELECT 1" in caplog.text
    assert "timeout=7" not in caplog.text
    assert "INSERT INTO langchain_rag_documents" in caplog.text
    assert "my text" not in caplog.text
