"""A drop-in LangChain `VectorStore` for RAG that owns the life of its documents.

`RAGVectorStore` wraps any other vector store. Documents are cut into chunks, variations of
each chunk (questions it answers, a summary, smaller pieces) are embedded and searched, and
the chunks are returned.

Importing this package is cheap: what it exports is imported when it is first used, and even
then neither chromadb, sqlalchemy, langchain-classic nor langchain-community are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_ROOMS = ("langchain_rag.vectorstores", "langchain_rag.document_transformers")


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first used, as langchain-core does."""
    if name == "errors":
        return import_module("langchain_rag.errors")
    if name in __all__:
        room = _ROOMS[name.endswith(("Transformer", "Transformers", "Pipeline"))]
        globals()[name] = found = getattr(import_module(room), name)
        return found
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
