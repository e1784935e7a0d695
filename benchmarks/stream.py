"""Whether memory and time per document stay flat over 100,000 documents from a generator.

`rag.index()` reads them one after the other; vectors go to PostgreSQL, so that they are in
another process, and chunks and bookkeeping to SQLite. Embeddings are made of nothing: those of
the other benchmarks grow by 130 MB of their own before they stay flat. Plain pgvector, which is
given the same, shows what its client does to memory.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from benchmarks._options import Options
from benchmarks._process import Side, clock, peak_mb, resident_mb, run_side, table
from benchmarks._stores import DIMENSIONS, databases, new_database, pgvector
from benchmarks._texts import documents
from langchain_rag import RAGVectorStore

WORDS = 20


class Watched:
    """A generator's documents, and when and with how much memory each thousandth went out."""

    def __init__(self, given: Iterator[Document], every: int) -> None:
        self.given, self.every = given, every
        self.marks: list[tuple[int, float, float, float]] = []

    def __iter__(self) -> Iterator[Document]:
        number = 0
        for number, document in enumerate(self.given):
            if number % self.every == 0:
                self._mark(number)
            yield document
        self._mark(number + 1)

    def _mark(self, number: int) -> None:
        self.marks.append((number, time.perf_counter(), time.process_time(), resident_mb()))


def streamed(url: str, docstore: str, data: str, count: int) -> dict[str, Any]:
    """Index them."""
    wrapped = pgvector(url, DeterministicFakeEmbedding(size=DIMENSIONS))
    rag, _ = RAGVectorStore.from_vs_in_sql(wrapped, db_url=docstore)
    watched = Watched(documents(data, count, WORDS), max(count // 100, 1))
    with clock() as took:
        report = rag.index(iter(watched), cleanup="scoped_full")
    return {**took.figures(), "marks": watched.marks, "peak": peak_mb(), **report.as_dict()}


def plain(url: str, docstore: str, data: str, count: int) -> dict[str, Any]:
    """Write them straight to pgvector: what its client alone does to memory."""
    del docstore
    wrapped = pgvector(url, DeterministicFakeEmbedding(size=DIMENSIONS))
    watched = Watched(documents(data, count, WORDS), max(count // 100, 1))
    batch: list[Document] = []
    with clock() as took:
        for document in watched:
            document.id = str(uuid.uuid4())
            batch.append(document)
            if len(batch) == 100:
                wrapped.add_documents(batch)
                batch = []
    return {**took.figures(), "marks": watched.marks, "num_added": count}


SIDES: dict[str, Side] = {"streamed": streamed, "plain": plain}
NAMES = {"streamed": "`rag.index()`", "plain": "plain pgvector"}


def report(options: Options) -> None:
    """Print growth and slowdown."""
    count = options.documents or 100_000
    print(f"## {count} documents from a generator, by `rag.index()` into pgvector\n")
    if not hasattr(RAGVectorStore, "index"):
        print("There is no `rag.index()` yet.\n")
        return
    rows, memory = [], []
    for side, name in NAMES.items():
        with tempfile.TemporaryDirectory() as folder, databases() as server:
            found = run_side(
                __name__,
                side,
                url=new_database(server),
                docstore=f"sqlite:///{folder}/rag.db",
                data=options.data,
                count=count,
            )
        marks = found["marks"]
        tenth = len(marks) // 10
        first, last = marks[: tenth + 1], marks[-tenth - 1 :]
        later = [mb for number, _, _, mb in marks if number >= count // 20]
        rows.append(
            (
                name,
                f"{_each(last, 1) / _each(first, 1):.2f}",
                f"{_each(last, 2) / _each(first, 2):.2f}",
                f"{_each(last, 1):.2f} / {_each(first, 1):.2f} ms",
                f"+{max(later) - later[0]:.0f} MB ({later[0]:.0f} to {max(later):.0f})",
                f"{found['wall']:.0f} s",
            )
        )
        head = ("resident MB after", *(mark[0] for mark in marks[:: max(tenth, 1)]))
        memory.append((name, *(f"{mark[3]:.0f}" for mark in marks[:: max(tenth, 1)])))
    table(
        (
            "way",
            "time per document, last tenth / first",
            "CPU, the same",
            "",
            f"memory after the first {count // 20}",
            "in all",
        ),
        rows,
    )
    table(head, memory)


def _each(marks: list[tuple[int, float, float, float]], clock: int) -> float:
    """Return milliseconds per document, by the first clock or the second."""
    return (marks[-1][clock] - marks[0][clock]) / (marks[-1][0] - marks[0][0]) * 1e3
