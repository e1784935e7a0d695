"""What caches keep of paid answers and vectors, byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore
from sqlalchemy import text

from langchain_rag.caches import cache as _caches
from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CachedPiece,
    CacheKey,
    GenerateQuestionsTransformer,
)
from langchain_rag.document_transformers.llm.memory import VARIATION_CACHE
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache
from langchain_rag.storage import SQLEmbeddingCache, SQLVariationCache, create_engine
from langchain_rag.testing import ScriptedChatModel
from tests.golden.pinned import pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

KEY = CacheKey("GenerateQuestionsTransformer", "f" * 64, "of somebody")
PIECES = [CachedPiece("summary", "Über 数."), CachedPiece("questions", "Why?")]
NAMESPACE = "acc017392425439be5e3f6409aa1ad26"
ANSWER = f"{'f' * 64}/34177e5f7bf147a4442d15d1745316fc1e347596dcbb30336e591618abf1b334"
VECTOR_ONE = "c2afd7d883e3c5547fe7a96e0fcab4d9298771a5a5ab4c79a6ad3881ff568b15"
VECTOR_TWO = "ca2e7a22d7c3bab2621a165ab1a61217abe3fc7cb03e813f2d756c8d15bfcdbb"
VECTORS: list[tuple[str, list[float]]] = [("one", [0.5, -2.0]), ("two", [0.1, 3.0])]
"""The numbers of the first are those of 32 bits."""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_caches, "now", lambda: 1_800_000_000.25)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine: Any = create_engine("sqlite://")
    yield engine
    engine.dispose()


def rows_of(engine: Engine, table: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        rows = connection.execute(text(f"SELECT * FROM {table} ORDER BY key")).mappings()
        return [dict(row) for row in rows]


def test_an_answer_in_a_byte_store() -> None:
    store = InMemoryByteStore()
    cache = ByteStoreVariationCache(store, "maths")
    cache.mset([(KEY, PIECES)])
    pinned(
        dict(store.store),
        {
            f"variations/{NAMESPACE}/{ANSWER}": (
                b'{"version":1,"transformer":"GenerateQuestionsTransformer",'
                b'"created_at":1800000000.25,'
                b'"pieces":[["summary","\xc3\x9cber \xe6\x95\xb0."],["questions","Why?"]]}'
            )
        },
    )
    assert cache.mget([KEY]) == [PIECES]


def test_an_answer_in_sql(engine: Engine) -> None:
    cache = SQLVariationCache(engine, "maths")
    cache.mset([(KEY, PIECES)])
    pinned(
        rows_of(engine, "langchain_rag_variations"),
        [
            {
                "namespace": "maths",
                "key": ANSWER,
                "transformer": "GenerateQuestionsTransformer",
                "created_at": 1800000000.25,
                "characters": 11,
                "pieces": '[["summary","Über 数."],["questions","Why?"]]',
            }
        ],
    )
    assert cache.mget([KEY]) == [PIECES]


def test_what_an_answer_is_kept_by() -> None:
    store = InMemoryByteStore()
    config: Any = {"configurable": {VARIATION_CACHE: ByteStoreVariationCache(store)}}
    questions = GenerateQuestionsTransformer.from_llm(
        ScriptedChatModel(answer=lambda prompt: "Why?")
    )
    questions.transform_documents([Document("Über 数.")], config=config)
    pinned(
        list(store.store),
        [
            (
                "variations/e3b0c44298fc1c149afbf4c8996fb924/"
                "682a8a428110e3eb16082bad6195207484ffa8f0bef341ed392f1d26cd54022b/"
                "3f30d8fbf274053503bfc570b9a443f04b15dcd9e16c805c316674dfcc6be639"
            )
        ],
    )


def test_vectors_in_a_byte_store() -> None:
    store = InMemoryByteStore()
    cache = ByteStoreEmbeddingCache(store, namespace="maths")
    cache.mset("model v1", VECTORS)
    pinned(
        dict(store.store),
        {
            f"embeddings/{NAMESPACE}/{VECTOR_ONE}": (
                b"\x01\x00\x00\x10\x80t\xd2\xdaA\x08\x00model v1"
                b"\x01\x04\x02\x00\x00\x00\xde\x06\x9b\xe4\x00\x00\x00?\x00\x00\x00\xc0"
            ),
            f"embeddings/{NAMESPACE}/{VECTOR_TWO}": (
                b"\x01\x00\x00\x10\x80t\xd2\xdaA\x08\x00model v1"
                b"\x01\x08\x02\x00\x00\x006\xe1\x10\xdd"
                b"\x9a\x99\x99\x99\x99\x99\xb9?\x00\x00\x00\x00\x00\x00\x08@"
            ),
        },
    )
    assert cache.mget("model v1", ["one", "two"]) == [vector for _, vector in VECTORS]


def test_vectors_in_sql(engine: Engine) -> None:
    cache = SQLEmbeddingCache(engine, namespace="maths")
    cache.mset("model v1", VECTORS)
    pinned(
        rows_of(engine, "langchain_rag_embeddings"),
        [
            {
                "namespace": "maths",
                "key": VECTOR_ONE,
                "model": "model v1",
                "created_at": 1800000000.25,
                "bytes": 18,
                "vector": b"\x01\x04\x02\x00\x00\x00 \x80\xe2_\x00\x00\x00?\x00\x00\x00\xc0",
            },
            {
                "namespace": "maths",
                "key": VECTOR_TWO,
                "model": "model v1",
                "created_at": 1800000000.25,
                "bytes": 26,
                "vector": (
                    b"\x01\x08\x02\x00\x00\x002K\x8b\x06"
                    b"\x9a\x99\x99\x99\x99\x99\xb9?\x00\x00\x00\x00\x00\x00\x08@"
                ),
            },
        ],
    )
    assert cache.mget("model v1", ["one", "two"]) == [vector for _, vector in VECTORS]
