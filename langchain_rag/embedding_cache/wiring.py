"""Giving the embeddings of a vector store a cache, without building the store again.

Vector stores keep the embeddings that they were made with in an attribute, each in one of its
own. LangChain says how to read them (`store.embeddings`), not how to replace them. So every
attribute is replaced whose value *is* that object, in the store and in what it delegates to,
and then the store is asked whether it has taken them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.embeddings import Embeddings

from langchain_rag.backends.registry import unwrapped
from langchain_rag.embedding_cache.cached import CachedEmbeddings
from langchain_rag.embedding_cache.identity import identity_of_embeddings
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

    from langchain_rag.caches.embeddings import EmbeddingCache

__all__ = ["wire"]

_log = logging.getLogger(__name__)

_DEPTH: Final = 2
"""How deep a store's own parts are looked through; `PGVectorStore` has one that does it all."""


class _Place(NamedTuple):
    holder: Any
    name: str
    value: Any
    method: str | None


def wire(
    store: VectorStore, cache: EmbeddingCache, model: str | None = None
) -> CachedEmbeddings | None:
    """Put a cache around the embeddings of a vector store, in place.

    Stores that wrap another one are looked through. A store that has a cache gets the new one
    in its place; what it was told to keep its vectors under it goes on with.

    Args:
        store: The store, which is changed.
        cache: The cache.
        model: What to keep the vectors under; by default what `identity_of_embeddings` finds.

    Returns:
        The embeddings that the store now has; None, and a line in the log, if it stays as it
        is, since it has no embeddings, several, or such as do not say which vectors they
        make.

    Raises:
        ConfigurationError: The store has its embeddings where they cannot be replaced, or
            `model` cannot be stored. The store is as it was.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.stores import InMemoryByteStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_rag.embedding_cache import ByteStoreEmbeddingCache, wire
        >>> cache = ByteStoreEmbeddingCache(InMemoryByteStore())
        >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        >>> wire(store, cache) is store.embeddings
        True
        >>> ids = store.add_texts(["a", "b"])
        >>> cache.stats().entries
        2
    """
    chain = list(unwrapped(store))
    innermost = next((s for s in reversed(chain) if _embeddings(s) is not None), store)
    embeddings = _embeddings(innermost)
    kind = type(innermost).__name__
    if not isinstance(embeddings, Embeddings):
        _log.info("%s has no embeddings that can be cached.", kind)
        return None
    identity = model if model is not None else identity_of_embeddings(embeddings)
    if identity is None:
        _log.info(
            "The vectors of %s are not cached: %s does not say which vectors it makes. Name "
            "the model with CachedEmbeddings(..., model='my-model v1'), or give the class a "
            "`fingerprint`.",
            kind,
            type(embeddings).__name__,
        )
        return None
    cached = CachedEmbeddings(embeddings, cache, model=identity)
    places = _places(chain, innermost, embeddings)
    if _replaced(places, cached) and _embeddings(innermost) is cached:
        return cached
    for place in places:
        with suppress(Exception):  # what could not be set has not changed
            setattr(place.holder, place.name, place.value)
    msg = (
        f"The embeddings of this {kind} cannot be given a cache from outside. Build it with "
        f"them: {kind}(..., CachedEmbeddings(embeddings, cache)), and leave the cache out "
        "here; or do without."
    )
    raise ConfigurationError(msg)


def _embeddings(store: object) -> object:
    try:
        return getattr(store, "embeddings", None)
    except NotImplementedError:
        return None


def _replaced(places: list[_Place], cached: CachedEmbeddings) -> bool:
    try:
        for holder, name, _, method in places:
            setattr(holder, name, cached if method is None else getattr(cached, method))
    except Exception:  # noqa: BLE001 - whatever a class of others objects to
        _log.debug("An attribute could not be replaced.", exc_info=True)
        return False
    return True


def _places(chain: list[object], innermost: object, embeddings: Embeddings) -> list[_Place]:
    holders = [*chain, *_parts(innermost, _DEPTH)]
    seen: dict[int, object] = {id(holder): holder for holder in holders}
    places: list[_Place] = []
    for holder in seen.values():
        for name, value in _attributes(holder):
            if value is embeddings:
                places.append(_Place(holder, name, value, None))
            elif isinstance(value, MethodType) and value.__self__ is embeddings:
                places.append(_Place(holder, name, value, value.__name__))
    return places


def _parts(store: object, depth: int) -> Iterator[object]:
    """Yield the objects of a store's own package that it consists of."""
    package = type(store).__module__.split(".")[0]
    for _, value in _attributes(store) if depth else ():
        if isinstance(value, Embeddings | type | ModuleType | FunctionType):
            continue
        if type(value).__module__.split(".")[0] == package:
            yield value
            yield from _parts(value, depth - 1)


def _attributes(holder: object) -> list[tuple[str, Any]]:
    return list(vars(holder).items()) if hasattr(holder, "__dict__") else []
