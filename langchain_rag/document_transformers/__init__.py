"""Transformers that make chunks of documents, and variations of chunks.

Everything here is a `langchain_core.documents.BaseDocumentTransformer` and works on its
own, as well as inside `RAGVectorStore`. Compose with `+` (side by side) and `|` (in
sequence); LangChain's text splitters and your own transformers may take part.

A `VariationCache` keeps what a model answered, so that it is paid for once.

Chunks, for `parent_transformer`: any splitter, `HeadingSplitter` (Markdown and HTML),
`ContextualSplitter` (with a sentence that situates each), and trees of them:
`HierarchicalSplitter`, `RaptorTransformer`, `DocumentSummaryTransformer`.

Variations, for `chunk_transformer`: `CopyDocumentTransformer`, any splitter,
`SentenceSplitter`, questions, summaries, `PropositionsTransformer`, `KeywordsTransformer`;
`Prefixed` puts metadata in front.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_text_splitters import CharacterTextSplitter
    >>> words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    >>> both = CopyDocumentTransformer() + words
    >>> [made.page_content for made in both.transform_documents([Document("pure maths")])]
    ['pure maths', 'pure', 'maths']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _lazy
from langchain_rag.caches.variation_codec import CachedPiece, CacheKey, CacheStats
from langchain_rag.caches.variations import ByteStoreVariationCache, VariationCache
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.composition import (
    DocumentTransformerPipeline,
    DocumentTransformers,
)
from langchain_rag.document_transformers.copy import CopyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import fingerprint_of, reads_metadata
from langchain_rag.document_transformers.llm.contextual import ContextualSplitter
from langchain_rag.document_transformers.llm.keywords import KeywordsTransformer
from langchain_rag.document_transformers.llm.propositions import PropositionsTransformer
from langchain_rag.document_transformers.llm.questions import GenerateQuestionsTransformer
from langchain_rag.document_transformers.llm.retries import Retries
from langchain_rag.document_transformers.llm.summarize import SummarizeTransformer
from langchain_rag.document_transformers.llm.summarize_and_questions import (
    SummarizeAndQuestionsTransformer,
)
from langchain_rag.document_transformers.nodes import Node, marked, node_of
from langchain_rag.document_transformers.prefixed import Prefixed
from langchain_rag.document_transformers.reorder import LongContextReorder
from langchain_rag.document_transformers.splitters.headings import HEADINGS, HeadingSplitter

if TYPE_CHECKING:
    from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
    from langchain_rag.document_transformers.trees.clustering import Clustering, SoftClustering
    from langchain_rag.document_transformers.trees.document_summary import (
        DocumentSummaryTransformer,
    )
    from langchain_rag.document_transformers.trees.hierarchical import HierarchicalSplitter
    from langchain_rag.document_transformers.trees.raptor import RaptorTransformer

__all__ = [
    "HEADINGS",
    "ByteStoreVariationCache",
    "CacheKey",
    "CacheStats",
    "CachedPiece",
    "Clustering",
    "ContextualSplitter",
    "CopyDocumentTransformer",
    "DocumentSummaryTransformer",
    "DocumentTransformerPipeline",
    "DocumentTransformers",
    "GenerateQuestionsTransformer",
    "HeadingSplitter",
    "HierarchicalSplitter",
    "KeywordsTransformer",
    "LazyDocumentTransformer",
    "LongContextReorder",
    "Node",
    "Prefixed",
    "PropositionsTransformer",
    "RaptorTransformer",
    "Retries",
    "SentenceSplitter",
    "SoftClustering",
    "SummarizeAndQuestionsTransformer",
    "SummarizeTransformer",
    "VariationCache",
    "fingerprint_of",
    "marked",
    "node_of",
    "reads_metadata",
]

__getattr__, __dir__ = _lazy.lazy(
    globals(),
    Clustering="trees.clustering",
    DocumentSummaryTransformer="trees.document_summary",
    HierarchicalSplitter="trees.hierarchical",
    RaptorTransformer="trees.raptor",
    SentenceSplitter="splitters.sentences",
    SoftClustering="trees.clustering",
)
