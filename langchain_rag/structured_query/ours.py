"""How our own translators are made, given the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langchain_core.structured_query import Visitor

from langchain_rag.errors import NoTranslatorError
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


def _chroma(_store: Any) -> Visitor:
    return ChromaTranslator()


def _in_memory(_store: Any) -> Visitor:
    return InMemoryTranslator()


def _faiss(store: Any) -> Visitor:
    return FAISSTranslator(rows=lambda: int(store.index.ntotal))


def _qdrant(store: Any) -> Visitor:
    return QdrantTranslator(metadata_key=store.metadata_payload_key)


def _milvus(store: Any) -> Visitor:
    return MilvusTranslator(store=store)


def _pgvector_store(store: Any) -> Visitor:
    # What it delegates to, which knows the table; there is no public way.
    inner = store._PGVectorStore__vs  # noqa: SLF001
    return PGVectorStoreTranslator(
        columns=inner.metadata_columns,
        taken=(inner.id_column, inner.content_column, inner.embedding_column),
    )


def _pgvector(_store: Any) -> Visitor:
    return PGVectorTranslator()


def _community_pgvector(store: Any) -> Visitor:
    if store.use_jsonb:
        return CommunityPGVectorTranslator()
    msg = (
        "This PGVector of langchain_community keeps its metadata as JSON, which it cannot "
        "filter by order: make it with use_jsonb=True, or pass a translator as "
        "structured_query_translator=."
    )
    raise NoTranslatorError(msg)


_LANCE_TYPES: Final = {"string": "text", "large_string": "text", "bool": "truth"}


def _lance(store: Any) -> Visitor:
    def types() -> dict[str, str]:
        table = store.get_table()
        if table is None:
            return {}
        names = {field.name: str(field.type) for field in table.schema.field("metadata").type}
        return {key: _lance_type(name) for key, name in names.items()}

    return LanceDBTranslator(types=types)


def _lance_type(name: str) -> str:
    if name.startswith(("int", "uint")):
        return "whole"
    if name in ("float", "double"):
        return "broken"
    return _LANCE_TYPES.get(name, name)


OURS: Final[dict[str, Callable[[Any], Visitor]]] = {
    "langchain_chroma.vectorstores.Chroma": _chroma,
    "langchain_community.vectorstores.chroma.Chroma": _chroma,
    "langchain_core.vectorstores.in_memory.InMemoryVectorStore": _in_memory,
    "langchain_qdrant.qdrant.QdrantVectorStore": _qdrant,
    "langchain_qdrant.vectorstores.Qdrant": _qdrant,
    "langchain_community.vectorstores.qdrant.Qdrant": _qdrant,
    "langchain_postgres.v2.vectorstores.PGVectorStore": _pgvector_store,
    "langchain_postgres.vectorstores.PGVector": _pgvector,
    "langchain_community.vectorstores.pgvector.PGVector": _community_pgvector,
    "langchain_milvus.vectorstores.milvus.Milvus": _milvus,
    "langchain_community.vectorstores.milvus.Milvus": _milvus,
    "langchain_community.vectorstores.faiss.FAISS": _faiss,
    "langchain_community.vectorstores.lancedb.LanceDB": _lance,
}
"""By the dotted names of the stores' classes, none of which is imported."""
