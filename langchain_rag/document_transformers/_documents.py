"""How a document is shown to a transformer, and how a variation of it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document

from langchain_rag._documents import copied, document_of
from langchain_rag._reserved import (
    CHUNK,
    DOCUMENT,
    KIND,
    LINEAGE,
    NODE,
    TRANSFORMER,
    without_reserved,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

CARRIED: Final = (CHUNK, DOCUMENT, LINEAGE)
"""What says where a document comes from: it goes through every transformer unchanged."""


def shown(document: Document) -> Document:
    """Return a deep copy without this package's metadata.

    A transformer may then write into what it is given, and no internal key reaches a
    prompt.

    Args:
        document: The document that a caller handed in.

    Returns:
        A document of its own, with the same id.
    """
    metadata = copied(without_reserved(document.metadata))
    return document_of(document.page_content, metadata, document.id)


def made_of(
    source: Document,
    text: str,
    metadata: Mapping[str, Any],
    *,
    transformer: str,
    kind: str | None,
) -> Document:
    """Return a document that a transformer made of another.

    Args:
        source: What it was made of; says where it comes from.
        text: Its text.
        metadata: Its metadata, which is copied deeply.
        transformer: Class name of the transformer.
        kind: Kind of the variation, if the transformer has one.

    Returns:
        A document without an id that shares nothing with the arguments.
    """
    own = copied(without_reserved(dict(metadata)))
    own |= copied({key: source.metadata[key] for key in CARRIED if key in source.metadata})
    # A transformer that makes a tree marks its results; any other hands the mark on.
    for marked in (metadata, source.metadata):
        if NODE in marked:
            own[NODE] = copied(marked[NODE])
            break
    own[TRANSFORMER] = transformer
    if kind is not None:
        own[KIND] = kind
    return document_of(text, own)


def name_of(document: Document) -> str:
    """Return what an error message calls a document.

    Args:
        document: Any document.

    Returns:
        Its id, or the beginning of its text where it has none.
    """
    if document.id is not None:
        return repr(document.id)
    text = document.page_content
    return f"without an id, beginning with {text[:60] + ('…' if len(text) > 60 else '')!r}"
