"""Retrievers over `RAGVectorStore`; `SelfQueryRetriever` works over any other store, too.

- `AutoMergingRetriever`: leaves of a hierarchy are found, their parents returned.
- `HierarchicalRetriever`: documents are found by their summaries, then chunks within them.
- `HybridRetriever`: words and vectors, fused by rank.
- `LexicalRetriever`: chunks by their words (BM25).
- `SelfQueryRetriever`: LangChain's, with a look-up of the filter translator that works.
- `SentenceWindowRetriever`: sentences are found, and returned with those around them.
- `TimeWeightedRetriever`: chunks that are near and new.

All are LangChain `BaseRetriever`s. Names are loaded when they are first used, since
langchain-classic is not cheap to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _lazy

if TYPE_CHECKING:
    from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
    from langchain_rag.retrievers.hierarchical import HierarchicalRetriever
    from langchain_rag.retrievers.hybrid import HybridRetriever
    from langchain_rag.retrievers.lexical import LexicalRetriever
    from langchain_rag.retrievers.self_query import SelfQueryRetriever
    from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
    from langchain_rag.retrievers.time_weighted import TimeWeightedRetriever

__all__ = [
    "AutoMergingRetriever",
    "HierarchicalRetriever",
    "HybridRetriever",
    "LexicalRetriever",
    "SelfQueryRetriever",
    "SentenceWindowRetriever",
    "TimeWeightedRetriever",
]

__getattr__, __dir__ = _lazy.lazy(
    globals(),
    AutoMergingRetriever="auto_merging",
    HierarchicalRetriever="hierarchical",
    HybridRetriever="hybrid",
    LexicalRetriever="lexical",
    SelfQueryRetriever="self_query",
    SentenceWindowRetriever="sentence_window",
    TimeWeightedRetriever="time_weighted",
)
