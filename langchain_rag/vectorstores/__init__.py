"""Vector stores that wrap another vector store."""

from langchain_rag.lifecycle.index_report import IndexEvent, IndexFailure, IndexReport
from langchain_rag.vectorstores.groups import SummaryGroup
from langchain_rag.vectorstores.rag import RAGVectorStore
from langchain_rag.vectorstores.wrapper import WrapperVectorStore

__all__ = [
    "IndexEvent",
    "IndexFailure",
    "IndexReport",
    "RAGVectorStore",
    "SummaryGroup",
    "WrapperVectorStore",
]
