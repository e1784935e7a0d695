"""The parts that the factories of `RAGVectorStore` put together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from langchain_core.documents import Document
from langchain_core.indexing import RecordManager
from langchain_core.vectorstores import VectorStore

from langchain_rag.backends.registry import unwrapped
from langchain_rag.embedding_cache import EmbeddingCache, wire
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle import codec, identity

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from langchain_rag.caches.variations import VariationCache
    from langchain_rag.storage import FullText, SQLDocStore

logger = logging.getLogger(__name__)


def record_manager_in_memory(namespace: str) -> RecordManager:
    """Make a record manager that lives as long as the process."""
    from langchain_rag.storage.memory_record_manager import (  # noqa: PLC0415 - cheap imports
        InMemoryRecordManager,
    )

    record_manager = InMemoryRecordManager(namespace=namespace)
    record_manager.create_schema()
    return record_manager


def sql_parts(
    db_url: str | URL | None,
    engine: Engine | AsyncEngine | None,
    namespace: str,
    full_text: FullText | str | None,
) -> tuple[SQLDocStore, RecordManager]:
    """Make a docstore and a record manager on one engine.

    Raises:
        ConfigurationError: Not exactly one of `db_url` and `engine` was given.
    """
    from langchain_rag.storage import (  # noqa: PLC0415 - cheap imports
        SQLDocStore,
        SQLRecordManager,
        create_engine,
    )

    if engine is None and db_url is not None:
        shared = create_engine(db_url)
    elif engine is not None and db_url is None:
        shared = engine
    else:
        message = "Give either db_url or engine, and not both."
        raise ConfigurationError(message)
    return (
        SQLDocStore(shared, namespace=namespace, full_text=full_text),
        SQLRecordManager(namespace, engine=shared),
    )


def sql_cache(engine: Engine | AsyncEngine, namespace: str) -> VariationCache:
    """Make a cache of models' answers on an engine."""
    from langchain_rag.storage import SQLVariationCache  # noqa: PLC0415 - cheap imports

    return SQLVariationCache(engine, namespace=namespace)


def sql_embedding_cache(
    vectorstore: VectorStore, engine: Engine | AsyncEngine, namespace: str
) -> EmbeddingCache | None:
    """Make a cache of vectors on an engine.

    Args:
        vectorstore: The store whose embeddings get it.
        engine: Where it is.
        namespace: Of the store.

    Returns:
        The cache; None for a store whose embeddings cannot be given one.
    """
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
