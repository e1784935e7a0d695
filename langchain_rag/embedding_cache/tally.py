"""How many texts were embedded, and how many found, while something ran.

The tally is in a context variable, so that whoever starts an import learns what the store's
embeddings did in it, also in tasks and in threads of LangChain's executor, which get a copy
of the context, and not what they did for others at the same time.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["TALLY", "EmbeddingTally", "count", "tallying"]


@dataclass
class EmbeddingTally:
    """Counts texts; for several threads. Equal texts of one call count once.

    Attributes:
        embedded: Texts that the model embedded.
        hits: Texts whose vectors came from a cache.
        refresh: Whether texts are embedded again that are in a cache.
    """

    embedded: int = 0
    hits: int = 0
    refresh: bool = False
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def count(self, *, embedded: int = 0, hits: int = 0) -> None:
        """Add to both.

        Args:
            embedded: Texts that the model embedded.
            hits: Texts whose vectors came from a cache.
        """
        with self._lock:
            self.embedded += embedded
            self.hits += hits


TALLY: Final[ContextVar[EmbeddingTally | None]] = ContextVar(
    "langchain_rag_embedding_tally", default=None
)
"""Where `CachedEmbeddings` count, None where nobody asks."""


@contextmanager
def tallying(tally: EmbeddingTally | None = None) -> Generator[EmbeddingTally]:
    """Count what `CachedEmbeddings` do within a block.

    Args:
        tally: Where to count, to go on with one; by default a new one.

    Yields:
        The tally.
    """
    tally = tally if tally is not None else EmbeddingTally()
    token = TALLY.set(tally)
    try:
        yield tally
    finally:
        with suppress(ValueError):  # closed by somebody else, in a context of its own
            TALLY.reset(token)


def count(*, embedded: int = 0, hits: int = 0) -> None:
    """Count for whoever asks in this context.

    Args:
        embedded: Texts that the model embedded.
        hits: Texts whose vectors came from a cache.
    """
    if (tally := TALLY.get()) is not None:
        tally.count(embedded=embedded, hits=hits)


def is_refreshing() -> bool:
    """Say whether whoever asks in this context wants new vectors for all texts."""
    tally = TALLY.get()
    return tally is not None and tally.refresh
