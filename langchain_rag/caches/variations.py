"""What a variation cache is, and the one in a `ByteStore`.

A cache holds the usable pieces of each answer by fingerprint and content, and is written as
each answer arrives. What it has lost, or cannot read, costs a call of the model, and nothing
else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from typing_extensions import override

from langchain_rag._flow import arun, run
from langchain_rag.caches.byte_store import ByteStoreCache
from langchain_rag.caches.cache import Cache
from langchain_rag.caches.variation_codec import (
    CachedPiece,
    CacheKey,
    CacheStats,
    VariationCodec,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


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


class VariationMethods(Cache[CacheKey, CachedPiece, CacheStats], VariationCache):
    """The methods of a variation cache, over the generic cache of whichever store."""

    _codec = VariationCodec()

    @override
    def mget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        return run(self._mget(keys))

    @override
    async def amget(self, keys: Sequence[CacheKey]) -> list[list[CachedPiece] | None]:
        return await arun(self._mget(keys))

    @override
    def mset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        run(self._mset(pairs))

    @override
    async def amset(self, pairs: Sequence[tuple[CacheKey, list[CachedPiece]]]) -> None:
        await arun(self._mset(pairs))

    @override
    def purge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        return run(self._purge(transformer, older_than))

    @override
    async def apurge(
        self, *, transformer: str | None = None, older_than: timedelta | None = None
    ) -> int:
        return await arun(self._purge(transformer, older_than))

    @override
    def stats(self) -> CacheStats:
        return run(self._stats())

    @override
    async def astats(self) -> CacheStats:
        return await arun(self._stats())


class ByteStoreVariationCache(
    VariationMethods, ByteStoreCache[CacheKey, CachedPiece, CacheStats]
):
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
