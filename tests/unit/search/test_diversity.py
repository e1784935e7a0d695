"""Chunks unlike each other, by the vectors of what found them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from langchain_core.documents import Document

from langchain_rag.backends.backend import Backend
from langchain_rag.lifecycle.records import ChunkRecord
from langchain_rag.search.diversity import most_diverse, vectors_of
from langchain_rag.search.engine import Hit
from langchain_rag.testing import CountingEmbeddings, Driver
from tests.unit.flows import drive_plainly


def hit(text: str, id_: str | None) -> Hit[None]:
    record = ChunkRecord(text, "doc", text, 0, {}, whole=False, fan_out=1)
    return Hit(record, Document(text, id=id_), None, 1)


def at(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def reference(
    asked: Sequence[float], vectors: Sequence[Sequence[float]], k: int, weight: float
) -> list[int]:
    """The definition, word for word."""

    def cosine(one: Sequence[float], two: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(one, two, strict=True))

    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        left = [n for n in range(len(vectors)) if n not in chosen]
        chosen.append(
            max(
                left,
                key=lambda n: (
                    # The first is the nearest, whatever the weight.
                    cosine(asked, vectors[n])
                    if not chosen
                    else weight * cosine(asked, vectors[n])
                    - (1 - weight) * max(cosine(vectors[n], vectors[c]) for c in chosen)
                ),
            )
        )
    return chosen


@pytest.mark.parametrize("weight", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_by_the_definition(weight: float, k: int) -> None:
    vectors = [at(degrees) for degrees in (3, -5, 8, 40, -61)]
    hits = [hit(str(n), None) for n in range(5)]
    chosen = most_diverse(at(0), hits, vectors, k, weight)
    assert chosen == [hits[n] for n in reference(at(0), vectors, k, weight)]


def test_none_found() -> None:
    assert most_diverse(at(0), [], [], 3, 0.5) == []


HITS = [hit("one", "1"), hit("two", "2"), hit("one", "3")]


@pytest.mark.parametrize("known", [["1", "2", "3"], ["2"], [], None])
async def test_vectors_come_from_the_store_or_are_made(
    driver: Driver, known: list[str] | None
) -> None:
    embeddings = CountingEmbeddings()
    asked: list[list[str]] = []

    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        asked.append(list(ids))
        return {id_: [float(id_)] for id_ in known or []}

    backend = Backend("a store", vectors=None if known is None else vectors)
    found = await drive_plainly(driver, vectors_of(backend, embeddings, HITS))
    assert found == [
        [float(str(h.variation.id))]
        if h.variation.id in (known or [])
        else embeddings.vector(h.variation.page_content)
        for h in HITS
    ]
    assert asked == ([] if known is None else [["1", "2", "3"]])
    missing = [h for h in HITS if h.variation.id not in (known or [])]
    assert embeddings.documents == list(
        dict.fromkeys(h.variation.page_content for h in missing)
    )


async def test_rows_without_an_id(driver: Driver) -> None:
    embeddings = CountingEmbeddings()
    hits = [hit("one", None), hit("two", "2")]

    asked: list[str] = []

    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        asked.extend(ids)
        return {}

    backend = Backend("a store", vectors=vectors)
    found = await drive_plainly(driver, vectors_of(backend, embeddings, hits))
    assert found == [embeddings.vector("one"), embeddings.vector("two")]
    assert set(asked) <= {"2"}


async def test_no_rows(driver: Driver) -> None:
    embeddings = CountingEmbeddings()
    for vectors in (None, lambda _: dict[str, Sequence[float]]()):
        backend = Backend("a store", vectors=vectors)
        assert await drive_plainly(driver, vectors_of(backend, embeddings, [])) == []
    assert embeddings.batches == 0
