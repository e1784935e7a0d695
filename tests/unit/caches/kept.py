"""The two kinds of values that caches keep, so that one test can ask for either by number."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from langchain_rag.caches.embedding_codec import EmbeddingCodec
from langchain_rag.caches.variation_codec import VariationCodec
from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CachedPiece,
    CacheKey,
    VariationCache,
)
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache, EmbeddingCache
from langchain_rag.storage import SQLEmbeddingCache, SQLVariationCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_rag.testing import Driver

SUMMARIES, QUESTIONS = "SummarizeTransformer", "GenerateQuestionsTransformer"
MODEL, OTHER = "OpenAIEmbeddings small 0123", "Größer"


def digest(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


def key(content: object, transformer: str = SUMMARIES) -> CacheKey:
    return CacheKey(transformer, digest(transformer), digest(content))


def pieces(*texts: str) -> list[CachedPiece]:
    return [CachedPiece("summary", text) for text in texts]


class Variations:
    """Answers of transformers."""

    protocol = VariationCache
    in_byte_store = ByteStoreVariationCache
    in_sql = SQLVariationCache
    codec: Any = VariationCodec()
    label, other = SUMMARIES, QUESTIONS
    by = "transformer"
    noun, unit = "answers", "characters"
    table, column, component = "langchain_rag_variations", "pieces", "variation cache"
    sizes = 1, 4
    """In SQL, of a value of length 1, and of that and one of length 3."""

    @staticmethod
    def value(number: int, length: int = 1) -> list[Any]:
        """Of one size, in the statistics, whatever the number, of one digit."""
        return pieces(*[str(number)] * length)

    @staticmethod
    def name(number: int) -> str:
        return VariationCodec().name_of(key(number))

    @staticmethod
    async def mset(
        driver: Driver, cache: object, pairs: Sequence[tuple[int, Any]], label: str = SUMMARIES
    ) -> None:
        await driver(cache, "mset", [(key(number, label), value) for number, value in pairs])

    @staticmethod
    async def mget(
        driver: Driver, cache: object, numbers: Sequence[int], label: str = SUMMARIES
    ) -> Any:
        return await driver(cache, "mget", [key(number, label) for number in numbers])

    @staticmethod
    def size(stats: Any) -> int:
        return int(stats.characters)


class Embeddings:
    """Vectors of models."""

    protocol = EmbeddingCache
    in_byte_store = ByteStoreEmbeddingCache
    in_sql = SQLEmbeddingCache
    codec: Any = EmbeddingCodec()
    label, other = MODEL, OTHER
    by = "model"
    noun, unit = "vectors", "bytes"
    table, column, component = "langchain_rag_embeddings", "vector", "embedding cache"
    sizes = 14, 36

    @staticmethod
    def value(number: int, length: int = 1) -> list[Any]:
        return [float(number)] * length

    @staticmethod
    def name(number: int) -> str:
        return EmbeddingCodec().name_of((MODEL, str(number)))

    @staticmethod
    async def mset(
        driver: Driver, cache: object, pairs: Sequence[tuple[int, Any]], label: str = MODEL
    ) -> None:
        await driver(cache, "mset", label, [(str(number), value) for number, value in pairs])

    @staticmethod
    async def mget(
        driver: Driver, cache: object, numbers: Sequence[int], label: str = MODEL
    ) -> Any:
        return await driver(cache, "mget", label, [str(number) for number in numbers])

    @staticmethod
    def size(stats: Any) -> int:
        return int(stats.size)


KEPT: list[Any] = [Variations, Embeddings]
