"""What questions beside a paragraph do to recall, on XQuAD.

The wrapped store holds the questions that people wrote for each paragraph, in place of a
model's, and a copy; the queries are other questions. The other side is paragraphs alone, in
plain Chroma.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks._options import Options
from benchmarks._process import Side, run_side, table
from benchmarks._stores import CountingEmbeddings, chroma
from langchain_rag import CopyDocumentTransformer, LazyDocumentTransformer, RAGVectorStore

FOLDER = "xquad_en"


class StoredQuestions(LazyDocumentTransformer):
    """Stands in for a model with the questions that people wrote for each paragraph."""

    version = "1"

    def __init__(self, questions: dict[str, list[str]]) -> None:
        self._questions = questions

    def transform_document(self, document: Document) -> list[Document]:
        found = self._questions[document.metadata["source"]]
        return [Document(text, metadata=document.metadata) for text in found]


def recall(folder: str, data: str) -> dict[str, Any]:
    """Search both stores with all queries."""
    place = Path(data) / FOLDER
    questions: dict[str, list[str]] = defaultdict(list)
    for row in _rows(place / "variations.jsonl"):
        questions[row["docid"]].append(row["text"])
    documents = [
        Document(row["text"], id=row["id"], metadata={"source": row["id"]})
        for row in _rows(place / "corpus.jsonl")
    ]
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (place / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            relevant[query].add(document)
    embeddings = CountingEmbeddings()
    plain = chroma(f"{folder}/plain", embeddings)
    plain.add_documents(documents)
    rag, _ = RAGVectorStore.from_vs_in_sql(
        chroma(f"{folder}/rag", embeddings),
        db_url=f"sqlite:///{folder}/rag.db",
        chunk_transformer=StoredQuestions(questions) + CopyDocumentTransformer(),
    )
    rag.add_documents(documents)
    queries = _rows(place / "queries.jsonl")
    found: dict[str, Any] = {"queries": len(queries)}
    for k in (1, 5):
        counts = {"plain": 0, "rag": 0, "distinct": 0}
        for row in queries:
            hits = _sources(plain.similarity_search(row["text"], k))
            chunks = _sources(rag.similarity_search(row["text"], k))
            counts["plain"] += not hits.isdisjoint(relevant[row["id"]])
            counts["rag"] += not chunks.isdisjoint(relevant[row["id"]])
            counts["distinct"] += len(chunks) == k
        found[str(k)] = counts
    return found


def _sources(documents: list[Document]) -> set[str]:
    return {document.metadata["source"] for document in documents}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


SIDES: dict[str, Side] = {"recall": recall}


def report(options: Options) -> None:
    """Print recall at 1 and 5."""
    if not (Path(options.data) / FOLDER).exists():
        print(f"Recall is left out: there is no {FOLDER} in {options.data}.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = run_side(__name__, "recall", folder=folder, data=options.data)
    total = found["queries"]
    print(f"## Recall of the paragraph that answers, {total} questions\n")
    table(
        ("k", "paragraphs alone", "with questions", "searches with k distinct chunks"),
        [
            (
                k,
                f"{found[k]['plain'] / total:.3f}",
                f"{found[k]['rag'] / total:.3f}",
                f"{found[k]['distinct']} of {total}",
            )
            for k in ("1", "5")
        ],
    )
