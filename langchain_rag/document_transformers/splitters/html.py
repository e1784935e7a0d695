"""Sections of HTML, as a reader sees them. No I/O.

LangChain's `HTMLHeaderTextSplitter` gives the words of an element before those of the elements
in it ("Use it. apt" for `Use <b>apt</b> it.`), cuts a heading off at the first mark-up in it,
and takes scripts for text. Here the words come in the order of the page.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

from langchain_core.documents import Document
from typing_extensions import override

from langchain_rag._identity import class_of, declared_name, digest
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HTMLSections"]

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_UNSEEN: Final = frozenset(
    {"head", "iframe", "noscript", "script", "style", "svg", "template", "title"}
)
_OF_HEAD: Final = frozenset({"base", "link", "meta"})
"""And others that are not shown; anything else ends a head."""
_INLINE: Final = frozenset(
    {
        *(
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "data",
            "del",
            "dfn",
        ),
        *("em", "font", "i", "img", "ins", "kbd", "label", "mark", "q", "ruby", "s", "samp"),
        *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)
"""Elements that do not interrupt a sentence."""
_PARAGRAPHS: Final = frozenset(
    {
        *(
            "article",
            "aside",
            "blockquote",
            "body",
            "details",
            "div",
            "dl",
            "fieldset",
            "figure",
        ),
        *(
            "footer",
            "form",
            "header",
            "hr",
            "main",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
        ),
        *("ul", *_HEADINGS),
    }
)
"""Elements around which a blank line stands; around others it is a line's end."""
_CELLS: Final = frozenset({"td", "th"})
_BLANKS: Final = re.compile(r"[ \t\n\r\f]+")


@declared_name("HTMLSections")
class HTMLSections:
    """Cuts HTML at its headings, as LangChain's header splitters do.

    The text is that of the page: paragraphs with a blank line between, lists and rows of
    tables by the line, preformatted text with its indentation. What is not shown (scripts,
    styles, the head) is left out.

    Args:
        headers: Elements to cut at, each with its metadata key, such as `("h2", "Header 2")`.

    Raises:
        ConfigurationError: An element is no heading.
    """

    def __init__(self, headers: Sequence[tuple[str, str]]) -> None:
        for name, _ in headers:
            if name not in _HEADINGS:
                msg = f"{name!r} is no heading of HTML: give 'h1' to 'h6'."
                raise ConfigurationError(msg)
        self.headers = {_HEADINGS[name]: key for name, key in headers}

    @property
    def fingerprint(self) -> str:
        """Identity of the class and its parameters."""
        return digest({"class": class_of(self), "headers": sorted(self.headers.items())})

    def split_text(self, text: str) -> list[Document]:
        """Cut a text.

        Args:
            text: HTML.

        Returns:
            Its sections, with the headings above each as metadata. Those without text of
            their own are left out.
        """
        reader = _Reader(frozenset(self.headers))
        reader.feed(text)
        reader.close()
        reader.end()
        found: list[Document] = []
        path: dict[int, str] = {}
        for level, title, body in reader.sections:
            if level:
                path = {above: words for above, words in path.items() if above < level}
                path[level] = title
            if body:
                metadata = {self.headers[level]: words for level, words in path.items()}
                found.append(Document(body, metadata=metadata))
        return found


class _Reader(HTMLParser):
    """Writes down what is seen of a page.

    Attributes:
        sections: Level, words and following text of each heading; the first has none.
    """

    def __init__(self, levels: frozenset[int]) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[tuple[int, str, str]] = []
        self._levels = levels
        self._level, self._title = 0, ""
        self._heading = 0
        self._unseen: list[str] = []
        self._pre = 0
        self._parts: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen.append(tag)
            return
        if self._unseen == ["head"] and tag not in _OF_HEAD:
            self._unseen.clear()  # it need not be closed
        if self._unseen:
            return
        self._break(tag)
        level = _HEADINGS.get(tag, 0)
        if level in self._levels:
            self.end()
            self._heading = level
        self._pre += tag == "pre"

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _UNSEEN and not self._unseen:
            self._break(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            if tag in self._unseen:
                del self._unseen[self._unseen.index(tag) :]
            return
        if self._unseen:
            return
        self._pre -= tag == "pre" and self._pre > 0
        if self._heading and tag in _HEADINGS:
            self._close_heading()
        self._break(tag)

    @override
    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._pre:
            data = _BLANKS.sub(" ", data)
            if self._is_at("\n", " "):
                data = data.lstrip(" ")
        if data:
            self._parts.append(data)

    def end(self) -> None:
        """Close a section."""
        if self._heading:
            self._close_heading()
        body = _text(self._parts)
        self._parts = []
        self.sections.append((self._level, self._title, body))
        self._level, self._title = 0, ""

    def _close_heading(self) -> None:
        self._level, self._title = self._heading, " ".join("".join(self._parts).split())
        self._heading = 0
        self._parts = []

    def _break(self, tag: str) -> None:
        if tag == "br":
            self._parts.append("\n")
        elif tag in _PARAGRAPHS:
            self._parts.append("\n\n")
        elif tag in _CELLS:
            if not self._is_at("\n", " "):
                self._parts.append(" ")
        elif tag not in _INLINE and not self._is_at("\n"):
            self._parts.append("\n")

    def _is_at(self, *ends: str) -> bool:
        return not self._parts or self._parts[-1].endswith(ends)


def _text(parts: Sequence[str]) -> str:
    """Join what was written down, with one blank line at most between two lines."""
    kept: list[str] = []
    for line in "".join(parts).split("\n"):
        if line.strip():
            kept.append(line.rstrip())
        elif kept and kept[-1]:
            kept.append("")
    return "\n".join(kept).rstrip()
