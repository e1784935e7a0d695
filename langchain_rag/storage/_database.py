"""One transaction a call, on a sync or an async engine, from one body.

A *body* is a plain function of a SQLAlchemy `Connection`. On an async engine SQLAlchemy
runs the same function through `AsyncConnection.run_sync`, so nothing is written twice.

Transactions need not wait for the disk. What they write is there for everybody at once, also if
the process dies. If the machine's power fails, or the database server does, the last of it may
be missing; the database stays whole.
"""

from __future__ import annotations

import asyncio
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
    nullcontext,
)
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.runnables import run_in_executor
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import StaticPool

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage._failures import connecting, may_be_tried_again, working
from langchain_rag.storage.engine import AnyEngine, check_engine, in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from sqlalchemy import Connection

    from langchain_rag.storage._migrations import Schema


_NORMAL: Final = 1
"""SQLite's synchronous=NORMAL, which in WAL mode syncs at checkpoints only."""


@contextmanager
def hurried(connection: Connection) -> Generator[None]:
    """Let the transactions of a connection not wait for the disk.

    Args:
        connection: A connection outside of a transaction.

    Yields:
        Nothing, meanwhile.
    """
    # Without WAL a power failure could damage the file.
    sqlite = connection.dialect.name == "sqlite"
    before = _synchronous(connection) if sqlite and _is_wal(connection) else 0
    if before <= _NORMAL:
        yield
        return
    _run(connection, f"PRAGMA synchronous = {_NORMAL}")
    try:
        yield
    finally:
        if not connection.invalidated:
            _run(connection, f"PRAGMA synchronous = {before}")


