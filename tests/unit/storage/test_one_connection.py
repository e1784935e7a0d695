"""An engine of the user's that gives all threads one connection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from langchain_core.documents import Document
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from langchain_rag.document_transformers import CachedPiece, CacheKey
from langchain_rag.storage import SQLDocStore, SQLVariationCache


def test_threads_take_turns() -> None:
    engine = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    docstore, cache = SQLDocStore(engine), SQLVariationCache(engine)

    def write(number: int) -> None:
        docstore.mset([(f"key-{number}", Document("x" * 100))])
        key = CacheKey("T", "0" * 64, f"{number:064d}")
        cache.mset([(key, [CachedPiece("summary", "s")])])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert len(list(docstore.yield_keys())) == 200
    assert cache.stats().entries == 200
    engine.dispose()
