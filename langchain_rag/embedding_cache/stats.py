"""What the statistics of an embedding cache say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_rag._caches import summary

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["EmbeddingCacheStats"]


@dataclass(frozen=True, slots=True)
class EmbeddingCacheStats:
    """What is in a cache, and what it was good for.

    Attributes:
        entries: Vectors that are kept.
        size: Their length in bytes.
        by_model: Vectors by identity of the model.
        hits: Texts that were found through this object, in this process.
        misses: Texts that were not.
        oldest: When the oldest vector was written, None if there is none.
        newest: When the newest vector was written, None if there is none.

    Example:
        >>> print(EmbeddingCacheStats(3, 3102, {"my-model": 3}, hits=9, misses=3))
        3 vectors, 3,102 bytes
        - my-model: 3
        9 hits and 3 misses (75 % hits)
    """

    entries: int
    size: int
    by_model: dict[str, int]
    hits: int = 0
    misses: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    def __str__(self) -> str:
        return summary(
            f"{self.entries:,} vectors, {self.size:,} bytes",
            self.by_model,
            (self.oldest, self.newest),
            (self.hits, self.misses),
        )