def hurry(connection: Connection) -> None:
    """Let the transaction that has just begun not wait for the disk, where that is its own.

    Args:
        connection: A connection in a transaction.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")


def _synchronous(connection: Connection) -> int:
    return int(_run(connection, "PRAGMA synchronous"))


def _is_wal(connection: Connection) -> bool:
    # It is a property of the file, which nobody changes while others have it open.
    known: Any = connection.info.get("langchain_rag_wal")
    if known is None:
        known = str(_run(connection, "PRAGMA journal_mode")).lower() == "wal"
        connection.info["langchain_rag_wal"] = known
    return bool(known)


def _run(connection: Connection, statement: str) -> Any:
    connection.rollback()  # whatever failed before
    result = connection.exec_driver_sql(statement)
    value = result.scalar() if result.returns_rows else None
    connection.commit()
    return value


T = TypeVar("T")

_ATTEMPTS = 5
"""How often a transaction is begun that the database ended in favour of another one."""


class Database:
    """Runs bodies in transactions, and brings the tables up to date before the first one.

    A body may run more than once: where two transactions block each other, the database ends
    one of them, and that one is begun again.

    Args:
        engine: A sync or an async engine.
        schema: The tables that the bodies need; looked after once a connection.
        owner: Class name for error messages.
        durable: Whether what was written must outlive the machine's power, and so waits for
            the disk. It outlives the process in any case.
    """

    def __init__(
        self, engine: AnyEngine, schema: Schema, owner: str, *, durable: bool = True
    ) -> None:
        check_engine(engine)
        self.engine = engine
        self._schema = schema
        self._owner = owner
        self._durable = durable

    def without_waiting(self) -> Database:
        """Return the same, for what need not outlive the machine's power."""
        return Database(self.engine, self._schema, self._owner, durable=False)

    @property
    def sync_engine(self) -> Engine:
        """The engine that sync methods use.

        Raises:
            ConfigurationError: If the engine is an async one.
        """
        if isinstance(self.engine, AsyncEngine):
            msg = (
                f"This {self._owner} has an async engine, so it has async methods only: "
                "await the method that begins with 'a' (aindex() rather than index()), or "
                "give it a sync engine, for example create_engine('sqlite:///rag.db')."
            )
            raise ConfigurationError(msg)
        return self.engine

    def run(
        self, body: Callable[[Connection], T], *, write: bool = False, single: bool = False
    ) -> T:
        """Run a body in one transaction.

        Args:
            body: The statements. Whatever it raises rolls all of them back.
            write: Whether it writes, and so has to wait for its turn on SQLite.
            single: Whether it is one statement that reads, which sees one state by itself.

        Returns:
            What the body returns.

        Raises:
            StoreError: If the database cannot be reached, or could not go on.
            ConfigurationError: If the engine's URL cannot be right.
        """
        engine = self.sync_engine
        with ExitStack() as stack, working(engine):
            stack.enter_context(_alone(engine))
            with connecting(engine):
                connection = stack.enter_context(engine.connect())
            return self._transact(connection, body, write, single)

    async def arun(
        self, body: Callable[[Connection], T], *, write: bool = False, single: bool = False
    ) -> T:
        """Run a body in one transaction, in the executor if the engine is a sync one.

        Args:
            body: The statements. Whatever it raises rolls all of them back.
            write: Whether it writes, and so has to wait for its turn on SQLite.
            single: Whether it is one statement that reads, which sees one state by itself.

        Returns:
            What the body returns.

        Raises:
            StoreError: If the database cannot be reached, or could not go on.
            ConfigurationError: If the engine's URL cannot be right.
        """
        if not isinstance(self.engine, AsyncEngine):
            return await run_in_executor(None, self.run, body, write=write, single=single)
        work = self._arun(self.engine, body, write, single)
        if in_memory(self.engine.url):
            return await _to_its_end(work)
        return await work

    async def _arun(
        self, engine: AsyncEngine, body: Callable[[Connection], T], write: bool, single: bool
    ) -> T:
        async with AsyncExitStack() as stack:
            with working(engine.sync_engine):
                with connecting(engine.sync_engine):
                    connection = await stack.enter_async_context(engine.connect())
                return await connection.run_sync(self._transact, body, write, single)

    def _transact(
        self, connection: Connection, body: Callable[[Connection], T], write: bool, single: bool
    ) -> T:
        # Remembered with the DBAPI connection rather than here: a database in memory is a
        # new one when its connection is.
        current: set[Any] = connection.info.setdefault("langchain_rag_schemas", set())
        if self._schema not in current:
            self._make_current(connection)
            current.add(self._schema)
        if single:
            return body(connection)  # what began by itself ends with the connection's return
        if write and not self._durable:
            with hurried(connection):
                return _in_transaction(connection, body, write, durable=False)
        return _in_transaction(connection, body, write)

    def _make_current(self, connection: Connection) -> None:
        # Looks first: whoever may only read can read what others have created.
        if _in_transaction(connection, self._schema.is_current, write=False):
            return
        try:
            _in_transaction(connection, self._schema.make_current, write=True)
        except DBAPIError:
            # An isolation level of the user's may hide from the transaction that another
            # one has been faster.
            connection.rollback()
            if not _in_transaction(connection, self._schema.is_current, write=False):
                raise


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work that a cancellation must not interrupt, only end the waiting for it.

    SQLAlchemy closes the connection of a cancelled statement, and a database in memory
    would be gone with it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


_locks: WeakKeyDictionary[Engine, RLock] = WeakKeyDictionary()
_guard = Lock()


def _alone(engine: Engine) -> AbstractContextManager[object]:
    """Keep threads apart where the user's engine gives all of them one connection."""
    if not isinstance(engine.pool, StaticPool):
        return nullcontext()
    with _guard:
        return _locks.setdefault(engine, RLock())


def _in_transaction(
    connection: Connection,
    body: Callable[[Connection], T],
    write: bool,
    durable: bool = True,
) -> T:
    attempt = 1
    while True:
        _begin(connection, write)
        try:
            if not durable:
                hurry(connection)
            result = body(connection)
            connection.commit()
        except DBAPIError as error:
            if attempt == _ATTEMPTS or not may_be_tried_again(error):
                raise
            connection.rollback()
            attempt += 1
        else:
            return result


def _begin(connection: Connection, write: bool) -> None:
    """Begin for real on SQLite, whose driver would do so before the first write only.

    Without it two reads of one call could see different states; and a transaction that
    reads before it writes would fail at once, rather than wait, when another one wrote in
    between. Other databases begin by themselves.
    """
    connection.begin()
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:  # an engine of the user's may have an event for it
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
