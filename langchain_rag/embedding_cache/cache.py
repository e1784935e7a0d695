"""What is needed of an embedding cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_rag.embedding_cache.stats import EmbeddingCacheStats

__all__ = ["EmbeddingCache"]


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
