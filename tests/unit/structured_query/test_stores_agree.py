"""The same documents pass a filter on every store, as far as the store can filter."""

import asyncio
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.structured_query import Comparator, StructuredQuery

from langchain_rag.structured_query import translator_for
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.testing._over_store import opened
from tests.conformance import stores
from tests.unit.structured_query.reference import (
    EXACT,
    LISTS,
    ORDER,
    compared,
    passing,
    trees,
)

NUMBERS = [None, -1, 0, 1, 2, -1.5, -1.0, 0.5, 1.0, 1.5, 1e16, 1e-07]
WHOLE = [None, -1, 0, 1, 2]
TEXTS = [None, "a", "B", "b", "zeé", "50%_x", "it's", 'a\\b"q', "x y"]
TRUTHS = [None, True, False]
DATES = [None, "2024-01-30", "2024-01-31", "2025-01-01"]
MIXED = [None, 1, 2.5, "a", "zz", True]
SPACED = [None, "a"]


@dataclass
class Case:
    """What a store can do.

    Attributes:
        kind: The store.
        texts: Whether it orders text.
        dates: Whether it orders dates.
        parts: What it has of `contain` and `like`.
        whole: Text that it can look for as a part.
        mixed: What one key of the metadata may hold.
        mixed_order: Whether it orders a key that holds more than numbers.
        others: Comparisons with values of another type than the key has.
        fields: Names of its keys.
    """

    kind: type[stores.Store]
    texts: bool = True
    dates: bool = True
    parts: tuple[Comparator, ...] = (Comparator.CONTAIN, Comparator.LIKE)
    whole: tuple[str, ...] = ("a", "b", "%_", "\\b", "'", " ", '"')
    mixed: list[Any] = field(default_factory=lambda: MIXED)
    mixed_order: bool = True
    others: bool = True
    spaced: bool = True

    def rows(self):
        """Few rows in which all values occur, with and without others."""
        columns: dict[str, list[Any]] = {
            "n": NUMBERS,
            "w": WHOLE,
            "t": TEXTS,
            "b": TRUTHS,
            "d": DATES,
        }
        columns |= {"m": self.mixed} | ({"a key": SPACED} if self.spaced else {})
        rows = []
        for number, (turn, shift) in enumerate(product(range(12), range(5))):
            row = {"row": number}
            for place, (key, values) in enumerate(columns.items()):
                row[key] = values[(turn + shift * place) % len(values)]
            rows.append({key: value for key, value in row.items() if value is not None})
        return rows

    def filters(self):
        """Random filters that the store can take."""
        texts = st.sampled_from(TEXTS[1:])
        numbers = st.sampled_from(NUMBERS[1:])
        truths = st.booleans()
        dates = st.sampled_from(DATES[1:])
        moments = dates.map(lambda text: {"date": text, "type": "date"})
        anything = numbers | texts | truths if self.others else numbers
        some = [
            compared(EXACT, ["n", "w"], anything),
            compared(ORDER, ["n", "w"], numbers),
            compared(EXACT, ["t"], anything if self.others else texts),
            compared(EXACT, ["b"], anything if self.others else truths),
            compared(EXACT, ["d"], dates | moments),
            compared(LISTS, ["n", "w"], st.lists(anything, max_size=4)),
            compared(LISTS, ["t", "d"], st.lists(texts | dates, max_size=4)),
        ]
        if any(self.mixed):
            some.append(compared(EXACT, ["m"], st.sampled_from(self.mixed[1:])))
            some.append(
                compared(LISTS, ["m"], st.lists(st.sampled_from(self.mixed[1:]), max_size=3))
            )
        if self.mixed_order:
            some.append(compared(ORDER, ["m"], numbers | texts if self.texts else numbers))
        if self.texts:
            some.append(compared(ORDER, ["t"], texts))
        if self.dates:
            some.append(compared(ORDER, ["d"], moments))
        if self.spaced:
            some.append(compared(EXACT, ["a key"], texts))
        if Comparator.CONTAIN in self.parts:
            some.append(compared([Comparator.CONTAIN], ["t"], st.sampled_from(self.whole)))
        if Comparator.LIKE in self.parts:
            patterns = st.sampled_from(["A", "%B", "_%", "i_'S", "%q", "a\\b%", "X"])
            some.append(compared([Comparator.LIKE], ["t"], patterns))
        return trees(st.one_of(some))


class LanceRows(stores.Lance):
    """Its columns have types, and all rows all of them."""

    def rows(self, rows):
        keys = {"row", "n", "w", "t", "b", "d", "a key"}
        return [
            {
                key: float(row[key]) if key == "n" and key in row else row.get(key)
                for key in keys
            }
            | {key: row.get(key, "") for key in ("t", "d", "a key")}
            for row in rows
        ]


class PGVector(stores.Store):
    title = "PGVector"

    def make_store(self, embeddings):
        from langchain_postgres import PGVector

        store: Any = PGVector(embeddings, connection=self.url, collection_name=self.new_name())
        yield store
        store.delete_collection()
        store._engine.dispose()


SERVER = [pytest.mark.integration, pytest.mark.full]
CASES = [
    pytest.param(Case(stores.InMemory), id="memory"),
    pytest.param(
        Case(stores.ChromaInMemory, texts=False, dates=False, parts=()),
        id="chroma",
        marks=pytest.mark.full,
    ),
    pytest.param(
        Case(stores.Qdrant, texts=False, parts=(Comparator.CONTAIN,)),
        id="qdrant",
        marks=pytest.mark.full,
    ),
    pytest.param(Case(stores.Faiss), id="faiss", marks=pytest.mark.full),
    pytest.param(
        Case(LanceRows, mixed=[None], mixed_order=False),
        id="lance",
        marks=[
            pytest.mark.full,
            pytest.mark.filterwarnings("ignore:No results found for the query:UserWarning"),
        ],
    ),
    pytest.param(
        Case(
            stores.MilvusLite,
            # It has no truth values apart from 1 and 0.
            mixed=MIXED[:-1],
            others=False,
            parts=(Comparator.CONTAIN,),
            whole=("a", "b", "'", " ", '"'),
        ),
        id="milvus",
        marks=SERVER,
    ),
    pytest.param(
        Case(stores.Postgres, mixed_order=False, spaced=False),
        id="postgres",
        marks=SERVER,
    ),
    pytest.param(Case(PGVector, spaced=False), id="pgvector", marks=SERVER),
]


@pytest.fixture(scope="module", params=CASES)
def filled(request, tmp_path_factory):
    """A case, its rows, and its store with them."""
    case = request.param
    kind = case.kind()
    kind.folder = tmp_path_factory.mktemp("stores")
    if issubclass(case.kind, stores.Postgres | PGVector):
        kind.url = request.getfixturevalue("postgres_url")
    rows = case.rows()
    with asyncio.Runner() as runner:
        opening = opened(kind.make_store(CountingEmbeddings(8)))
        store = runner.run(opening.__aenter__())
        written = kind.rows(rows) if hasattr(kind, "rows") else rows
        store.add_documents(
            [Document("x", metadata=row) for row in written],
            ids=[f"00000000-0000-0000-0000-{number:012}" for number in range(len(rows))],
        )
        yield case, rows, store
        runner.run(opening.__aexit__(None, None, None))


def found(store, directive):
    search = translator_for(store).visit_structured_query(StructuredQuery("", directive))[1]
    return {document.metadata["row"] for document in store.similarity_search("x", 99, **search)}


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=25,
)
@given(data=st.data())
def test_random_filters(filled, data):
    case, rows, store = filled
    directive = data.draw(case.filters())
    assert found(store, directive) == passing(directive, rows)
