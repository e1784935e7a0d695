"""What of a long document goes into a prompt about one of its chunks. No I/O."""

from __future__ import annotations

__all__ = ["Excerpts"]

CUT = "[…]"
"""Stands where a document goes on."""


class Excerpts:
    """Windows of a document, of which neighbouring chunks share one.

    The windows overlap by half, and a chunk gets the one whose middle is nearest to its own.
    One that is no longer than half a window is wholly in it, and all chunks of the same half
    see the same text, so that their prompts begin the same.

    Args:
        text: The document's.
        most: Characters of a window; None for the whole document.

    Attributes:
        cuts: Whether the document is longer than a window.

    Example:
        >>> excerpts = Excerpts("one two three four", 10)
        >>> excerpts.around("two", 0), excerpts.around("four", 0)
        ('one two th […]', '[…] three four')
    """

    def __init__(self, text: str, most: int | None) -> None:
        self._text = text
        self._most = len(text) if most is None else most
        self.cuts = len(text) > self._most
        self._after = 0
        self._windows: dict[int, str] = {}

    def around(self, chunk: str, share: float) -> str:
        """Return the window around a chunk. Chunks are to come in reading order.

        Args:
            chunk: Its text.
            share: About where in the document it is, from 0 to 1, should its text not be in
                the document as it is.

        Returns:
            The window.
        """
        if not self.cuts:
            return self._text
        step = self._most // 2
        last = -(-(len(self._text) - self._most) // step)
        nearest = round((self._middle(chunk, share) - self._most / 2) / step)
        number = min(max(nearest, 0), last)
        if number not in self._windows:
            self._windows[number] = self._window(number * step, is_last=number == last)
        return self._windows[number]

    def _middle(self, chunk: str, share: float) -> float:
        # Chunks may overlap, and one text may occur twice.
        at = self._text.find(chunk, self._after)
        if at < 0:
            at = self._text.find(chunk)
        if at < 0:
            return share * len(self._text)
        self._after = at + 1
        return at + len(chunk) / 2

    def _window(self, start: int, *, is_last: bool) -> str:
        if is_last:
            start = len(self._text) - self._most
        inside = self._text[start : start + self._most].strip()
        before = f"{CUT} " if start > 0 else ""
        return before + inside + ("" if is_last else f" {CUT}")
