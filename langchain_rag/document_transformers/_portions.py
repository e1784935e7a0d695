"""Texts in portions that fit a prompt, cut so that an edit moves few of the cuts.

Filling each portion to the brim would move every cut behind an edit, and with it every prompt.
So a cut is made, somewhere in the second half of what would fit, after the text whose hash is
the least: that does not depend on where the portion began.
"""

from __future__ import annotations

import hashlib
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BETWEEN", "joined", "length_of", "pieces_of", "portions_of"]

BETWEEN: Final = "\n\n"
"""What stands between two texts of one prompt."""


def joined(texts: Sequence[str]) -> str:
    """Return texts as they stand in a prompt."""
    return BETWEEN.join(texts)


def length_of(texts: Sequence[str], length: Callable[[str], int]) -> int:
    """Measure texts as they stand in a prompt.

    Args:
        texts: The texts.
        length: Measures a text.
    """
    return sum(map(length, texts)) + length(BETWEEN) * max(0, len(texts) - 1)


def portions_of(
    texts: Sequence[str], bound: int, length: Callable[[str], int]
) -> list[list[int]]:
    """Put texts into portions, in their order.

    Args:
        texts: The texts.
        bound: What a portion may measure. A longer text is a portion of its own.
        length: Measures a text.

    Returns:
        Positions of texts.

    Example:
        >>> portions_of(["one", "two", "three"], 100, len)
        [[0, 1, 2]]
    """
    between = length(BETWEEN)
    ends = [0, *accumulate(length(text) + between for text in texts)]
    portions: list[list[int]] = []
    start = 0
    while start < len(texts):
        first = start + 1
        last = first
        while last < len(texts) and ends[last + 1] - ends[start] - between <= bound:
            last += 1
        if last < len(texts):
            while first < last and ends[first] - ends[start] < bound / 2:
                first += 1
            last = min(range(first, last + 1), key=lambda end: (_hash(texts[end - 1]), end))
        portions.append(list(range(start, last)))
        start = last
    return portions


def pieces_of(text: str, bound: int, length: Callable[[str], int]) -> list[str]:
    """Cut a text into pieces that fit a prompt.

    Args:
        text: The text.
        bound: What a piece may measure.
        length: Measures a text.

    Returns:
        The text itself, if it fits.
    """
    if length(text) <= bound:
        return [text]
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    # Small, so that portions can be cut between them where an edit does not move the cuts.
    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n", "\n", ". ", " ", ""],
        chunk_size=max(1, bound // 8),
        chunk_overlap=0,
        length_function=length,
        keep_separator="end",
    )
    return splitter.split_text(text)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
