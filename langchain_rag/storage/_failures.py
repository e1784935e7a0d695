"""What the database's failures are turned into: errors that say what to do, and no secret.

A statement that is wrong, or a table that somebody has dropped, stays the driver's error: it
would be a mistake of ours or of the user's, and there is no remedy to name.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from langchain_rag.errors import ConfigurationError, RAGError, StoreError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sqlalchemy import URL, Engine

_ENDED_FOR_ANOTHER: Final = frozenset({"40001", "40P01"})
"""PostgreSQL's codes for serialization_failure and deadlock_detected."""

_HARMLESS: Final = frozenset({"host", "port"})
"""What a URL's query may say without being a secret."""

_REMEDIES: Final = {
    "database is locked": "Another connection has been writing for longer than this one waits: "
    "end its transaction, or raise the timeout ('sqlite:///rag.db?timeout=60')",
    "readonly database": "Give the file and its folder write permission, or open another one",
    "database or disk is full": "Free some space",
    "disk I/O error": "See whether the disk is full, or broken",
    "file is not a database": "The path names a file that is something else: use another path",
    "unable to open database file": "Its folder must exist, and the file and the folder must "
    "be readable and writable for this process",
}
"""By a part of SQLite's message."""

_OUT_OF_RESOURCES: Final = "53"
"""Class of PostgreSQL's codes: disk full, out of memory, too many connections."""


@contextmanager
def connecting(engine: Engine) -> Generator[None]:
    """Turn whatever keeps an engine from connecting into an error of ours.

    Args:
        engine: The engine.

    Yields:
        Nothing, while connecting.

    Raises:
        ConfigurationError: If SQLite cannot open the file.
        StoreError: If the database cannot be reached, or does not let us in.
    """
    try:
        yield
    except RAGError:
        raise
    except Exception as error:  # noqa: BLE001 - asyncpg raises even OSError
        reason = _reason(error, engine.url)
        # Not chained: what the driver says may repeat the URL.
        if isinstance(error, PoolTimeoutError):
            msg = (
                "All connections of the engine are in use, and none was given back in time: "
                "end the transactions that hold them, or create the engine with a larger "
                "pool_size."
            )
            raise StoreError(msg) from None
        if engine.dialect.name == "sqlite":
            remedy = _remedy(error) or "See whether the engine's URL and options are right"
            msg = f"SQLite cannot open {engine.url.database!r}: {reason}. {remedy}."
            raise ConfigurationError(msg) from None
        msg = (
            f"There is no connection to the database: {reason}. See whether the server runs, "
            "and whether host, port, database, user and password of the engine are right."
        )
        raise StoreError(msg) from None


@contextmanager
def working(engine: Engine) -> Generator[None]:
    """Turn failures that are nobody's mistake in a statement into errors of ours.

    Args:
        engine: The engine.

    Yields:
        Nothing, while statements run.

    Raises:
        StoreError: If the connection broke, a lock was not to be had, or space ran out.
    """
    try:
        yield
    except DBAPIError as error:
        reason = _reason(error, engine.url)
        if error.connection_invalidated:
            msg = (
                f"The connection to the database broke: {reason}. What this call was writing "
                "is there as a whole or not at all: make the call again."
            )
        elif remedy := _remedy(error):
            msg = f"The database could not go on: {reason}. {remedy}, and make the call again."
        else:
            raise
        raise StoreError(msg) from None


def may_be_tried_again(error: DBAPIError) -> bool:
    """Say whether the database ended a transaction only since another one was in its way.

    Args:
        error: What a statement or the commit raised.
    """
    return _code(error) in _ENDED_FOR_ANOTHER


def _remedy(error: Exception) -> str | None:
    said = _said(error)
    for part, remedy in _REMEDIES.items():
        if part in said:
            return remedy
    if _code(error).startswith(_OUT_OF_RESOURCES):
        return "Give the database server the space, memory or connections that it lacks"
    return None


def _reason(error: Exception, url: URL) -> str:
    """What the driver says, unless a secret of the URL is in it."""
    said = _said(error)
    secrets = [url.password, *_query_values(url)]
    if any(secret in said for secret in secrets if secret):
        return type(error).__name__
    return said or type(error).__name__


def _query_values(url: URL) -> Iterator[str]:
    for name, value in url.query.items():
        if name not in _HARMLESS:
            yield from [value] if isinstance(value, str) else value


def _said(error: Exception) -> str:
    # Not the text of SQLAlchemy's own error, which holds the statement and may hold values.
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split()).rstrip(".")


def _code(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""
