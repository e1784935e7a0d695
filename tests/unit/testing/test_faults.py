"""The fault plan itself: what it counts, what it applies, when it raises."""

from __future__ import annotations

import asyncio
import copy

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.testing import (
    MOMENTS,
    Call,
    CountingEmbeddings,
    Driver,
    FaultPlan,
    FaultyDocStore,
    FaultyVectorStore,
    InjectedCrash,
    InjectedFault,
    Moment,
)

DOCS = [Document(text) for text in ("one", "two", "three", "four")]
IDS = ["1", "2", "3", "4"]
APPLIED: dict[Moment, int] = {"before": 0, "inside": 2, "after": 4}


@pytest.fixture
def plan() -> FaultPlan:
    return FaultPlan()


@pytest.fixture
def vectors(plan: FaultPlan) -> FaultyVectorStore:
    return FaultyVectorStore(InMemoryVectorStore(CountingEmbeddings()), plan)


@pytest.fixture
def docs(plan: FaultPlan) -> FaultyDocStore:
    return FaultyDocStore(InMemoryStore(), plan)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_add_applies_what_the_moment_says(
    driver: Driver, vectors: FaultyVectorStore, plan: FaultPlan, moment: Moment
) -> None:
    plan.arm(1, moment)
    with pytest.raises(InjectedFault, match=f"injected {moment} call 1: add_documents of 4"):
        await driver(vectors, "add_documents", DOCS, ids=IDS)
    assert len(await driver(vectors, "get_by_ids", IDS)) == APPLIED[moment]
    # An ordinary failure is over when it is over.
    assert await driver(vectors, "add_documents", DOCS, ids=IDS) == IDS
    assert len(vectors.store) == 4


@pytest.mark.parametrize("moment", MOMENTS)
async def test_delete_applies_what_the_moment_says(
    driver: Driver, vectors: FaultyVectorStore, plan: FaultPlan, moment: Moment
) -> None:
    await driver(vectors, "add_documents", DOCS, ids=IDS)
    plan.arm(1, moment)
    with pytest.raises(InjectedFault, match=f"injected {moment} call 1: delete of 4"):
        await driver(vectors, "delete", IDS)
    assert len(vectors.store) == 4 - APPLIED[moment]
    await driver(vectors, "delete", IDS)
    assert not vectors.store


@pytest.mark.parametrize("moment", MOMENTS)
async def test_the_docstore_applies_what_the_moment_says(
    driver: Driver, docs: FaultyDocStore, plan: FaultPlan, moment: Moment
) -> None:
    pairs = list(zip(IDS, DOCS, strict=True))
    plan.arm(1, moment)
    with pytest.raises(InjectedFault, match="mset of 4"):
        await driver(docs, "mset", pairs)
    assert len(await driver(docs, "yield_keys")) == APPLIED[moment]
    await driver(docs, "mset", pairs)
    plan.arm(1, moment)
    with pytest.raises(InjectedFault, match="mdelete of 4"):
        await driver(docs, "mdelete", IDS)
    assert len(await driver(docs, "yield_keys", prefix="")) == 4 - APPLIED[moment]
    await driver(docs, "mdelete", IDS)
    assert await driver(docs, "mget", IDS) == [None] * 4


async def test_rows_without_ids_are_halved_too(
    driver: Driver, vectors: FaultyVectorStore, plan: FaultPlan
) -> None:
    plan.arm(1, "inside")
    with pytest.raises(InjectedFault):
        await driver(vectors, "add_documents", DOCS)
    assert len(vectors.store) == 2


async def test_after_a_crash_nothing_runs(
    driver: Driver, vectors: FaultyVectorStore, docs: FaultyDocStore, plan: FaultPlan
) -> None:
    await driver(vectors, "add_documents", DOCS, ids=IDS)
    plan.arm(1, "before", InjectedCrash)
    with pytest.raises(InjectedCrash, match="injected before call 1"):
        await driver(docs, "mset", [("a", DOCS[0])])
    vector = CountingEmbeddings().vector("one")
    calls = [
        (vectors, "add_documents", DOCS),
        (vectors, "delete", IDS),
        (vectors, "get_by_ids", IDS),
        (vectors, "similarity_search", "one"),
        (vectors, "similarity_search_with_score", "one"),
        (vectors, "similarity_search_by_vector", vector),
        (vectors, "max_marginal_relevance_search", "one"),
        (vectors, "max_marginal_relevance_search_by_vector", vector),
        (docs, "mset", [("a", DOCS[0])]),
        (docs, "mget", ["a"]),
        (docs, "mdelete", ["a"]),
        (docs, "yield_keys"),
    ]
    for target, method, *args in calls:
        with pytest.raises(InjectedCrash, match="the process is dead"):
            await driver(target, str(method), *args)
    assert plan.names() == ["add_documents", "mset"]
    plan.restart()
    for target, method, *args in calls:
        await driver(target, str(method), *args)


