"""Embeddings that look into a cache before they embed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.caches.embedding_codec import is_storable
from langchain_rag.embedding_cache._lookup import Asked, LookUp, alike
from langchain_rag.embedding_cache.identity import identity_of_embeddings
from langchain_rag.embedding_cache.tally import count, is_refreshing
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_rag.caches.embeddings import EmbeddingCache

__all__ = ["CachedEmbeddings"]

_log = logging.getLogger(__name__)

_BATCH: Final = 256


class CachedEmbeddings(Embeddings):
    """Any LangChain embeddings, with a cache for documents.

    Each text is embedded once: the texts of a call that the cache does not have go to the
    model, equal ones as one, and each batch is kept as soon as it is answered, so that an
    error or a crash loses only what was in flight. A cache that fails costs an embedding and
    a warning in the log, never the call. Exceptions and answers with too few vectors are not
    kept. Queries go straight to the model.

    The work is done by LangChain's `CacheBackedEmbeddings`, which is imported with the first
    call; what it does not do (equal texts of one call, failing caches, answers of the wrong
    length, vectors of a model that changed under its name) is done around it.

    All other attributes are those of the embeddings within, for vector stores that look at
    them.

    Attributes:
        wrapped: The embeddings within.
        cache: The cache.
        fingerprint: What the vectors are kept under.

    Args:
        embeddings: The embeddings. Of `CachedEmbeddings` those within are taken.
        cache: The cache.
        model: What to keep the vectors under; by default what `identity_of_embeddings` finds.
            Give another one when the model behind the embeddings changes.
        batch_size: How many texts go to the model between two writes of the cache.

    Raises:
        ConfigurationError: The embeddings do not say which vectors they make, and `model` is
            not given; or one of the others cannot be used.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryByteStore
        >>> from langchain_rag.embedding_cache import ByteStoreEmbeddingCache, CachedEmbeddings
        >>> cache = ByteStoreEmbeddingCache(InMemoryByteStore())
        >>> embeddings = CachedEmbeddings(DeterministicFakeEmbedding(size=8), cache)
        >>> embeddings.embed_documents(["a"]) == embeddings.embed_documents(["a"])
        True
        >>> cache.stats().hits, embeddings.size
        (1, 8)
    """

    def __init__(
        self,
        embeddings: Embeddings,
        cache: EmbeddingCache,
        *,
        model: str | None = None,
        batch_size: int = _BATCH,
    ) -> None:
        found = identity_of_embeddings(embeddings) if model is None else model
        wrapped: Embeddings = embeddings
        while isinstance(wrapped, CachedEmbeddings):
            wrapped = wrapped.wrapped
        if found is None:
            msg = (
                f"{type(wrapped).__name__} does not say which vectors it makes, so they cannot "
                "be cached: name the model with CachedEmbeddings(..., model='my-model v1'), "
                "or give the class a `fingerprint`."
            )
            raise ConfigurationError(msg)
        if not found or not is_storable(found):
            msg = (
                f"The model {found[:100]!a} cannot be stored: name it with a short text "
                "without NUL characters and lone surrogates."
            )
            raise ConfigurationError(msg)
        if batch_size < 1:
            msg = f"batch_size is {batch_size}: give at least 1."
            raise ConfigurationError(msg)
        self.wrapped: Embeddings = wrapped
        self.cache = cache
        self.fingerprint = found
        self._batch_size = batch_size

    def __repr__(self) -> str:
        # Without what is within, whose own repr may show credentials.
        return (
            f"{type(self).__name__}({type(self.wrapped).__name__}, model={self.fingerprint!r})"
        )

    def __getattr__(self, name: str) -> Any:
        # Only for what is not found here. Copies look before there is anything within.
        if name.startswith("__") or "wrapped" not in vars(self):
            raise AttributeError(name)
        return getattr(self.wrapped, name)

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts, or find what they were embedded to.

        Args:
            texts: Any number of texts.

        Returns:
            A vector for each, in their order.

        Raises:
            StoreError: The model answered with too few vectors, or too many.
        """
        return run(self._embedded(texts))

    @override
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts, or find what they were embedded to.

        Args:
            texts: Any number of texts.

        Returns:
            A vector for each, in their order.

        Raises:
            StoreError: The model answered with too few vectors, or too many.
        """
        return await arun(self._embedded(texts))

    @override
    def embed_query(self, text: str) -> list[float]:
        """Embed a query. Queries are not cached.

        Args:
            text: The query.

        Returns:
            Its vector.
        """
        return self.wrapped.embed_query(text)

    @override
    async def aembed_query(self, text: str) -> list[float]:
        """Embed a query. Queries are not cached.

        Args:
            text: The query.

        Returns:
            Its vector.
        """
        return await self.wrapped.aembed_query(text)

    def _embedded(self, texts: list[str]) -> Flow[list[list[float]]]:
        texts = list(texts)
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return []
        known = LookUp(self.cache, self.fingerprint, reads=not is_refreshing())
        vectors = yield from self._through(known, distinct)
        if known.hits and not alike(vectors):
            _log.warning(
                "%a answers with vectors of another length than those in the cache; all of "
                "these texts are embedded again.",
                self.fingerprint[:100],
            )
            known = LookUp(self.cache, self.fingerprint, reads=False)
            vectors = yield from self._through(known, distinct)
        count(hits=known.hits)
        if len(distinct) == len(texts):
            return vectors
        by_text = dict(zip(distinct, vectors, strict=True))
        # A list for each place: no two results are the same object.
        return [list(by_text[text]) for text in texts]

    def _through(self, known: LookUp, texts: list[str]) -> Flow[list[list[float]]]:
        # Not with the package: whoever has no cache does not pay for it.
        from langchain_classic.embeddings.cache import (  # noqa: PLC0415
            CacheBackedEmbeddings,
        )

        backed = CacheBackedEmbeddings(Asked(self.wrapped), known, batch_size=self._batch_size)
        return (yield from call(backed.embed_documents, backed.aembed_documents, texts))
