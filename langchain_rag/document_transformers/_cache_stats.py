"""What the statistics of a variation cache say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_rag._caches import summary

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What is in a cache, and what it was good for.

    Attributes:
        entries: Answers that are kept.
        characters: Length of their texts.
        by_transformer: Answers by class name of the transformer.
        hits: Answers that were found through this object, in this process.
        misses: Answers that were not.
        oldest: When the oldest answer was written, None if there is none.
        newest: When the newest answer was written, None if there is none.

    Example:
        >>> print(CacheStats(3, 120, {"SummarizeTransformer": 3}, hits=9, misses=3))
        3 answers, 120 characters
        - SummarizeTransformer: 3
        9 hits and 3 misses (75 % hits)
    """

    entries: int
    characters: int
    by_transformer: dict[str, int]
    hits: int = 0
    misses: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    def __str__(self) -> str:
        return summary(
            f"{self.entries:,} answers, {self.characters:,} characters",
            self.by_transformer,
            (self.oldest, self.newest),
            (self.hits, self.misses),
        )
