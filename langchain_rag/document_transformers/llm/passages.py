"""What goes into a prompt about each chunk of a long document. No I/O."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_rag.document_transformers.llm.parsing import printable
from langchain_rag.document_transformers.nodes import node_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.documents import Document


__all__ = ["Excerpts", "Passage", "document_identity", "passages_of"]

CUT = "[…]"
"""Stands where a document goes on."""


class Excerpts:
    """Windows of a document, of which neighbouring chunks share one.

    The windows overlap by half, and a chunk gets the one whose middle is nearest to its own.
    One that is no longer than half a window is wholly in it, and all chunks of the same half
    see the same text, so that their prompts begin the same.

    Args:
        text: The document's.
        most: Characters of a window; None for the whole document.

    Attributes:
        cuts: Whether the document is longer than a window.

    Example:
        >>> excerpts = Excerpts("one two three four", 10)
        >>> excerpts.around("two", 0), excerpts.around("four", 0)
        ('one two th […]', '[…] three four')
    """

    def __init__(self, text: str, most: int | None) -> None:
        self._text = text
        self._most = len(text) if most is None else most
        self.cuts = len(text) > self._most
        self._after = 0
        self._windows: dict[int, str] = {}

    def around(self, chunk: str, share: float) -> str:
        """Return the window around a chunk. Chunks are to come in reading order.

        Args:
            chunk: Its text.
            share: About where in the document it is, from 0 to 1, should its text not be in
                the document as it is.

        Returns:
            The window.
        """
        if not self.cuts:
            return self._text
        step = self._most // 2
        last = -(-(len(self._text) - self._most) // step)
        nearest = round((self._middle(chunk, share) - self._most / 2) / step)
        number = min(max(nearest, 0), last)
        if number not in self._windows:
            self._windows[number] = self._window(number * step, is_last=number == last)
        return self._windows[number]

    def _middle(self, chunk: str, share: float) -> float:
        # Chunks may overlap, and one text may occur twice.
        at = self._text.find(chunk, self._after)
        if at < 0:
            at = self._text.find(chunk)
        if at < 0:
            return share * len(self._text)
        self._after = at + 1
        return at + len(chunk) / 2

    def _window(self, start: int, *, is_last: bool) -> str:
        if is_last:
            start = len(self._text) - self._most
        inside = self._text[start : start + self._most].strip()
        before = f"{CUT} " if start > 0 else ""
        return before + inside + ("" if is_last else f" {CUT}")


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
