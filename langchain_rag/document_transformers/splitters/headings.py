"""Chunks by the headings of Markdown and HTML, with the way to each in its metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from langchain_core.documents import Document

from langchain_rag._identity import class_of, declared_name, digest
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import fingerprint_of, is_ours
from langchain_rag.document_transformers.splitters.html import HTMLSections
from langchain_rag.document_transformers.splitters.markdown import MarkdownSections
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HEADINGS", "HeadingSplitter"]

HEADINGS: Final = tuple(f"Header {level}" for level in range(1, 7))
"""Metadata keys of headings, outermost first, as LangChain's documentation names them."""

_LEVELS: Final = tuple(enumerate(HEADINGS, start=1))


class SectionSplitter(Protocol):
    """What cuts a text at its headings: LangChain's header splitters, and ours."""

    def split_text(self, text: str) -> list[Document]:
        """Cut a text into sections, with their headings as metadata."""
        ...


@declared_name("HeadingSplitter")
class HeadingSplitter(LazyDocumentTransformer):
    r"""Cuts documents at their headings, and notes the headings above each section.

    As `parent_transformer`. `markdown` and `html` bring along what cuts; LangChain's header
    splitters, which are no document transformers and know no metadata, may be given instead.
    Sections have the document's metadata besides their headings. With
    `Prefixed(..., keys=HEADINGS)` as `chunk_transformer`, each variation of a section is
    preceded by the way to it, such as `Guide > Install > Linux`; the section's own text
    rarely says it. For sections that may be long, put a splitter behind it with `|`.

    A heading that stands alone, as LangChain's HTML splitter gives it besides the section, is
    left out where something below it follows.

    Args:
        splitter: Has `split_text`, which gives the sections as documents.
        version: Identity that you vouch for, where the splitter has none.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_text_splitters import RecursiveCharacterTextSplitter
        >>> short = RecursiveCharacterTextSplitter(chunk_size=20, chunk_overlap=0)
        >>> splitter = HeadingSplitter.markdown() | short
        >>> text = "# Guide\n\nWelcome.\n\n## Linux\n\nRun apt install it.\n\nThen log in."
        >>> for chunk in splitter.transform_documents([Document(text)]):
        ...     print(chunk.page_content, [chunk.metadata.get(key) for key in HEADINGS[:2]])
        Welcome. ['Guide', None]
        Run apt install it. ['Guide', 'Linux']
        Then log in. ['Guide', 'Linux']
    """

    def __init__(self, splitter: SectionSplitter, *, version: str | None = None) -> None:
        if not callable(getattr(splitter, "split_text", None)):
            msg = f"{splitter!r} has no split_text: give one of LangChain's header splitters."
            raise ConfigurationError(msg)
        self.splitter = splitter
        self.version = version
        # A subclass may do anything.
        self.reads_metadata = not is_ours(self)

    @classmethod
    def markdown(
        cls, headers: Sequence[tuple[str, str]] | None = None, *, keep_headings: bool = False
    ) -> HeadingSplitter:
        """Make one for Markdown, which leaves the text of the sections as it is.

        Args:
            headers: Which headings to cut at, as LangChain's splitter takes them, such as
                `[("#", "Header 1"), ("##", "Header 2")]`. All six levels where left out.
            keep_headings: Whether a section's text begins with its own heading.

        Returns:
            The transformer.

        Raises:
            ConfigurationError: `headers` has what is no mark of a heading.
        """
        marks = [("#" * level, key) for level, key in _LEVELS] if headers is None else headers
        return cls(MarkdownSections(marks, keep_headings=keep_headings))

    @classmethod
    def html(cls, headers: Sequence[tuple[str, str]] | None = None) -> HeadingSplitter:
        """Make one for HTML, which gives the text of the sections without tags.

        Args:
            headers: Which headings to cut at, as LangChain's splitter takes them, such as
                `[("h1", "Header 1"), ("h2", "Header 2")]`. All six levels where left out.

        Returns:
            The transformer.

        Raises:
            ConfigurationError: `headers` has what is no heading.
        """
        names = [(f"h{level}", key) for level, key in _LEVELS] if headers is None else headers
        return cls(HTMLSections(names))

    @property
    def fingerprint(self) -> str | None:
        """Identity of the splitter; None where it has none and there is no `version`."""
        # It asks for an attribute, and looks at the class and its parameters.
        splitter = fingerprint_of(cast("Any", self.splitter))
        if self.version is None and (splitter is None or not is_ours(self)):
            return None
        own = splitter or class_of(self.splitter)
        return digest({"class": class_of(self), "splitter": own, "version": self.version})

    def transform_document(self, document: Document) -> list[Document]:
        """Cut one document.

        Args:
            document: The document.

        Returns:
            Its sections; the document itself where there are none.
        """
        sections = _without_bare_headings(self.splitter.split_text(document.page_content))
        return [
            Document(section.page_content, metadata={**document.metadata, **section.metadata})
            for section in sections
        ] or [document]


def _without_bare_headings(sections: Sequence[Document]) -> list[Document]:
    kept: list[Document] = []
    for section, following in zip(sections, [*sections[1:], None], strict=False):
        path = section.metadata
        is_heading = bool(path) and section.page_content == [*path.values()][-1]
        if is_heading and following is not None and path.items() <= following.metadata.items():
            continue
        kept.append(section)
    return kept
