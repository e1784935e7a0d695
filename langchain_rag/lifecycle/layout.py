"""How a document's text is put together from its chunks.

The text itself is kept nowhere but in the chunks: what lies between them, which splitters
strip, and how far they overlap is enough to have the document back to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_MOST_BETWEEN: Final = 4
"""At most a quarter of a text, blanks aside, may lie outside of its chunks: what a filter took
out is no part of what was to be kept."""

_BLANKS: Final = re.compile(r"\s*")


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
        joints: list[tuple[str, int]] = []
        start, end = -1, 0  # where the last chunk begins, and how far all of them reach
        for text in texts:
            start = find(content, text, start, end)
            if start < 0:
                break
            joints.append((content[end:start], max(0, end - start)))
            end = max(end, start + len(text))
        else:
            layout = Layout(tuple(joints), content[end:], names)
            between = sum(len(gap.strip()) for gap, _ in joints) + len(layout.tail.strip())
            if between * _MOST_BETWEEN <= len(content):
                return layout
    return None


# Chunks come in reading order and may overlap, and a text may stand in several places. Where
# the likelier places do not add up to the document, the next way is tried with all chunks.


def _beside(content: str, text: str, last: int, end: int) -> int:
    """Look where the chunks before end, blanks aside."""
    blanks = _BLANKS.match(content, end)
    after = end if blanks is None else blanks.end()
    for start in (end, after):
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
