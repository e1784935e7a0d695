"""Filters in the language of whatever vector store is wrapped.

LangChain's self-query asks a model for a filter, and a translator puts it in the vector
store's own terms. LangChain looks the translator up by importing the classes of every store
that it knows, which fails when one of them is gone; here the look-up goes by dotted class
names.

- `translator_for`: the translator for a store, looking through stores that wrap it.
- `register_translator`: adds one for a store of yours.
- `Translator`: what ours have in common, for a store of yours.
- `ChromaTranslator`, `FAISSTranslator`, `InMemoryTranslator`, `LanceDBTranslator`,
  `MilvusTranslator`, `PGVectorStoreTranslator`, `PGVectorTranslator`,
  `CommunityPGVectorTranslator`, `QdrantTranslator`: ours.

Ours give the same meaning to a filter, as far as the store can; what it cannot do is an error
when the filter is translated, and each class says what that is:

- A row that lacks the attribute, or holds a value of another type, satisfies `ne` and
  `nin`, and no other comparison. Truth values are not numbers; whole and broken numbers are
  of one type.
- `not` is moved inward until it meets a comparison, which it turns into the opposite one:
  `not(lt(year, 1900))` is `gte(year, 1900)`, and as such fails for a row without a year.
- Dates and times come from the model as `{"date": "2024-01-31", "type": "date"}`. They are
  compared with ISO 8601 text in the metadata, `"2024-01-31"`, or with seconds since 1970 if
  the translator is made with `dates="timestamp"`.
- `contain` holds for text that has the value as a part; `like` is SQL's, without regard to
  case.
"""

from langchain_rag.structured_query.chroma import ChromaTranslator
from langchain_rag.structured_query.faiss import FAISSTranslator
from langchain_rag.structured_query.in_memory import InMemoryTranslator
from langchain_rag.structured_query.lancedb import LanceDBTranslator
from langchain_rag.structured_query.milvus import MilvusTranslator
from langchain_rag.structured_query.pgvector import (
    CommunityPGVectorTranslator,
    PGVectorTranslator,
)
from langchain_rag.structured_query.postgres import PGVectorStoreTranslator
from langchain_rag.structured_query.qdrant import QdrantTranslator
from langchain_rag.structured_query.registry import register_translator, translator_for
from langchain_rag.structured_query.translator import Translator

__all__ = [
    "ChromaTranslator",
    "CommunityPGVectorTranslator",
    "FAISSTranslator",
    "InMemoryTranslator",
    "LanceDBTranslator",
    "MilvusTranslator",
    "PGVectorStoreTranslator",
    "PGVectorTranslator",
    "QdrantTranslator",
    "Translator",
    "register_translator",
    "translator_for",
]
