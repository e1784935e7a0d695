"""A drop-in LangChain `VectorStore` for RAG that owns the life of its documents.

`RAGVectorStore` wraps any other vector store. Documents are cut into chunks, variations of
each chunk (questions it answers, a summary, smaller pieces) are embedded and searched, and
the chunks are returned.

Importing this package is cheap: what it exports is imported when it is first used, and even
then neither chromadb, sqlalchemy, langchain-classic nor langchain-community are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _lazy

if TYPE_CHECKING:
    from langchain_rag import errors
    from langchain_rag.document_transformers import (
        CopyDocumentTransformer,
        DocumentTransformerPipeline,
        DocumentTransformers,
        GenerateQuestionsTransformer,
        LazyDocumentTransformer,
        SummarizeAndQuestionsTransformer,
        SummarizeTransformer,
    )
    from langchain_rag.vectorstores import (
        IndexEvent,
        IndexFailure,
        IndexReport,
        RAGVectorStore,
        WrapperVectorStore,
    )

__version__ = "2.0.0a1"

__all__ = [
    "CopyDocumentTransformer",
    "DocumentTransformerPipeline",
    "DocumentTransformers",
    "GenerateQuestionsTransformer",
    "IndexEvent",
    "IndexFailure",
    "IndexReport",
    "LazyDocumentTransformer",
    "RAGVectorStore",
    "SummarizeAndQuestionsTransformer",
    "SummarizeTransformer",
    "WrapperVectorStore",
    "__version__",
    "errors",
]

__getattr__, __dir__ = _lazy.lazy(
    globals(),
    CopyDocumentTransformer="document_transformers",
    DocumentTransformerPipeline="document_transformers",
    DocumentTransformers="document_transformers",
    GenerateQuestionsTransformer="document_transformers",
    IndexEvent="vectorstores",
    IndexFailure="vectorstores",
    IndexReport="vectorstores",
    LazyDocumentTransformer="document_transformers",
    RAGVectorStore="vectorstores",
    SummarizeAndQuestionsTransformer="document_transformers",
    SummarizeTransformer="document_transformers",
    WrapperVectorStore="vectorstores",
    errors="errors",
)
