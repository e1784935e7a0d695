"""The caches in a SQL database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from sqlalchemy import LargeBinary, bindparam, case, delete, func, select
from typing_extensions import override

from langchain_rag._flow import Flow, call
from langchain_rag.caches.cache import Cache, cutoff
from langchain_rag.caches.codec import END_OF_TIME, E, K, S
from langchain_rag.caches.embedding_codec import EmbeddingCacheStats
from langchain_rag.caches.embeddings import EmbeddingMethods
from langchain_rag.caches.figures import Counted, span_of
from langchain_rag.caches.variation_codec import CachedPiece, CacheKey, CacheStats
from langchain_rag.caches.variations import VariationMethods
from langchain_rag.storage._codec import check_keys, storable
from langchain_rag.storage._database import Database
from langchain_rag.storage._migrations import EMBEDDING_CACHE, VARIATION_CACHE
from langchain_rag.storage._schema import EMBEDDINGS, VARIATIONS, among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from sqlalchemy import Column, ColumnElement, Connection, Select, Table

    from langchain_rag.storage._migrations import Schema
    from langchain_rag.storage.engine import AnyEngine


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
    return column.cast(LargeBinary) if dialect == "sqlite" else column


T = TypeVar("T")


class SQLCache(Cache[K, E, S]):
    """Keeps each value in a row of one table.

    Attributes:
        namespace: Caches of different namespaces share the table, and nothing else.

    Args:
        engine: A sync or async engine.
        namespace: Part of every key.

    Raises:
        InvalidDocumentError: If the namespace has NUL characters or lone surrogates.
    """

    _rows: ClassVar[CachedRows]
    _schema: ClassVar[Schema]

    def __init__(self, engine: AnyEngine, namespace: str = "") -> None:
        check_keys([namespace])
        super().__init__(namespace)
        # Written for each answer; what a power failure takes is asked for again.
        self._database = Database(engine, self._schema, type(self).__name__, durable=False)

    def __repr__(self) -> str:
        # Without the URL, which may hold credentials in more places than the password.
        dialect = self.engine.dialect.name
        return f"{type(self).__name__}(dialect={dialect!r}, namespace={self.namespace!r})"

    @property
    def engine(self) -> AnyEngine:
        """The engine, to dispose of at the end."""
        return self._database.engine

    @override
    def _encoded(
        self, name: str, key: K, value: Sequence[E], created_at: float
    ) -> dict[str, Any]:
        column = self._codec.to_column(name, key, value)
        return {
            "namespace": self.namespace,
            "key": name,
            self._rows.label: self._codec.label_of(key),
            "created_at": created_at,
            self._rows.size: self._codec.size_of(value, column),
            self._rows.value: column,
        }

    @override
    def _decoded(self, name: str, stored: object) -> list[E]:
        return self._codec.from_column(name, stored)

    @override
    def _read(self, names: list[str]) -> Flow[dict[str, object]]:
        return self._run(self._rows.read(self.namespace, names))

    @override
    def _write(self, encoded: list[dict[str, Any]]) -> Flow[None]:
        return self._run(self._rows.write(encoded), write=True)

    @override
    def _purge(self, label: str | None, older_than: timedelta | None) -> Flow[int]:
        body = self._rows.purge(self.namespace, label, cutoff(older_than))
        if label is not None and not storable(label):
            return 0  # PostgreSQL refuses to look for a text that it cannot hold
        return (yield from self._run(body, write=True))

    @override
    def _count(self) -> Flow[Counted]:
        return self._run(self._rows.count(self.namespace))

    def _run(self, body: Callable[[Connection], T], *, write: bool = False) -> Flow[T]:
        database = self._database
        # Type checkers lose what `run` is generic in.
        result: Any = yield from call(database.run, database.arun, body, write=write)
        return cast("T", result)


class SQLVariationCache(VariationMethods, SQLCache[CacheKey, CachedPiece, CacheStats]):
    """Keeps what models answered in one table of a SQLite or PostgreSQL database.

    It is a `langchain_rag.document_transformers.VariationCache`. Each call is one
    transaction, and the table is created by the first one. A row that cannot be read counts
    as missing, is logged, and is written anew with the next answer.

    With a sync engine the async methods run in LangChain's executor; with an async engine
    they are native, and the sync methods raise `ConfigurationError`.

    Attributes:
        namespace: Caches of different namespaces share the table, and nothing else.

    Args:
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`. It
            may be the one of the docstore.
        namespace: Part of every key.

    Raises:
        InvalidDocumentError: If the namespace has NUL characters or lone surrogates.

    Example:
        >>> from langchain_rag.document_transformers import CachedPiece, CacheKey
        >>> from langchain_rag.storage import SQLVariationCache, create_engine
        >>> engine = create_engine("sqlite://")
        >>> cache = SQLVariationCache(engine)
        >>> key = CacheKey("SummarizeTransformer", fingerprint="0" * 64, content="1" * 64)
        >>> cache.mset([(key, [CachedPiece("summary", "On primes.")])])
        >>> cache.mget([key, key._replace(content="2" * 64)])
        [[CachedPiece(kind='summary', text='On primes.')], None]
        >>> cache.purge(transformer="SummarizeTransformer")
        1
        >>> engine.dispose()
    """

    _rows = CachedRows(VARIATIONS, label="transformer", size="characters", value="pieces")
    _schema = VARIATION_CACHE


class SQLEmbeddingCache(
    EmbeddingMethods, SQLCache[tuple[str, str], float, EmbeddingCacheStats]
):
    """Keeps the vectors of texts in one table of a SQLite or PostgreSQL database.

    It is a `langchain_rag.embedding_cache.EmbeddingCache`. Each call is one transaction, and
    the table is created by the first one. A row that cannot be read counts as missing, is
    logged, and is written anew with the next answer of the model.

    With a sync engine the async methods run in LangChain's executor; with an async engine
    they are native, and the sync methods raise `ConfigurationError`.

    Attributes:
        namespace: Caches of different namespaces share the table, and nothing else.

    Args:
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`. It
            may be the one of the docstore.
        namespace: Part of every key.

    Raises:
        InvalidDocumentError: If the namespace has NUL characters or lone surrogates.

    Example:
        >>> from langchain_rag.storage import SQLEmbeddingCache, create_engine
        >>> engine = create_engine("sqlite://")
        >>> cache = SQLEmbeddingCache(engine)
        >>> cache.mset("my-model", [("a text", [0.1, -0.5])])
        >>> cache.mget("my-model", ["a text", "another"])
        [[0.1, -0.5], None]
        >>> cache.purge(model="my-model")
        1
        >>> engine.dispose()
    """

    _rows = CachedRows(EMBEDDINGS, label="model", size="bytes", value="vector")
    _schema = EMBEDDING_CACHE

    def __init__(self, engine: AnyEngine, *, namespace: str = "") -> None:
        super().__init__(engine, namespace)
