"""A variation cache in a SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _caches
from langchain_rag.document_transformers import _cache_entries
from langchain_rag.document_transformers._cache_stats import CacheStats
from langchain_rag.storage._codec import check_keys, storable
from langchain_rag.storage._database import Database
from langchain_rag.storage._migrations import VARIATION_CACHE
from langchain_rag.storage._variations import ROWS, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_rag.document_transformers.caching import CachedPiece, CacheKey
    from langchain_rag.storage._cached_rows import Counted
    from langchain_rag.storage.engine import AnyEngine


class SQLVariationCache:
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

    def __init__(self, engine: AnyEngine, namespace: str = "") -> None:
        check_keys([namespace])
        self.namespace = namespace
        # Written for each answer; what a power failure takes is asked for again.
        self._database = Database(engine, VARIATION_CACHE, type(self).__name__, durable=False)
        self._tally = _caches.Tally()

    def __repr__(self) -> str:
        # Without the URL, which may hold credentials in more places than the password.
        dialect = self.engine.dialect.name
        return f"{type(self).__name__}(dialect={dialect!r}, namespace={self.namespace!r})"

    @property
    def engine(self) -> AnyEngine:
        """The engine, to dispose of at the end."""
        return self._database.engine

    def mget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Look answers up.

        Args:
            keys: Their keys.

        Returns:
            A new list for each key, in the order of the keys; None for what is not there, or
            cannot be read.
        """
        body = ROWS.read(self.namespace, _names(keys))
        return self._found(keys, self._database.run(body) if keys else {})

    async def amget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Look answers up, as `mget` does.

        Args:
            keys: Their keys.

        Returns:
            A new list for each key, in the order of the keys; None for what is not there, or
            cannot be read.
        """
        body = ROWS.read(self.namespace, _names(keys))
        return self._found(keys, await self._database.arun(body) if keys else {})

    def mset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Keep answers, over those that are there.

        What cannot be kept (no pieces, text with NUL characters or lone surrogates) is passed
        over, and logged.

        Args:
            pairs: Keys and pieces. Of equal keys the last one stays.
        """
        entries = _cache_entries.cachable(pairs)
        if entries:
            body = ROWS.write(rows_of(self.namespace, entries))
            self._database.run(body, write=True)

    async def amset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Keep answers, as `mset` does.

        Args:
            pairs: Keys and pieces. Of equal keys the last one stays.
        """
        entries = _cache_entries.cachable(pairs)
        if entries:
            body = ROWS.write(rows_of(self.namespace, entries))
            await self._database.arun(body, write=True)

    def purge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete answers: those that meet both conditions, or all if none is given.

        Args:
            transformer: Class name of the transformer that they were made for.
            older_than: Their least age.

        Returns:
            How many there were.

        Raises:
            ValueError: If `older_than` is negative.
        """
        body = ROWS.purge(self.namespace, transformer, _caches.cutoff(older_than))
        return self._database.run(body, write=True) if _may_be_there(transformer) else 0

    async def apurge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete answers, as `purge` does.

        Args:
            transformer: Class name of the transformer that they were made for.
            older_than: Their least age.

        Returns:
            How many there were.

        Raises:
            ValueError: If `older_than` is negative.
        """
        body = ROWS.purge(self.namespace, transformer, _caches.cutoff(older_than))
        return await self._database.arun(body, write=True) if _may_be_there(transformer) else 0

    def stats(self) -> CacheStats:
        """Count what is there, and what was found."""
        return self._counted(self._database.run(ROWS.count(self.namespace)))

    async def astats(self) -> CacheStats:
        """Count what is there, and what was found."""
        return self._counted(await self._database.arun(ROWS.count(self.namespace)))

    def _found(
        self, keys: Sequence[CacheKey], rows: dict[str, object]
    ) -> list[list[CachedPiece] | None]:
        read: dict[str, list[CachedPiece]] = {}
        for name, pieces in rows.items():
            try:
                read[name] = _cache_entries.pieces_of(_cache_entries.loads(pieces))
            except ValueError as error:
                _cache_entries.log_damage(name, error)
        names = [_cache_entries.name_of(key) for key in keys]
        # A list for each place: no two results are the same object.
        found = [list(read[name]) if name in read else None for name in names]
        self._tally.count(found)
        return found

    def _counted(self, counted: Counted) -> CacheStats:
        return CacheStats(
            sum(counted.by_label.values()),
            counted.size,
            counted.by_label,
            self._tally.hits,
            self._tally.misses,
            counted.oldest,
            counted.newest,
        )


def _names(keys: Sequence[CacheKey]) -> list[str]:
    return list(dict.fromkeys(map(_cache_entries.name_of, keys)))


def _may_be_there(transformer: str | None) -> bool:
    # PostgreSQL refuses to look for a text that it cannot hold.
    return transformer is None or storable(transformer)
