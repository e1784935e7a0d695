"""The rows of the variation cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_rag import _caches
from langchain_rag.document_transformers import _cache_entries
from langchain_rag.storage._cached_rows import CachedRows
from langchain_rag.storage._schema import VARIATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_rag.document_transformers._cache_entries import CachedPiece, CacheKey

ROWS: Final = CachedRows(VARIATIONS, label="transformer", size="characters", value="pieces")


def rows_of(
    namespace: str, entries: Mapping[str, tuple[CacheKey, list[CachedPiece]]]
) -> list[dict[str, Any]]:
    """Return the rows of some entries.

    Args:
        namespace: Namespace of the cache.
        entries: Keys and pieces by name, sorted.
    """
    time = _caches.now()
    return [
        {
            "namespace": namespace,
            "key": name,
            "transformer": key.transformer,
            "created_at": time,
            "characters": _cache_entries.characters_of(pieces),
            "pieces": _cache_entries.dumps(pieces),
        }
        for name, (key, pieces) in entries.items()
    ]
