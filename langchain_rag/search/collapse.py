"""How many hits to ask for, and which chunk each stands for: decisions, no I/O.

Only one thing is true of the scores of every store: hits come best first. So a chunk is
placed by its first hit, and whether a score is a distance or a similarity does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK

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


def first_hits(hits: Iterable[tuple[Document, Any]]) -> dict[str, Any]:
    """Keep the first hit of each chunk.

    Args:
        hits: Variations, best first, each with whatever belongs to it (a score).

    Returns:
        Chunk keys, best first, with what belongs to their first hit. Rows that name no chunk
        are not ours, and are left out.
    """
    found: dict[str, Any] = {}
    for document, value in hits:
        key = document.metadata.get(CHUNK)
        if isinstance(key, str):
            found.setdefault(key, value)
    return found
