"""Sentences: where they are in a text, and each as a variation of its chunk."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from langchain_rag._documents import document_of
from langchain_rag._identity import (
    NoIdentityError,
    class_of,
    declared_name,
    digest,
    identity,
)
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import is_ours
from langchain_rag.document_transformers.splitters.sentence_rules import ends_in
from langchain_rag.errors import ConfigurationError, TransformerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from langchain_core.documents import Document

__all__ = ["SentenceSplitter", "Span", "Split", "sentence_spans"]

Span: TypeAlias = tuple[int, int]
"""Where a part of a text begins, and where it ends: `text[start:end]`."""

Split: TypeAlias = "Callable[[str], Iterable[str | Span]]"
"""A segmentation by others: the sentences of a text as they stand in it, or their spans."""

_BEGINS: Final = re.compile(
    r"\s*(?:(?:[-*+•‣◦\u2013]|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|#{1,6}|={1,6})[ \t]|\||```|~~~)"
)
"""Items, rows of tables, headings and fences begin something new."""

_ALONE: Final = re.compile(r"\s*(?:(?:#{1,6}|={1,6})[ \t]|\||```|~~~|[=\-_*]{3,}\s*$)")
"""So does the line after a heading, a row, a fence or a rule."""

_WRAPPED: Final = 120
"""No text is wrapped at more characters: a longer line is a paragraph, or an item."""


@declared_name("sentence_spans")
def sentence_spans(
    text: str, *, min_characters: int = 0, split: Split | None = None
) -> list[Span]:
    """Find the sentences of a text.

    Rules without a model. A full stop, question mark, exclamation mark or ellipsis ends a
    sentence, with the quotes and brackets that it closes, unless it belongs to an
    abbreviation, an initial, a number, or the sentence goes on with a small letter. Chinese,
    Japanese, Hindi, Arabic and others have full stops of their own. A blank line ends one too,
    and so does a line that is a heading, an item of a list or a row of a table; a single line
    break within a paragraph does not, as long as its lines are short enough to be wrapped.

    Args:
        text: Any text.
        min_characters: A shorter sentence is joined with the next one, the last with the one
            before.
        split: Another segmentation, in place of the rules.

    Returns:
        Spans in order, none of them blank, with no blanks at their ends. They never overlap,
        and what is not in one is blank.

    Raises:
        TransformerError: `split` gave what is not in the text, or not in its order.

    Example:
        >>> text = 'Dr. Noether proved it in 1915. "Is it true?" asked Hilbert.'
        >>> [text[start:end] for start, end in sentence_spans(text)]
        ['Dr. Noether proved it in 1915.', '"Is it true?" asked Hilbert.']
    """
    cuts = _cuts(text) if split is None else _cuts_by(text, split)
    spans = (_trimmed(text, start, end) for start, end in pairwise(cuts))
    return _joined((span for span in spans if span[0] < span[1]), min_characters)


@declared_name("SentenceSplitter")
class SentenceSplitter(LazyDocumentTransformer):
    """Makes a variation of each sentence of a chunk.

    It is a `chunk_transformer` for the sentence window (LlamaIndex's
    `SentenceWindowNodeParser`, 2023): sentences are searched, and what is around the best of
    them is returned; no text is stored twice. Each sentence has its offset in the chunk in
    its metadata, as `start_index`.

    Attributes:
        min_characters: How short a sentence may be before it is joined with another.

    Args:
        min_characters: A shorter sentence is joined with the next one, the last with the one
            before.
        split: Another segmentation: a function that gives the sentences of a text as they
            stand in it, or their spans. For spaCy
            `lambda text: [(s.start_char, s.end_char) for s in nlp(text).sents]`, for NLTK
            `nltk.sent_tokenize`. What it leaves out is added to the sentence before.
        version: Identity that you vouch for. It is needed for a fingerprint if `split` is no
            function of a module (a lambda, a method).

    Raises:
        ConfigurationError: `min_characters` is negative.

    Example:
        >>> from langchain_core.documents import Document
        >>> made = SentenceSplitter().transform_documents([Document("It holds. It is proved.")])
        >>> [(one.page_content, one.metadata["start_index"]) for one in made]
        [('It holds.', 0), ('It is proved.', 10)]
    """

    kind: ClassVar[str | None] = "sentence"

    def __init__(
        self,
        *,
        min_characters: int = 0,
        split: Split | None = None,
        version: str | None = None,
    ) -> None:
        if min_characters < 0:
            msg = f"min_characters is {min_characters}: give 0 or more."
            raise ConfigurationError(msg)
        self.min_characters = min_characters
        self.version = version
        # A subclass may do anything.
        self.reads_metadata = not is_ours(self)
        self._split = split

    @property
    def fingerprint(self) -> str | None:
        """Identity of the class, of the segmentation and of `version`."""
        if self.version is None and not is_ours(self):
            return None
        try:
            split = identity(self._split)
        except NoIdentityError:
            if self.version is None:
                return None
            split = "vouched for"
        return digest(
            {
                "class": class_of(self),
                "version": self.version,
                "min_characters": self.min_characters,
                "split": split,
            }
        )

    def spans(self, text: str) -> list[Span]:
        """Find the sentences of a text, as this splitter does.

        Args:
            text: The text of a chunk.

        Returns:
            See `sentence_spans`.
        """
        return sentence_spans(text, min_characters=self.min_characters, split=self._split)

    def transform_document(self, document: Document) -> Iterator[Document]:
        """Make the sentences of a chunk.

        Args:
            document: The chunk.

        Yields:
            Its sentences, in order.
        """
        for start, end in self.spans(document.page_content):
            metadata = {**document.metadata, "start_index": start}
            yield document_of(document.page_content[start:end], metadata)


def _cuts(text: str) -> list[int]:
    """Return where sentences may be parted, from the first offset to the last."""
    found = [0]
    for start, end in pairwise([*_blocks(text), len(text)]):
        found.append(start)
        found.extend(ends_in(text, start, start + len(text[start:end].rstrip())))
    return [*found, len(text)]


def _blocks(text: str) -> Iterator[int]:
    """Find where paragraphs, headings, items and rows begin."""
    offset, apart = 0, True
    for line in text.splitlines(keepends=True):
        if not line.strip():
            apart = True
        else:
            row = " | " in line
            if apart or row or _BEGINS.match(line):
                yield offset
            apart = row or len(line) > _WRAPPED or _ALONE.match(line) is not None
        offset += len(line)


def _cuts_by(text: str, split: Split) -> list[int]:
    """Return where another segmentation parts a text.

    What it leaves out goes to the sentence before; what is in front of all, to the first.
    """
    starts = [start for start, end in _placed(text, split(text)) if text[start:end].strip()]
    return [0, *starts[1:], len(text)]


def _placed(text: str, parts: Iterable[str | Span]) -> Iterator[Span]:
    """Find the parts that another segmentation gave, each after the one before."""
    before = 0
    for part in parts:
        if isinstance(part, str):
            start = text.find(part, before)
            end = start + len(part)
        else:
            start, end = part
        if not before <= start <= end <= len(text):
            msg = (
                f"split= gave {part!r}, which does not stand in the text after offset {before}:"
                " it must give the sentences as they stand there, or their spans, in order."
            )
            raise TransformerError(msg)
        yield start, end
        before = end


def _trimmed(text: str, start: int, end: int) -> Span:
    content = text[start:end]
    filled = content.strip()
    start += len(content) - len(content.lstrip())
    return start, start + len(filled)


def _joined(spans: Iterable[Span], least: int) -> list[Span]:
    found: list[Span] = []
    begun: int | None = None
    end = 0
    for start, end in spans:
        begun = start if begun is None else begun
        if end - begun >= least:
            found.append((begun, end))
            begun = None
    if begun is not None:
        found.append((found.pop()[0] if found else begun, end))
    return found
