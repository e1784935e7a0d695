"""What it costs to index 5,000 documents again, of which none has changed.

Each way fills its own Chroma on disk and SQLite once; then fresh processes index the same
documents again, in turn. Ours has questions and a summary of each chunk as well, asked of a
model that counts.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from langchain_classic.indexes import SQLRecordManager
from langchain_core.indexing import index

from benchmarks._counting import Counter, counted_rag, parent_document_retriever
from benchmarks._options import Options
from benchmarks._process import Measured, Side, clock, in_turn, run_side, table
from benchmarks._stores import CountingEmbeddings, chroma
from benchmarks._texts import documents
from langchain_rag import RAGVectorStore


def plain(folder: str, data: str, count: int) -> dict[str, Any]:
    """LangChain's `index()` over Chroma."""
    embeddings = CountingEmbeddings()
    store = chroma(f"{folder}/chroma", embeddings)
    return _indexed(folder, data, count, Counter(embeddings, store), store)


def parent(folder: str, data: str, count: int) -> dict[str, Any]:
    """LangChain's `index()` over a `ParentDocumentRetriever`."""
    embeddings = CountingEmbeddings()
    store = chroma(f"{folder}/chroma", embeddings)
    retriever = parent_document_retriever(folder, store)
    return _indexed(folder, data, count, Counter(embeddings, store), retriever)


def _indexed(
    folder: str, data: str, count: int, counter: Counter, store: Any
) -> dict[str, Any]:
    records = SQLRecordManager("again", db_url=f"sqlite:///{folder}/records.db")
    records.create_schema()
    given = list(documents(data, count))
    with clock() as took, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its key_encoder is SHA-1 unless told
        result = index(given, records, store, cleanup="scoped_full", source_id_key="source")
    return {**took.figures(), **counter.figures(), **result}


def ours_by_index(folder: str, data: str, count: int) -> dict[str, Any]:
    """LangChain's `index()` over ours."""
    _, arguments, counter = counted_rag(folder)
    given = list(documents(data, count))
    with clock() as took:
        result = index(given, cleanup="scoped_full", **arguments)
    return {**took.figures(), **counter.figures(), **result}


def ours(folder: str, data: str, count: int) -> dict[str, Any]:
    """`rag.index()`."""
    rag, _, counter = counted_rag(folder)
    given = list(documents(data, count))
    with clock() as took:
        report = rag.index(given)
    return {**took.figures(), **counter.figures(), **report.as_dict()}


SIDES: dict[str, Side] = {
    "plain": plain,
    "ours": ours,
    "ours_by_index": ours_by_index,
    "parent": parent,
}
NAMES = {
    "plain": "`index()` over Chroma",
    "noise": "the same again, the noise",
    "ours_by_index": "`index()` over ours",
    "ours": "`rag.index()`",
    "parent": "`index()` over `ParentDocumentRetriever`",
    "llama": "LlamaIndex `IngestionPipeline`, upserts and cache",
}


def report(options: Options) -> None:
    """Print times and counts."""
    count = options.documents or 5_000
    print(f"## Index {count} unchanged documents again\n")
    with tempfile.TemporaryDirectory() as scratch:
        sides: dict[str, Callable[[int], dict[str, Any]]] = {}
        for side in ("plain", "ours_by_index", "ours", "parent", "llama"):
            module = "benchmarks._llama" if side == "llama" else __name__
            if side == "llama" and not importlib.util.find_spec("llama_index"):
                print("LlamaIndex is left out: run it with `uv run --group benchmark`.\n")
                continue
            if side == "ours" and not hasattr(RAGVectorStore, "index"):
                continue
            folder = Path(scratch) / side
            folder.mkdir()
            run = partial(
                run_side, module, side, folder=str(folder), data=options.data, count=count
            )
            run()
            sides[side] = partial(_once, run)
        sides["noise"] = sides["plain"]
        found = in_turn(options.turns, sides)
    table(
        ("way", "time / plain", "", "CPU / plain", "model calls", "embeddings", "rows written"),
        [_row(side, found) for side in NAMES if side in sides],
    )


def _once(run: Callable[[], dict[str, Any]], turn: int) -> dict[str, Any]:
    del turn
    return run()


def _row(side: str, found: Measured) -> tuple[object, ...]:
    last = found.last(side)
    return (
        NAMES[side],
        f"{found.ratio(side, 'plain', 'wall'):.2f}",
        f"{found.median(side, 'wall'):.2f} s",
        f"{found.ratio(side, 'plain', 'cpu'):.2f}",
        last["calls"],
        last["embedded"],
        last["written"],
    )
