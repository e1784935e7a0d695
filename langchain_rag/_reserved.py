"""The metadata keys that belong to this package.

They travel on what is handed to a transformer and on the rows of the wrapped vector store;
they never reach a prompt, a hash or a search result, and user metadata that already has one
is refused (`langchain_rag.errors.ReservedMetadataError`).
"""

from __future__ import annotations

from typing import Any, Final

TRANSFORMER: Final = "transformer"
"""Class name of the transformer that made a variation. Short, since users filter on it."""

KIND: Final = "langchain_rag_kind"
"""Kind of a variation: `"questions"`, `"summary"`, `"copy"`, ..."""

CHUNK: Final = "langchain_rag_chunk"
"""Key of the chunk that a variation belongs to."""

DOCUMENT: Final = "langchain_rag_document"
"""Document id of the source document that a variation belongs to."""

NAMESPACE: Final = "langchain_rag_namespace"
"""Namespace of the store that a variation belongs to, where it is not the empty one: a
collection may hold the variations of several."""

LINEAGE: Final = "langchain_rag_lineage"
"""Tag on a transformer's inputs, read back from its outputs."""

NODE: Final = "langchain_rag_node"
"""What a `parent_transformer` says of a chunk's place in a tree of chunks; see
`langchain_rag.document_transformers.nodes`."""

MATCH: Final = "langchain_rag_match"
"""What found a chunk, in the metadata of a result; only there, and only if it is asked for."""

RESERVED: Final = frozenset(
    {
        TRANSFORMER,
        KIND,
        CHUNK,
        DOCUMENT,
        NAMESPACE,
        LINEAGE,
        NODE,
        MATCH,
    }
)


def without_reserved(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a shallow copy of the metadata without this package's keys.

    Args:
        metadata: Metadata of a `Document`.

    Returns:
        A new dict.
    """
    return {key: value for key, value in metadata.items() if key not in RESERVED}
