"""From hits to what a search returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.documents import Document

from langchain_rag._flow import Flow
from langchain_rag._reserved import KIND, MATCH, TRANSFORMER
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.documents import wholes
from langchain_rag.search.engine import Hit
from langchain_rag.search.options import Wanted

V = TypeVar("V")


def answers(
    lifecycle: Lifecycle, hits: Sequence[Hit[V]], wanted: Wanted
) -> Flow[list[tuple[Document, V]]]:
    """Turn hits into documents.

    Args:
        lifecycle: Whose they are.
        hits: What was found.
        wanted: Whether chunks or whole documents, and whether with details.

    Returns:
        New documents in the order of the hits, each with what belongs to its hit.

    Raises:
        CorruptStoreError: A whole document is wanted, and a record of it cannot be read.
    """
    if wanted.return_documents:
        ids = [hit.chunk.document_id for hit in hits]
        found = yield from wholes(lifecycle, ids)
        pairs = [
            (found[id_].public(), hit)
            for id_, hit in zip(ids, hits, strict=True)
            if id_ in found
        ]
    else:
        pairs = [(hit.chunk.public(), hit) for hit in hits]
    if wanted.match_details:
        for document, hit in pairs:
            document.metadata[MATCH] = details(hit)
    return [(document, hit.value) for document, hit in pairs]


def details(hit: Hit[Any]) -> dict[str, Any]:
    """Say what found a chunk.

    Args:
        hit: A hit.

    Returns:
        `kind`, `transformer` and `text` of the variation, its `score` in the wrapped store's
        own terms (None where it gave none), and its `rank` among the variations found, from 1.
    """
    metadata = hit.variation.metadata
    return {
        "kind": metadata.get(KIND),
        "transformer": metadata.get(TRANSFORMER),
        "text": hit.variation.page_content,
        "score": hit.value,
        "rank": hit.rank,
    }
