"""Texts of others, made safe to print."""

from __future__ import annotations


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
