"""A drop-in LangChain `VectorStore` for RAG that owns the life of its documents.

`RAGVectorStore` wraps any other vector store. Documents are cut into chunks, variations of
each chunk (questions it answers, a summary, smaller pieces) are embedded and searched, and
the chunks are returned.

Importing this package is cheap: it pulls in neither chromadb, sqlalchemy, langchain-classic
nor langchain-community.
"""

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
from langchain_rag.vectorstores import RAGVectorStore, WrapperVectorStore

__version__ = "2.0.0a1"

__all__ = [
    "CopyDocumentTransformer",
    "DocumentTransformerPipeline",
    "DocumentTransformers",
    "GenerateQuestionsTransformer",
    "LazyDocumentTransformer",
    "RAGVectorStore",
    "SummarizeAndQuestionsTransformer",
    "SummarizeTransformer",
    "WrapperVectorStore",
    "__version__",
    "errors",
]
