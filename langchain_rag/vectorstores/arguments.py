"""Checks what the constructor of `RAGVectorStore` is given."""

from __future__ import annotations

from typing import Final

from langchain_core.documents import BaseDocumentTransformer
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_rag.caches.variations import VariationCache
from langchain_rag.embedding_cache import EmbeddingCache
from langchain_rag.errors import ConfigurationError

_SEARCH_TYPES: Final = VectorStoreRetriever.allowed_search_types


def check_arguments(
    *,
    search_type: object,
    max_concurrency: int | None,
    source_id_key: object,
    transformers: tuple[object, object],
    variation_cache: object,
    embedding_cache: object,
) -> None:
    """Refuse what the constructor cannot work with; its stores are checked by `Stores`.

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
    if not isinstance(variation_cache, VariationCache | None):
        message = (
            f"variation_cache is a {type(variation_cache).__name__}; give a SQLVariationCache, "
            "a ByteStoreVariationCache, or what has their methods."
        )
        raise ConfigurationError(message)
    if not isinstance(embedding_cache, EmbeddingCache | None):
        message = (
            f"embedding_cache is a {type(embedding_cache).__name__}; give a SQLEmbeddingCache, "
            "a ByteStoreEmbeddingCache, or what has their methods."
        )
        raise ConfigurationError(message)
