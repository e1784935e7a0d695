"""What a model answered, kept, so that it is paid for once.

A cache holds the usable pieces of each answer by fingerprint and content, and is written as
each answer arrives. What it has lost, or cannot read, costs a call of the model, and nothing
else.

- `VariationCache`: what transformers need of a cache; anything with these methods will do.
- `ByteStoreVariationCache`: one in any LangChain `ByteStore`, such as a `LocalFileStore`.
- `langchain_rag.storage.SQLVariationCache`: one in SQLite or PostgreSQL.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from langchain_rag import _caches
from langchain_rag._caches import Tally, moment_of, names_in, pages
from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.document_transformers import _cache_entries
from langchain_rag.document_transformers._cache_entries import CachedPiece, CacheKey
from langchain_rag.document_transformers._cache_stats import CacheStats
from langchain_rag.document_transformers._cache_values import Entry, decoded, is_doomed, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_core.stores import ByteStore

__all__ = [
    "ByteStoreVariationCache",
    "CacheKey",
    "CacheStats",
    "CachedPiece",
    "VariationCache",
]


@runtime_checkable
class VariationCache(Protocol):
    """Keeps what models answered.

    Each method has a twin whose name begins with `a`, which does the same asynchronously. All
    may be called from several threads and processes at a time.
    """

    def mget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Look answers up.

        Args:
            keys: Their keys.

        Returns:
            A new list for each key, in the order of the keys; None for what is not there, or
            cannot be read.
        """
        ...

    async def amget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Async form of `mget`."""
        ...

    def mset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Keep answers, over those that are there.

        What cannot be kept (no pieces, text with NUL characters or lone surrogates) is passed
        over, and logged.

        Args:
            pairs: Keys and pieces. Of equal keys the last one stays.
        """
        ...

    async def amset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Async form of `mset`."""
        ...

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
        ...

    async def apurge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Async form of `purge`."""
        ...

    def stats(self) -> CacheStats:
        """Count what is there, and what was found."""
        ...

    async def astats(self) -> CacheStats:
        """Async form of `stats`."""
        ...


class ByteStoreVariationCache:
    """A variation cache in any LangChain `ByteStore`: files, Redis, memory.

    Each answer is one value: versioned JSON that holds its age. A value that is cut off,
    damaged, or of another version counts as missing, and is deleted by the next purge.

    To purge and to count, all values of the namespace are read. For large corpora
    `langchain_rag.storage.SQLVariationCache` does both by one statement.

    Attributes:
        store: The store.
        namespace: Caches of different namespaces share the store, and nothing else.

    Args:
        store: The store, which may hold other things as well.
        namespace: Any text.

    Example:
        >>> from langchain_core.stores import InMemoryByteStore
        >>> cache = ByteStoreVariationCache(InMemoryByteStore())
        >>> key = CacheKey("SummarizeTransformer", fingerprint="0" * 64, content="1" * 64)
        >>> cache.mset([(key, [CachedPiece("summary", "On primes.")])])
        >>> cache.mget([key, key._replace(content="2" * 64)])
        [[CachedPiece(kind='summary', text='On primes.')], None]
    """

    def __init__(self, store: ByteStore, namespace: str = "") -> None:
        self.store = store
        self.namespace = namespace
        # A digest, since not every store takes any text; always the same number of parts, so
        # that one namespace never contains another.
        of = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._prefix = f"variations/{of}/"
        self._ours = re.compile(re.escape(self._prefix) + "[0-9a-f]{64}/[0-9a-f]{64}")
        self._tally = Tally()

    def __repr__(self) -> str:
        store = type(self.store).__name__  # whose own repr may show credentials
        return f"{type(self).__name__}({store}, namespace={self.namespace!r})"

    def mget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Look answers up; see `VariationCache.mget`."""
        return run(self._mget(keys))

    async def amget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        """Look answers up; see `VariationCache.mget`."""
        return await arun(self._mget(keys))

    def mset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Keep answers; see `VariationCache.mset`."""
        run(self._mset(pairs))

    async def amset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        """Keep answers; see `VariationCache.mset`."""
        await arun(self._mset(pairs))

    def purge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete answers, and what cannot be read; see `VariationCache.purge`."""
        return run(self._purge(transformer, older_than))

    async def apurge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete answers, and what cannot be read; see `VariationCache.purge`."""
        return await arun(self._purge(transformer, older_than))

    def stats(self) -> CacheStats:
        """Count what is there, and what was found."""
        return run(self._stats())

    async def astats(self) -> CacheStats:
        """Count what is there, and what was found."""
        return await arun(self._stats())

    def _mget(self, keys: Sequence[CacheKey]) -> Flow[list[list[CachedPiece] | None]]:
        names = list(dict.fromkeys(self._prefix + _cache_entries.name_of(key) for key in keys))
        entries: dict[str, Entry | None] = {}
        if names:
            values = yield from call(self.store.mget, self.store.amget, names)
            for name, value in zip(names, values, strict=True):
                entries[name] = read(name, value)
        found: list[list[CachedPiece] | None] = []
        for key in keys:
            entry = entries[self._prefix + _cache_entries.name_of(key)]
            found.append(list(entry.pieces) if entry else None)
        self._tally.count(found)
        return found

    def _mset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> Flow[None]:
        values = [
            (
                self._prefix + name,
                Entry(key.transformer, _caches.now(), pieces).encoded(),
            )
            for name, (key, pieces) in _cache_entries.cachable(pairs).items()
        ]
        if values:
            yield from call(self.store.mset, self.store.amset, values)

    def _purge(self, transformer: str | None, older_than: timedelta | None) -> Flow[int]:
        before = _caches.cutoff(older_than)
        names = yield from names_in(self.store, self._prefix, self._ours)
        purged = 0
        for page in pages(names):
            doomed = page
            if transformer is not None or before is not None:
                values = yield from call(self.store.mget, self.store.amget, page)
                doomed = [
                    name
                    for name, value in zip(page, values, strict=True)
                    if value is not None and is_doomed(value, transformer, before)
                ]
            if doomed:
                yield from call(self.store.mdelete, self.store.amdelete, doomed)
            purged += len(doomed)
        return purged

    def _stats(self) -> Flow[CacheStats]:
        characters, by_transformer = 0, dict[str, int]()
        oldest = newest = None
        for page in pages((yield from names_in(self.store, self._prefix, self._ours))):
            values = yield from call(self.store.mget, self.store.amget, page)
            for entry in filter(None, map(decoded, values)):
                characters += _cache_entries.characters_of(entry.pieces)
                by_transformer[entry.transformer] = by_transformer.get(entry.transformer, 0) + 1
                time = entry.created_at
                oldest = time if oldest is None else min(oldest, time)
                newest = time if newest is None else max(newest, time)
        return CacheStats(
            sum(by_transformer.values()),
            characters,
            by_transformer,
            self._tally.hits,
            self._tally.misses,
            moment_of(oldest),
            moment_of(newest),
        )
