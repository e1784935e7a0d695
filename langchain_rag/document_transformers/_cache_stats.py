"""What the statistics of a variation cache say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What is in a cache, and what it was good for.

    Attributes:
        entries: Answers that are kept.
        characters: Length of their texts.
        by_transformer: Answers by class name of the transformer.
        hits: Answers that were found through this object, in this process.
        misses: Answers that were not.
        oldest: When the oldest answer was written, None if there is none.
        newest: When the newest answer was written, None if there is none.

    Example:
        >>> print(CacheStats(3, 120, {"SummarizeTransformer": 3}, hits=9, misses=3))
        3 answers, 120 characters
        - SummarizeTransformer: 3
        9 hits and 3 misses (75 % hits)
    """

    entries: int
    characters: int
    by_transformer: dict[str, int]
    hits: int = 0
    misses: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    def __str__(self) -> str:
        lines = [f"{self.entries:,} answers, {self.characters:,} characters"]
        # On one line each, whatever a damaged store has for a name.
        lines += [f"- {_shown(name)}: {n:,}" for name, n in sorted(self.by_transformer.items())]
        if self.oldest and self.newest:
            lines.append(
                f"written {self.oldest:%Y-%m-%d %H:%M} to {self.newest:%Y-%m-%d %H:%M}"
            )
        asked = self.hits + self.misses
        share = f" ({self.hits / asked:.0%} hits)".replace("%", " %") if asked else ""
        lines.append(f"{self.hits:,} hits and {self.misses:,} misses{share}")
        return "\n".join(lines)


def moment_of(seconds: float | None) -> datetime | None:
    """Return a stored time.

    Args:
        seconds: Seconds since 1970, None if there is none.
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else " " for char in name)[:100]
