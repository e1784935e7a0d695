"""What an embedding cache is, and the one in a `ByteStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from typing_extensions import override

from langchain_rag._flow import arun, run
from langchain_rag.caches.byte_store import ByteStoreCache
from langchain_rag.caches.cache import Cache
from langchain_rag.caches.embedding_codec import EmbeddingCacheStats, EmbeddingCodec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


@runtime_checkable
class EmbeddingCache(Protocol):
    """Keeps the vectors of texts, by the identity of the model that made them.

    Each method has a twin whose name begins with `a`, which does the same asynchronously. All
    may be called from several threads and processes at a time.
    """

    def mget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Look vectors up.

        Args:
            model: Identity of the model.
            texts: What was embedded.

        Returns:
            A new list of exactly the numbers that were kept for each text, in the order of
            the texts; None for what is not there, or cannot be read.
        """
        ...

    async def amget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Async form of `mget`."""
        ...

    def mset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep vectors, over those that are there.

        What cannot be kept (an empty vector, a number that is none or is infinite) is passed
        over, and logged.

        Args:
            model: Identity of the model.
            pairs: Texts and their vectors. Of equal texts the last one stays.
        """
        ...

    async def amset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Async form of `mset`."""
        ...

    def purge(self, *, model: str | None = None, older_than: timedelta | None = None) -> int:
        """Delete vectors: those that meet both conditions, or all if none is given.

        Args:
            model: Identity of the model that made them.
            older_than: Their least age.

        Returns:
            How many there were.

        Raises:
            ValueError: If `older_than` is negative.
        """
        ...

    async def apurge(
        self, *, model: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Async form of `purge`."""
        ...

    def stats(self) -> EmbeddingCacheStats:
        """Count what is there, and what was found."""
        ...

    async def astats(self) -> EmbeddingCacheStats:
        """Async form of `stats`."""
        ...


class EmbeddingMethods(Cache[tuple[str, str], float, EmbeddingCacheStats], EmbeddingCache):
    """The methods of an embedding cache, over the generic cache of whichever store."""

    _codec = EmbeddingCodec()

    @override
    def mget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        return run(self._mget([(model, text) for text in texts]))

    @override
    async def amget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        return await arun(self._mget([(model, text) for text in texts]))

    @override
    def mset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        run(self._mset([((model, text), vector) for text, vector in pairs]))

    @override
    async def amset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        await arun(self._mset([((model, text), vector) for text, vector in pairs]))

    @override
    def purge(self, *, model: str | None = None, older_than: timedelta | None = None) -> int:
        return run(self._purge(model, older_than))

    @override
    async def apurge(
        self, *, model: str | None = None, older_than: timedelta | None = None
    ) -> int:
        return await arun(self._purge(model, older_than))

    @override
    def stats(self) -> EmbeddingCacheStats:
        return run(self._stats())

    @override
    async def astats(self) -> EmbeddingCacheStats:
        return await arun(self._stats())


class ByteStoreEmbeddingCache(
    EmbeddingMethods, ByteStoreCache[tuple[str, str], float, EmbeddingCacheStats]
):
    """An embedding cache in any LangChain `ByteStore`: files, Redis, memory.

    Each vector is one value, which holds its age and its model as well, and is checked when
    it is read. One that is cut off, damaged, or of another version counts as missing, and is
    deleted by the next purge.

    To purge and to count, all values of the namespace are read. For large corpora
    `langchain_rag.storage.SQLEmbeddingCache` does both by one statement.

    Attributes:
        store: The store.
        namespace: Caches of different namespaces share the store, and nothing else.

    Args:
        store: The store, which may hold other things as well.
        namespace: Any text.

    Example:
        >>> from langchain_core.stores import InMemoryByteStore
        >>> cache = ByteStoreEmbeddingCache(InMemoryByteStore())
        >>> cache.mset("my-model", [("a text", [0.1, -0.5])])
        >>> cache.mget("my-model", ["a text", "another"])
        [[0.1, -0.5], None]
    """
