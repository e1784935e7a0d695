"""What langchain-rag costs and brings over the plain wrapped store, in one run.

Run it with `uv run python -m benchmarks --data DIR`, where DIR holds `corpus.jsonl`
({id, title, text}), `variations.jsonl` ({docid, text}), `queries.jsonl` ({id, text}) and
`qrels.tsv` (query, document, relevance). Every figure is a ratio of medians over runs that
alternate between the two sides; both sides use the same store, embeddings and texts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_rag import CopyDocumentTransformer, LazyDocumentTransformer, RAGVectorStore
from langchain_rag.local import WordLlamaEmbeddings

RUNS = 5


class StoredQuestions(LazyDocumentTransformer):
    """Stands in for an LLM with the questions that people wrote for each paragraph."""

    version = "1"

    def __init__(self, questions: dict[str, list[str]]) -> None:
        self._questions = questions

    def transform_document(self, document: Document) -> list[Document]:
        found = self._questions[document.metadata["source"]]
        return [Document(text, metadata=document.metadata) for text in found]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _chroma(folder: Path, embeddings: Embeddings) -> Chroma:
    return Chroma(
        persist_directory=str(folder),
        embedding_function=embeddings,
        client_settings=Settings(anonymized_telemetry=False, is_persistent=True),
    )


def _rows_of(rag: RAGVectorStore) -> list[Document]:
    found = cast("Chroma", rag.vectorstore).get(include=["documents", "metadatas"])
    return [
        Document(id=id_, page_content=text, metadata=metadata)
        for id_, text, metadata in zip(
            found["ids"], found["documents"], found["metadatas"], strict=True
        )
    ]


def _add_in_batches(plain: Chroma, rows: list[Document], documents: int) -> None:
    # In batches of as many rows as ours come in: those of a hundred documents.
    size = len(rows) * 100 // documents
    for start in range(0, len(rows), size):
        plain.add_documents(rows[start : start + size])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ratio(ours: list[float], plain: list[float]) -> str:
    a, b = statistics.median(ours), statistics.median(plain)
    return f"{a / b:.2f} ({a * 1e3:.1f} ms / {b * 1e3:.1f} ms)"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/xquad_en"))
    data: Path = parser.parse_args().data
    questions: dict[str, list[str]] = defaultdict(list)
    for row in _rows(data / "variations.jsonl"):
        questions[row["docid"]].append(row["text"])
    documents = [
        Document(row["text"], metadata={"source": row["id"], "title": row["title"]})
        for row in _rows(data / "corpus.jsonl")
    ]
    queries = _rows(data / "queries.jsonl")
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (data / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            relevant[query].add(document)
    embeddings = WordLlamaEmbeddings()
    embeddings.embed_query("warm up")

    with tempfile.TemporaryDirectory() as scratch:
        _run(Path(scratch), embeddings, documents, questions, queries, relevant)


def _run(
    scratch: Path,
    embeddings: Embeddings,
    documents: list[Document],
    questions: dict[str, list[str]],
    queries: list[dict[str, Any]],
    relevant: dict[str, set[str]],
) -> None:
    plain_seconds: list[float] = []
    our_seconds: list[float] = []
    again_seconds: list[float] = []
    for run in range(RUNS):
        rag, _ = RAGVectorStore.from_vs_in_sql(
            _chroma(scratch / f"rag-{run}", embeddings),
            db_url=f"sqlite:///{scratch}/rag-{run}.db",
            chunk_transformer=StoredQuestions(questions) + CopyDocumentTransformer(),
        )
        ids = [document.metadata["source"] for document in documents]
        add = partial(rag.add_documents, documents, ids=ids)
        our_seconds.append(_seconds(add))
        again_seconds.append(_seconds(add))
        rows = _rows_of(rag)
        plain = _chroma(scratch / f"plain-{run}", embeddings)
        plain_seconds.append(_seconds(partial(_add_in_batches, plain, rows, len(documents))))
    print(f"import, {len(documents)} documents, {len(rows)} variations")
    print(f"  ours / the same rows into plain Chroma: {_ratio(our_seconds, plain_seconds)}")
    print(f"  again, unchanged / first time: {_ratio(again_seconds, our_seconds)}")

    by_chunk = _chroma(scratch / "chunks", embeddings)
    by_chunk.add_documents(documents)
    rag.similarity_search("warm up")
    plain_seconds, our_seconds, noise = [], [], []
    # As many as guarantee four distinct chunks: four times the largest number of variations.
    asked = 4 * max(len(questions[document.metadata["source"]]) + 1 for document in documents)
    for row in queries[:200]:
        plain_search = partial(rag.vectorstore.similarity_search, row["text"], asked)
        plain_seconds.append(_seconds(plain_search))
        our_seconds.append(_seconds(partial(rag.similarity_search, row["text"], k=4)))
        noise.append(_seconds(plain_search))
    print(f"search, k=4, {asked} hits asked for")
    print(f"  ours / plain Chroma's for as many hits: {_ratio(our_seconds, plain_seconds)}")
    print(f"  plain / plain, the noise: {_ratio(noise, plain_seconds)}")

    print("recall of the paragraph that answers, over", len(queries), "questions")
    for k in (1, 5):
        plain_found = rag_found = distinct = 0
        for row in queries:
            wanted = relevant[row["id"]]
            hits = by_chunk.similarity_search(row["text"], k)
            chunks = rag.similarity_search(row["text"], k)
            plain_found += any(hit.metadata["source"] in wanted for hit in hits)
            rag_found += any(chunk.metadata["source"] in wanted for chunk in chunks)
            distinct += len({chunk.metadata["source"] for chunk in chunks}) == k
        print(
            f"  @{k}: paragraphs alone {plain_found / len(queries):.3f}, with questions "
            f"{rag_found / len(queries):.3f}; {k} distinct chunks in {distinct} searches"
        )


if __name__ == "__main__":
    main()
