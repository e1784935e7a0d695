"""One transaction a call, on a sync or an async engine, from one body.

A *body* is a plain function of a SQLAlchemy `Connection`. On an async engine SQLAlchemy
runs the same function through `AsyncConnection.run_sync`, so nothing is written twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import run_in_executor
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.errors import ConfigurationError
from langchain_rag.storage.engine import AnyEngine, check_engine, in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from sqlalchemy import Connection, Engine

T = TypeVar("T")

_CHUNK = 500
"""Values in one IN list: SQLite before 3.32 takes 999 variables in a statement."""


def chunks(values: Sequence[str]) -> Iterator[list[str]]:
    """Cut values into lists that fit into one statement.

    Args:
        values: Any number of values.

    Yields:
        Lists of them, in order; none if there are no values.
    """
    for start in range(0, len(values), _CHUNK):
        yield list(values[start : start + _CHUNK])


class Database:
    """Runs bodies in transactions, and creates the schema before the first one.

    Args:
        engine: A sync or an async engine.
        schema: Creates what it needs where it is missing; runs once a connection, in a
            transaction of its own.
        owner: Class name for error messages.
    """

    def __init__(
        self, engine: AnyEngine, schema: Callable[[Connection], None], owner: str
    ) -> None:
        check_engine(engine)
        self.engine = engine
        self._schema = schema
        self._owner = owner

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

    def run(self, body: Callable[[Connection], T], *, write: bool = False) -> T:
        """Run a body in one transaction.

        Args:
            body: The statements. Whatever it raises rolls all of them back.
            write: Whether it writes, and so has to wait for its turn on SQLite.

        Returns:
            What the body returns.
        """
        with self.sync_engine.connect() as connection:
            return self._transact(connection, body, write)

    async def arun(self, body: Callable[[Connection], T], *, write: bool = False) -> T:
        """Run a body in one transaction, in the executor if the engine is a sync one.

        Args:
            body: The statements. Whatever it raises rolls all of them back.
            write: Whether it writes, and so has to wait for its turn on SQLite.

        Returns:
            What the body returns.
        """
        if not isinstance(self.engine, AsyncEngine):
            return await run_in_executor(None, self.run, body, write=write)
        work = self._arun(self.engine, body, write)
        if in_memory(self.engine.url):
            return await _to_its_end(work)
        return await work

    async def _arun(
        self, engine: AsyncEngine, body: Callable[[Connection], T], write: bool
    ) -> T:
        async with engine.connect() as connection:
            return await connection.run_sync(self._transact, body, write)

    def _transact(
        self, connection: Connection, body: Callable[[Connection], T], write: bool
    ) -> T:
        # Remembered with the DBAPI connection rather than here: a database in memory is a
        # new one when its connection is.
        created: set[Any] = connection.info.setdefault("langchain_rag_schemas", set())
        if self._schema not in created:
            self._schema(connection)
            connection.commit()
            created.add(self._schema)
        _begin(connection, write)
        result = body(connection)
        connection.commit()
        return result


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
