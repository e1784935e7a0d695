"""Relevance and recency, against the formula."""

from __future__ import annotations

import datetime as dt
import math

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.retrievers.time_weighted import TimeWeightedRetriever, moment_of
from langchain_rag.testing import ScriptedTransformer
from langchain_rag.vectorstores import RAGVectorStore

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
HOURS = {f"text {n}": (n * 7919) % 600 / 4 for n in range(30)}


def written(text: str, shape: int) -> object:
    """The time of a text, as a datetime, as text, as seconds, or none at all."""
    moment = NOW - dt.timedelta(hours=HOURS[text])
    eastern = moment.astimezone(dt.timezone(dt.timedelta(hours=-5)))
    return [moment, eastern.isoformat(), moment.timestamp(), None][shape]


def metadata(n: int, text: str) -> dict[str, object]:
    value = written(text, n % 4)
    return {} if value is None else {"seen": value}


async def test_against_the_formula(driver, space):
    rag = space.rag(
        chunk_transformer=CopyDocumentTransformer()
        + ScriptedTransformer(lambda text: [f"{text} again"])
    )
    documents = [Document(text, metadata=metadata(n, text)) for n, text in enumerate(HOURS)]
    await driver(rag, "add_documents", documents)
    orders = set()
    for decay in (0.0, 0.01, 0.3, 1.0):
        for k, fetch_k in [(3, None), (5, 7), (30, None)]:
            retriever = TimeWeightedRetriever(
                vectorstore=rag,
                k=k,
                fetch_k=fetch_k,
                timestamp_key="seen",
                decay_rate=decay,
                now=lambda: NOW,
                fallback=False,
            )
            relevance = {
                text: max(
                    space.embeddings.similarity("which?", made)
                    for made in (text, f"{text} again")
                )
                for text in HOURS
            }
            number = max(k, fetch_k or max(20, 5 * k))
            nearest = sorted(relevance, key=lambda text: -relevance[text])[:number]
            names = list(HOURS)
            total = {
                text: relevance[text]
                + (0.0 if names.index(text) % 4 == 3 else (1 - decay) ** HOURS[text])
                for text in nearest
            }
            expected = sorted(total, key=lambda text: -total[text])[:k]
            found = await driver(retriever, "invoke", "which?")
            assert [one.page_content for one in found] == expected
            orders.add(tuple(expected[:3]))
    assert len(orders) > 3


NOTHING: list[object] = [None, True, "", "yesterday", [], math.nan, math.inf, 10**30]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NOW.replace(tzinfo=None), NOW),
        (NOW, NOW),
        (dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
        ("2026-01-02", dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
        ("2026-01-02T03:04:05+02:00", dt.datetime(2026, 1, 2, 1, 4, 5, tzinfo=dt.UTC)),
        ("2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (0, dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
        (86400.5, dt.datetime(1970, 1, 2, microsecond=500000, tzinfo=dt.UTC)),
        *((nothing, None) for nothing in NOTHING),
    ],
)
def test_times_in_any_form(value, expected):
    assert moment_of(value) == expected


async def test_what_is_imported_again_is_new_again(driver, memory):
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    old = {"updated_at": (NOW - dt.timedelta(days=30)).isoformat()}
    ids = ["a", "b"]
    await driver(
        rag,
        "add_documents",
        [Document("alpha one", metadata=old), Document("alpha", metadata=old)],
        ids=ids,
    )
    retriever = TimeWeightedRetriever(vectorstore=rag, k=2, now=lambda: NOW, fallback=False)
    assert [one.id for one in await driver(retriever, "invoke", "alpha")] == ["b", "a"]
    new = {"updated_at": (NOW - dt.timedelta(hours=1)).isoformat()}
    await driver(rag, "add_documents", [Document("alpha one", metadata=new)], ids=["a"])
    assert [one.id for one in await driver(retriever, "invoke", "alpha")] == ["a", "b"]


async def test_a_time_to_come_is_as_new_as_now(driver, memory):
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    later = {"updated_at": NOW + dt.timedelta(days=9999)}
    await driver(
        rag,
        "add_documents",
        [
            Document("alpha one", metadata=later),
            Document("alpha", metadata={"updated_at": NOW}),
        ],
        ids=["later", "now"],
    )
    retriever = TimeWeightedRetriever(vectorstore=rag, k=2, now=lambda: NOW, fallback=False)
    assert [one.id for one in await driver(retriever, "invoke", "alpha")] == ["now", "later"]


async def test_a_clock_without_a_zone_tells_local_time(driver, memory):
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    await driver(
        rag,
        "add_documents",
        [Document("alpha one", metadata={"updated_at": NOW}), Document("alpha")],
        ids=["dated", "undated"],
    )
    retriever = TimeWeightedRetriever(
        vectorstore=rag,
        k=1,
        now=lambda: NOW.astimezone().replace(tzinfo=None),
        fallback=False,
    )
    assert [one.id for one in await driver(retriever, "invoke", "alpha")] == ["dated"]


async def test_the_present_time_is_asked_for(driver, memory):
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    now = dt.datetime.now(dt.UTC)
    await driver(
        rag,
        "add_documents",
        [
            Document("alpha", metadata={"updated_at": now - dt.timedelta(hours=2000)}),
            Document("alpha one", metadata={"updated_at": now}),
        ],
        ids=["old", "new"],
    )
    retriever = TimeWeightedRetriever(vectorstore=rag, k=1, fallback=False)
    assert [one.id for one in await driver(retriever, "invoke", "alpha")] == ["new"]
