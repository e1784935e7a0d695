"""Documents of real text, as many as wanted, all different, and variations near them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from langchain_core.documents import Document

from langchain_rag import LazyDocumentTransformer

VARIATIONS = 5


@cache
def words(data: str) -> list[str]:
    """Read all words below a folder: `*.md`, and the texts of `corpus.jsonl`.

    Args:
        data: The folder.
    """
    texts = [path.read_text("utf-8") for path in sorted(Path(data).rglob("*.md"))]
    for path in sorted(Path(data).rglob("corpus.jsonl")):
        rows = path.read_text("utf-8").splitlines()
        texts.extend(json.loads(row)["text"] for row in rows)
    found = " ".join(texts).split()
    if not found:
        message = f"No text in {data}: --data names a folder with *.md or corpus.jsonl."
        raise SystemExit(message)
    return found


def passages(data: str, count: int, size: int = 60) -> Iterator[str]:
    """Cut the text into passages of equal length, which overlap where there are many.

    Args:
        data: The folder.
        count: How many.
        size: Words of each.
    """
    every = words(data)
    for number in range(count):
        start = number * (len(every) - size) // count
        yield f"{number}. " + " ".join(every[start : start + size])


def documents(data: str, count: int, size: int = 60) -> Iterator[Document]:
    """Make documents of the passages: ten of them share a source.

    Args:
        data: The folder.
        count: How many.
        size: Words of each.
    """
    for number, text in enumerate(passages(data, count, size)):
        metadata = {"source": f"file-{number // 10}.txt", "page": number % 10}
        yield Document(text, id=f"document-{number}", metadata=metadata)


def edited_document(data: str, chunks: int, change: bool) -> str:
    """Make one long document of many paragraphs.

    Args:
        data: The folder.
        chunks: How many paragraphs.
        change: Whether one in the middle says something else.
    """
    found = list(passages(data, chunks))
    if change:
        found[chunks // 2] += " This sentence was added later."
    return "\n\n".join(found)


class Parts(LazyDocumentTransformer):
    """A copy, and four overlapping parts: variations that lie near their chunk."""

    version = "1"
    reads_metadata = False

    def transform_document(self, document: Document) -> Iterator[Document]:
        found = document.page_content.split()
        half, step = len(found) // 2, len(found) // 8
        texts = [document.page_content]
        texts += [" ".join(found[n * step : n * step + half]) for n in range(VARIATIONS - 1)]
        for text in texts:
            yield Document(text, metadata=document.metadata)