async def test_reads_are_forwarded_and_not_counted(
    driver: Driver, vectors: FaultyVectorStore, plan: FaultPlan
) -> None:
    await driver(vectors, "add_documents", DOCS, ids=IDS)
    plan.forget()
    vector = CountingEmbeddings().vector("two")
    assert (await driver(vectors, "similarity_search", "two", k=1))[0].id == "2"
    scored = await driver(vectors, "similarity_search_with_score", "two", k=1)
    assert scored[0][1] == pytest.approx(1.0)
    assert (await driver(vectors, "similarity_search_by_vector", vector, k=1))[0].id == "2"
    mmr = "max_marginal_relevance_search"
    assert (await driver(vectors, mmr, "two", k=1))[0].id == "2"
    assert (await driver(vectors, f"{mmr}_by_vector", vector, k=1))[0].id == "2"
    # The in-memory store has no relevance function; what it raises comes through.
    with pytest.raises(NotImplementedError):
        await driver(vectors, "similarity_search_with_relevance_scores", "two")
    assert vectors.embeddings is vectors.inner.embeddings
    assert plan.calls == []


def test_faults_that_are_armed_together_follow_one_another(
    docs: FaultyDocStore, plan: FaultPlan
) -> None:
    plan.arm(2, "after")
    plan.arm(1, "before", KeyboardInterrupt)
    docs.mset([("a", 1)])
    with pytest.raises(InjectedFault):
        docs.mset([("b", 1)])
    with pytest.raises(KeyboardInterrupt):
        docs.mset([("c", 1)])
    assert not plan.armed
    assert not plan.dead
    docs.mset([("d", 1)])
    assert [*docs.yield_keys()] == ["a", "b", "d"]
    assert plan.calls == [Call("mset", 1, (key,)) for key in "abcd"]


def test_a_restart_takes_back_what_was_armed(docs: FaultyDocStore, plan: FaultPlan) -> None:
    plan.arm(1, "before")
    plan.restart()
    docs.mset([("a", 1)])
    assert not plan.armed


def test_calls_are_numbered_from_one(plan: FaultPlan) -> None:
    with pytest.raises(ValueError, match="1 \\(the next one\\) or more, not 0"):
        plan.arm(0, "before")


async def test_a_cancellation_is_a_flavour(vectors: FaultyVectorStore, plan: FaultPlan) -> None:
    plan.arm(1, "inside", asyncio.CancelledError)
    with pytest.raises(asyncio.CancelledError):
        await vectors.aadd_documents(DOCS, ids=IDS)
    assert sorted(vectors.store) == ["1", "2"]


def test_a_faulty_store_is_not_made_from_texts(vectors: FaultyVectorStore) -> None:
    with pytest.raises(NotImplementedError, match="Make the inner store first"):
        FaultyVectorStore.from_texts(["a"], CountingEmbeddings())
    assert copy.copy(vectors).inner is vectors.inner


async def test_inside_a_call_for_one_row_nothing_is_done(
    driver: Driver, vectors: FaultyVectorStore, docs: FaultyDocStore, plan: FaultPlan
) -> None:
    await driver(vectors, "add_documents", DOCS[:1], ids=["1"])
    await driver(docs, "mset", [("1", DOCS[0])])
    calls = [
        (vectors, "add_documents", DOCS[1:2]),
        (vectors, "delete", ["1"]),
        (docs, "mset", [("2", DOCS[1])]),
        (docs, "mdelete", ["1"]),
    ]
    for target, method, *args in calls:
        plan.arm(1, "inside")
        with pytest.raises(InjectedFault, match="of 1"):
            await driver(target, str(method), *args)
    assert [*vectors.store] == [*docs.yield_keys()] == ["1"]
