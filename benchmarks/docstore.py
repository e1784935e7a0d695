"""What `SQLDocStore.mget` costs over SQLAlchemy's own read of the same rows.

Run it with `uv run python -m benchmarks docstore`. A SQLite file gets 100,000 documents; then
each round reads the same 100 random keys in each way, one way after the other. All read the
same columns of the same table, by primary key:

- plain: `select(...).where(key.in_(keys))`, as one writes it;
- plain, decoded: the same, with `json.loads` of the metadata and a `Document` of each row;
- prepared: a statement that is made once, with an expanding parameter for the keys;
- ours: `SQLDocStore.mget`, which also checks keys, and what it reads.
"""

from __future__ import annotations

import json
import platform
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from langchain_core.documents import Document
from sqlalchemy import bindparam, select

from benchmarks._options import Options
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.storage._schema import DOCUMENTS

BATCH = 5000
KEYS = 100
ROUNDS = 300
TEXT = "It was proved in 1796, written down in 1798 and printed in 1801. " * 12


def document(number: int) -> Document:
    """A chunk of about 800 characters, with metadata such as loaders give."""
    return Document(
        TEXT,
        id=f"document-{number}",
        metadata={
            "source": f"folder/file-{number // 10}.pdf",
            "page": number % 10,
            "title": "Disquisitiones Arithmeticae",
            "tags": ["number theory", "latin"],
        },
    )


def key(number: int) -> str:
    """A key as long as those of chunks."""
    return f"chunks/{number:032x}"


def readers(store: SQLDocStore) -> dict[str, Callable[[list[str]], Sequence[object]]]:
    """The ways to read, by name."""
    engine = store.engine
    assert isinstance(engine, sqlalchemy.Engine)
    columns = DOCUMENTS.c
    query = select(columns.key, columns.page_content, columns.id, columns.metadata)
    once = query.where(
        columns.namespace == bindparam("namespace"),
        columns.key.in_(bindparam("keys", expanding=True)),
    )

    def plain(keys: list[str]) -> Sequence[Any]:
        with engine.connect() as connection:
            return connection.execute(
                query.where(columns.namespace == "", columns.key.in_(keys))
            ).all()

    def plain_decoded(keys: list[str]) -> Sequence[object]:
        return [
            Document(text, id=id_, metadata=json.loads(metadata))
            for _, text, id_, metadata in plain(keys)
        ]

    def prepared(keys: list[str]) -> Sequence[Any]:
        with engine.connect() as connection:
            return connection.execute(once, {"namespace": "", "keys": keys}).all()

    return {
        "plain": plain,
        "plain, decoded": plain_decoded,
        "prepared": prepared,
        "ours": store.mget,
    }


def report(options: Options) -> None:
    """Print the figures."""
    count = options.documents or 100_000
    print(f"## Reading {KEYS} of {count} documents\n")
    with tempfile.TemporaryDirectory() as scratch:
        engine = create_engine(f"sqlite:///{Path(scratch)}/rag.db")
        assert isinstance(engine, sqlalchemy.Engine)
        store = SQLDocStore(engine)
        start = time.perf_counter()
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            store.mset([(key(number), document(number)) for number in numbers])
        seconds = time.perf_counter() - start
        print(
            f"Python {platform.python_version()}, SQLAlchemy {sqlalchemy.__version__}, ", end=""
        )
        print(f"SQLite {sqlite3.sqlite_version}")
        print(f"{count} documents written in {seconds:.1f} s")
        _read(store, count, KEYS, ROUNDS)
        engine.dispose()


def _read(store: SQLDocStore, documents: int, keys: int, rounds: int) -> None:
    chance = random.Random(1801)
    ways = readers(store)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 20):
        asked = [key(number) for number in chance.sample(range(documents), keys)]
        names = list(ways)
        chance.shuffle(names)  # none is always the one that warms the cache
        for name in names:
            start = time.perf_counter()
            found = ways[name](asked)
            took = time.perf_counter() - start
            assert len(found) == keys
            if turn >= 20:
                seconds[name].append(took)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"{keys} random keys, median of {rounds} rounds")
    for name, median in medians.items():
        # Round by round, since what else the machine does slows all ways of a round alike.
        ratios = [ours / it for ours, it in zip(seconds["ours"], seconds[name], strict=True)]
        print(f"  {name}: {median * 1e3:.2f} ms; ours / it: {statistics.median(ratios):.2f}")
