"""The statements of the record manager, as bodies for `Database`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from langchain_classic.indexes._sql_record_manager import UpsertionRecord
from sqlalchemy import delete, func, select, text

from langchain_rag.errors import InvalidDocumentError
from langchain_rag.storage._codec import storable
from langchain_rag.storage._migrations import Schema
from langchain_rag.storage._schema import among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

RECORDS = cast("Table[Any]", UpsertionRecord.__table__)

SCHEMA = Schema(tables=(RECORDS,))
"""LangChain's table, whose version is LangChain's matter."""

_NOW = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    # Not CURRENT_TIMESTAMP, which is when the transaction began.
    "postgresql": "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS double precision)",
}


def next_time(connection: Connection, at_least: float = 0.0) -> float:
    """Return the time, but later than every stored one and than a given one.

    A run of `index()` deletes what was refreshed before it began. SQLite's clock has
    milliseconds, and every clock may be set back, so the clock alone would now and then put
    the beginning of a run at or before the records of the run before it, which would then
    stay for ever; or its records before its beginning, which would be deleted.

    Args:
        connection: A connection in a transaction.
        at_least: When the run began.

    Returns:
        Seconds since 1970.
    """
    # Of all namespaces: without a condition the index answers it at once.
    latest = connection.scalar(select(func.max(RECORDS.c.updated_at))) or 0.0
    return max(_now(connection), math.nextafter(max(latest, at_least), math.inf))


def update(
    namespace: str,
    keys: Sequence[str],
    group_ids: Sequence[str | None] | None,
    time_at_least: float | None,
) -> Callable[[Connection], None]:
    """Return the body that writes or refreshes records.

    Args:
        namespace: Namespace of the records.
        keys: Their keys.
        group_ids: The source of each. Where there is none, a stored one is kept.
        time_at_least: When the run began.

    Returns:
        The body.

    Raises:
        ValueError: If there is another number of group ids than of keys.
        InvalidDocumentError: If a key or group id cannot be stored.
    """
    groups = [None] * len(keys) if group_ids is None else list(group_ids)
    if len(groups) != len(keys):
        msg = f"{len(keys)} keys have {len(groups)} group ids: give one for each key."
        raise ValueError(msg)
    # Of equal keys the last one stays. Sorted, so that two calls that write the same rows do
    # not wait for each other in a ring.
    records = sorted(dict(zip(keys, groups, strict=True)).items())
    for record in records:
        check_names(*record)

    def body(connection: Connection) -> None:
        time = next_time(connection, time_at_least or 0.0)
        rows = [
            {"key": key, "namespace": namespace, "group_id": group, "updated_at": time}
            for key, group in records
        ]
        insert = upsert(connection, RECORDS)
        statement = insert.on_conflict_do_update(
            index_elements=[RECORDS.c.key, RECORDS.c.namespace],
            set_={
                "updated_at": insert.excluded.updated_at,
                "group_id": func.coalesce(insert.excluded.group_id, RECORDS.c.group_id),
            },
        )
        connection.execute(statement, rows)

    return body


def exists(namespace: str, keys: Sequence[str]) -> Callable[[Connection], list[bool]]:
    """Return the body that says for each key whether there is a record of it.

    Args:
        namespace: Namespace of the records.
        keys: Their keys.

    Returns:
        The body.
    """

    def body(connection: Connection) -> list[bool]:
        query = select(RECORDS.c.key).where(*_named(connection, namespace))
        found = set(connection.scalars(query, _these(connection, keys)))
        return [key in found for key in keys]

    return body


def delete_keys(namespace: str, keys: Sequence[str]) -> Callable[[Connection], None]:
    """Return the body that deletes records.

    Args:
        namespace: Namespace of the records.
        keys: Their keys.

    Returns:
        The body.
    """

    def body(connection: Connection) -> None:
        statement = delete(RECORDS).where(*_named(connection, namespace))
        connection.execute(statement, _these(connection, keys))

    return body


def list_keys(
    namespace: str,
    before: float | None,
    after: float | None,
    group_ids: Sequence[str] | None,
    limit: int | None,
) -> Callable[[Connection], list[str]]:
    """Return the body that lists keys. 0, empty and None are no limit, as in LangChain's.

    Args:
        namespace: Namespace of the records.
        before: Only records refreshed before that time.
        after: Only records refreshed after that time.
        group_ids: Only records of these sources.
        limit: The most keys to list.

    Returns:
        The body.
    """
    query = select(RECORDS.c.key).where(RECORDS.c.namespace == namespace)
    if before:
        query = query.where(RECORDS.c.updated_at < before)
    if after:
        query = query.where(RECORDS.c.updated_at > after)
    query = query.order_by(RECORDS.c.updated_at, RECORDS.c.key).limit(limit or None)
    groups = list(dict.fromkeys(group_ids or []))

    def body(connection: Connection) -> list[str]:
        if not groups:
            return list(connection.scalars(query))
        of_groups = among(connection.dialect.name, RECORDS.c.group_id, "these")
        return list(connection.scalars(query.where(of_groups), _these(connection, groups)))

    return body


def _now(connection: Connection) -> float:
    return float(connection.execute(text(_NOW[connection.dialect.name])).scalar_one())


def check_names(*names: str | None) -> None:
    """Refuse keys, sources and namespaces that no database, or not every one, can hold.

    Args:
        *names: The names; None for none.

    Raises:
        InvalidDocumentError: If one has a NUL or a lone surrogate.
    """
    for name in names:
        if name is not None and not storable(name):
            msg = (
                f"The record manager cannot store {name!r} as a key, source or namespace: use "
                "text without NUL characters and lone surrogates."
            )
            raise InvalidDocumentError(msg)


def _named(connection: Connection, namespace: str) -> tuple[ColumnElement[bool], ...]:
    these = among(connection.dialect.name, RECORDS.c.key, "these")
    return RECORDS.c.namespace == namespace, these


def _these(connection: Connection, values: Sequence[str]) -> dict[str, object]:
    return {"these": listed(connection.dialect.name, values)}
