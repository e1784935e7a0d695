"""How a document's text is put together from its chunks.

The text itself is kept nowhere but in the chunks: what lies between them, which splitters
strip, and how far they overlap is enough to have the document back to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_MOST_BETWEEN: Final = 4
"""At most a quarter of a text, blanks aside, may lie outside of its chunks: what a filter took
out is no part of what was to be kept."""

_MOST_STEPS: Final = 20_000
"""How long to look for a layout of chunks that each could be in many places. Texts of up to
30,000 words, of which only two were different, took at most 5,000."""

_COMPARED_IN_A_STEP: Final = 1_000_000
"""Characters that a step may compare. To look for a long chunk counts as more steps: in a text
that repeats itself, each of its characters may have to be compared wherever it may begin."""

_BLANKS: Final = re.compile(r"\s*")

Find: TypeAlias = Callable[[str, str, int, int], int]
"""Looks in a text for a chunk, given where the one before begins and how far all before reach.
Returns -1 where it is not there."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a document has beside its chunks.

    Attributes:
        joints: For each chunk in reading order, the text that stands before it and that no
            chunk has, and how many of its first characters the chunks before it have too.
        tail: The text after the last chunk.
        keys: Metadata keys of the document, which its chunks have among others.
    """

    joints: tuple[tuple[str, int], ...]
    tail: str
    keys: tuple[str, ...] = ()

    def starts(self, texts: Sequence[str]) -> list[int]:
        """Say where each chunk begins in the document's text.

        Args:
            texts: The chunks' texts, in reading order.

        Returns:
            Offsets in characters.
        """
        starts: list[int] = []
        length = 0
        for (gap, overlap), text in zip(self.joints, texts, strict=True):
            length += len(gap)
            starts.append(length - overlap)
            length += max(0, len(text) - overlap)
        return starts

    def join(self, texts: Sequence[str]) -> str:
        """Put the document's text together.

        Args:
            texts: The chunks' texts, in reading order.

        Returns:
            The text, as it was imported.
        """
        parts: list[str] = []
        for (gap, overlap), text in zip(self.joints, texts, strict=True):
            parts += (gap, text[overlap:])
        return "".join([*parts, self.tail])


def layout_of(content: str, texts: Sequence[str], keys: Iterable[str] = ()) -> Layout | None:
    """Find out how a text can be put together from chunks.

    Args:
        content: The document's text.
        texts: The chunks' texts, in reading order.
        keys: Metadata keys of the document.

    Returns:
        The layout; None where a chunk is no part of the text, or much of the text is in none.

    Example:
        >>> layout_of("Pure. Applied.", ["Pure.", "Applied."])
        Layout(joints=(('', 0), (' ', 0)), tail='', keys=())
    """
    names = tuple(keys)
    for find in (_beside, _reaching, _anywhere):
        starts = _each_after_the_last(content, texts, find)
        layout = None if starts is None else _layout(content, texts, starts, names)
        if layout is not None:
            return layout
    starts = _without_loss(content, texts)
    return None if starts is None else _layout(content, texts, starts, names)


def _layout(
    content: str, texts: Sequence[str], starts: Sequence[int], keys: tuple[str, ...]
) -> Layout | None:
    """Return the layout of chunks that begin there; None where they leave out too much."""
    joints: list[tuple[str, int]] = []
    end = 0  # how far all chunks before reach
    for start, text in zip(starts, texts, strict=True):
        joints.append((content[end:start], max(0, end - start)))
        end = max(end, start + len(text))
    layout = Layout(tuple(joints), content[end:], keys)
    between = sum(len(gap.strip()) for gap, _ in joints) + len(layout.tail.strip())
    return layout if between * _MOST_BETWEEN <= len(content) else None


def _each_after_the_last(content: str, texts: Sequence[str], find: Find) -> list[int] | None:
    """Find where each chunk begins, with no second thoughts."""
    starts: list[int] = []
    start, end = -1, 0
    for text in texts:
        start = find(content, text, start, end)
        if start < 0:
            return None
        starts.append(start)
        end = max(end, start + len(text))
    return starts


def _without_loss(content: str, texts: Sequence[str]) -> list[int] | None:
    """Find where chunks begin that leave out nothing but white space.

    Each begins as late as it can; where that leads nowhere, the one before begins earlier.
    """
    starts: list[int] = []
    ends = [0]  # how far all chunks before reach
    latest = _after_blanks(content, 0)
    failed: set[tuple[int, int, int]] = set()
    steps, most = 0, 2 * len(texts) + _MOST_STEPS
    while steps < most:
        steps += 1
        number = len(starts)
        if number == len(texts):
            if latest == len(content):
                return starts
            start = -1
        else:
            first, size = starts[-1] if starts else 0, len(texts[number])
            steps += max(0, latest - first) * size // _COMPARED_IN_A_STEP
            if steps >= most:
                return None
            start = content.rfind(texts[number], first, latest + size)
        if start < 0:
            if not starts:
                return None
            failed.add((number, starts[-1], ends.pop()))
            latest = starts.pop() - 1
            continue
        end = max(ends[-1], start + len(texts[number]))
        if (number + 1, start, end) in failed:
            latest = start - 1
            continue
        starts.append(start)
        ends.append(end)
        latest = _after_blanks(content, end)
    return None


def _after_blanks(content: str, start: int) -> int:
    blanks = _BLANKS.match(content, start)
    return start if blanks is None else blanks.end()


# Chunks come in reading order and may overlap, and a text may stand in several places. Where
# the likelier places do not add up to the document, the next way is tried with all chunks; and
# where none does, whether there is any at all that loses nothing.


def _beside(content: str, text: str, last: int, end: int) -> int:
    """Look where the chunks before end, blanks aside."""
    for start in (end, _after_blanks(content, end)):
        if start > last and content.startswith(text, start):
            return start
    return _reaching(content, text, last, end)


def _reaching(content: str, text: str, last: int, end: int) -> int:
    """Look where the chunk reaches beyond those before it."""
    start = content.find(text, max(last + 1, end - len(text) + 1))
    return start if start >= 0 else content.find(text, last + 1)


def _anywhere(content: str, text: str, last: int, end: int) -> int:  # noqa: ARG001
    """Look from where the last one begins: a splitter may give one place twice."""
    return content.find(text, max(last, 0))
