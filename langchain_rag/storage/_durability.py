"""Transactions that do not wait for the disk.

What they write is there for everybody at once, also if the process dies. If the machine's power
fails, or the database server does, the last of it may be missing; the database stays whole.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy import Connection

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
