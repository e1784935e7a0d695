"""Chroma, by langchain-chroma's class and by langchain-community's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag.backends.backend import Backend, DenseStore, Row

_PAGE: Final = 1_000


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    Chroma takes 5,461 rows in a call, and refuses an empty list, a duplicate id and a search
    for 0 hits. A row that is added again keeps the metadata keys that the new one lacks,
    unless these are None.
    """
    dense = None
    if store.embeddings is not None:
        dense = DenseStore(
            scored=store.similarity_search_by_vector_with_relevance_scores,
            relevance=store._select_relevance_score_fn,  # noqa: SLF001
        )
    return Backend(
        name,
        fitted=lambda rows: _fitted(store, rows),
        dense=dense,
        rows=lambda: _rows(store),
    )


def _fitted(store: Any, rows: Sequence[Document]) -> list[Document]:
    """Name the metadata keys that are to go."""
    there = dict(_metadata(store, [str(row.id) for row in rows]))
    return [
        Document(
            id=row.id,
            page_content=row.page_content,
            metadata=dict.fromkeys(there.get(str(row.id), ())) | row.metadata,
        )
        for row in rows
    ]


def _rows(store: Any) -> Iterator[Row]:
    # Pages by offset would skip rows while others are deleted; ids are small enough to hold.
    yield from _metadata(store, store.get(include=[])["ids"])


def _metadata(store: Any, ids: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(ids), _PAGE):
        page = store.get(ids=ids[start : start + _PAGE], include=["metadatas"])
        for id_, metadata in zip(page["ids"], page["metadatas"], strict=True):
            yield id_, dict(metadata or {})
