"""How to ask a wrapped store again without embedding the query again.

LangChain has a search by vector, but none by vector that gives scores under one name. The
stores below have one, and search by nothing but the vector, so a search by text and one by
its embedding are the same. Any other store is asked by text: it may do more with a text than
embed it (sparse vectors, a hybrid mode), and a second round embeds the query again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

_SCORED_BY_VECTOR: Final = {
    "langchain_core.vectorstores.in_memory.InMemoryVectorStore": (
        "similarity_search_with_score_by_vector"
    ),
    "langchain_chroma.vectorstores.Chroma": (
        "similarity_search_by_vector_with_relevance_scores"
    ),
}
# Scores that are similarities already, for stores that have no relevance function.
_SIMILARITIES: Final = frozenset({"langchain_core.vectorstores.in_memory.InMemoryVectorStore"})


@dataclass(frozen=True, slots=True)
class DenseStore:
    """A store that searches by nothing but a vector.

    Attributes:
        scored: Its search by vector with scores.
        relevance: Returns the function that turns such a score into a relevance between 0
            and 1.
    """

    scored: Callable[..., list[tuple[Document, float]]]
    relevance: Callable[[], Callable[[float], float]]


def dense_store(store: VectorStore) -> DenseStore | None:
    """Return how to search a store by vector, None where it must be asked by text.

    Args:
        store: The wrapped store. A subclass that overrides a search by text is asked by text.
    """
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(store).__mro__]
    name = next((name for name in names if name in _SCORED_BY_VECTOR), None)
    if name is None or store.embeddings is None or _overrides_search(store, names.index(name)):
        return None
    scored = getattr(store, _SCORED_BY_VECTOR[name])
    if name in _SIMILARITIES:
        return DenseStore(scored, _clamping)
    # LangChain has no public way to this function.
    return DenseStore(scored, store._select_relevance_score_fn)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def _overrides_search(store: VectorStore, depth: int) -> bool:
    # A subclass may have made the search by text into something else.
    return any(
        "search" in attribute
        for kind in type(store).__mro__[:depth]
        for attribute in vars(kind)
    )


def _clamping() -> Callable[[float], float]:
    return _clamp


def _clamp(score: float) -> float:
    # A cosine can be below 0, or above 1 by rounding.
    return max(0.0, min(1.0, score))
