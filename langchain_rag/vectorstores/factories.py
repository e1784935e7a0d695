"""The parts that the factories of `RAGVectorStore` put together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import RecordManager
from langchain_core.stores import BaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.backends.registry import unwrapped
from langchain_rag.embedding_cache import EmbeddingCache, wire
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle import codec, identity

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from langchain_rag.storage import FullText

logger = logging.getLogger(__name__)


def stores_of(
    embedding: Embeddings,
    vectorstore: VectorStore | None,
    docstore: BaseStore[str, Document] | None,
) -> dict[str, Any]:
    """Make the stores of `from_texts` that are not given.

    Args:
        embedding: For the wrapped store, where none is given.
        vectorstore: The store to wrap; an `InMemoryVectorStore` by default.
        docstore: The store of the chunks; an `InMemoryStore` by default.

    Returns:
        Both, as arguments of the constructor.
    """
    return {
        "vectorstore": InMemoryVectorStore(embedding) if vectorstore is None else vectorstore,
        "docstore": InMemoryStore() if docstore is None else docstore,
    }


def parts_in_memory(given: dict[str, Any]) -> dict[str, Any]:
    """Make what keeps chunks and records in memory.

    Args:
        given: Arguments of the constructor that the caller gives.

    Returns:
        Further arguments of the constructor.
    """
    parts: dict[str, Any] = {"docstore": InMemoryStore()}
    if "record_manager" not in given:
        parts["record_manager"] = _record_manager_in_memory(given.get("namespace", ""))
    return parts


def parts_in_sql(
    vectorstore: VectorStore,
    engine: Engine | AsyncEngine,
    namespace: str,
    full_text: FullText | str | None,
    given: dict[str, Any],
) -> dict[str, Any]:
    """Make what keeps chunks, records, answers and vectors in an SQL database.

    Args:
        vectorstore: The store to wrap, whose embeddings get a cache.
        engine: Where the database is.
        namespace: Separates several stores in one database.
        full_text: The language of the full-text index, or a `FullText`; None for no index.
        given: Arguments of the constructor that the caller gives.

    Returns:
        Further arguments of the constructor.

    Raises:
        ConfigurationError: There is no stemmer for the language.
    """
    from langchain_rag.storage import (  # noqa: PLC0415 - cheap imports
        SQLDocStore,
        SQLRecordManager,
        SQLVariationCache,
    )

    parts: dict[str, Any] = {
        "docstore": SQLDocStore(engine, namespace=namespace, full_text=full_text),
        "namespace": namespace,
    }
    if "record_manager" not in given:
        parts["record_manager"] = SQLRecordManager(namespace, engine=engine)
    if "variation_cache" not in given:
        parts["variation_cache"] = SQLVariationCache(engine, namespace=namespace)
    if "embedding_cache" not in given:
        parts["embedding_cache"] = _sql_embedding_cache(vectorstore, engine, namespace)
    return parts


def engine_of(
    db_url: str | URL | None, engine: Engine | AsyncEngine | None
) -> Engine | AsyncEngine:
    """Return an engine, made where only its address is given.

    Args:
        db_url: Where the database is. Or:
        engine: An engine.

    Raises:
        ConfigurationError: Not exactly one of them was given.
    """
    from langchain_rag.storage import create_engine  # noqa: PLC0415 - cheap imports

    if engine is None and db_url is not None:
        return create_engine(db_url)
    if engine is not None and db_url is None:
        return engine
    message = "Give either db_url or engine, and not both."
    raise ConfigurationError(message)


def _record_manager_in_memory(namespace: str) -> RecordManager:
    """Make a record manager that lives as long as the process."""
    from langchain_rag.storage.memory_record_manager import (  # noqa: PLC0415 - cheap imports
        InMemoryRecordManager,
    )

    record_manager = InMemoryRecordManager(namespace=namespace)
    record_manager.create_schema()
    return record_manager


def _sql_embedding_cache(
    vectorstore: VectorStore, engine: Engine | AsyncEngine, namespace: str
) -> EmbeddingCache | None:
    """Make a cache of vectors on an engine, None where the embeddings cannot be given one."""
    from langchain_rag.storage import SQLEmbeddingCache  # noqa: PLC0415 - cheap imports

    cache = SQLEmbeddingCache(engine, namespace=namespace)
    if _calls_sync(vectorstore, engine):
        logger.info(
            "Vectors are not cached: %s embeds in synchronous code, and the engine is "
            "asynchronous.",
            type(vectorstore).__name__,
        )
        return None
    try:
        return cache if wire(vectorstore, cache) is not None else None
    except ConfigurationError as error:
        # Nobody asked for it by name, so it is no reason to fail.
        logger.warning("Vectors are not cached: %s", error)
        return None


def _calls_sync(vectorstore: VectorStore, engine: Engine | AsyncEngine) -> bool:
    """Say whether the store would call the sync half of a cache that has none."""
    if not hasattr(engine, "sync_engine"):
        return False
    kinds = [type(store) for store in unwrapped(vectorstore) if isinstance(store, VectorStore)]
    innermost = kinds[-1]
    return (
        innermost.aadd_documents is VectorStore.aadd_documents
        and innermost.aadd_texts is VectorStore.aadd_texts
    )


def key_encoder(fingerprints: tuple[str | None, str | None]) -> Callable[[Document], str]:
    """Make the function by which `index()` names a document.

    `index()` skips what it has seen under the same name. So the name says not only what the
    document says, but also which transformers it goes through: a changed prompt is a change.

    Args:
        fingerprints: Of the transformers, None where one has none that can be relied on.

    Returns:
        A function from a document to 64 hexadecimal digits.
    """
    parent, chunk = (fingerprint or "" for fingerprint in fingerprints)

    def encode(document: Document) -> str:
        owner = f"the document that begins with {document.page_content[:80]!r}"
        metadata = codec.encode(document.metadata, owner)
        return identity.digest(parent, chunk, document.page_content, codec.canonical(metadata))

    return encode
