"""Sections of Markdown, word for word. No I/O.

LangChain's `MarkdownHeaderTextSplitter` strips every line, so that code loses its indentation,
takes a comment in indented code for a heading, and joins paragraphs by another blank than was
between them. Here a section is what the document says between two headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from langchain_core.documents import Document

from langchain_rag._identity import class_of, declared_name, digest
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MarkdownSections"]

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t]*\r?\n)+")
"""Not the blanks before the first line that has words, which may be code."""
_OPENING: Final = re.compile(
    r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:(`{3,})[^`]*|(~{3,}).*)$"
)
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|$)")


@declared_name("MarkdownSections")
class MarkdownSections:
    """Cuts Markdown at its headings, as LangChain's header splitters do.

    What begins with `#` is a heading in the sense of CommonMark: up to three blanks before
    it, one behind, and not in code or front matter. Headings that are underlined (setext)
    are text.

    Args:
        headers: Marks of the headings to cut at, each with its metadata key, such as
            `("##", "Header 2")`.
        keep_headings: Whether a section's text begins with its heading.

    Raises:
        ConfigurationError: A mark is something else.
    """

    def __init__(self, headers: Sequence[tuple[str, str]], *, keep_headings: bool) -> None:
        for mark, _ in headers:
            if mark not in {"#" * level for level in range(1, 7)}:
                msg = f"{mark!r} is no mark of a heading: give one to six times '#'."
                raise ConfigurationError(msg)
        self.headers = {len(mark): key for mark, key in headers}
        self.keep_headings = keep_headings

    @property
    def fingerprint(self) -> str:
        """Identity of the class and its parameters."""
        headers = sorted(self.headers.items())
        parts = {"headers": headers, "keep_headings": self.keep_headings}
        return digest({"class": class_of(self), **parts})

    def split_text(self, text: str) -> list[Document]:
        """Cut a text.

        Args:
            text: Markdown.

        Returns:
            Its sections, with the headings above each as metadata. Those without text of
            their own are left out.
        """
        path: dict[int, str] = {}
        sections: list[tuple[dict[int, str], str, list[str]]] = [(path, "", [])]
        for line, level, words in _read(text):
            if level in self.headers:
                path = {above: title for above, title in path.items() if above < level}
                path[level] = words
                sections.append((path, line, []))
            else:
                sections[-1][2].append(line)
        found: list[Document] = []
        for path, heading, lines in sections:
            body = "".join(lines)
            if body.strip():
                whole = heading + body if self.keep_headings else body
                metadata = {self.headers[level]: title for level, title in path.items()}
                found.append(Document(_BLANK_LINES.sub("", whole.rstrip()), metadata=metadata))
        return found


def _read(text: str) -> Iterator[tuple[str, int, str]]:
    """Go through the lines, each with the level and the words of the heading that it is."""
    front = _FRONT_MATTER.match(text)
    start = front.end() if front else 0
    if start:
        yield text[:start], 0, ""
    fence = ""
    for match in _LINE.finditer(text, start):
        line = match.group()
        bare = line.rstrip()
        if fence:
            stripped = bare.strip()
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
        elif opening := _OPENING.match(bare):
            fence = opening.group(1) or opening.group(2)
        elif heading := _HEADING.match(bare):
            yield line, len(heading.group(1)), _words(heading.group(2) or "")
            continue
        yield line, 0, ""


def _words(heading: str) -> str:
    """Return a heading without the marks that may close it."""
    words = heading.strip()
    opened = words.rstrip("#")
    return opened.strip() if not opened or opened[-1] in " \t" else words
