"""What there is to say about the chunks of one document. No I/O."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_rag.document_transformers.nodes import node_of
from langchain_rag.document_transformers.parsing import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.documents import Document

    from langchain_rag.document_transformers._excerpts import Excerpts

__all__ = ["Passage", "document_identity", "passages_of"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document that is to be situated in it.

    Attributes:
        place: Its place among the chunks.
        text: Its text.
        time: How many before it have the same text. One text may occur twice in a document,
            and has two contexts then.
        excerpt: What of the document is around it.
    """

    place: int
    text: str
    time: int
    excerpt: str


def passages_of(chunks: Sequence[Document], excerpts: Excerpts) -> Iterator[Passage]:
    """Go through the chunks that are searched for by more than their own text.

    Args:
        chunks: The chunks of a document, in reading order.
        excerpts: Of the document.

    Yields:
        What there is to say about each.
    """
    times = Counter[str]()
    for place, chunk in enumerate(chunks):
        text = printable(chunk.page_content)
        if text.strip() and _has_variations(chunk):
            excerpt = excerpts.around(text, place / len(chunks))
            yield Passage(place, text, times[text], excerpt)
            times[text] += 1


def document_identity(
    document: Document, keys: Sequence[str], *, with_text: bool
) -> dict[str, Any]:
    """Return what a document is known by, from one version of it to the next.

    Args:
        document: The document.
        keys: Metadata keys that say which document it is.
        with_text: Whether it is another one as soon as its text is another.

    Returns:
        JSON. Where the document has none of the keys, its text is what it is known by: two
        documents must not be taken for one.
    """
    metadata = document.metadata
    known: dict[str, Any] = {
        key: f"{type(metadata[key]).__name__} {metadata[key]!r}"
        for key in keys
        if metadata.get(key) is not None
    }
    if with_text or not known:
        return {"metadata": known, "text": printable(document.page_content)}
    return {"metadata": known}


def _has_variations(chunk: Document) -> bool:
    """Tell whether the `chunk_transformer` gets to see a chunk, which may be one of a tree."""
    node = node_of(chunk.metadata)
    return node is None or (node.searched and node.kind is None)
