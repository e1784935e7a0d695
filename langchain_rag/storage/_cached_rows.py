"""The statements of a cache's table, as bodies for `Database`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, bindparam, case, cast, delete, func, select

from langchain_rag.caches.codec import END_OF_TIME
from langchain_rag.caches.figures import Counted, span_of
from langchain_rag.storage._schema import among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Select, Table

_MAX_INTEGER: Final = 2**31 - 1


@dataclass(frozen=True)
class CachedRows:
    """A table of a cache, whose rows have a namespace, a key and a time beside these columns.

    Attributes:
        table: The table.
        label: Name of the column that rows are purged and counted by.
        size: Name of the column with the size of a row.
        value: Name of the column with what is kept.
    """

    table: Table[Any]
    label: str
    size: str
    value: str

    def read(
        self, namespace: str, names: Sequence[str]
    ) -> Callable[[Connection], dict[str, object]]:
        """Return the body that reads values as they stand in their rows, by key.

        Args:
            namespace: Namespace of the cache.
            names: Keys of the rows.

        Returns:
            The body.
        """

        def body(connection: Connection) -> dict[str, object]:
            dialect = connection.dialect.name
            values = {"of": namespace, "these": listed(dialect, names)}
            found = connection.execute(_select(self, dialect), values)
            return {row[0]: row[1] for row in found}

        return body

    def write(self, rows: Sequence[dict[str, Any]]) -> Callable[[Connection], None]:
        """Return the body that writes rows over those that are there.

        Args:
            rows: At least one, sorted by key, so that two calls that write the same rows do
                not wait for each other in a ring.

        Returns:
            The body.
        """

        def body(connection: Connection) -> None:
            insert = upsert(connection, self.table)
            statement = insert.on_conflict_do_update(
                index_elements=[self.table.c.namespace, self.table.c.key],
                set_={
                    name: insert.excluded[name]
                    for name in (self.label, "created_at", self.size, self.value)
                },
            )
            connection.execute(statement, rows)

        return body

    def purge(
        self, namespace: str, label: str | None, before: float | None
    ) -> Callable[[Connection], int]:
        """Return the body that deletes rows, and says how many.

        Args:
            namespace: Namespace of the cache.
            label: Their label, None for any.
            before: When they were written before, None for any time.

        Returns:
            The body.
        """
        statement = delete(self.table).where(self.table.c.namespace == namespace)
        if label is not None:
            statement = statement.where(self.table.c[self.label] == label)
        if before is not None:
            statement = statement.where(self.table.c.created_at < before)
        return lambda connection: connection.execute(statement).rowcount

    def count(self, namespace: str) -> Callable[[Connection], Counted]:
        """Return the body that counts what is there.

        Args:
            namespace: Namespace of the cache.

        Returns:
            The body.
        """

        def body(connection: Connection) -> Counted:
            columns = self.table.c
            # SQLite's columns hold anything, also text, which is greater than any number.
            believed = columns.created_at.between(0, END_OF_TIME)
            time = case((believed, columns.created_at))
            size = columns[self.size]
            query = (
                select(
                    _raw(connection.dialect.name, columns[self.label]),
                    func.count(),
                    func.sum(case((size.between(0, _MAX_INTEGER), size), else_=0)),
                    func.min(time),
                    func.max(time),
                )
                .where(columns.namespace == namespace)
                .group_by(columns[self.label])
            )
            return _counted([tuple(row) for row in connection.execute(query)])

        return body


@cache
def _select(rows: CachedRows, dialect: str) -> Select[Any, Any]:
    columns = rows.table.c
    query: Select[Any, Any] = select(columns.key, _raw(dialect, columns[rows.value]))
    return query.where(
        columns.namespace == bindparam("of"), among(dialect, columns.key, "these")
    )


def _counted(rows: Sequence[tuple[Any, ...]]) -> Counted:
    by_label: dict[str, int] = {}
    for name, entries, *_ in rows:
        text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        by_label[text] = by_label.get(text, 0) + entries
    times = [time for row in rows for time in row[3:] if time is not None]
    return Counted(by_label, sum(row[2] for row in rows), *span_of(times))


def _raw(dialect: str, column: Column[Any]) -> ColumnElement[Any]:
    """Any value as its bytes, where the database may hold what the column is not for.

    SQLite's driver would fail the whole call for one such row.
    """
    return cast(column, LargeBinary) if dialect == "sqlite" else column
