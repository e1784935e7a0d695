"""The statements of the variation cache, as bodies for `Database`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import LargeBinary, bindparam, case, cast, delete, func, select

from langchain_rag.document_transformers import _cache_entries
from langchain_rag.storage._schema import VARIATIONS, among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Select

    from langchain_rag.document_transformers._cache_entries import CachedPiece, CacheKey

_MAX_INTEGER: Final = 2**31 - 1

_CHANGES: Final = ("transformer", "created_at", "characters", "pieces")


class Counted(NamedTuple):
    """What is stored for one transformer.

    Attributes:
        transformer: Its class name, as it stands in the row.
        entries: Number of rows.
        characters: Sum of their characters.
        oldest: Least time of writing.
        newest: Greatest time of writing.
    """

    transformer: object
    entries: int
    characters: int
    oldest: float | None
    newest: float | None


def read(namespace: str, names: Sequence[str]) -> Callable[[Connection], dict[str, object]]:
    """Return the body that reads pieces as they stand in their rows, by name.

    Args:
        namespace: Namespace of the cache.
        names: Names of the entries.

    Returns:
        The body.
    """

    def body(connection: Connection) -> dict[str, object]:
        dialect = connection.dialect.name
        values = {"of": namespace, "these": listed(dialect, names)}
        return {row[0]: row[1] for row in connection.execute(_select(dialect), values)}

    return body


def write(
    namespace: str, entries: Mapping[str, tuple[CacheKey, list[CachedPiece]]]
) -> Callable[[Connection], None]:
    """Return the body that writes entries over those that are there.

    Args:
        namespace: Namespace of the cache.
        entries: Keys and pieces by name, sorted.

    Returns:
        The body.
    """
    time = _cache_entries.now()
    rows = [
        {
            "namespace": namespace,
            "key": name,
            "transformer": key.transformer,
            "created_at": time,
            "characters": _cache_entries.characters_of(pieces),
            "pieces": _cache_entries.dumps(pieces),
        }
        for name, (key, pieces) in entries.items()
    ]

    def body(connection: Connection) -> None:
        insert = upsert(connection, VARIATIONS)
        statement = insert.on_conflict_do_update(
            index_elements=[VARIATIONS.c.namespace, VARIATIONS.c.key],
            set_={name: insert.excluded[name] for name in _CHANGES},
        )
        connection.execute(statement, rows)

    return body


def purge(
    namespace: str, transformer: str | None, before: float | None
) -> Callable[[Connection], int]:
    """Return the body that deletes entries, and says how many.

    Args:
        namespace: Namespace of the cache.
        transformer: Class name of the transformer, None for any.
        before: When they were written before, None for any time.

    Returns:
        The body.
    """
    statement = delete(VARIATIONS).where(VARIATIONS.c.namespace == namespace)
    if transformer is not None:
        statement = statement.where(VARIATIONS.c.transformer == transformer)
    if before is not None:
        statement = statement.where(VARIATIONS.c.created_at < before)
    return lambda connection: connection.execute(statement).rowcount


def count(namespace: str) -> Callable[[Connection], list[Counted]]:
    """Return the body that counts what is there, by transformer.

    Args:
        namespace: Namespace of the cache.

    Returns:
        The body.
    """

    def body(connection: Connection) -> list[Counted]:
        columns = VARIATIONS.c
        # SQLite's columns hold anything, also text, which is greater than any number.
        believed = columns.created_at.between(0, _cache_entries.END_OF_TIME)
        time = case((believed, columns.created_at))
        length = case(
            (columns.characters.between(0, _MAX_INTEGER), columns.characters), else_=0
        )
        query = (
            select(
                _raw(connection.dialect.name, columns.transformer),
                func.count(),
                func.sum(length),
                func.min(time),
                func.max(time),
            )
            .where(columns.namespace == namespace)
            .group_by(columns.transformer)
        )
        return [Counted(*row) for row in connection.execute(query)]

    return body


@cache
def _select(dialect: str) -> Select[Any, Any]:
    columns = VARIATIONS.c
    query: Select[Any, Any] = select(columns.key, _raw(dialect, columns.pieces))
    return query.where(
        columns.namespace == bindparam("of"), among(dialect, columns.key, "these")
    )


def _raw(dialect: str, column: Column[str]) -> ColumnElement[Any]:
    """Text as its bytes, where the database may hold what is no UTF-8.

    SQLite's driver would fail the whole call for one such row.
    """
    return cast(column, LargeBinary) if dialect == "sqlite" else column
