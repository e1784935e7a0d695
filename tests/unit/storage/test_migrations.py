"""Tables are created once, migrated once, and left alone where they are too new."""

import subprocess
import sys
import threading
from typing import Any

import pytest
import sqlalchemy
from langchain_core.documents import Document
from sqlalchemy import Column, Text, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage import SQLDocStore, SQLRecordManager, _migrations
from langchain_rag.storage._database import Database
from langchain_rag.storage._migrations import Schema
from langchain_rag.storage._schema import DOCUMENTS, VERSIONS, create_table
from tests.postgres import text_of
from tests.unit.storage.kinds import KINDS, LASTING, SYNC

SYNC_FILES = [k for k in KINDS if k.id in ("sync-file", "sync-postgres")]

# What version 3 of an artificial schema looks like: the table has one name more.
NOTES = sqlalchemy.Table(
    "notes", sqlalchemy.MetaData(), Column("text", Text), Column("author", Text)
)


def name_the_text(connection):
    connection.execute(text("ALTER TABLE notes RENAME COLUMN body TO text"))


def add_the_author(connection):
    connection.execute(text("ALTER TABLE notes ADD COLUMN author TEXT"))
    connection.execute(text("UPDATE notes SET author = 'Gauss'"))


VERSION_3 = Schema(
    component="notes", tables=(NOTES,), migrations=(name_the_text, add_the_author)
)


def write_version(connection, version):
    create_table(connection, VERSIONS)
    connection.execute(VERSIONS.delete())
    connection.execute(VERSIONS.insert().values(component="notes", version=version))


def write_version_1(connection):
    write_version(connection, 1)
    connection.execute(text("CREATE TABLE notes (body TEXT)"))
    connection.execute(text("INSERT INTO notes VALUES ('disquisitiones')"))


def write_version_2(connection):
    write_version_1(connection)
    name_the_text(connection)
    write_version(connection, 2)


async def in_transaction(engine, body):
    if isinstance(engine, AsyncEngine):
        async with engine.begin() as connection:
            return await connection.run_sync(body)
    with engine.begin() as connection:
        return body(connection)


async def run(driver, engine, schema, body):
    database = Database(engine, schema, "Notes")
    return database.run(body) if driver is SYNC else await database.arun(body)


def notes(connection):
    return [tuple(row) for row in connection.execute(text("SELECT text, author FROM notes"))]


def version(connection):
    return connection.scalar(text("SELECT version FROM langchain_rag_schema"))


@pytest.mark.parametrize("old", [write_version_1, write_version_2])
async def test_old_tables_are_migrated_step_by_step(driver, engine, old):
    await in_transaction(engine, old)
    assert await run(driver, engine, VERSION_3, notes) == [("disquisitiones", "Gauss")]
    assert await in_transaction(engine, version) == 3


async def test_new_tables_are_created_as_they_are_now(driver, engine):
    assert await run(driver, engine, VERSION_3, notes) == []
    assert await in_transaction(engine, version) == 3


async def test_a_failed_migration_changes_nothing(driver, engine):
    def fail(connection):
        add_the_author(connection)
        msg = "planned"
        raise RuntimeError(msg)

    await in_transaction(engine, write_version_1)
    schema = Schema(component="notes", tables=(NOTES,), migrations=(name_the_text, fail))
    for _ in range(2):  # the connection that failed must not take it for done
        with pytest.raises(RuntimeError, match="planned"):
            await run(driver, engine, schema, notes)
    columns = await in_transaction(
        engine, lambda connection: inspect(connection).get_columns("notes")
    )
    assert [column["name"] for column in columns] == ["body"]
    assert await in_transaction(engine, version) == 1
    assert await run(driver, engine, VERSION_3, notes) == [("disquisitiones", "Gauss")]


