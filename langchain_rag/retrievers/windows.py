"""Windows of sentences: which, and how they are merged; no I/O."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Offsets of a text's first character, and of the one after its last."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text around what matched.

    Attributes:
        owner: Whose text it is a part of.
        start: Offset of its first character.
        end: Offset after its last.
        rank: Place of its best match among all, from 0.
    """

    owner: str
    start: int
    end: int
    rank: int


def around(match: Span, sentences: Sequence[Span], size: int) -> Span:
    """Return the window around a match.

    Args:
        match: Where it is.
        sentences: Where the text's sentences are, in order.
        size: Sentences to take on either side.

    Returns:
        Where the window is; the match itself where no sentence is near it.

    Example:
        >>> around((4, 6), [(0, 3), (4, 7), (8, 9), (10, 12)], 1)
        (0, 9)
    """
    starts = [start for start, _ in sentences]
    ends = [end for _, end in sentences]
    first = bisect_right(ends, match[0])
    last = bisect_left(starts, match[1]) - 1
    if first > last:
        return match
    first, last = max(0, first - size), min(len(sentences) - 1, last + size)
    return min(match[0], starts[first]), max(match[1], ends[last])


def merged(windows: Iterable[Window]) -> list[Window]:
    """Merge windows of one owner that overlap or touch.

    Args:
        windows: Windows in any order.

    Returns:
        Windows that do not overlap, best first.

    Example:
        >>> merged([Window("a", 5, 9, 0), Window("b", 0, 4, 1), Window("a", 0, 6, 2)])
        [Window(owner='a', start=0, end=9, rank=0), Window(owner='b', start=0, end=4, rank=1)]
    """
    apart: list[Window] = []
    for window in sorted(windows, key=lambda one: (one.owner, one.start)):
        last = apart[-1] if apart else None
        if last is not None and last.owner == window.owner and window.start <= last.end:
            end, rank = max(last.end, window.end), min(last.rank, window.rank)
            apart[-1] = Window(last.owner, last.start, end, rank)
        else:
            apart.append(window)
    return sorted(apart, key=lambda one: one.rank)
