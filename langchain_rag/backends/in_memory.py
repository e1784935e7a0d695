"""LangChain's own store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from langchain_rag.backends.backend import Backend, DenseStore, Row

if TYPE_CHECKING:
    from langchain_core.vectorstores import InMemoryVectorStore


def backend(store: InMemoryVectorStore, name: str) -> Backend:
    """Say what it needs."""

    def rows() -> Iterator[Row]:
        # Another thread may write while we look; a copy is made in one step.
        for id_, row in list(store.store.items()):
            yield id_, dict(row["metadata"])

    dense = DenseStore(
        scored=store.similarity_search_with_score_by_vector,
        # Its scores are similarities already, and it has no relevance function.
        relevance=_clamping,
    )
    return Backend(name, dense=dense, rows=rows)


def _clamping() -> Callable[[float], float]:
    return _clamp


def _clamp(score: float) -> float:
    # A cosine can be below 0, or above 1 by rounding.
    return max(0.0, min(1.0, score))
