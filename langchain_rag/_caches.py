"""What the caches have in common: time, counting, and listing what a byte store holds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import run_in_executor
from langchain_core.stores import BaseStore, InMemoryBaseStore

from langchain_rag._flow import Flow, call

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from datetime import timedelta

    from langchain_core.stores import ByteStore

END_OF_TIME: Final = 1e11
"""In seconds since 1970. A stored time beyond it, or before 1970, is damaged."""

_PAGE: Final = 1000
"""Values that are read, or deleted, in one call of the store."""

_KEY_BY_KEY: Final = [vars(kind)["ayield_keys"] for kind in (BaseStore, InMemoryBaseStore)]
"""LangChain's own ways to list keys asynchronously."""


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


def cutoff(older_than: timedelta | None) -> float | None:
    """Return the time before which entries are old.

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


def moment_of(seconds: float | None) -> datetime | None:
    """Return a stored time.

    Args:
        seconds: Seconds since 1970, None if there is none.
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@dataclass
class Tally:
    """Counts what was found; for several threads.

    Attributes:
        hits: Keys that were found.
        misses: Keys that were not.
    """

    hits: int = 0
    misses: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def count(self, found: Sequence[object]) -> None:
        """Count what a call found.

        Args:
            found: Its results, None for what is missing.
        """
        misses = sum(one is None for one in found)
        with self._lock:
            self.hits += len(found) - misses
            self.misses += misses


def summary(
    first: str,
    by_label: dict[str, int],
    moments: tuple[datetime | None, datetime | None],
    asked: tuple[int, int],
) -> str:
    """Return the statistics of a cache as lines of text.

    Args:
        first: The first line.
        by_label: Entries by what they were made by.
        moments: When the oldest and the newest one were written.
        asked: Hits and misses.
    """
    lines = [first]
    # On one line each, whatever a damaged store has for a name.
    lines += [f"- {one_line(name)}: {n:,}" for name, n in sorted(by_label.items())]
    oldest, newest = moments
    if oldest and newest:
        lines.append(f"written {oldest:%Y-%m-%d %H:%M} to {newest:%Y-%m-%d %H:%M}")
    hits, misses = asked
    share = f" ({hits / (hits + misses):.0%} hits)".replace("%", " %") if hits + misses else ""
    lines.append(f"{hits:,} hits and {misses:,} misses{share}")
    return "\n".join(lines)


def one_line(name: str) -> str:
    """Return a name as something that can be printed on one line.

    Args:
        name: Any text.
    """
    return "".join(char if char.isprintable() else " " for char in name)[:100]


def pages(names: list[str]) -> list[list[str]]:
    """Return names in portions for one call of a store each.

    Args:
        names: Any number of them.
    """
    return [names[start : start + _PAGE] for start in range(0, len(names), _PAGE)]


def names_in(store: ByteStore, prefix: str, ours: re.Pattern[str]) -> Flow[list[str]]:
    """List the names of a cache's values in a store that may hold other things as well.

    Args:
        store: The store.
        prefix: What all of them begin with.
        ours: What the whole of each matches.
    """

    def list_names() -> list[str]:
        if isinstance(store, InMemoryBaseStore):
            # Another thread may write while we look; a copy is made in one step.
            names = list(store.store)
        else:
            names = [str(name) for name in store.yield_keys(prefix=prefix)]
        return [name for name in names if ours.fullmatch(name)]

    async def alist_names() -> list[str]:
        if type(store).ayield_keys in _KEY_BY_KEY:
            # They go to the executor and back for each key.
            return await run_in_executor(None, list_names)
        # LangChain declares an async generator in a way that type checkers misread.
        names: Any = store.ayield_keys(prefix=prefix)
        return [str(name) async for name in names if ours.fullmatch(str(name))]

    return (yield from call(list_names, alist_names))
