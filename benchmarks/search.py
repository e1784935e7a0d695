"""What a search costs over the wrapped store's own search for as many hits.

10,000 chunks with five variations each, which lie near their chunk, in Chroma on disk. Each
query is asked of ours, of Chroma, and of Chroma once more (the noise), in random order, within
one process; each docstore has a process of its own. Chroma's own search asks for as many hits
as ours was seen to ask for with that query. Embedding the query counts on both sides.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.stores import BaseStore, InMemoryStore

from benchmarks._options import Options
from benchmarks._process import Side, run_side, table
from benchmarks._stores import CountingEmbeddings, chroma
from benchmarks._texts import VARIATIONS, Parts, documents, passages
from langchain_rag import RAGVectorStore
from langchain_rag.storage import SQLDocStore, create_engine

K = 4
QUERIES = 400
WARM = 50


def build(folder: str, data: str, count: int) -> dict[str, Any]:
    """Fill both stores once, for all that search them."""
    rag = _opened(folder, _in_sql(folder))
    given = list(documents(data, count))
    rag.add_documents(given, batch_size=500)
    return {"chunks": count}


def searched(folder: str, data: str, docstore: str, queries: int) -> dict[str, Any]:
    """Time all searches with one docstore."""
    store: BaseStore[str, Document] = _in_sql(folder)
    if docstore == "memory":
        store = _in_memory(store)
    rag = _opened(folder, store)
    wrapped = rag.vectorstore
    assert isinstance(wrapped, Chroma)
    asked = _Asked(wrapped)
    chance = random.Random(1801)
    seconds: dict[str, list[float]] = {"ours": [], "plain": [], "again": []}
    distinct = hits = 0
    for turn, query in enumerate(_queries(data, WARM + queries)):
        asked.hits.clear()
        found = rag.similarity_search(query, k=K)
        distinct += len({document.page_content for document in found}) == K
        hits += sum(asked.hits)
        plain = partial(wrapped.similarity_search, query, k=max(asked.hits))
        ways = {"ours": partial(rag.similarity_search, query, k=K), "plain": plain}
        ways["again"] = plain
        names = list(ways)
        chance.shuffle(names)
        for name in names:
            start = time.perf_counter()
            ways[name]()
            took = time.perf_counter() - start
            if turn >= WARM:
                seconds[name].append(took)
    return {
        "seconds": seconds,
        "hits": hits / (WARM + queries),
        "distinct": distinct / (WARM + queries),
        "collapsed": _collapsed(wrapped, data),
    }


class _Asked:
    """Notes how many hits Chroma is asked for."""

    def __init__(self, wrapped: Chroma) -> None:
        self.hits: list[int] = []
        collection: Any = wrapped._collection  # noqa: SLF001 - there is no public way
        query = collection.query

        def noting(*args: Any, **kwargs: Any) -> Any:
            self.hits.append(kwargs["n_results"])
            return query(*args, **kwargs)

        collection.query = noting


def _collapsed(wrapped: Chroma, data: str) -> float:
    """Return how many distinct chunks stand behind Chroma's own first four hits."""
    found = []
    for query in _queries(data, 100):
        rows = wrapped.similarity_search(query, k=K)
        found.append(len({row.metadata["langchain_rag_chunk"] for row in rows}))
    return statistics.mean(found)


def _queries(data: str, count: int) -> list[str]:
    """Return questions that people asked, or parts of the text where there are none."""
    listed = []
    for path in sorted(
        [*Path(data).rglob("queries.jsonl"), *Path(data).rglob("questions.jsonl")]
    ):
        listed += [json.loads(row)["text"] for row in path.read_text("utf-8").splitlines()]
    if not listed:
        listed = list(passages(data, 500, 12))
    return [listed[n % len(listed)] for n in range(count)]


def _in_sql(folder: str) -> SQLDocStore:
    return SQLDocStore(create_engine(f"sqlite:///{folder}/docstore.db"))


def _in_memory(store: BaseStore[str, Document]) -> InMemoryStore:
    keys = list(store.yield_keys())
    memory = InMemoryStore()
    memory.mset(list(zip(keys, store.mget(keys), strict=True)))
    return memory


def _opened(folder: str, docstore: BaseStore[str, Document]) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=chroma(f"{folder}/chroma", CountingEmbeddings()),
        docstore=docstore,
        chunk_transformer=Parts(),
    )


SIDES: dict[str, Side] = {"build": build, "searched": searched}


def report(options: Options) -> None:
    """Print the ratios, with both docstores."""
    count = options.documents or 10_000
    print(f"## Search, k={K}, over {count * VARIATIONS} vectors of {count} chunks\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        run_side(__name__, "build", folder=folder, data=options.data, count=count)
        for docstore in ("memory", "SQLite"):
            found = run_side(
                __name__,
                "searched",
                folder=folder,
                data=options.data,
                docstore=docstore,
                queries=QUERIES,
            )
            rows += [_row(docstore, name, found) for name in ("ours", "again")]
        print(
            f"Ours asks for {found['hits']:.1f} hits on average, and found {K} distinct chunks "
            f"in {found['distinct']:.1%} of the searches; behind Chroma's own first {K} hits "
            f"stand {found['collapsed']:.2f}.\n"
        )
    head = ("docstore", "side", "median / plain", "p95 / plain", "paired", "median", "p95")
    table(head, rows)


def _row(docstore: str, name: str, found: dict[str, Any]) -> tuple[object, ...]:
    side, plain = found["seconds"][name], found["seconds"]["plain"]
    medians = statistics.median(side), statistics.median(plain)
    p95s = statistics.quantiles(side, n=20)[-1], statistics.quantiles(plain, n=20)[-1]
    paired = statistics.median(a / b for a, b in zip(side, plain, strict=True))
    return (
        docstore,
        "ours" if name == "ours" else "plain, the noise",
        f"{medians[0] / medians[1]:.2f}",
        f"{p95s[0] / p95s[1]:.2f}",
        f"{paired:.2f}",
        f"{medians[0] * 1e3:.2f} / {medians[1] * 1e3:.2f} ms",
        f"{p95s[0] * 1e3:.2f} / {p95s[1] * 1e3:.2f} ms",
    )
