"""Transformers that make chunks of documents, and variations of chunks.

Everything here is a `langchain_core.documents.BaseDocumentTransformer` and works on its
own, as well as inside `RAGVectorStore`. Compose with `+` (side by side) and `|` (in
sequence); LangChain's text splitters and your own transformers may take part.

A `VariationCache` keeps what a model answered, so that it is paid for once; what belongs to it
is loaded when it is first used.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_text_splitters import CharacterTextSplitter
    >>> words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    >>> both = CopyDocumentTransformer() + words
    >>> [made.page_content for made in both.transform_documents([Document("pure maths")])]
    ['pure maths', 'pure', 'maths']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.copy import CopyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import fingerprint_of
from langchain_rag.document_transformers.metadata import reads_metadata
from langchain_rag.document_transformers.parallel import DocumentTransformers
from langchain_rag.document_transformers.pipeline import DocumentTransformerPipeline
from langchain_rag.document_transformers.questions import GenerateQuestionsTransformer
from langchain_rag.document_transformers.reorder import LongContextReorder
from langchain_rag.document_transformers.retrying import Retries
from langchain_rag.document_transformers.summarize import SummarizeTransformer
from langchain_rag.document_transformers.summarize_and_questions import (
    SummarizeAndQuestionsTransformer,
)

if TYPE_CHECKING:
    from langchain_rag.document_transformers.caching import (
        ByteStoreVariationCache,
        CachedPiece,
        CacheKey,
        CacheStats,
        VariationCache,
    )

__all__ = [
    "ByteStoreVariationCache",
    "CacheKey",
    "CacheStats",
    "CachedPiece",
    "CopyDocumentTransformer",
    "DocumentTransformerPipeline",
    "DocumentTransformers",
    "GenerateQuestionsTransformer",
    "LazyDocumentTransformer",
    "LongContextReorder",
    "Retries",
    "SummarizeAndQuestionsTransformer",
    "SummarizeTransformer",
    "VariationCache",
    "fingerprint_of",
    "reads_metadata",
]

_OF_CACHING = frozenset(
    {"ByteStoreVariationCache", "CacheKey", "CacheStats", "CachedPiece", "VariationCache"}
)


def __getattr__(name: str) -> Any:
    if name not in _OF_CACHING:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.caching"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
