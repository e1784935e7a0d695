"""What the full-text index finds, how fast, and what keeping it costs.

Quality: nDCG@10 of words (SQLite, PostgreSQL), of vectors, and of both fused, next to bm25s
over the same terms. Cost: an import with the index and without, over a vector store in memory
and embeddings that cost little, so that the share of the index is as large as it can be.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy import make_url

from benchmarks._measures import ndcg_at
from benchmarks._options import Options
from benchmarks._process import Side, clock, in_turn, run_side, table
from benchmarks._stores import CountingEmbeddings, databases, new_database
from benchmarks._texts import documents
from langchain_rag import RAGVectorStore
from langchain_rag.lexical import Analysis
from langchain_rag.lexical.bm25 import K1, B

K = 10
WARM = 50
WEIGHTS = ((0.1, 0.9), (0.3, 0.7))
CS = (60,)
DEPTHS = (100,)

Ask = Callable[[str], list[str]]


def quality(data: str, name: str, postgres: str) -> dict[str, Any]:
    """Ask one data set's questions of everything."""
    corpus, questions = DATA[name](Path(data) / name)
    rag = _filled("sqlite://", corpus)
    on_postgres = _filled(postgres, corpus)
    words = rag.as_lexical_retriever(k=K)
    words_on_postgres = on_postgres.as_lexical_retriever(k=K)
    asked: dict[str, Ask] = {
        "bm25s": _bm25s(corpus),
        "words, SQLite": partial(_ids, words.invoke),
        "words, PostgreSQL": partial(_ids, words_on_postgres.invoke),
        "vectors": partial(_ids, partial(rag.similarity_search, k=K)),
        "hybrid": partial(_ids, rag.as_hybrid_retriever(k=K).invoke),
    }
    for c in CS:
        for weights in WEIGHTS:
            fused = rag.as_hybrid_retriever(K, weights, c)
            asked[f"hybrid, {weights}, c={c}"] = partial(_ids, fused.invoke)
    for fetch_k in DEPTHS:
        deep = rag.as_hybrid_retriever(k=K, fetch_k=fetch_k)
        asked[f"hybrid, fetch_k={fetch_k}"] = partial(_ids, deep.invoke)
    found = {
        way: statistics.mean(ndcg_at(K, ask(question), ids) for question, ids in questions)
        for way, ask in asked.items()
    }
    return {"ndcg": found, "chunks": len(corpus), "questions": len(questions)}


def fill(folder: str, data: str, count: int, name: str, full_text: str | None) -> Any:
    """Import documents, with the index or without."""
    rag = _opened(f"{folder}/{name}.db", full_text)
    given = list(documents(data, count))
    with clock() as read:
        rag.add_documents(given, batch_size=500)
    size = sum(path.stat().st_size for path in Path(folder).glob(f"{name}.db*"))
    return read.figures() | {"megabytes": size / 1e6}


def timed(folder: str, data: str, name: str, queries: int) -> dict[str, Any]:
    """Time questions that people asked, of the index alone and of the retriever."""
    rag = _opened(f"{folder}/{name}.db", "english")
    retriever = rag.as_lexical_retriever(k=K)
    docstore: Any = rag.docstore
    prefix = next(docstore.yield_keys(prefix="chunks/")).rpartition("/")[0] + "/"
    index = partial(docstore.lexical_search, k=K, prefix=prefix)
    asked = [
        json.loads(row)["text"]
        for path in sorted(Path(data).rglob("que*.jsonl"))
        for row in path.read_text("utf-8").splitlines()
    ]
    random.Random(1801).shuffle(asked)
    seconds: dict[str, list[float]] = {"index": [], "retriever": []}
    for turn, query in enumerate(asked[: WARM + queries]):
        for way, ask in (("index", index), ("retriever", retriever.invoke)):
            start = time.perf_counter()
            ask(query)
            if turn >= WARM:
                seconds[way].append(time.perf_counter() - start)
    return {"seconds": seconds}


def _opened(file: str, full_text: str | None) -> RAGVectorStore:
    rag, _ = RAGVectorStore.from_vs_in_sql(
        InMemoryVectorStore(CountingEmbeddings()),
        db_url=f"sqlite:///{file}",
        full_text=full_text,
        embedding_cache=None,
    )
    return rag


def _filled(db_url: str, corpus: dict[str, str]) -> RAGVectorStore:
    url = make_url(db_url)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    rag, _ = RAGVectorStore.from_vs_in_sql(
        InMemoryVectorStore(CountingEmbeddings()), db_url=url, source_id_key=None
    )
    rag.add_documents([Document(text, id=id_) for id_, text in corpus.items()])
    return rag


