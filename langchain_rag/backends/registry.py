"""Which answers go with which vector store, by dotted class name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias

from langchain_rag.backends import chroma, faiss, in_memory, lancedb, milvus, postgres, qdrant
from langchain_rag.backends.backend import Backend
from langchain_rag.backends.refused import sqlite_vec
from langchain_rag.errors import ConfigurationError

BackendFactory: TypeAlias = Callable[[Any, str], Backend]
"""Given a store and the dotted name by which it was found, says what it needs."""

_FACTORIES: Final[dict[str, BackendFactory]] = {
    "langchain_core.vectorstores.in_memory.InMemoryVectorStore": in_memory.backend,
    "langchain_chroma.vectorstores.Chroma": chroma.backend,
    "langchain_community.vectorstores.chroma.Chroma": chroma.backend,
    "langchain_qdrant.qdrant.QdrantVectorStore": qdrant.backend,
    "langchain_milvus.vectorstores.milvus.Milvus": milvus.backend,
    "langchain_postgres.v2.vectorstores.PGVectorStore": postgres.backend,
    "langchain_community.vectorstores.faiss.FAISS": faiss.backend,
    "langchain_community.vectorstores.lancedb.LanceDB": lancedb.backend,
    "langchain_community.vectorstores.sqlitevec.SQLiteVec": sqlite_vec,
}


def backend_of(store: object) -> Backend:
    """Say what is known of a vector store.

    A store that wraps another one, and has it as `inner` or `vectorstore`, is looked
    through, at any depth, for everything but the search by vector and the change of metadata
    alone, which would pass it by. A class in the table serves its subclasses too; one that
    overrides a search is asked by text, and one that overrides adding is given whole rows.

    Args:
        store: A vector store.

    Returns:
        What it needs; the defaults where it is not known.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        >>> store.add_texts(["a"], [{"page": 1}], ids=["1"])
        ['1']
        >>> backend = backend_of(store)
        >>> list(backend.rows())
        [('1', {'page': 1})]
    """
    for inner in unwrapped(store):
        names = [_dotted(kind) for kind in type(inner).__mro__]
        name = next((name for name in names if name in _FACTORIES), None)
        if name is not None:
            found = _FACTORIES[name](inner, name)
            if inner is not store:
                # What goes past a wrapper's own methods is not for it.
                return replace(found, dense=None, relabel=None)
            dense = not _overrides(inner, names.index(name), "search")
            relabel = not _overrides(inner, names.index(name), "add")
            return replace(
                found,
                dense=found.dense if dense else None,
                relabel=found.relabel if relabel else None,
            )
    return Backend(_dotted(type(store)))


def is_known(store: object) -> bool:
    """Say whether a store, or the one that it wraps, is in the table.

    Args:
        store: A vector store.
    """
    return any(
        _dotted(kind) in _FACTORIES
        for inner in unwrapped(store)
        for kind in type(inner).__mro__
    )


def register_backend(dotted_class: str, factory: BackendFactory) -> None:
    """Say what a class of vector stores, and its subclasses, need.

    Args:
        dotted_class: Module and qualified name, such as `"my_stores.vectors.MyStore"`. The
            class is not imported.
        factory: Given a store and `dotted_class`, says what the store needs. It takes the
            place of one that was registered for the same class before.

    Raises:
        ConfigurationError: The name has no module.

    Example:
        >>> register_backend("my.Store", lambda store, name: Backend(name, max_rows=100))
    """
    if "." not in dotted_class.strip("."):
        message = f"{dotted_class!r} has no module: give the dotted name, 'module.Class'."
        raise ConfigurationError(message)
    _FACTORIES[dotted_class] = factory


def unwrapped(store: object) -> Iterator[object]:
    """Yield a store, what it wraps, what that wraps, ...

    Args:
        store: Any store.
    """
    seen: list[object] = []
    while store is not None and not any(store is one for one in seen):
        yield store
        seen.append(store)
        # Not the attributes that a store hands on (`__getattr__`) from what it wraps.
        inner = vars(store).get("inner") if hasattr(store, "__dict__") else None
        store = inner if inner is not None else _property(store, "vectorstore")


def _property(store: object, name: str) -> object:
    return getattr(store, name, None) if hasattr(type(store), name) else None


def _overrides(store: object, depth: int, what: str) -> bool:
    # A subclass may have made the search by text, or adding, into something else.
    return any(
        what in attribute for kind in type(store).__mro__[:depth] for attribute in vars(kind)
    )


def _dotted(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