@pytest.mark.parametrize("kind", LASTING, indirect=True)
@pytest.mark.parametrize("unknown", [0, 4])
async def test_tables_of_another_version_are_refused(driver, engine, unknown):
    await run(driver, engine, VERSION_3, notes)
    await in_transaction(engine, lambda connection: write_version(connection, unknown))
    if isinstance(engine, AsyncEngine):  # a new connection looks again
        await engine.dispose()
    else:
        engine.dispose()
    with pytest.raises(ConfigurationError, match=rf"version {unknown}, .* version 3: upgrade"):
        await run(driver, engine, VERSION_3, notes)


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_the_docstore_refuses_tables_of_a_newer_langchain_rag(
    driver, engine, make_engine, db_url
):
    await driver(SQLDocStore(engine), "mget", ["k"])
    newer = "UPDATE langchain_rag_schema SET version = 3"
    await in_transaction(engine, lambda connection: connection.execute(text(newer)))
    with pytest.raises(ConfigurationError, match=r"docstore's tables.*version 3.*upgrade"):
        await driver(SQLDocStore(make_engine(db_url)), "mget", ["k"])


@pytest.mark.parametrize("kind", LASTING, indirect=True)
async def test_what_was_dropped_is_created_again(driver, engine, make_engine, db_url):
    await driver(SQLDocStore(engine), "mget", ["k"])
    drop = "DROP TABLE langchain_rag_documents"
    await in_transaction(engine, lambda connection: connection.execute(text(drop)))
    assert await driver(SQLDocStore(make_engine(db_url)), "mget", ["k"]) == [None]


@pytest.mark.parametrize("kind", SYNC_FILES, indirect=True)
@pytest.mark.parametrize("begin", [None, write_version_1], ids=["new", "old"])
async def test_threads_create_and_migrate_once(db_url, make_engine, begin):
    calls = []

    def count(connection):
        calls.append(1)
        name_the_text(connection)

    schema = Schema(component="notes", tables=(NOTES,), migrations=(count, add_the_author))
    engine = make_engine(db_url)
    if begin:
        await in_transaction(engine, begin)
    at_once(8, lambda: Database(make_engine(db_url), schema, "Notes").run(notes))
    assert len(calls) == (1 if begin else 0)


def at_once(number, work):
    start, errors = threading.Barrier(number), []

    def wait_and_work():
        start.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=wait_and_work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.full
@pytest.mark.integration
def test_threads_create_once_at_every_isolation_level(postgres_database, make_engine, level):
    engines = [make_engine(postgres_database, isolation_level=level) for _ in range(8)]

    def work():
        engine = engines.pop()
        SQLDocStore(engine).mset([("k", Document("x"))])
        SQLRecordManager("docs", engine=engine).update(["k"])

    at_once(8, work)


PROCESS = """
import sys
from langchain_core.documents import Document
from langchain_rag.storage import SQLDocStore, SQLRecordManager, create_engine
engine = create_engine(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
SQLRecordManager("docs", engine=engine).update([sys.argv[2]])
SQLDocStore(engine).mset([(sys.argv[2], Document("x"))])
engine.dispose()
"""


@pytest.mark.full
@pytest.mark.parametrize("kind", SYNC_FILES, indirect=True)
def test_processes_create_at_the_same_time(engine, db_url):
    processes: list[Any] = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, text_of(db_url), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.wait(timeout=60) == 0
        process.stdin.close()
        process.stdout.close()
    assert list(SQLDocStore(engine).yield_keys()) == ["0", "1"]


def test_tables_that_are_there_need_no_right_to_write(tmp_path, make_engine):
    path = tmp_path / "rag.db"
    SQLDocStore(make_engine(f"sqlite:///{path}")).mset([("k", Document("x"))])
    statements = []
    engine = make_engine(f"sqlite:///{path}")
    sqlalchemy.event.listen(
        engine, "before_cursor_execute", lambda *args: statements.append(args[2])
    )
    assert SQLDocStore(engine).mget(["k"]) == [Document("x")]
    assert not [s for s in statements if "CREATE" in s or "IMMEDIATE" in s]


def test_every_version_of_the_docstore_has_its_migration():
    assert _migrations.DOCSTORE.version == 1 + len(_migrations.DOCSTORE.migrations)
    assert DOCUMENTS in _migrations.DOCSTORE.tables