def _ids(search: Callable[[str], list[Document]], query: str) -> list[str]:
    return [str(document.id) for document in search(query)]


def _bm25s(corpus: dict[str, str]) -> Ask:
    analysis = Analysis("english")
    ids = list(corpus)
    scorer = import_module("bm25s").BM25(method="lucene", k1=K1, b=B)
    scorer.index([analysis.terms(text) for text in corpus.values()], show_progress=False)

    def ask(query: str) -> list[str]:
        terms = analysis.terms(query)
        if not terms:
            return []
        found, scores = scorer.retrieve([terms], k=K, show_progress=False)
        return [ids[n] for n, score in zip(found[0], scores[0], strict=True) if score > 0]

    return ask


def _xquad(folder: Path) -> tuple[dict[str, str], list[tuple[str, set[str]]]]:
    corpus = {row["id"]: row["text"] for row in _rows(folder / "corpus.jsonl")}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            relevant.setdefault(query, set()).add(document)
    asked = _rows(folder / "queries.jsonl")
    return corpus, [(row["text"], relevant[row["id"]]) for row in asked]


def _spans(folder: Path) -> tuple[dict[str, str], list[tuple[str, set[str]]]]:
    """Chunks of 800 characters; relevant are those that have a part of an answer."""
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=800, chunk_overlap=0, add_start_index=True
    )
    corpus: dict[str, str] = {}
    places: dict[str, list[tuple[int, int, str]]] = {}
    for path in sorted(folder.glob("*.md")):
        for chunk in splitter.create_documents([path.read_text("utf-8")]):
            start = chunk.metadata["start_index"]
            id_ = f"{path.stem}-{start}"
            corpus[id_] = chunk.page_content
            end = start + len(chunk.page_content)
            places.setdefault(path.stem, []).append((start, end, id_))
    questions = [
        (
            row["text"],
            {
                id_
                for start, end, id_ in places[row["corpus"]]
                if any(span["start"] < end and start < span["end"] for span in row["spans"])
            },
        )
        for row in _rows(folder / "questions.jsonl")
    ]
    return corpus, [question for question in questions if question[1]]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


DATA = {"xquad_en": _xquad, "chunking_evaluation": _spans}
SIDES: dict[str, Side] = {"quality": quality, "fill": fill, "timed": timed}


def report(options: Options) -> None:
    """Print quality, then cost."""
    names = [name for name in DATA if (Path(options.data) / name).exists()]
    if names:
        _report_quality(options, names)
    _report_cost(options)


def _report_quality(options: Options, names: list[str]) -> None:
    with databases() as server:
        found = {
            name: run_side(
                __name__,
                "quality",
                data=options.data,
                name=name,
                postgres=new_database(server),
            )
            for name in names
        }
    print("## nDCG@10 of words, vectors, and both\n")
    sizes = [f"{found[name]['chunks']} chunks" for name in names]
    heads = [f"{name}, {size}" for name, size in zip(names, sizes, strict=True)]
    ways = list(found[names[0]]["ndcg"])
    table(
        ("", *heads),
        [(way, *(f"{found[name]['ndcg'][way]:.4f}" for name in names)) for way in ways],
    )


def _report_cost(options: Options) -> None:
    count = options.documents or 100_000
    languages = {"with": "english", "without": None}
    with tempfile.TemporaryDirectory() as folder:

        def filling(name: str) -> Callable[[int], dict[str, Any]]:
            return lambda turn: run_side(
                __name__,
                "fill",
                folder=folder,
                data=options.data,
                count=count,
                name=f"{name}{turn}",
                full_text=languages[name],
            )

        sides = {name: filling(name) for name in languages}
        measured = in_turn(min(options.turns, 3), sides)
        searched = run_side(
            __name__, "timed", folder=folder, data=options.data, name="with0", queries=500
        )
    print(f"## The index of {count} chunks on SQLite\n")
    print(
        f"Import with it / without: {measured.ratio('with', 'without', 'wall'):.2f} wall, "
        f"{measured.ratio('with', 'without', 'cpu'):.2f} CPU; "
        f"{measured.median('with', 'wall'):.1f} / {measured.median('without', 'wall'):.1f} s, "
        f"{measured.median('with', 'megabytes'):.0f} / "
        f"{measured.median('without', 'megabytes'):.0f} MB.\n"
    )
    table(
        ("", "p50", "p95"),
        [
            (
                way,
                f"{statistics.median(took) * 1e3:.2f} ms",
                f"{statistics.quantiles(took, n=20)[-1] * 1e3:.2f} ms",
            )
            for way, took in searched["seconds"].items()
        ],
    )
