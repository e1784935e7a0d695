"""The two ends of LangChain's `CacheBackedEmbeddings`: our cache, and the model.

`CacheBackedEmbeddings` looks up, embeds what is missing in batches, and keeps each batch when
it is there. What it leaves to its ends is here: a cache that fails must not fail an import,
an answer of the wrong length must not be kept under the wrong texts, and a write that a
cancelled task has begun is seen to its end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from langchain_core.embeddings import Embeddings
from langchain_core.stores import BaseStore
from typing_extensions import override

from langchain_rag._flow import Flow, arun, call, call_as, run
from langchain_rag.caches.embeddings import EmbeddingCache
from langchain_rag.embedding_cache.tally import count
from langchain_rag.errors import StoreError

_log = logging.getLogger(__name__)


class LookUp(BaseStore[str, list[float]]):
    """An embedding cache as `CacheBackedEmbeddings` want it, for one call of theirs.

    Attributes:
        hits: How many texts were found.

    Args:
        cache: The cache.
        identity: Of the model.
        reads: Whether it is asked at all, or only written.
    """

    def __init__(self, cache: EmbeddingCache, identity: str, *, reads: bool = True) -> None:
        self._cache = cache
        self._identity = identity
        self._reads = reads
        self.hits = 0

    @override
    def mget(self, keys: Sequence[str]) -> list[list[float] | None]:
        return run(self._mget(keys))

    @override
    async def amget(self, keys: Sequence[str]) -> list[list[float] | None]:
        return await arun(self._mget(keys))

    @override
    def mset(self, key_value_pairs: Sequence[tuple[str, list[float]]]) -> None:
        run(self._mset(key_value_pairs))

    @override
    async def amset(self, key_value_pairs: Sequence[tuple[str, list[float]]]) -> None:
        await arun(self._mset(key_value_pairs))

    @override
    def mdelete(self, keys: Sequence[str]) -> NoReturn:
        raise NotImplementedError

    @override
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        raise NotImplementedError

    def _mget(self, texts: Sequence[str]) -> Flow[list[list[float] | None]]:
        nothing: list[list[float] | None] = [None] * len(texts)
        if not self._reads:
            return nothing
        try:
            found = yield from call(self._cache.mget, self._cache.amget, self._identity, texts)
            vectors = [None if vector is None else list(vector) for vector in found]
        except Exception:  # noqa: BLE001 - a cache is no reason to fail
            _log.warning("The embedding cache could not be read.", exc_info=True)
            return nothing
        known = [vector for vector in vectors if vector is not None]
        if len(vectors) != len(texts) or not all(known) or not alike(known):
            _log.warning(
                "The embedding cache has vectors of several lengths for %a, or not one answer "
                "for each text; all of these texts are embedded again.",
                self._identity[:100],
            )
            return nothing
        self.hits = len(known)
        return vectors

    def _mset(self, pairs: Sequence[tuple[str, list[float]]]) -> Flow[None]:
        if not alike([vector for _, vector in pairs]):
            _log.warning("Vectors of several lengths in one answer are not cached.")
            return
        try:
            yield from call_as(
                "to_its_end", self._cache.mset, self._cache.amset, self._identity, pairs
            )
        except Exception:  # noqa: BLE001 - a cache is no reason to fail
            _log.warning("Vectors could not be kept in the embedding cache.", exc_info=True)


class Asked(Embeddings):
    """The model behind `CacheBackedEmbeddings`, which counts, and checks what it answers.

    Args:
        model: The embeddings.
    """

    def __init__(self, model: Embeddings) -> None:
        self._model = model

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return run(self._embedded(texts))

    @override
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await arun(self._embedded(texts))

    @override
    def embed_query(self, text: str) -> list[float]:
        return self._model.embed_query(text)

    def _embedded(self, texts: list[str]) -> Flow[list[list[float]]]:
        model = self._model
        vectors = yield from call(model.embed_documents, model.aembed_documents, texts)
        if len(vectors) != len(texts):
            msg = (
                f"{type(model).__name__} answered {len(texts)} texts with {len(vectors)} "
                "vectors, so that nobody can say which is whose. None of them was kept; make "
                "this call again, with fewer texts at a time if it stays so."
            )
            raise StoreError(msg)
        count(embedded=len(texts))
        return vectors


def alike(vectors: Sequence[Any]) -> bool:
    """Say whether vectors can be of one model: whether they are of one length.

    Args:
        vectors: Any number of vectors.
    """
    return len({len(vector) if hasattr(vector, "__len__") else -1 for vector in vectors}) <= 1
