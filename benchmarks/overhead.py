"""What an import costs without any model, against the same variations written by hand.

Both sides make the same five variations of each document and write them with the same
batches; the plain one stops there. Ours keeps chunks and bookkeeping in SQLite as well: as
`RAGVectorStore` with a `SQLDocStore`, and as `from_vs_in_sql` makes it, with caches.
"""

from __future__ import annotations

import tempfile
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks._options import Options
from benchmarks._process import Side, Stopwatch, clock, in_turn, peak_mb, run_side, table
from benchmarks._stores import CountingEmbeddings, databases, new_database, opened
from benchmarks._texts import VARIATIONS, Parts, documents
from langchain_rag import RAGVectorStore
from langchain_rag.storage import SQLDocStore, create_engine

BATCH = 100


def plain(store: str, place: str, data: str, count: int, **_: str) -> dict[str, Any]:
    """Write the variations straight to the store."""
    wrapped = opened(store, place, CountingEmbeddings())
    given = list(documents(data, count))
    parts = Parts()
    with clock() as took:
        for start in range(0, count, BATCH):
            rows = parts.transform_documents(given[start : start + BATCH])
            rows = [_with_keys(row) for row in rows]
            wrapped.add_documents(rows, ids=[str(row.id) for row in rows])
    return {"seconds": took.wall, "cpu": took.cpu, "peak": peak_mb(), "rows": len(given) * 5}


def _with_keys(row: Document) -> Document:
    # As much metadata as ours: what is written should weigh the same.
    keys = {"kind": "x" * 5, "chunk": str(uuid.uuid4()), "document": "document-1000"}
    return Document(row.page_content, id=str(uuid.uuid4()), metadata=row.metadata | keys)


def ours(
    store: str, place: str, data: str, count: int, docstore: str, make: str
) -> dict[str, Any]:
    """Import through `RAGVectorStore`."""
    wrapped = opened(store, place, CountingEmbeddings())
    if make == "sql":
        rag, _ = RAGVectorStore.from_vs_in_sql(
            wrapped, db_url=docstore, chunk_transformer=Parts()
        )
    else:
        rag = RAGVectorStore(
            vectorstore=wrapped,
            docstore=SQLDocStore(create_engine(docstore)),
            chunk_transformer=Parts(),
        )
    given = list(documents(data, count))
    inside = Stopwatch(wrapped, "add_documents")
    with clock() as took:
        rag.add_documents(given, batch_size=BATCH)
    return {
        "seconds": took.wall,
        "cpu": took.cpu,
        "peak": peak_mb(),
        "outside": took.wall - inside.seconds,
        "share": took.wall / inside.seconds,
    }


SIDES: dict[str, Side] = {"plain": plain, "ours": ours}


def report(options: Options) -> None:
    """Print the ratios, for both stores."""
    count = options.documents or 1_000
    print(f"## Import without a model: {count} documents, {count * VARIATIONS} variations\n")
    rows = []
    with tempfile.TemporaryDirectory() as scratch, databases() as server:
        for store in options.stores:
            run = partial(_run, options.data, Path(scratch), server, store, count)
            found = in_turn(
                options.turns,
                {
                    "plain": partial(run, "plain", None),
                    "again": partial(run, "plain", None),
                    "docstore": partial(run, "ours", "docstore"),
                    "sql": partial(run, "ours", "sql"),
                },
            )
            names = {
                "docstore": "`RAGVectorStore`, `SQLDocStore`",
                "sql": "`from_vs_in_sql`",
                "again": "plain, the noise",
            }
            for side, name in names.items():
                seconds = (found.median(side, "seconds"), found.median("plain", "seconds"))
                rows.append(
                    (
                        store,
                        name,
                        f"{found.ratio(side, 'plain', 'seconds'):.2f}",
                        f"{seconds[0]:.2f} s / {seconds[1]:.2f} s",
                        f"{found.ratio(side, 'plain', 'cpu'):.2f}",
                        f"{found.ratio(side, 'plain', 'peak'):.2f}",
                        f"{found.median(side, 'peak'):.0f} MB",
                    )
                )
    table(("store", "side", "time / plain", "", "CPU / plain", "peak memory / plain", ""), rows)


def _run(
    data: str,
    scratch: Path,
    server: str,
    store: str,
    count: int,
    side: str,
    make: str | None,
    turn: int,  # noqa: ARG001 - each turn has new places anyhow
) -> dict[str, Any]:
    name = uuid.uuid4().hex
    place = str(scratch / name) if store == "chroma" else new_database(server)
    docstore = f"sqlite:///{scratch / name}.db"
    return run_side(
        __name__,
        side,
        store=store,
        place=place,
        data=data,
        count=count,
        docstore=docstore,
        make=make,
    )
