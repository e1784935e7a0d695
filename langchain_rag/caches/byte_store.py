"""A cache in any LangChain `ByteStore`."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import run_in_executor
from langchain_core.stores import BaseStore, InMemoryBaseStore
from typing_extensions import override

from langchain_rag._flow import Flow, call
from langchain_rag.caches.cache import Cache, cutoff
from langchain_rag.caches.codec import E, K, S
from langchain_rag.caches.figures import Counted, span_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_core.stores import ByteStore

    from langchain_rag.caches.codec import Cached

_PAGE: Final = 1000
"""Values that are read, or deleted, in one call of the store."""

_KEY_BY_KEY: Final = [vars(kind)["ayield_keys"] for kind in (BaseStore, InMemoryBaseStore)]
"""LangChain's own ways to list keys asynchronously."""


class ByteStoreCache(Cache[K, E, S]):
    """Keeps each value under a key of its own, with its label and its age.

    Attributes:
        store: The store.
        namespace: Caches of different namespaces share the store, and nothing else.

    Args:
        store: The store, which may hold other things as well.
        namespace: Any text.
    """

    def __init__(self, store: ByteStore, namespace: str = "") -> None:
        super().__init__(namespace)
        self.store = store
        # A digest, since not every store takes any text; always the same number of parts, so
        # that one namespace never contains another.
        of = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._prefix = f"{self._codec.folder}/{of}/"
        self._ours = re.compile(re.escape(self._prefix) + self._codec.pattern)

    def __repr__(self) -> str:
        store = type(self.store).__name__  # whose own repr may show credentials
        return f"{type(self).__name__}({store}, namespace={self.namespace!r})"

    @override
    def _shown(self, name: str) -> str:
        return self._prefix + name

    @override
    def _encoded(
        self, name: str, key: K, value: Sequence[E], created_at: float
    ) -> tuple[str, bytes]:
        return self._prefix + name, self._codec.to_bytes(name, key, value, created_at)

    @override
    def _decoded(self, name: str, stored: object) -> list[E]:
        return self._codec.from_bytes(name, stored).value

    @override
    def _read(self, names: list[str]) -> Flow[dict[str, object]]:
        keys = [self._prefix + name for name in names]
        values = yield from call(self.store.mget, self.store.amget, keys)
        found = zip(names, values, strict=True)
        return {name: value for name, value in found if value is not None}

    @override
    def _write(self, encoded: list[tuple[str, bytes]]) -> Flow[None]:
        yield from call(self.store.mset, self.store.amset, encoded)

    @override
    def _purge(self, label: str | None, older_than: timedelta | None) -> Flow[int]:
        before = cutoff(older_than)
        purged = 0
        for page in _pages((yield from self._keys())):
            doomed = page
            if label is not None or before is not None:
                doomed = [
                    key
                    for key, _, cached in (yield from self._cached(page))
                    # One that is damaged serves nobody, and nothing else would delete it.
                    if cached is None
                    or (
                        (label is None or cached.label == label)
                        and (before is None or cached.created_at < before)
                    )
                ]
            if doomed:
                yield from call(self.store.mdelete, self.store.amdelete, doomed)
            purged += len(doomed)
        return purged

    @override
    def _count(self) -> Flow[Counted]:
        size, by_label, times = 0, dict[str, int](), list[float]()
        for page in _pages((yield from self._keys())):
            for _, stored, cached in (yield from self._cached(page)):
                if cached is not None:
                    size += self._codec.size_of(cached.value, stored)
                    by_label[cached.label] = by_label.get(cached.label, 0) + 1
                    times.append(cached.created_at)
        return Counted(by_label, size, *span_of(times))

    def _cached(self, keys: list[str]) -> Flow[list[tuple[str, bytes, Cached[E] | None]]]:
        """Read what is still there, None for what is damaged."""
        values = yield from call(self.store.mget, self.store.amget, keys)
        read: list[tuple[str, bytes, Cached[E] | None]] = []
        for key, value in zip(keys, values, strict=True):
            if value is None:
                continue
            try:
                cached = self._codec.from_bytes(key.removeprefix(self._prefix), value)
            except ValueError:
                cached = None
            read.append((key, value, cached))
        return read

    def _keys(self) -> Flow[list[str]]:
        """List the keys of this cache in a store that may hold other things as well."""
        store, prefix, ours = self.store, self._prefix, self._ours

        def list_keys() -> list[str]:
            if isinstance(store, InMemoryBaseStore):
                # Another thread may write while we look; a copy is made in one step.
                keys = list(store.store)
            else:
                keys = [str(key) for key in store.yield_keys(prefix=prefix)]
            return [key for key in keys if ours.fullmatch(key)]

        async def alist_keys() -> list[str]:
            if type(store).ayield_keys in _KEY_BY_KEY:
                # They go to the executor and back for each key.
                return await run_in_executor(None, list_keys)
            # LangChain declares an async generator in a way that type checkers misread.
            keys: Any = store.ayield_keys(prefix=prefix)
            return [str(key) async for key in keys if ours.fullmatch(str(key))]

        return (yield from call(list_keys, alist_keys))


def _pages(keys: list[str]) -> list[list[str]]:
    """Return keys in portions for one call of a store each."""
    return [keys[start : start + _PAGE] for start in range(0, len(keys), _PAGE)]
