"""Milvus: a server, or Milvus Lite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from langchain_core.embeddings import Embeddings

from langchain_rag.backends.backend import Backend, DenseStore, Row
from langchain_rag.errors import ConfigurationError, IdsIgnoredError, RAGError

_PAGE: Final = 1_000
_MAX_HITS: Final = 16_384
"""Milvus's own limit."""


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    Its class adds by an insert, and a Milvus server keeps two rows that were inserted under
    one id. A collection is made with the first row: before that, it answers a delete with
    False.
    """
    return Backend(
        name,
        max_hits=_MAX_HITS,
        replaces=False,
        refusal=lambda: _refusal(store),
        exists=lambda: bool(store.client.has_collection(store.collection_name)),
        dense=_dense(store),
        rows=lambda: _rows(store),
    )


def _refusal(store: Any) -> RAGError | None:
    if store.auto_id:
        message = (
            "This Milvus numbers its rows itself, so what it holds could never be changed: "
            "make it with auto_id=False. Nothing was written."
        )
        return IdsIgnoredError(message)
    flexible = store.enable_dynamic_field or store._metadata_field or store.metadata_schema  # noqa: SLF001
    if flexible:
        return None
    message = (
        "This Milvus takes the metadata keys of its first row for those of all, refuses rows "
        "that lack one, and drops what is new: make it with enable_dynamic_field=True. "
        "Nothing was written."
    )
    return ConfigurationError(message)


def _dense(store: Any) -> DenseStore | None:
    # With several vector fields, with sparse ones or with functions of the server, a text is
    # more than its embedding.
    one = isinstance(store.embeddings, Embeddings)
    if not one or not store._is_embedding_only or store._is_multi_vector:  # noqa: SLF001
        return None
    return DenseStore(
        scored=store.similarity_search_with_score_by_vector,
        relevance=store._select_relevance_score_fn,  # noqa: SLF001
        native=store.asimilarity_search_with_score_by_vector,
    )


def _rows(store: Any) -> Iterator[Row]:
    if not store.client.has_collection(store.collection_name):
        return
    key = store._primary_field  # noqa: SLF001
    hidden = {key, store._text_field, *store.vector_fields}  # noqa: SLF001
    iterator = store.client.query_iterator(
        store.collection_name, batch_size=_PAGE, output_fields=["*"]
    )
    try:
        while page := iterator.next():
            for row in page:
                inside = store._metadata_field  # noqa: SLF001
                metadata = row[inside] if inside else row
                yield str(row[key]), {k: v for k, v in metadata.items() if k not in hidden}
    finally:
        iterator.close()
