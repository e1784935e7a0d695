"""What a cache counts, and how its statistics read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Counted(NamedTuple):
    """What is stored in a namespace.

    Attributes:
        by_label: Number of values by label.
        size: Sum of their sizes.
        oldest: Least time of writing, None if there is none.
        newest: Greatest time of writing, None if there is none.
    """

    by_label: dict[str, int]
    size: int
    oldest: datetime | None
    newest: datetime | None


class Figures(NamedTuple):
    """The fields of a cache's statistics, whatever their names are there.

    Attributes:
        values: How many values are kept.
        size: Sum of their sizes.
        by_label: Number of values by label.
        hits: Values that were found.
        misses: Values that were not.
        oldest: When the oldest value was written, None if there is none.
        newest: When the newest value was written, None if there is none.
    """

    values: int
    size: int
    by_label: dict[str, int]
    hits: int
    misses: int
    oldest: datetime | None
    newest: datetime | None


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


def span_of(times: Sequence[float]) -> tuple[datetime | None, datetime | None]:
    """Return the least and the greatest of some stored times, None if there are none.

    Args:
        times: In seconds since 1970.
    """
    if not times:
        return None, None
    return datetime.fromtimestamp(min(times), UTC), datetime.fromtimestamp(max(times), UTC)


def summary(
    first: str,
    by_label: dict[str, int],
    moments: tuple[datetime | None, datetime | None],
    asked: tuple[int, int],
) -> str:
    """Return the statistics of a cache as lines of text.

    Args:
        first: The first line.
        by_label: Number of values by label.
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
