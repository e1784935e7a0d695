"""What PostgreSQL does that SQLite does not: writers side by side, collations, restarts."""

import random
import threading

import pytest
from langchain_core.documents import Document
from sqlalchemy import text

from langchain_rag.errors import StoreError
from langchain_rag.storage import SQLDocStore, SQLRecordManager, create_engine
from langchain_rag.storage._docstore_statements import write
from langchain_rag.storage._schema import DOCUMENTS
from tests.postgres import server, text_of

pytestmark = [pytest.mark.integration, pytest.mark.full]


def at_once(*work):
    errors = []

    def guarded(task):
        try:
            task()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def texts(store, keys):
    return {document and document.page_content for document in store.mget(keys)}


def test_keys_are_compared_byte_by_byte_whatever_the_databases_collation(postgres_engine):
    SQLDocStore(postgres_engine).mget(["k"])
    query = text(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns "
        "WHERE table_name LIKE 'langchain_rag_%' AND column_name IN ('namespace', 'key')"
    )
    with postgres_engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert {("langchain_rag_documents", "key", "C")} < set(rows)
    assert {collation for _, _, collation in rows} == {"C"}


def test_prefixes_and_keys_are_looked_up_by_the_index(postgres_engine):
    store = SQLDocStore(postgres_engine)
    store.mset([(f"chunks/{i:05}", Document("")) for i in range(5000)])
    seen = []
    with postgres_engine.begin() as connection:
        connection.execute(text("ANALYZE langchain_rag_documents"))
        for condition in (
            "key >= 'chunks/01' AND key < 'chunks/02'",
            "key = ANY(ARRAY['chunks/00001', 'chunks/00002'])",
        ):
            plan = connection.scalars(
                text(
                    "EXPLAIN SELECT page_content FROM langchain_rag_documents "
                    f"WHERE namespace = '' AND {condition}"
                )
            )
            seen.append("\n".join(plan))
    assert all("langchain_rag_documents_pkey" in plan for plan in seen), seen


def test_writers_of_the_same_rows_do_not_stop_each_other(postgres_engine):
    store = SQLDocStore(postgres_engine)
    manager = SQLRecordManager("docs", engine=postgres_engine)
    keys = [f"k{i:03}" for i in range(200)]
    store.mset([(key, Document("")) for key in keys])

    def work(number):
        mixed = keys.copy()
        for _ in range(5):
            random.Random(number).shuffle(mixed)
            store.mset([(key, Document(str(number))) for key in mixed])
            manager.update(mixed, group_ids=mixed)
            store.mdelete(mixed[:100])

    assert at_once(*(lambda n=n: work(n) for n in range(4))) == []


def test_a_transaction_that_is_ended_for_another_one_is_begun_again(postgres_engine):
    store = SQLDocStore(postgres_engine)
    store.mset([("a", Document("old")), ("b", Document("old"))])
    both = threading.Barrier(2, timeout=30)
    met = set()

    def crossing(first, second):
        def body(connection):
            write("", {first: Document(first)})(connection)
            if first not in met:
                met.add(first)
                both.wait()
            write("", {second: Document(first)})(connection)

        return lambda: store._database.run(body, write=True)

    assert at_once(crossing("a", "b"), crossing("b", "a")) == []
    assert len(texts(store, ["a", "b"])) == 1


def test_a_call_reads_one_state(postgres_engine):
    """Never the half of what another call writes, however many keys it asks for."""
    store = SQLDocStore(postgres_engine)
    keys = [f"k{i:05}" for i in range(1500)]
    store.mset([(key, Document("0")) for key in keys])
    stop = threading.Event()
    states = []

    def read():
        while not stop.is_set():
            states.append(texts(store, keys))

    def change():
        try:
            for number in range(1, 6):
                store.mset([(key, Document(str(number))) for key in keys])
        finally:
            stop.set()

    assert at_once(read, change) == []
    assert states
    assert all(len(state) == 1 for state in states)


def test_what_is_not_committed_is_not_read(postgres_engine):
    store = SQLDocStore(postgres_engine)
    store.mset([("k", Document("old"))])
    with postgres_engine.connect() as connection:
        write("", {"k": Document("new"), "l": Document("new")})(connection)
        assert store.mget(["k", "l"]) == [Document("old"), None]
        assert list(store.yield_keys()) == ["k"]
        connection.commit()
    assert store.mget(["k", "l"]) == [Document("new"), Document("new")]


def test_the_users_own_transaction_goes_on(postgres_engine):
    store = SQLDocStore(postgres_engine)
    with postgres_engine.connect() as connection:
        connection.execute(text("CREATE TABLE mine (a INTEGER)"))
        connection.execute(text("INSERT INTO mine VALUES (1)"))
        store.mset([("k", Document("x"))])
        assert connection.scalar(text("SELECT a FROM mine")) == 1
        connection.rollback()
        assert not connection.scalar(text("SELECT to_regclass('mine') IS NOT NULL"))
    assert store.mget(["k"]) == [Document("x")]


def test_many_rows_go_in_one_call(postgres_engine):
    store = SQLDocStore(postgres_engine)
    manager = SQLRecordManager("docs", engine=postgres_engine)
    # More than a statement may have parameters, on either driver.
    keys = [f"k{i:05}" for i in range(66_000)]
    store.mset([(key, Document("")) for key in keys])
    manager.update(keys, group_ids=keys)
    assert manager.exists([*keys, "x"]) == [True] * len(keys) + [False]
    assert manager.list_keys(group_ids=keys) == keys
    assert None not in store.mget(keys)
    store.mdelete(keys)
    manager.delete_keys(keys)
    assert list(store.yield_keys()) == manager.list_keys() == []


def test_another_schema_by_search_path(postgres_engine, postgres_database):
    with postgres_engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA other"))
    other = create_engine(f"{postgres_database}&options=-csearch_path%3Dother")
    one, two = SQLDocStore(postgres_engine), SQLDocStore(other)
    one.mset([("k", Document("x"))])
    assert two.mget(["k"]) == [None]
    assert one.identity != two.identity
    other.dispose()


def test_after_a_restart_of_the_server(tmp_path):
    with server() as running:
        engine = create_engine(text_of(running.url()))
        store = SQLDocStore(engine)
        store.mset([("k", Document("x"))])

        def stop_and_go_on(connection):
            running.stop("immediate")
            return connection.execute(DOCUMENTS.select()).all()

        with pytest.raises(StoreError, match=r"connection to the database broke"):
            store._database.run(stop_and_go_on)
        with pytest.raises(StoreError, match=r"no connection to the database"):
            store.mget(["k"])
        running.start()
        assert store.mget(["k"]) == [Document("x")]
        running.stop()
        running.start()
        # Pooled connections are tested before they are used.
        assert store.mget(["k"]) == [Document("x")]
        engine.dispose()
