"""The parts of a `RAGVectorStore`, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import RecordManager
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from typing_extensions import override

from langchain_rag.caches.variations import VariationCache
from langchain_rag.embedding_cache import EmbeddingCache, wire
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.sources import SourceIdKey
from langchain_rag.lifecycle.stores import Stores
from langchain_rag.lifecycle.transformers import Transformers
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.queries import Queries
from langchain_rag.vectorstores.record_manager import StoredRecordManager

_SEARCH_TYPES: Final = VectorStoreRetriever.allowed_search_types


class BaseRAGVectorStore(VectorStore):
    """Holds the parts; what is done with them is in the subclasses."""

    def __init__(
        self,
        *,
        vectorstore: VectorStore,
        docstore: BaseStore[str, Document],
        source_id_key: SourceIdKey = "source",
        parent_transformer: BaseDocumentTransformer | None = None,
        chunk_transformer: BaseDocumentTransformer | None = None,
        namespace: str = "",
        search_type: str = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        max_concurrency: int | None = 8,
        record_manager: RecordManager | None = None,
        variation_cache: VariationCache | None = None,
        embedding_cache: EmbeddingCache | None = None,
    ) -> None:
        check_arguments(
            search_type,
            max_concurrency,
            source_id_key,
            (parent_transformer, chunk_transformer),
        )
        self._record_manager = checked_record_manager(record_manager)
        self._variation_cache = checked_variation_cache(variation_cache)
        self._embedding_cache = checked_embedding_cache(embedding_cache)
        self._source_id_key: SourceIdKey = source_id_key
        self._lifecycle = Lifecycle(
            Stores(vectorstore, docstore),
            Transformers(parent_transformer, chunk_transformer, namespace),
        )
        if embedding_cache is not None:
            wire(vectorstore, embedding_cache)
        self._search_type = search_type
        self._search_kwargs = dict(search_kwargs or {})
        self._max_concurrency = max_concurrency
        self._queries = Queries(self._lifecycle, self._search_kwargs)

    @override
    def __repr__(self) -> str:
        # Class names only: a store's own repr may hold credentials.
        parts = self._lifecycle.transformers
        parent, chunk = (type(one).__name__ for one in (parts.parent, parts.chunk))
        return (
            f"{type(self).__name__}(vectorstore={type(self.vectorstore).__name__}, "
            f"docstore={type(self.docstore).__name__}, parent_transformer={parent}, "
            f"chunk_transformer={chunk}, namespace={parts.namespace!r})"
        )

    @property
    def vectorstore(self) -> VectorStore:
        """The wrapped store, which holds the variations."""
        return self._lifecycle.stores.vectorstore

    @property
    def docstore(self) -> BaseStore[str, Document]:
        """The store of the chunks."""
        return self._lifecycle.stores.docstore

    @property
    def variation_cache(self) -> VariationCache | None:
        """What models answered, kept; None where nothing is."""
        return self._variation_cache

    @property
    def embedding_cache(self) -> EmbeddingCache | None:
        """Vectors of texts, kept; None where none are."""
        return self._embedding_cache

    @property
    def source_id_key(self) -> SourceIdKey:
        """Where a document's source is."""
        return self._source_id_key

    @property
    def record_manager(self) -> RecordManager | None:
        """What notes which documents `index()` has seen, None where it is not known."""
        return self._record_manager

    @property
    def fingerprints(self) -> tuple[str | None, str | None]:
        """Identity of the `parent_transformer` and of the `chunk_transformer`.

        None for one whose identity cannot be relied on; what it made is made again whenever
        its document is added.
        """
        return self._lifecycle.transformers.fingerprints

    @property
    @override
    def embeddings(self) -> Embeddings | None:
        return self.vectorstore.embeddings


def checked_variation_cache(cache: object) -> VariationCache | None:
    """Refuse what is no cache.

    Args:
        cache: As in the constructor of `RAGVectorStore`.

    Raises:
        ConfigurationError: It lacks a method.
    """
    if cache is None or isinstance(cache, VariationCache):
        return cache
    message = (
        f"variation_cache is a {type(cache).__name__}; give a SQLVariationCache, a "
        "ByteStoreVariationCache, or what has their methods."
    )
    raise ConfigurationError(message)


def checked_embedding_cache(cache: object) -> EmbeddingCache | None:
    """Refuse what is no cache.

    Args:
        cache: As in the constructor of `RAGVectorStore`.

    Raises:
        ConfigurationError: It lacks a method.
    """
    if cache is None or isinstance(cache, EmbeddingCache):
        return cache
    message = (
        f"embedding_cache is a {type(cache).__name__}; give a SQLEmbeddingCache, a "
        "ByteStoreEmbeddingCache, or what has their methods."
    )
    raise ConfigurationError(message)


def check_arguments(
    search_type: object,
    max_concurrency: int | None,
    source_id_key: object,
    transformers: Iterable[object],
) -> None:
    """Refuse what a constructor cannot work with.

    Args:
        search_type: As in the constructor of `RAGVectorStore`.
        max_concurrency: The same.
        source_id_key: The same.
        transformers: The same, both.

    Raises:
        ConfigurationError: One of them cannot work.
    """
    if search_type not in _SEARCH_TYPES:
        message = f"search_type is {search_type!r}; it must be one of {_SEARCH_TYPES}."
        raise ConfigurationError(message)
    if max_concurrency is not None and max_concurrency < 1:
        message = f"max_concurrency is {max_concurrency}; it must be 1 or more, or None."
        raise ConfigurationError(message)
    if not (isinstance(source_id_key, str | None) or callable(source_id_key)):
        message = (
            f"source_id_key is {source_id_key!r}; give a metadata key, a function or None."
        )
        raise ConfigurationError(message)
    for transformer in transformers:
        if not isinstance(transformer, BaseDocumentTransformer | None):
            message = (
                f"A transformer is a {type(transformer).__name__}; it must be a "
                "langchain_core BaseDocumentTransformer, or None."
            )
            raise ConfigurationError(message)


def checked_record_manager(record_manager: object) -> RecordManager | None:
    """Refuse what is no record manager, and unwrap the one of `index_kwargs`.

    Args:
        record_manager: As in the constructor of `RAGVectorStore`.

    Returns:
        The one that knows what `index()` noted, and nothing else.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(record_manager, StoredRecordManager):
        return record_manager.records
    if not isinstance(record_manager, RecordManager | None):
        message = (
            f"record_manager is a {type(record_manager).__name__}; it must be a langchain_core "
            "RecordManager, or None."
        )
        raise ConfigurationError(message)
    return record_manager
