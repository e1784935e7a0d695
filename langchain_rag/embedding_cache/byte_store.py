"""An embedding cache in any LangChain `ByteStore`."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING

from langchain_rag import _caches
from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.embedding_cache import _entries
from langchain_rag.embedding_cache.stats import EmbeddingCacheStats

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_core.stores import ByteStore

    from langchain_rag.embedding_cache._entries import Entry

__all__ = ["ByteStoreEmbeddingCache"]


class ByteStoreEmbeddingCache:
    """An embedding cache in any LangChain `ByteStore`: files, Redis, memory.

    Each vector is one value, which holds its age and its model as well, and is checked when
    it is read. One that is cut off, damaged, or of another version counts as missing, and is
    deleted by the next purge.

    To purge and to count, all values of the namespace are read. For large corpora
    `langchain_rag.storage.SQLEmbeddingCache` does both by one statement.

    Attributes:
        store: The store.
        namespace: Caches of different namespaces share the store, and nothing else.

    Args:
        store: The store, which may hold other things as well.
        namespace: Any text.

    Example:
        >>> from langchain_core.stores import InMemoryByteStore
        >>> cache = ByteStoreEmbeddingCache(InMemoryByteStore())
        >>> cache.mset("my-model", [("a text", [0.1, -0.5])])
        >>> cache.mget("my-model", ["a text", "another"])
        [[0.1, -0.5], None]
    """

    def __init__(self, store: ByteStore, namespace: str = "") -> None:
        self.store = store
        self.namespace = namespace
        # A digest, since not every store takes any text; always the same number of parts, so
        # that one namespace never contains another.
        of = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._prefix = f"embeddings/{of}/"
        self._ours = re.compile(re.escape(self._prefix) + "[0-9a-f]{64}")
        self._tally = _caches.Tally()

    def __repr__(self) -> str:
        store = type(self.store).__name__  # whose own repr may show credentials
        return f"{type(self).__name__}({store}, namespace={self.namespace!r})"

    def mget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Look vectors up; see `EmbeddingCache.mget`."""
        return run(self._mget(model, texts))

    async def amget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Look vectors up; see `EmbeddingCache.mget`."""
        return await arun(self._mget(model, texts))

    def mset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep vectors; see `EmbeddingCache.mset`."""
        run(self._mset(model, pairs))

    async def amset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep vectors; see `EmbeddingCache.mset`."""
        await arun(self._mset(model, pairs))

    def purge(self, *, model: str | None = None, older_than: timedelta | None = None) -> int:
        """Delete vectors, and what cannot be read; see `EmbeddingCache.purge`."""
        return run(self._purge(model, older_than))

    async def apurge(
        self, *, model: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete vectors, and what cannot be read; see `EmbeddingCache.purge`."""
        return await arun(self._purge(model, older_than))

    def stats(self) -> EmbeddingCacheStats:
        """Count what is there, and what was found."""
        return run(self._stats())

    async def astats(self) -> EmbeddingCacheStats:
        """Count what is there, and what was found."""
        return await arun(self._stats())

    def _mget(self, model: str, texts: Sequence[str]) -> Flow[list[list[float] | None]]:
        names = [_entries.name_of(model, text) for text in texts]
        distinct = list(dict.fromkeys(names))
        entries: dict[str, Entry] = {}
        if distinct:
            keys = [self._prefix + name for name in distinct]
            values = yield from call(self.store.mget, self.store.amget, keys)
            for name, value in zip(distinct, values, strict=True):
                if value is None:
                    continue
                try:
                    entries[name] = _entries.unpack_entry(name, value)
                except ValueError as error:
                    _entries.log_damage(name, error)
        # A list for each place: no two results are the same object.
        found = [list(entries[name].vector) if name in entries else None for name in names]
        self._tally.count(found)
        return found

    def _mset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> Flow[None]:
        packed = partial(_entries.pack_entry, model, _caches.now())
        values = [
            (self._prefix + name, value)
            for name, value in _entries.cachable(model, pairs, packed).items()
        ]
        if values:
            yield from call(self.store.mset, self.store.amset, values)

    def _purge(self, model: str | None, older_than: timedelta | None) -> Flow[int]:
        before = _caches.cutoff(older_than)
        names = yield from _caches.names_in(self.store, self._prefix, self._ours)
        purged = 0
        for page in _caches.pages(names):
            doomed = page
            if model is not None or before is not None:
                values = yield from call(self.store.mget, self.store.amget, page)
                doomed = [
                    name
                    for name, value in zip(page, values, strict=True)
                    if value is not None and self._is_doomed(name, value, model, before)
                ]
            if doomed:
                yield from call(self.store.mdelete, self.store.amdelete, doomed)
            purged += len(doomed)
        return purged

    def _stats(self) -> Flow[EmbeddingCacheStats]:
        size, by_model, times = 0, dict[str, int](), list[float]()
        names = yield from _caches.names_in(self.store, self._prefix, self._ours)
        for page in _caches.pages(names):
            values = yield from call(self.store.mget, self.store.amget, page)
            for name, value in zip(page, values, strict=True):
                entry = self._decoded(name, value)
                if value is None or entry is None:
                    continue
                size += len(value)
                by_model[entry.model] = by_model.get(entry.model, 0) + 1
                times.append(entry.created_at)
        return EmbeddingCacheStats(
            sum(by_model.values()),
            size,
            by_model,
            self._tally.hits,
            self._tally.misses,
            _caches.moment_of(min(times, default=None)),
            _caches.moment_of(max(times, default=None)),
        )

    def _decoded(self, name: str, value: object) -> Entry | None:
        try:
            return _entries.unpack_entry(name.removeprefix(self._prefix), value)
        except ValueError:
            return None

    def _is_doomed(
        self, name: str, value: object, model: str | None, before: float | None
    ) -> bool:
        entry = self._decoded(name, value)
        if entry is None:
            return True  # it serves nobody, and nothing else would ever delete it
        return (model is None or entry.model == model) and (
            before is None or entry.created_at < before
        )
