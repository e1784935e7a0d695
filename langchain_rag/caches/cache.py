"""The generic cache: what depends neither on what it keeps, nor on the store."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from langchain_rag._flow import Flow
from langchain_rag.caches.codec import E, K, S
from langchain_rag.caches.figures import Counted, Figures, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_rag.caches.codec import Codec

_log = logging.getLogger(__name__)


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


class Cache(ABC, Generic[K, E, S]):
    """Looks values up, keeps, purges and counts them.

    A subclass for a kind of value has the codec, and the methods with their public
    signatures; a subclass for a kind of store does the I/O. A public class inherits from one
    of each.

    Attributes:
        namespace: Caches of different namespaces share the store, and nothing else.

    Args:
        namespace: Any text.
    """

    _codec: Codec[K, E, S]

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._tally = Tally()

    def _mget(self, keys: Sequence[K]) -> Flow[list[list[E] | None]]:
        names = [self._codec.name_of(key) for key in keys]
        values: dict[str, list[E]] = {}
        stored = (yield from self._read(list(dict.fromkeys(names)))) if names else {}
        for name, one in stored.items():
            try:
                values[name] = self._decoded(name, one)
            except ValueError as error:
                # Its text is not repeated whole, which may be long.
                _log.warning(
                    "The cached %s %s cannot be read (%.80s); it counts as missing, and %s.",
                    self._codec.noun,
                    self._shown(name),
                    error,
                    self._codec.remedy,
                )
        # A list for each position: no two results are the same object.
        found = [list(values[name]) if name in values else None for name in names]
        self._tally.count(found)
        return found

    def _mset(self, pairs: Sequence[tuple[K, Sequence[E]]]) -> Flow[None]:
        # What cannot be kept was paid for: it is passed over, and not an error.
        kept: dict[str, Any] = {}
        faults: list[tuple[K, ValueError]] = []
        written = now()
        for key, value in pairs:
            name = self._codec.name_of(key)
            try:
                kept[name] = self._encoded(name, key, value, written)
            except ValueError as error:
                faults.append((key, error))
        if faults:
            self._codec.log_refused(faults, len(pairs))
        if kept:
            # Sorted, so that two calls that write the same rows do not wait for each other
            # in a ring.
            yield from self._write([kept[name] for name in sorted(kept)])

    def _stats(self) -> Flow[S]:
        by_label, size, oldest, newest = yield from self._count()
        hits, misses = self._tally.hits, self._tally.misses
        values = sum(by_label.values())
        return self._codec.statistics(
            Figures(values, size, by_label, hits, misses, oldest, newest)
        )

    def _shown(self, name: str) -> str:
        """Return what a log calls a value."""
        return name

    @abstractmethod
    def _encoded(self, name: str, key: K, value: Sequence[E], created_at: float) -> Any:
        """Return what `_write` takes, or raise `ValueError`."""

    @abstractmethod
    def _decoded(self, name: str, stored: object) -> list[E]:
        """Return a value that `_read` found, or raise `ValueError`."""

    @abstractmethod
    def _read(self, names: list[str]) -> Flow[dict[str, object]]:
        """Return what is stored under at least one name."""

    @abstractmethod
    def _write(self, encoded: list[Any]) -> Flow[None]:
        """Store at least one value, over those that are there."""

    @abstractmethod
    def _purge(self, label: str | None, older_than: timedelta | None) -> Flow[int]:
        """Delete the values that meet both conditions, and return how many."""

    @abstractmethod
    def _count(self) -> Flow[Counted]:
        """Count what is there."""


def cutoff(older_than: timedelta | None) -> float | None:
    """Return the time before which values are old.

    Args:
        older_than: Their least age, None for any.

    Raises:
        ValueError: If it is negative, which would purge everything.
    """
    if older_than is None:
        return None
    if older_than.total_seconds() < 0:
        msg = f"older_than is {older_than}: give a positive timedelta, or none to purge all."
        raise ValueError(msg)
    return now() - older_than.total_seconds()
