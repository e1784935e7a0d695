"""The document itself, as a variation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from langchain_rag._identity import class_of, declared_name, digest
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import is_ours

if TYPE_CHECKING:
    from langchain_core.documents import Document

__all__ = ["CopyDocumentTransformer"]


@declared_name("CopyDocumentTransformer")
class CopyDocumentTransformer(LazyDocumentTransformer):
    """Gives each document as it is, so that its own text can be searched too.

    Example:
        >>> from langchain_core.documents import Document
        >>> CopyDocumentTransformer().transform_documents([Document("text")])[0].metadata
        {'transformer': 'CopyDocumentTransformer', 'langchain_rag_kind': 'copy'}
    """

    kind: ClassVar[str | None] = "copy"

    def __init__(self) -> None:
        # A subclass may do anything.
        self.reads_metadata = not is_ours(self)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the class: a copy has nothing else that could change."""
        return digest({"class": class_of(self)}) if is_ours(self) else super().fingerprint

    def transform_document(self, document: Document) -> list[Document]:
        """Return the document.

        Args:
            document: The document.

        Returns:
            The document, alone.
        """
        return [document]
