"""How many hits to ask for, and which chunk each stands for: decisions, no I/O.

Only one thing is true of the scores of every store: hits come best first. So a chunk is
placed by its first hit, and whether a score is a distance or a similarity does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK

V = TypeVar("V")

RANK_CONSTANT: Final = 60
"""Cormack's constant, by which the first ranks do not outweigh all others."""

MAX_FIRST_FAN_OUT: Final = 10
"""One chunk with thousands of variations must not make every search ask for thousands."""

_WIDEN: Final = 4

_LARGEST: Final = 2**31 - 1
"""Stores count in 32 bits; only a caller may ask for more."""


def first_ask(k: int, fan_out: int) -> int:
    """Return how many hits to ask for at first.

    If no chunk has more than `fan_out` variations, then k times `fan_out` hits hold at least k
    distinct chunks (the pigeonhole principle), and one round is enough.

    Args:
        k: Distinct chunks wanted.
        fan_out: Largest number of variations of a chunk seen so far.

    Returns:
        Number of hits.
    """
    return min(k * min(max(fan_out, 1), MAX_FIRST_FAN_OUT), max(k, _LARGEST))


def next_ask(asked: int, k: int, fan_out: int) -> int:
    """Return how many hits to ask for when that many were not enough.

    Args:
        asked: Number of hits asked for before.
        k: Distinct chunks wanted.
        fan_out: Largest number of variations of a chunk seen so far.

    Returns:
        A larger number of hits.
    """
    return max(min(asked * _WIDEN, max(asked, _LARGEST)), first_ask(k, fan_out))


@dataclass(frozen=True, slots=True)
class Found(Generic[V]):
    """A variation that stands for its chunk.

    Attributes:
        row: The variation, as the wrapped store gave it.
        value: What belongs to it (a score).
        rank: Its place among the variations that were found, from 1.
    """

    row: Document
    value: V
    rank: int


def first_hits(
    hits: Iterable[tuple[Document, V]],
    allowed: Callable[[Document], bool] | None = None,
) -> dict[str, Found[V]]:
    """Keep the first hit of each chunk.

    Args:
        hits: Variations, best first, each with whatever belongs to it (a score).
        allowed: Says which variations count, where the store could not be told.

    Returns:
        By chunk key, best first, the first hit. Rows that name no chunk are not ours, and are
        left out.
    """
    found: dict[str, Found[V]] = {}
    for rank, (row, value) in enumerate(ours(hits, allowed), start=1):
        key = row.metadata[CHUNK]
        if key not in found:
            found[key] = Found(row, value, rank)
    return found


def by_rank_sum(
    hits: Iterable[tuple[Document, V]],
    allowed: Callable[[Document], bool] | None = None,
) -> dict[str, Found[V]]:
    """Order chunks by all of their hits: the sum of 1 / (60 + rank) over them.

    So several good variations beat a single better one. It is reciprocal rank fusion (Cormack,
    Clarke and Buettcher 2009), with the variations of a chunk as the lists.

    Args:
        hits: As for `first_hits`.
        allowed: As for `first_hits`.

    Returns:
        By chunk key, largest sum first, the first hit.
    """
    hits = list(hits)
    sums: dict[str, float] = {}
    for rank, (row, _) in enumerate(ours(hits, allowed), start=1):
        key = row.metadata[CHUNK]
        sums[key] = sums.get(key, 0.0) + 1 / (RANK_CONSTANT + rank)
    found = first_hits(hits, allowed)
    return {key: found[key] for key in sorted(sums, key=lambda key: -sums[key])}


def ours(
    hits: Iterable[tuple[Document, V]], allowed: Callable[[Document], bool] | None
) -> Iterator[tuple[Document, V]]:
    """Leave out rows that name no chunk, or do not count.

    Args:
        hits: As for `first_hits`.
        allowed: As for `first_hits`.

    Yields:
        The rest.
    """
    for row, value in hits:
        if isinstance(row.metadata.get(CHUNK), str) and (allowed is None or allowed(row)):
            yield row, value
