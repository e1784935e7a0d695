"""Thirty documents, their versions, and a model whose every call is noted in a file."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel

if TYPE_CHECKING:
    from tests.crash.killing.points import Points

BATCH_SIZE = 10
CONCURRENCY = 4
SOURCES = 6
KEPT: Final[list[str]] = []
"""What stands in the log for vectors that were kept."""

_PASSAGE = re.compile(r"document (\d+), passage .*")


def page(number: int, *, rev: int = 1, changed: bool = False) -> Document:
    """Return a document of three passages, the last of which every sixth has twice."""
    passages = [
        f"document {number}, passage one, which stays as it is",
        f"document {number}, passage two, version {2 if changed else 1} of it",
        f"document {number}, passage three, about {'sets' if number % 2 else 'numbers'}",
    ]
    if number % 6 == 0:
        passages.append(passages[-1])
    metadata = {"source": f"book-{number % SOURCES}", "number": number, "rev": rev}
    return Document("\n\n".join(passages), metadata=metadata)


def imported() -> list[Document]:
    """Thirty documents of six sources."""
    return [page(number) for number in range(30)]


def changed() -> list[Document]:
    """A third of them with another passage, some with other metadata, two more, two gone."""
    return [
        page(
            number,
            changed=number % 3 == 0,
            rev=2 if number % 7 == 5 else 1,
        )
        for number in range(32)
        if number not in {7, 17}
    ]


def kept() -> list[Document]:
    """One document of each source: the others are deleted."""
    return [document for document in changed() if document.metadata["number"] < SOURCES]


def id_of(document: Document) -> str:
    """The id that a user of `add_documents` gives a document."""
    return f"page-{document.metadata['number']}"


def number_in(text: str) -> int:
    """Return the number of the document that a chunk or a prompt is about."""
    found = _PASSAGE.search(text)
    assert found is not None, text
    return int(found.group(1))


def transformers(log: Path, points: Points) -> dict[str, Any]:
    """Return a splitter, and questions from a model beside a copy.

    Args:
        log: Each call of the model is a line in it, from when it is paid for: before its
            answer is there. Lines that were written outlive the process, whatever kills it.
        points: Count the calls.
    """
    file = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def answer(prompt: str) -> str:
        found = _PASSAGE.search(prompt)
        assert found is not None
        passage = found.group()
        points.reach("llm before")
        os.write(file, f"\n{json.dumps(passage)}\n".encode())
        points.reach("llm after")
        return f"What is {passage}?"

    questions = GenerateQuestionsTransformer.from_llm(
        ScriptedChatModel(answer=answer), nb_of_questions=1
    )
    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n"], chunk_size=60, chunk_overlap=0, keep_separator=False
    )
    return {
        "parent_transformer": splitter,
        "chunk_transformer": CopyDocumentTransformer() + questions,
    }


def calls_in(log: Path) -> list[str]:
    """Return the passages that the model was asked about, in the order of the calls."""
    return [one for one in _lines_of(log) if isinstance(one, str)]


class NotedEmbeddings(CountingEmbeddings):
    """Embeddings whose every call is noted in a file, from when it is paid for.

    Args:
        size: Of the vectors.
        log: The file.
    """

    fingerprint = "counting"

    def __init__(self, size: int, log: Path) -> None:
        super().__init__(size)
        self._file = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        # On lines of its own, whatever a full disk has cut off before.
        os.write(self._file, f"\n{json.dumps(texts)}\n".encode())
        return super().embed_documents(texts)

    def note_kept(self) -> None:
        """Note that the cache has the vectors of the last call."""
        os.write(self._file, f"\n{json.dumps(KEPT)}\n".encode())


def embedded_in(log: Path) -> list[list[str]]:
    """Return the texts of each call of the embeddings; `KEPT` after those that were kept."""
    return [one for one in _lines_of(log) if isinstance(one, list)]


def _lines_of(log: Path) -> list[Any]:
    found: list[Any] = []
    for line in log.read_text().splitlines() if log.exists() else []:
        with suppress(ValueError):  # cut off, since the disk was full
            found.append(json.loads(line))
    return found
