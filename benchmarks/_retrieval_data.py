"""The two data sets of `benchmarks.retrieval`, in one form."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._measures import Passage


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        text: It.
        relevant: Names of the documents that answer it.
        evidence: The very passages, where they are known.
    """

    text: str
    relevant: frozenset[str]
    evidence: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class DataSet:
    """Documents and questions about them.

    Attributes:
        name: Of its folder.
        texts: The documents, by name.
        queries: The questions.
        questions: Other questions that people asked of each document, by its name.
        sizes: What a hierarchy cuts it into, in tokens; the last is what is searched, the one
            before it what is returned.
    """

    name: str
    texts: Mapping[str, str]
    queries: tuple[Query, ...]
    sizes: tuple[int, ...]
    questions: Mapping[str, list[str]] = field(default_factory=dict)


def xquad(data: str) -> DataSet:
    """Read paragraphs of Wikipedia, each a document (XQuAD, Artetxe et al. 2020)."""
    place = Path(data) / "xquad_en"
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (place / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            relevant[query].add(document)
    questions: dict[str, list[str]] = defaultdict(list)
    for row in rows(place / "variations.jsonl"):
        questions[row["docid"]].append(row["text"])
    return DataSet(
        "xquad_en",
        {row["id"]: row["text"] for row in rows(place / "corpus.jsonl")},
        tuple(
            Query(row["text"], frozenset(relevant[row["id"]]))
            for row in rows(place / "queries.jsonl")
        ),
        (256, 64),
        questions,
    )


def chunking_evaluation(data: str) -> DataSet:
    """Read five corpora, each a document (Smith and Troynikov 2024)."""
    place = Path(data) / "chunking_evaluation"
    queries = [
        Query(
            row["text"],
            frozenset([row["corpus"]]),
            tuple(Passage(row["corpus"], span["start"], span["end"]) for span in row["spans"]),
        )
        for row in rows(place / "questions.jsonl")
    ]
    texts = {path.stem: path.read_text("utf-8") for path in sorted(place.glob("*.md"))}
    return DataSet("chunking_evaluation", texts, tuple(queries), (2048, 512, 128))


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a file with JSON in each line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
