"""One writer for a document, across stores, engines and processes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from langchain_core.documents import Document
from sqlalchemy import NullPool, make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.storage import SQLDocStore, _sessions, create_engine
from langchain_rag.storage._presence import FilePresence
from langchain_rag.testing import Driver
from tests.unit.storage.kinds import on_postgres, on_sqlite

DOCUMENTS = {f"manifests/{name}": name for name in ("euler", "gauss", "noether")}
ONE = {"manifests/gauss": "gauss"}

HOLDER = """
import os, signal, sys
from langchain_rag.storage import SQLDocStore, _sessions, create_engine
claim = SQLDocStore(create_engine(sys.argv[1])).claim({"manifests/gauss": "gauss"})
claim.acquire()
print("held", flush=True)
sys.stdin.readline()
claim.release()
print("released", flush=True)
sys.stdin.readline()
"""


async def test_a_claim_excludes_others(engine: Any, driver: Driver) -> None:
    docstore = SQLDocStore(engine, "ours")
    first = docstore.claim(DOCUMENTS)
    await driver(first, "acquire")
    second = SQLDocStore(engine, "ours").claim({"manifests/abel": "abel", **ONE})
    with pytest.raises(ConcurrentWriteError, match=r"'gauss' is being written by another call"):
        await driver(second, "acquire")
    await driver(second, "release")
    # What was refused left nothing, and other documents and namespaces are free.
    for other in (
        docstore.claim({"manifests/abel": "abel"}),
        SQLDocStore(engine, "theirs").claim(DOCUMENTS),
    ):
        await driver(other, "acquire")
        await driver(other, "release")
    await driver(first, "confirm")
    assert await driver(docstore, "claimed", [*DOCUMENTS, "other"]) == [True] * 3 + [False]
    await driver(first, "mset", [("a", Document("A")), ("b", Document("B"))])
    await driver(first, "mdelete", ["b"])
    assert await driver(docstore, "mget", ["a", "b"]) == [Document("A"), None]
    await driver(first, "release")
    await driver(first, "release")
    assert await driver(docstore, "claimed", list(DOCUMENTS)) == [False] * 3
    third = docstore.claim(ONE)
    await driver(third, "acquire")
    await driver(third, "release")
    await driver(docstore.claim(ONE), "release")


async def test_a_claim_that_was_lost_writes_nothing(
    engine: Any, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The one that takes over is in another process; here its tokens are unknown likewise.
    monkeypatch.setattr(_sessions, "is_ours", lambda _token: False)
    docstore = SQLDocStore(engine)
    first = docstore.claim(DOCUMENTS)
    await driver(first, "acquire")
    await driver(first, "mset", [("a", Document("A"))])
    await lose(first, engine, driver)
    second = docstore.claim(ONE)
    await driver(second, "acquire")
    for method, *args in (
        ("mset", [("a", Document("overwritten"))]),
        ("mdelete", ["a"]),
        ("confirm",),
    ):
        with pytest.raises(ConcurrentWriteError, match=r"claim on .*'gauss'.* was lost"):
            await driver(first, method, *args)
    assert await driver(docstore, "mget", ["a"]) == [Document("A")]
    # Giving back what it lost does not give back what the other one holds.
    await driver(first, "release")
    await driver(second, "confirm")
    third = docstore.claim(ONE)
    with pytest.raises(ConcurrentWriteError):
        await driver(third, "acquire")
    await driver(third, "release")
    await driver(second, "release")


async def lose(claim: Any, engine: Any, driver: Driver) -> None:
    """Let a claim's holder seem to be gone, as a broken connection does."""
    if engine.dialect.name != "postgresql":
        claim.abandon()
        return
    others = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks "
        "WHERE locktype = 'advisory' AND pid <> pg_backend_pid() "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    database = SQLDocStore(engine)._database
    killed = await driver(
        database, "run", lambda connection: connection.execute(text(others)).all()
    )
    assert len(killed) == 1


@on_postgres
async def test_a_session_that_broke_is_opened_anew(engine: Any, driver: Driver) -> None:
    docstore = SQLDocStore(engine)
    for _ in range(3):
        claim = docstore.claim(ONE)
        await driver(claim, "acquire")
        await driver(claim, "mset", [("a", Document("A"))])
        await lose(claim, engine, driver)
        # It is still under way here, and nobody has taken the document over.
        with pytest.raises(ConcurrentWriteError, match="is being written"):
            await driver(docstore.claim(ONE), "acquire")
        await driver(claim, "release")


@on_postgres
async def test_one_session_serves_all_writes(engine: Any, driver: Driver) -> None:
    docstore = SQLDocStore(engine)
    writers = []
    for name in "abc":
        claim = docstore.claim({name: name})
        await driver(claim, "acquire")
        writers.append(claim.writer)
        await driver(claim, "release")
    assert len({writer.partition(":")[0] for writer in writers}) == 1
    assert len(set(writers)) == 3


