"""Trees of chunks: how a `parent_transformer` says which chunk stands above which.

A transformer that makes several levels of chunks of one document (a hierarchical splitter, a
tree of summaries) returns all of them, and marks each with a `Node`. The lifecycle reads the
marks, and keeps the tree in the document's manifest; so the levels are added, changed and
deleted as one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_rag._documents import document_of
from langchain_rag._reserved import NODE
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.documents import Document

__all__ = ["Node", "marked", "node_of"]


@dataclass(frozen=True, slots=True)
class Node:
    """The place of a chunk in the tree of its document.

    Attributes:
        name: Names it among all chunks that were made of the same document.
        parents: Names of the chunks above it: one in a hierarchy, several where clusters
            overlap, none at the top.
        level: Its height in the tree; 0 for what is nearest to the document's own text.
        searched: Whether it has variations. A chunk without is in the docstore only, and is
            found through those below it.
        kind: Kind of its one variation, which is its own text as it is. None for a chunk that
            goes through the `chunk_transformer` as any other does.
    """

    name: str
    parents: tuple[str, ...] = ()
    level: int = 0
    searched: bool = True
    kind: str | None = None


def marked(document: Document, node: Node) -> Document:
    """Return a copy of a document that says where it stands in its tree.

    Args:
        document: A chunk in the making.
        node: Its place.

    Returns:
        A new document, with the same id, text and metadata.
    """
    place = {
        "name": node.name,
        "parents": list(node.parents),
        "level": node.level,
        "searched": node.searched,
        "kind": node.kind,
    }
    return document_of(document.page_content, {**document.metadata, NODE: place}, document.id)


def node_of(metadata: Mapping[str, Any]) -> Node | None:
    """Read the mark of a document.

    Args:
        metadata: Its metadata.

    Returns:
        Its place, None where it has none.

    Raises:
        TransformerError: Something else is in its place.

    Example:
        >>> from langchain_core.documents import Document
        >>> node_of(marked(Document("Algebra"), Node("top", level=1)).metadata)
        Node(name='top', parents=(), level=1, searched=True, kind=None)
    """
    if NODE not in metadata:
        return None
    match metadata[NODE]:
        case {
            "name": str(name),
            "parents": [*parents],
            "level": int(level),
            "searched": bool(searched),
            "kind": str() | None as kind,
        } if _are_plain(name, kind, *parents) and type(level) is int and level >= 0:
            return Node(name, tuple(parents), level, searched, kind)
        case other:
            msg = (
                f"A transformer marked a chunk's place with {other!r}: mark it with"
                " langchain_rag.document_transformers.nodes.marked()."
            )
            raise TransformerError(msg)


def _are_plain(*values: object) -> bool:
    """Say whether values are texts that a record gives back as they are (enums are not)."""
    return all(value is None or type(value) is str for value in values)
