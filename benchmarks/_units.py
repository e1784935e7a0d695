"""What all sides cut texts into, and how a result is found again in its document."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter, TextSplitter

from benchmarks._measures import Passage
from benchmarks._minilm import tokenizer
from benchmarks._retrieval_data import DataSet
from langchain_rag.document_transformers.splitters.sentences import sentence_spans

WINDOW = 3
"""Sentences on each side of the one that was found."""

LEAVES = 3
"""Leaves that are searched for each result of auto-merging."""

Found: TypeAlias = Callable[[str, int], list[Passage]]
"""A way to retrieve: the best k passages for a query, best first."""


@cache
def _tokenizer() -> Any:
    return tokenizer()


@cache
def tokens(text: str) -> int:
    """Count the tokens of MiniLM."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


def splitter(size: int) -> TextSplitter:
    """Cut at paragraphs, lines and words, to a number of tokens."""
    return RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=0, length_function=tokens, add_start_index=True
    )


def sentences(text: str) -> list[str]:
    """Cut into sentences."""
    return [text[start:end] for start, end in sentence_spans(text)]


def documents(data: DataSet) -> list[Document]:
    """Make a document of each text."""
    return [
        Document(text, id=name, metadata={"source": name, "start_index": 0})
        for name, text in data.texts.items()
    ]


def passage_of(document: Document) -> Passage:
    """Find a result in its document."""
    start = document.metadata["start_index"]
    return Passage(document.metadata["source"], start, start + len(document.page_content))
