"""LangChain's own store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from langchain_rag.backends.backend import Backend, DenseStore, Row

if TYPE_CHECKING:
    from langchain_core.vectorstores import InMemoryVectorStore


def backend(store: InMemoryVectorStore, name: str) -> Backend:
    """Say what it needs."""

    def rows() -> Iterator[Row]:
        # Another thread may write while we look; a copy is made in one step.
        for id_, row in list(store.store.items()):
            yield id_, dict(row["metadata"])

    def relabel(rows: Sequence[Document]) -> set[str]:
        found: set[str] = set()
        for row in rows:
            there = store.store.get(str(row.id))
            if there is not None and there["text"] == row.page_content:
                there["metadata"] = dict(row.metadata)
                found.add(str(row.id))
        return found

    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        return {id_: row["vector"] for id_ in ids if (row := store.store.get(id_)) is not None}

    dense = DenseStore(
        scored=store.similarity_search_with_score_by_vector,
        # Its scores are similarities already, and it has no relevance function.
        relevance=_clamping,
    )
    return Backend(
        name, relabel=relabel, narrow=_narrow, vectors=vectors, dense=dense, rows=rows
    )


def _narrow(options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    sets = {key: frozenset(values) for key, values in allowed.items()}
    given = options.get("filter")

    def passes(document: Document) -> bool:
        metadata = document.metadata
        mine = all(metadata.get(key) in values for key, values in sets.items())
        return mine and (given is None or bool(given(document)))

    return {**options, "filter": passes}


def _clamping() -> Callable[[float], float]:
    return _clamp


def _clamp(score: float) -> float:
    # A cosine can be below 0, or above 1 by rounding.
    return max(0.0, min(1.0, score))
