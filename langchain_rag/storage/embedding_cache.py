"""An embedding cache in a SQL database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from langchain_rag import _caches
from langchain_rag.embedding_cache import _entries
from langchain_rag.embedding_cache.stats import EmbeddingCacheStats
from langchain_rag.storage._cached_rows import CachedRows
from langchain_rag.storage._codec import check_keys, storable
from langchain_rag.storage._database import Database
from langchain_rag.storage._migrations import EMBEDDING_CACHE
from langchain_rag.storage._schema import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_rag.storage._cached_rows import Counted
    from langchain_rag.storage.engine import AnyEngine

_ROWS: Final = CachedRows(EMBEDDINGS, label="model", size="bytes", value="vector")


class SQLEmbeddingCache:
    """Keeps the vectors of texts in one table of a SQLite or PostgreSQL database.

    It is a `langchain_rag.embedding_cache.EmbeddingCache`. Each call is one transaction, and
    the table is created by the first one. A row that cannot be read counts as missing, is
    logged, and is written anew with the next answer of the model.

    With a sync engine the async methods run in LangChain's executor; with an async engine
    they are native, and the sync methods raise `ConfigurationError`.

    Attributes:
        namespace: Caches of different namespaces share the table, and nothing else.

    Args:
        engine: A sync or async engine, best from `langchain_rag.storage.create_engine`. It
            may be the one of the docstore.
        namespace: Part of every key.

    Raises:
        InvalidDocumentError: If the namespace has NUL characters or lone surrogates.

    Example:
        >>> from langchain_rag.storage import SQLEmbeddingCache, create_engine
        >>> engine = create_engine("sqlite://")
        >>> cache = SQLEmbeddingCache(engine)
        >>> cache.mset("my-model", [("a text", [0.1, -0.5])])
        >>> cache.mget("my-model", ["a text", "another"])
        [[0.1, -0.5], None]
        >>> cache.purge(model="my-model")
        1
        >>> engine.dispose()
    """

    def __init__(self, engine: AnyEngine, *, namespace: str = "") -> None:
        check_keys([namespace])
        self.namespace = namespace
        # Written for each answer; what a power failure takes is embedded again.
        self._database = Database(engine, EMBEDDING_CACHE, type(self).__name__, durable=False)
        self._tally = _caches.Tally()

    def __repr__(self) -> str:
        # Without the URL, which may hold credentials in more places than the password.
        dialect = self.engine.dialect.name
        return f"{type(self).__name__}(dialect={dialect!r}, namespace={self.namespace!r})"

    @property
    def engine(self) -> AnyEngine:
        """The engine, to dispose of at the end."""
        return self._database.engine

    def mget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Look vectors up.

        Args:
            model: Identity of the model.
            texts: What was embedded.

        Returns:
            A new list of exactly the numbers that were kept for each text, in the order of
            the texts; None for what is not there, or cannot be read.
        """
        names = [_entries.name_of(model, text) for text in texts]
        body = _ROWS.read(self.namespace, list(dict.fromkeys(names)))
        return self._found(names, self._database.run(body) if names else {})

    async def amget(self, model: str, texts: Sequence[str]) -> list[list[float] | None]:
        """Look vectors up, as `mget` does.

        Args:
            model: Identity of the model.
            texts: What was embedded.

        Returns:
            A new list of exactly the numbers that were kept for each text, in the order of
            the texts; None for what is not there, or cannot be read.
        """
        names = [_entries.name_of(model, text) for text in texts]
        body = _ROWS.read(self.namespace, list(dict.fromkeys(names)))
        return self._found(names, await self._database.arun(body) if names else {})

    def mset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep vectors, over those that are there.

        What cannot be kept (an empty vector, a number that is none or is infinite) is passed
        over, and logged.

        Args:
            model: Identity of the model.
            pairs: Texts and their vectors. Of equal texts the last one stays.
        """
        if rows := self._rows(model, pairs):
            self._database.run(_ROWS.write(rows), write=True)

    async def amset(self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep vectors, as `mset` does.

        Args:
            model: Identity of the model.
            pairs: Texts and their vectors. Of equal texts the last one stays.
        """
        if rows := self._rows(model, pairs):
            await self._database.arun(_ROWS.write(rows), write=True)

    def purge(self, *, model: str | None = None, older_than: timedelta | None = None) -> int:
        """Delete vectors: those that meet both conditions, or all if none is given.

        Args:
            model: Identity of the model that made them.
            older_than: Their least age.

        Returns:
            How many there were.

        Raises:
            ValueError: If `older_than` is negative.
        """
        body = _ROWS.purge(self.namespace, model, _caches.cutoff(older_than))
        return self._database.run(body, write=True) if _may_be_there(model) else 0

    async def apurge(
        self, *, model: str | None = None, older_than: timedelta | None = None
    ) -> int:
        """Delete vectors, as `purge` does.

        Args:
            model: Identity of the model that made them.
            older_than: Their least age.

        Returns:
            How many there were.

        Raises:
            ValueError: If `older_than` is negative.
        """
        body = _ROWS.purge(self.namespace, model, _caches.cutoff(older_than))
        return await self._database.arun(body, write=True) if _may_be_there(model) else 0

    def stats(self) -> EmbeddingCacheStats:
        """Count what is there, and what was found."""
        return self._counted(self._database.run(_ROWS.count(self.namespace)))

    async def astats(self) -> EmbeddingCacheStats:
        """Count what is there, and what was found."""
        return self._counted(await self._database.arun(_ROWS.count(self.namespace)))

    def _rows(
        self, model: str, pairs: Sequence[tuple[str, Sequence[float]]]
    ) -> list[dict[str, Any]]:
        time = _caches.now()
        packed = _entries.cachable(model, pairs, partial(_entries.pack_row, model))
        return [
            {
                "namespace": self.namespace,
                "key": name,
                "model": model,
                "created_at": time,
                "bytes": len(vector),
                "vector": vector,
            }
            for name, vector in packed.items()
        ]

    def _found(self, names: Sequence[str], rows: dict[str, object]) -> list[list[float] | None]:
        read: dict[str, list[float]] = {}
        for name, stored in rows.items():
            try:
                read[name] = _entries.unpack_row(name, stored)
            except ValueError as error:
                _entries.log_damage(name, error)
        # A list for each place: no two results are the same object.
        found = [list(read[name]) if name in read else None for name in names]
        self._tally.count(found)
        return found

    def _counted(self, counted: Counted) -> EmbeddingCacheStats:
        return EmbeddingCacheStats(
            sum(counted.by_label.values()),
            counted.size,
            counted.by_label,
            self._tally.hits,
            self._tally.misses,
            counted.oldest,
            counted.newest,
        )


def _may_be_there(model: str | None) -> bool:
    # PostgreSQL refuses to look for a text that it cannot hold.
    return model is None or storable(model)
