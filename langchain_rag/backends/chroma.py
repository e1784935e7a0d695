"""Chroma, by langchain-chroma's class and by langchain-community's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._documents import document_of
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
        relabel=lambda rows: _relabel(store, rows),
        narrow=_narrow,
        vectors=lambda ids: _vectors(store, ids),
        dense=dense,
        rows=lambda: _rows(store),
    )


def _fitted(store: Any, rows: Sequence[Document]) -> list[Document]:
    """Name the metadata keys that are to go."""
    there = dict(_metadata(store, [str(row.id) for row in rows]))
    return [
        row
        if str(row.id) not in there
        else document_of(
            row.page_content, dict.fromkeys(there[str(row.id)]) | row.metadata, row.id
        )
        for row in rows
    ]


def _relabel(store: Any, rows: Sequence[Document]) -> set[str]:
    """Change the metadata of rows whose texts are as they were."""
    page = store.get(ids=[str(row.id) for row in rows], include=["documents"])
    texts = dict(zip(page["ids"], page["documents"], strict=True))
    same = [row for row in rows if texts.get(str(row.id)) == row.page_content]
    ids = [str(row.id) for row in same]
    if ids:
        store._collection.update(ids=ids, metadatas=[row.metadata for row in same])  # noqa: SLF001
    return set(ids)


def _narrow(options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    parts = [{key: {"$in": list(values)}} for key, values in allowed.items()]
    if options.get("filter"):
        parts.insert(0, options["filter"])
    # Chroma refuses an $and of one.
    return {**options, "filter": parts[0] if len(parts) == 1 else {"$and": parts}}


def _vectors(store: Any, ids: Sequence[str]) -> dict[str, Sequence[float]]:
    page = store.get(ids=list(ids), include=["embeddings"])
    return {
        id_: [float(x) for x in vector]
        for id_, vector in zip(page["ids"], page["embeddings"], strict=True)
    }


def _rows(store: Any) -> Iterator[Row]:
    # Pages by offset would skip rows while others are deleted; ids are small enough to hold.
    yield from _metadata(store, store.get(include=[])["ids"])


def _metadata(store: Any, ids: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(ids), _PAGE):
        page = store.get(ids=ids[start : start + _PAGE], include=["metadatas"])
        for id_, metadata in zip(page["ids"], page["metadatas"], strict=True):
            yield id_, dict(metadata or {})
