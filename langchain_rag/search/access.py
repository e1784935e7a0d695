"""From a store to its searches, for what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langchain_rag.errors import ConfigurationError
from langchain_rag.search.queries import Queries

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore


def queries_of(store: VectorStore) -> Queries:
    """Return what a `RAGVectorStore` searches with.

    Args:
        store: The store.

    Raises:
        ConfigurationError: It is another kind of store.
    """
    queries = cast("object", getattr(store, "_queries", None))
    if isinstance(queries, Queries):
        return queries
    message = (
        f"vectorstore is a {type(store).__name__}; this retriever needs a RAGVectorStore, "
        "which knows chunks and their documents."
    )
    raise ConfigurationError(message)


def defaults_of(store: VectorStore) -> dict[str, Any]:
    """Return a store's own `search_kwargs`, as its searches by similarity have them.

    Args:
        store: Any store; only a `RAGVectorStore` has some.
    """
    queries = cast("object", getattr(store, "_queries", None))
    return dict(queries.defaults) if isinstance(queries, Queries) else {}