async def test_claims_in_every_order_neither_overlap_nor_wait_for_ever(
    engine: Any, driver: Driver
) -> None:
    docstore = SQLDocStore(engine)
    held: set[str] = set()
    won = 0

    async def work(number: int) -> None:
        nonlocal won
        for round_ in range(6):
            names = ["a", "b", "c", "d"][(number + round_) % 3 :]
            ordered = names if number % 2 else names[::-1]
            claim = docstore.claim({name: name for name in ordered})
            try:
                await claim.aacquire()
            except ConcurrentWriteError:
                await claim.arelease()
                continue
            assert held.isdisjoint(names)
            held.update(names)
            won += 1
            await asyncio.sleep(0.001)
            held.difference_update(names)
            await claim.arelease()

    if driver.name == "async":
        await asyncio.gather(*(work(number) for number in range(5)))
    else:
        errors = in_threads(docstore)
        assert errors == []
        won = 1
    assert won > 0
    assert held == set()


def in_threads(docstore: SQLDocStore) -> list[BaseException]:
    held: set[str] = set()
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round_ in range(6):
                names = ["a", "b", "c", "d"][(number + round_) % 3 :]
                claim = docstore.claim(dict(zip(names, names, strict=True)))
                try:
                    claim.acquire()
                    with lock:
                        assert held.isdisjoint(names)
                        held.update(names)
                    claim.confirm()
                    with lock:
                        held.difference_update(names)
                except ConcurrentWriteError:
                    pass
                finally:
                    claim.release()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return errors


POSTGRES = [pytest.mark.integration, pytest.mark.full]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=POSTGRES)])
def shared_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A database that other processes reach as well."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rag.db'}"
    url: str = request.getfixturevalue("postgres_database")
    return url


class Holder:
    """Another process that holds a claim."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.wait_for("held")

    def wait_for(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def claimed(url: str) -> bool:
    engine: Any = create_engine(url)
    claim = SQLDocStore(engine).claim(ONE)
    try:
        claim.acquire()
    except ConcurrentWriteError:
        return False
    else:
        return True
    finally:
        claim.release()
        engine.dispose()


def test_another_process_holds_it_until_it_gives_it_back(shared_url: str) -> None:
    holder = Holder(shared_url)
    try:
        assert not claimed(shared_url)
        holder.send(signal.SIGSTOP)
        assert not claimed(shared_url), "one that is slow is not dead"
        holder.send(signal.SIGCONT)
        holder.go_on()
        holder.wait_for("released")
        assert claimed(shared_url)
    finally:
        holder.close()


def test_another_process_that_was_killed_holds_nothing(shared_url: str) -> None:
    holder = Holder(shared_url)
    holder.send(signal.SIGKILL)
    holder.process.communicate()
    assert claimed(shared_url), "at once: there is no lease to wait for"
    assert claimed(shared_url)


FORKING = """
import multiprocessing, os, signal, sys, time
from langchain_rag.storage import SQLDocStore, create_engine
claim = SQLDocStore(create_engine(sys.argv[1])).claim({"manifests/gauss": "gauss"})
claim.acquire()
child = os.fork()
if child == 0:
    time.sleep(20)
    os._exit(0)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_does_not_hold_what_its_killed_parent_held(shared_url: str) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", FORKING, shared_url], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    child = int(writer.stdout.readline())
    try:
        writer.wait()
        assert claimed(shared_url)
    finally:
        os.kill(child, signal.SIGKILL)
        writer.stdout.close()


@pytest.mark.full
@pytest.mark.integration
@pytest.mark.parametrize("driver_name", ["psycopg_async", "asyncpg"])
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of psycopg: their loop is gone
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_closed_event_loops_leave_no_session(postgres_database: str, driver_name: str) -> None:
    url = make_url(postgres_database).set(drivername=f"postgresql+{driver_name}")
    engine = create_async_engine(url, poolclass=NullPool)

    async def hold_once() -> int:
        docstore = SQLDocStore(engine)
        claim = docstore.claim(ONE)
        await claim.aacquire()
        await claim.arelease()
        async with engine.connect() as connection:
            query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
            return int((await connection.execute(query)).scalar_one())

    assert max(asyncio.run(hold_once()) for _ in range(6)) <= 2
    asyncio.run(engine.dispose())
    gc.collect()  # here, where its warnings are known


@on_sqlite
async def test_a_claim_that_was_dropped_holds_nothing(engine: Any, driver: Driver) -> None:
    """As where an interruption struck before it could be released."""
    docstore = SQLDocStore(engine)
    claim = docstore.claim(ONE)
    await driver(claim, "acquire")
    del claim
    gc.collect()
    claim = docstore.claim(ONE)
    await driver(claim, "acquire")
    await driver(claim, "release")


def test_files_of_writers_do_not_pile_up(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'rag.db'}"
    holder = Holder(url)
    assert len(list((tmp_path / "rag.db-writers").iterdir())) == 1
    holder.close()
    assert claimed(url)
    assert list((tmp_path / "rag.db-writers").iterdir()) == []


def test_the_folder_of_writers_may_be_removed(tmp_path: Any) -> None:
    presence = FilePresence(str(tmp_path / "rag.db-writers"))
    assert presence.has_left(None, "unknown")  # type: ignore[arg-type]
    assert not (tmp_path / "rag.db-writers").exists()
