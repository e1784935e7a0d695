"""What reports are printed with: texts of others made safe, and tables; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Final


def plain(text: str) -> str:
    r"""Escape what is no visible character, such as what moves a terminal's cursor.

    Ids and metadata are anybody's: with an escape sequence, a line break or a mark that turns
    the direction of writing they could make a report say what is not so.

    Args:
        text: Any text.

    Returns:
        One line in which all characters can be seen.

    Example:
        >>> print(plain("a\x1b[31m b\nc \u202e"))
        a\x1b[31m b\nc \u202e
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


MAX_ROWS: Final = 20
"""Rows of a table that are shown."""

MAX_WIDTH: Final = 100
"""Characters of a cell that are shown."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may have more rows than it shows.

    Attributes:
        header: Titles of the columns.
        rows: The rows to show, texts as they are.
        total: How many there are.
    """

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    total: int

    @classmethod
    def of(cls, header: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> Table:
        """Make a table of the first rows.

        Args:
            header: Titles of the columns.
            rows: All rows.
        """
        shown = [tuple(_cell(cell) for cell in row) for row in islice(rows, MAX_ROWS)]
        return cls(header, shown, len(rows))

    @property
    def more(self) -> str:
        """What is said of the rows that are not shown; empty where all are."""
        left = self.total - len(self.rows)
        return f"and {left:,} more" if left else ""

    def text(self) -> str:
        """Return the table as lines of text."""
        lines = [self.header, *self.rows]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        made = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        made.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(line.rstrip() for line in [*made, self.more] if line)

    def html(self) -> str:
        """Return the table as HTML, with everything escaped."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        more = f"<p>{self.more}</p>" if self.more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    text = plain(str(value))
    return text if len(text) <= MAX_WIDTH else text[: MAX_WIDTH - 1] + "…"
