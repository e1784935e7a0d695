"""A document cut several times over, each piece into smaller ones, with every size kept."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag._documents import document_of
from langchain_rag._identity import (
    NoIdentityError,
    class_of,
    declared_name,
    digest,
    identity,
)
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import (
    fingerprint_of,
    is_ours,
    reads_metadata,
)
from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document

__all__ = ["HierarchicalSplitter", "estimated_tokens"]

CHUNK_SIZES: Final = (2048, 512, 128)
_START: Final = "start_index"


@declared_name("estimated_tokens")
def estimated_tokens(text: str) -> float:
    """Estimate how many tokens a text has, without a tokenizer.

    One for every four bytes of UTF-8, which is near what byte-pair encodings make of English
    prose; source code, tables and other languages may have half as many again, or fewer.
    Where a limit must hold, count with the tokenizer of your model.

    Args:
        text: Any text.

    Returns:
        A number that is not rounded, so that those of the parts of a text add up to its own;
        a splitter adds up many small parts.

    Example:
        >>> estimated_tokens("Who was the first to prove it?")
        7.5
    """
    return len(text.encode("utf-8", "surrogatepass")) / 4


@declared_name("HierarchicalSplitter")
class HierarchicalSplitter(LazyDocumentTransformer):
    """Cuts a document at the largest size, each piece at the next one, and so on.

    It is a `parent_transformer` for auto-merging retrieval (LlamaIndex's
    `HierarchicalNodeParser` and `AutoMergingRetriever`, 2023). All pieces of all sizes are
    chunks of the document, and are in the docstore; only the smallest, the leaves, have
    variations, and are searched. What is returned is in reading order, each piece before those
    that it was cut into.

    - A piece that the next size leaves as it is (the same text, apart from blanks at its
      ends) is not kept twice: its one child takes its place, and stands directly below the
      piece above. So a short document is one leaf, with nothing above it.
    - A piece of which the next splitter makes nothing is a leaf itself.
    - The level of a piece (`Node.level`) is the number of sizes below its own, so it means
      the same in each document; a leaf has 0.
    - The metadata are those of the document, with what the splitters add.

    Attributes:
        chunk_sizes: The sizes.
        splitters: What cuts at each level, the largest size first.

    Args:
        chunk_sizes: The largest size first. They are measured by `length_function`.
        length_function: How long a text is. The default is an estimate of its tokens.
        splitters: Used in place of both: text splitters, or any transformers, the one that
            makes the largest pieces first.
            `RecursiveCharacterTextSplitter.from_tiktoken_encoder(chunk_size=512,
            chunk_overlap=0)` counts the tokens of OpenAI's models.
        add_start_index: Whether the metadata have the offset in the document's text as
            `start_index`, as far as the text of the piece is found there. An edit then
            changes the metadata of all pieces after it.
        version: Identity that you vouch for. It is needed for a fingerprint if
            `length_function` or that of a splitter is no function of a module (a lambda, a
            method, what `from_tiktoken_encoder` makes).

    Raises:
        ConfigurationError: The sizes do not descend, or there is nothing to cut with.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.document_transformers.nodes import node_of
        >>> splitter = HierarchicalSplitter((6, 3), length_function=len)
        >>> for made in splitter.transform_documents([Document("ab cd ef gh")]):
        ...     node = node_of(made.metadata)
        ...     print(made.page_content, node.level, node.parents)
        ab cd 1 ()
        ab 0 ('0',)
        cd 0 ('0',)
        ef gh 1 ()
        ef 0 ('1',)
        gh 0 ('1',)
    """

    def __init__(
        self,
        chunk_sizes: Sequence[int] = CHUNK_SIZES,
        *,
        length_function: Callable[[str], float] = estimated_tokens,
        splitters: Sequence[BaseDocumentTransformer] | None = None,
        add_start_index: bool = False,
        version: str | None = None,
    ) -> None:
        self.version = version
        self.add_start_index = add_start_index
        self.chunk_sizes: tuple[int, ...] = ()
        if splitters is None:
            self.chunk_sizes = _descending(chunk_sizes)
            # Its lengths are added and compared, which fractions allow as well.
            length = cast("Callable[[str], int]", length_function)
            splitters = [
                RecursiveCharacterTextSplitter(
                    chunk_size=size, chunk_overlap=0, length_function=length
                )
                for size in self.chunk_sizes
            ]
        self.splitters: tuple[BaseDocumentTransformer, ...] = tuple(splitters)
        if not self.splitters:
            msg = "HierarchicalSplitter has no splitters: give at least one, or chunk_sizes."
            raise ConfigurationError(msg)
        self._length = length_function if self.chunk_sizes else None
        # A subclass may do anything; what other splitters read, they say themselves.
        self.reads_metadata = not is_ours(self) or any(map(reads_metadata, self.splitters))

    @property
    def fingerprint(self) -> str | None:
        """Identity of the class, of what it cuts with, and of `version`."""
        if self.version is None and not is_ours(self):
            return None
        try:
            parts = self._parts()
        except NoIdentityError:
            if self.version is None:
                return None
            parts = {"sizes": list(self.chunk_sizes), "levels": len(self.splitters)}
        parts["start"] = self.add_start_index
        return digest({"class": class_of(self), "version": self.version, **parts})

    def _parts(self) -> dict[str, Any]:
        if self._length is not None:
            return {"sizes": list(self.chunk_sizes), "length": identity(self._length)}
        found = [fingerprint_of(splitter) for splitter in self.splitters]
        if None in found:
            raise NoIdentityError
        return {"splitters": found}

    def transform_document(self, document: Document) -> Iterator[Document]:
        """Cut a document.

        Args:
            document: The document.

        Yields:
            All pieces, each before those that it was cut into.
        """
        whole = document_of(document.page_content, {**document.metadata, _START: 0})
        own = {key: value for key, value in document.metadata.items() if key == _START}
        for number, piece in enumerate(self._pieces(whole, 0)):
            for made in self._tree(piece, 0, str(number), ()):
                if not self.add_start_index:
                    made.metadata = _without_start(made) | own
                yield made

    def _tree(
        self, piece: Document, depth: int, name: str, parents: tuple[str, ...]
    ) -> Iterator[Document]:
        below = len(self.splitters) - 1 - depth
        children = self._pieces(piece, depth + 1) if below else []
        while below and len(children) == 1 and _same(piece, children[0]):
            piece, depth, below = children[0], depth + 1, below - 1
            children = self._pieces(piece, depth + 1) if below else []
        if not children:
            yield marked(piece, Node(name, parents))
            return
        yield marked(piece, Node(name, parents, level=below, searched=False))
        for number, child in enumerate(children):
            yield from self._tree(child, depth + 1, f"{name}.{number}", (name,))

    def _pieces(self, of: Document, depth: int) -> list[Document]:
        """Cut a piece with the splitter of a level; `start_index` counts in the document."""
        splitter = self.splitters[depth]
        start = of.metadata.get(_START)
        given = document_of(of.page_content, _without_start(of))
        found = [
            piece
            for piece in splitter.transform_documents([given])
            if piece.page_content.strip()
        ]
        # In whatever the splitter measures; only whether there is any matters here.
        overlaps = bool(getattr(splitter, "_chunk_overlap", 0))
        offsets = _offsets(of.page_content, found, overlaps=overlaps)
        pieces: list[Document] = []
        for piece, offset in zip(found, offsets, strict=True):
            metadata = _without_start(piece)
            if start is not None and offset is not None:
                metadata[_START] = start + offset
            pieces.append(document_of(piece.page_content, metadata))
        return pieces


def _descending(sizes: Sequence[int]) -> tuple[int, ...]:
    found = tuple(sizes)
    descends = all(large > small for large, small in pairwise(found))
    if not found or not descends or found[-1] < 1:
        msg = f"chunk_sizes is {found}: give sizes of 1 or more, each smaller than the last."
        raise ConfigurationError(msg)
    return found


def _same(piece: Document, child: Document) -> bool:
    return piece.page_content.strip() == child.page_content.strip()


def _without_start(document: Document) -> dict[str, Any]:
    return {key: value for key, value in document.metadata.items() if key != _START}


def _offsets(text: str, pieces: list[Document], *, overlaps: bool) -> Iterator[int | None]:
    """Find pieces in the text that they were cut from, each after the one before."""
    start = end = 0
    for piece in pieces:
        content = piece.page_content
        said = piece.metadata.get(_START)
        if type(said) is int and said >= start and text.startswith(content, said):
            found = said
        else:
            found = text.find(content, start if overlaps else end)
        if found < 0:
            found = text.find(content, start)
        if found < 0:
            yield None
            continue
        yield found
        # Where pieces overlap, the next one begins later all the same.
        start, end = found + 1, found + len(content)
