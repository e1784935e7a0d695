"""The exceptions of langchain-rag.

```text
RAGError
├── ConfigurationError (also ValueError)    a constructor or factory was given what cannot work
│   └── NoTranslatorError                   no filter translator for the wrapped store
├── InvalidDocumentError (also ValueError)  a document, an id or metadata that cannot be stored
│   ├── DuplicateIdError                    the same id twice in one call
│   ├── MissingSourceError                  `source_id_key` is not in the metadata
│   ├── ReservedMetadataError               the metadata has one of our keys
│   └── UnstorableMetadataError             a value that would not read back the same
├── TransformerError                        a transformer raised, or gave nothing usable
├── ConcurrentWriteError                    the document is being written by another call
├── CleanupRefusedError                     `rag.index()` would delete more than it may
└── StoreError                              the wrapped store or the docstore misbehaved
    ├── IdsIgnoredError                     the store did not keep the ids it was given
    └── CorruptStoreError                   the docstore holds what we did not write
```

Every message says what happened, to which id, and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.exceptions import LangChainException

if TYPE_CHECKING:
    from langchain_rag.lifecycle.index_report import IndexReport

__all__ = [
    "CleanupRefusedError",
    "ConcurrentWriteError",
    "ConfigurationError",
    "CorruptStoreError",
    "DuplicateIdError",
    "IdsIgnoredError",
    "InvalidDocumentError",
    "MissingSourceError",
    "NoTranslatorError",
    "RAGError",
    "ReservedMetadataError",
    "StoreError",
    "TransformerError",
    "UnstorableMetadataError",
]


class RAGError(LangChainException):
    """Base of every exception that langchain-rag raises on purpose."""


class ConfigurationError(RAGError, ValueError):
    """A constructor or a factory was given what cannot work."""


class NoTranslatorError(ConfigurationError):
    """There is no structured-query translator for the wrapped vector store."""


class InvalidDocumentError(RAGError, ValueError):
    """A document, an id or metadata cannot be stored. Nothing was written."""


class DuplicateIdError(InvalidDocumentError):
    """The same document id was given twice in one call."""


class MissingSourceError(InvalidDocumentError):
    """The metadata of a document lacks `source_id_key`."""


class ReservedMetadataError(InvalidDocumentError):
    """The metadata of a document has a key that belongs to langchain-rag."""


class UnstorableMetadataError(InvalidDocumentError):
    """A metadata value would not read back the same from a docstore."""


class TransformerError(RAGError):
    """A transformer raised, or gave nothing usable, for a document or chunk.

    The exception that the transformer raised, if any, is the `__cause__`.
    """


class ConcurrentWriteError(RAGError):
    """The document is being written by another call, of this process or of another one."""

    @classmethod
    def about(cls, document_id: str) -> ConcurrentWriteError:
        """Make the error for a document that another call is writing.

        Args:
            document_id: The document.
        """
        message = (
            f"Document {document_id!r} is being written by another call. Nothing of this "
            "batch was written; make this call again when the other one has returned."
        )
        return cls(message)


class CleanupRefusedError(RAGError):
    """`rag.index()` would delete more documents than it may. None of them was deleted.

    Attributes:
        report: What was done before; None where nothing was.
    """

    def __init__(self, message: str, report: IndexReport | None = None) -> None:
        super().__init__(message)
        self.report = report


class StoreError(RAGError):
    """The wrapped vector store or the docstore did not do what its contract says."""


class IdsIgnoredError(StoreError):
    """The wrapped vector store did not keep the ids that it was given."""


class CorruptStoreError(StoreError):
    """The docstore holds a value that langchain-rag did not write, or that was damaged."""
