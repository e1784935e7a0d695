"""Engines: sync or async by the driver in the URL, fit for threads that share SQLite."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy
from sqlalchemy import event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, QueuePool, SingletonThreadPool, StaticPool

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine, ExceptionContext

AnyEngine: TypeAlias = "Engine | AsyncEngine"

_EXTRAS = {"aiosqlite": "async-sqlite", "psycopg": "postgres"}
"""Of langchain-rag, by the driver that they install."""

_PORTS = {"postgresql": 5432}
"""Where a server listens if a URL does not say."""

BUSY_TIMEOUT_MS = 30_000
"""How long a connection waits while another one writes."""


def create_engine(db_url: str | URL, **kwargs: Any) -> AnyEngine:
    """Create an engine for `SQLDocStore` and `SQLRecordManager`.

    The driver in the URL decides: `sqlite:///rag.db` gives an `Engine`,
    `sqlite+aiosqlite:///rag.db` an `AsyncEngine`. On SQLite every connection is put in WAL
    mode, so that readers and the one writer do not block each other, and waits up to 30
    seconds for its turn to write. `sqlite://` is one database in memory that all threads
    share, one transaction at a time.

    PostgreSQL takes `postgresql+psycopg://` for both kinds of engine (here it gives a sync
    one; pass `sqlalchemy.ext.asyncio.create_async_engine(...)`'s to the stores for the other),
    and `postgresql+asyncpg://` for an async one. A connection is tested before it is used
    again, so that a restart of the server fails no later call.

    An async engine belongs to one event loop, as all of SQLAlchemy's do.

    Statement parameters, which hold the text of documents, are kept out of SQLAlchemy's
    logs and exceptions.

    Args:
        db_url: A database URL, as text or as SQLAlchemy's `URL`.
        **kwargs: Passed on to SQLAlchemy's `create_engine` or `create_async_engine`.

    Returns:
        An `AsyncEngine` if the driver is an asynchronous one, else an `Engine`. The caller
        owns it, and calls `dispose()` at the end.

    Raises:
        ConfigurationError: If the URL cannot be read, or its driver is not installed.

    Example:
        >>> engine = create_engine("sqlite://")
        >>> engine.dialect.name
        'sqlite'
        >>> engine.dispose()
    """
    url, is_async = _parsed(db_url)
    options: dict[str, Any] = {"hide_parameters": True}
    if in_memory(url):
        # A pool of one connection: every thread sees the same database, and each has it
        # for itself during a transaction. (A StaticPool would hand the connection to two
        # threads at once, and one's rollback would undo the other's writes.)
        options["poolclass"] = AsyncAdaptedQueuePool if is_async else QueuePool
        options["pool_size"] = 1
        options["max_overflow"] = 0
        options["connect_args"] = {"check_same_thread": False}
    elif url.get_backend_name() == "postgresql":
        options["pool_pre_ping"] = True
    options |= kwargs
    make = create_async_engine if is_async else sqlalchemy.create_engine
    try:
        engine: AnyEngine = make(url, **options)
    except (ArgumentError, ValueError) as error:  # a value in the query that is no number
        raise _unreadable(error) from None
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        remedy = (
            f"pip install 'langchain-rag[{extra}]'" if extra else f"pip install {error.name}"
        )
        msg = f"The driver of {url.drivername!r} is not installed: {remedy}"
        raise ConfigurationError(msg) from error
    sync_engine = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
    _set_up(sync_engine)
    if sync_engine.dialect.name == "sqlite":
        event.listen(sync_engine, "handle_error", _keep_connection)
    return engine


def _keep_connection(context: ExceptionContext) -> None:
    """Keep the connection that is interrupted, so that its transaction is rolled back.

    SQLAlchemy would close it. With it a database in memory would go, and one in a file stay
    locked for as long as a traceback holds the statement.
    """
    if not isinstance(context.original_exception, Exception):
        context.is_disconnect = False


def check_engine(engine: AnyEngine) -> None:
    """Refuse an engine under which each thread would see a database of its own.

    Args:
        engine: The engine that a store was given.

    Raises:
        ConfigurationError: If it is SQLAlchemy's default for SQLite in memory, or hands one
            connection of a server to all threads.
    """
    if isinstance(engine.pool, StaticPool) and engine.dialect.name != "sqlite":
        msg = (
            "This engine gives all threads one connection (StaticPool), so that what one of "
            "them rolls back is undone for the others. Create it with "
            "langchain_rag.storage.create_engine(db_url)."
        )
        raise ConfigurationError(msg)
    if isinstance(engine.pool, SingletonThreadPool):
        msg = (
            "This engine gives each thread its own SQLite database in memory, so that what "
            "one thread writes another does not find. Create it with "
            "langchain_rag.storage.create_engine('sqlite://')."
        )
        raise ConfigurationError(msg)


def in_memory(url: URL) -> bool:
    """Say whether a database lives in its connection, and dies with it.

    Args:
        url: The URL of an engine.
    """
    if url.get_backend_name() != "sqlite":
        return False
    return url.database in (None, "", ":memory:") or url.query.get("mode") == "memory"


def place_of(engine: AnyEngine) -> tuple[object, ...]:
    """Say where the database of an engine is, the same for two engines on one database.

    Args:
        engine: A sync or async engine.

    Returns:
        Something to compare; no credentials.
    """
    url = engine.url
    if in_memory(url):
        return ("memory", id(engine))
    if url.get_backend_name() == "sqlite" and url.database is not None:
        path = url.database
        if path.startswith("file:"):
            path = path.removeprefix("file:")
            path = path.removeprefix("//localhost") if path.startswith("//") else path
        return ("sqlite", str(Path(path).resolve()))
    # PostgreSQL's drivers take host and port in either place, and a folder with the server's
    # socket for a host; its options may name another schema.
    host = url.host or url.query.get("host", "")
    if isinstance(host, str) and host.startswith("/"):
        host = str(Path(host).resolve())
    port = str(url.port or url.query.get("port", "") or _PORTS.get(url.get_backend_name(), ""))
    database = url.database or url.query.get("dbname") or url.username
    # Hashed, since options may say anything, and what is returned here nothing secret.
    options = hashlib.sha256(repr(url.query.get("options")).encode()).hexdigest()
    return (url.get_backend_name(), host, port, database, options)


def _parsed(db_url: str | URL) -> tuple[URL, bool]:
    """The URL, and whether its driver is an asynchronous one."""
    try:
        url = make_url(db_url)
        is_async = url.get_dialect().is_async
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise _unreadable(error) from None
    if isinstance(db_url, str) and url.host and "@" in f"{url.host}{url.database}":
        # Rather than look for a host that is half of the password, and say so in the error.
        msg = (
            "db_url has an @ too many. If it belongs to the password, write it as %40, : as "
            "%3A and / as %2F, as urllib.parse.quote(password, safe='') does, or pass a "
            "sqlalchemy.URL.create(...)."
        )
        raise ConfigurationError(msg)
    return url, is_async


def _unreadable(error: Exception) -> ConfigurationError:
    # The URL may hold a password, so neither it nor the cause is repeated.
    msg = (
        f"db_url is not a database URL that SQLAlchemy knows ({type(error).__name__}). "
        "Write it as driver://user:password@host/database, for example 'sqlite:///rag.db'; "
        "in the password @ becomes %40, : %3A and / %2F."
    )
    return ConfigurationError(msg)


def _set_up(engine: Engine) -> None:
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    try:
        _run(connection, f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        # WAL is kept in the file once one connection has set it. Where it cannot be set
        # (another connection is at it, a read-only file) SQLite works as well, but slower.
        with contextlib.suppress(sqlite3.OperationalError):
            _run(connection, "PRAGMA journal_mode = WAL")
    except sqlite3.Error:  # not a database: SQLAlchemy would leave it to the garbage collector
        connection.close()
        raise


def _run(connection: Any, statement: str) -> None:
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
    finally:
        cursor.close()
