"""Vector stores that wrap another vector store."""

from langchain_rag.vectorstores.rag import RAGVectorStore
from langchain_rag.vectorstores.wrapper import WrapperVectorStore

__all__ = ["RAGVectorStore", "WrapperVectorStore"]
