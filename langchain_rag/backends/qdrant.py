"""Qdrant: a server, or its client's local mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_rag.backends.backend import Backend, DenseStore, Row

_PAGE: Final = 1_000
_ADDED: Final = ("_id", "_collection_name")
"""What its class adds to the metadata of every document that it returns."""


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    Qdrant takes ids that are UUIDs only, which all of ours are. Its class sends 64 rows a
    request by itself.
    """
    dense = None
    # In its hybrid and sparse modes a text is more than its embedding.
    if store.embeddings is not None and str(store.retrieval_mode.value) == "dense":
        dense = DenseStore(
            scored=store.similarity_search_with_score_by_vector,
            relevance=store._select_relevance_score_fn,  # noqa: SLF001
        )
    return Backend(
        name,
        narrow=lambda options, allowed: _narrow(store, options, allowed),
        dense=dense,
        rows=lambda: _rows(store),
    )


def _narrow(
    store: Any, options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    from qdrant_client import models  # noqa: PLC0415 - only where it is needed

    conditions: list[Any] = [
        models.FieldCondition(
            key=f"{store.metadata_payload_key}.{key}", match=models.MatchAny(any=list(values))
        )
        for key, values in allowed.items()
    ]
    if options.get("filter") is not None:
        conditions.insert(0, options["filter"])
    return {**options, "filter": models.Filter(must=conditions)}


def _rows(store: Any) -> Iterator[Row]:
    offset = None
    key = store.metadata_payload_key
    while True:
        points, offset = store.client.scroll(
            store.collection_name, limit=_PAGE, offset=offset, with_payload=[key]
        )
        for point in points:
            payload: dict[str, Any] = point.payload or {}
            metadata: dict[str, Any] = payload.get(key) or {}
            yield str(point.id), {k: v for k, v in metadata.items() if k not in _ADDED}
        if offset is None:
            return
