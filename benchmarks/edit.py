"""What one edited paragraph costs in a document of 300 chunks.

Each chunk has questions, a summary and a copy. Model calls, embeddings and written rows are
counted for the first import, and for the second after one paragraph in the middle was changed.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

from langchain_classic.indexes import SQLRecordManager
from langchain_core.documents import Document
from langchain_core.indexing import index

from benchmarks import _release
from benchmarks._counting import Counter, counted_rag, parent_document_retriever
from benchmarks._options import Options
from benchmarks._process import Side, run_side, table
from benchmarks._stores import CountingEmbeddings, chroma
from benchmarks._texts import edited_document
from langchain_rag import RAGVectorStore


def by_ids(folder: str, data: str, chunks: int) -> dict[str, Any]:
    """`add_documents` with the document's id."""
    rag, _, counter = counted_rag(folder, split=True)
    found = {}
    for name, document in _versions(data, chunks):
        rag.add_documents([document], ids=["edited"])
        found[name] = counter.figures()
    return found


def ours(folder: str, data: str, chunks: int) -> dict[str, Any]:
    """`rag.index()`, of a document without an id."""
    rag, _, counter = counted_rag(folder, split=True)
    found = {}
    for name, document in _versions(data, chunks):
        said = rag.index([document])
        figures = counter.figures()
        assert said.llm_calls == figures["calls"]
        assert said.rows_written == figures["written"]
        found[name] = figures
    return found


def ours_by_index(folder: str, data: str, chunks: int) -> dict[str, Any]:
    """LangChain's `index()` over ours."""
    _, arguments, counter = counted_rag(folder, split=True)
    found = {}
    for name, document in _versions(data, chunks):
        index([document], cleanup="scoped_full", **arguments)
        found[name] = counter.figures()
    return found


def parent(folder: str, data: str, chunks: int) -> dict[str, Any]:
    """LangChain's `index()` over a `ParentDocumentRetriever`."""
    embeddings = CountingEmbeddings()
    store = chroma(f"{folder}/chroma", embeddings)
    counter = Counter(embeddings, store)
    records = SQLRecordManager("edit", db_url="sqlite://")
    records.create_schema()
    retriever = parent_document_retriever(folder, store)
    found = {}
    for name, document in _versions(data, chunks):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its key_encoder is SHA-1 unless told
            index([document], records, retriever, cleanup="scoped_full", source_id_key="source")
        found[name] = counter.figures()
    return found


def _versions(data: str, chunks: int) -> list[tuple[str, Document]]:
    return [
        (name, Document(edited_document(data, chunks, change), metadata={"source": "book"}))
        for name, change in (("first", False), ("edit", True))
    ]


SIDES: dict[str, Side] = {
    "ours": ours,
    "by_ids": by_ids,
    "ours_by_index": ours_by_index,
    "parent": parent,
}
NAMES = {
    "ours": "`rag.index()`",
    "by_ids": "`rag.add_documents(ids=...)`",
    "ours_by_index": "`index()` over ours",
    "parent": "`index()` over `ParentDocumentRetriever` (asks no model)",
}


def report(options: Options) -> None:
    """Print the counts."""
    chunks = options.documents or 300
    print(f"## One paragraph edited in a document of {chunks} chunks\n")
    rows = []
    for side, name in NAMES.items():
        if side == "ours" and not hasattr(RAGVectorStore, "index"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = run_side(__name__, side, folder=folder, data=options.data, chunks=chunks)
        rows.append(_row(name, found))
    if importlib.util.find_spec("llama_index"):
        found = run_side("benchmarks._llama", "edited", data=options.data, chunks=chunks)
        rows.append(_row("LlamaIndex `IngestionPipeline`, upserts and cache", found))
    else:
        print("LlamaIndex is left out: run it with `uv run --group benchmark`.\n")
    rows += _of_the_release(options.data, chunks)
    head = ("way", "model calls", "embeddings", "rows written", "rows deleted", "calls / first")
    table(head, rows)


def _of_the_release(data: str, chunks: int) -> list[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        texts = str(Path(folder) / "texts.json")
        _release.save(
            texts, [edited_document(data, chunks, change) for change in (False, True)]
        )
        try:
            found = _release.run("edited", texts=texts)
        except RuntimeError as error:
            print(f"The public release could not be measured: {error}\n")
            return []
    return [_row(f"langchain-rag {_release.VERSION}, its `index()`", found)]


def _row(name: str, found: dict[str, Any]) -> tuple[object, ...]:
    first, edit = found["first"], found["edit"]
    share = f"{edit['calls'] / first['calls']:.3f}" if first["calls"] else "-"
    figures = ("calls", "embedded", "written", "deleted")
    return (
        name,
        *(f"{edit[key]} of {first[key]}" if key in edit else "-" for key in figures),
        share,
    )
