"""Words and vectors, fused by rank."""

import asyncio
import logging
import threading

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import Comparator, Comparison
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers import HybridRetriever
from langchain_rag.testing import CountingEmbeddings, ScriptedTransformer
from langchain_rag.vectorstores import RAGVectorStore


def dispose(rag):
    rag.docstore.engine.dispose()


WORDS = ["apple", "berry", "cedar", "daisy", "elder", "fern"]


def texts():
    """Thirty texts of which no two say the same."""
    return [
        " ".join(WORDS[(n * step) % 6] for step in range(1, 3 + n % 4)) + f" number{n}"
        for n in range(30)
    ]


@pytest.fixture
def rag():
    rag, _ = RAGVectorStore.from_vs_in_sql(
        InMemoryVectorStore(CountingEmbeddings()),
        db_url="sqlite://",
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(lambda text: [text, text.upper()]),
    )
    rag.add_documents(
        [Document(text, id=str(n), metadata={"n": n}) for n, text in enumerate(texts())]
    )
    yield rag
    dispose(rag)


def fused(lists, weights, c, k):
    """Ids and sums, as the formula reads; of equals the first list's come first."""
    order = list(dict.fromkeys(id_ for ids in lists for id_ in ids))
    sums = {
        id_: sum(
            weight / (c + ids.index(id_) + 1)
            for ids, weight in zip(lists, weights, strict=True)
            if id_ in ids
        )
        for id_ in order
    }
    return sorted(order, key=lambda id_: -sums[id_])[:k], sums


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (1, 3), (0, 1), (1, 0)])
@pytest.mark.parametrize("c", [0, 60])
async def test_ranks_are_fused_by_the_formula(driver, rag, weights, c):
    for query in ("apple", "number7 cedar fern", "daisy daisy number20"):
        vectors = [d.id for d in rag.similarity_search(query, k=20)]
        words = [d.id for d in rag.as_lexical_retriever(k=20).invoke(query)]
        used = [
            ids if weight else [] for ids, weight in zip((vectors, words), weights, strict=True)
        ]
        expected, sums = fused(used, weights, c, 5)
        retriever = rag.as_hybrid_retriever(
            5, weights, c, search_kwargs={"match_details": True}
        )
        found = await driver(retriever, "invoke", query)
        assert [d.id for d in found] == expected
        for rank, document in enumerate(found, start=1):
            match = document.metadata["langchain_rag_match"]
            assert match["rank"] == rank
            assert match["score"] == pytest.approx(sums[document.id])


async def test_both_sides_are_filtered(driver, rag):
    given = Comparison(Comparator.LT, "n", 8)
    for filter_ in (given, {"n": 3}):
        retriever = rag.as_hybrid_retriever(k=20, filter=filter_)
        found = await driver(retriever, "invoke", "number3 apple cedar")
        expected = set(range(8)) if filter_ is given else {3}
        assert {d.metadata["n"] for d in found} == expected


async def test_results_are_distinct_chunks_as_a_search_returns_them(driver, rag):
    searched = {d.id: d for d in rag.similarity_search("apple", k=30)}
    found = await driver(rag.as_hybrid_retriever(k=30), "invoke", "apple")
    assert len(found) == len({d.id for d in found}) == 30
    assert {d.id: d for d in found} == searched
    assert await driver(rag.as_hybrid_retriever(k=3), "invoke", "apple") == found[:3]


@pytest.mark.parametrize("broken", ["words", "vectors"])
async def test_where_one_side_fails_the_other_answers(driver, rag, caplog, monkeypatch, broken):
    retriever = rag.as_hybrid_retriever(k=3)
    vectors = [d.id for d in rag.similarity_search("apple cedar", k=3)]
    words = [d.id for d in rag.as_lexical_retriever(k=3).invoke("apple cedar")]

    def fail(*args, **kwargs):
        raise OSError("planned")

    if broken == "words":
        monkeypatch.setattr(type(rag.docstore), "lexical_search", fail)
        monkeypatch.setattr(type(rag.docstore), "alexical_search", fail)
    else:
        monkeypatch.setattr(CountingEmbeddings, "embed_query", fail)
        monkeypatch.setattr(CountingEmbeddings, "aembed_query", fail)
    with caplog.at_level(logging.WARNING):
        found = await driver(retriever, "invoke", "apple cedar")
    assert [d.id for d in found] == (vectors if broken == "words" else words)
    assert f"The search by {broken} failed (OSError: planned)" in caplog.text


async def test_where_both_sides_fail_it_is_an_error(driver, rag, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("planned")

    for owner, method in (
        (type(rag.docstore), "lexical_search"),
        (CountingEmbeddings, "embed_query"),
    ):
        monkeypatch.setattr(owner, method, fail)
        monkeypatch.setattr(owner, f"a{method}", fail)
    with pytest.raises(OSError, match="planned"):
        await driver(rag.as_hybrid_retriever(), "invoke", "apple")


async def test_both_sides_run_at_the_same_time(driver, rag, monkeypatch):
    """Each waits for the other to have begun."""
    kind = type(rag.docstore)
    if driver.name == "sync":
        meeting = threading.Barrier(2, timeout=20)

        def meets(owner, method):
            real = getattr(owner, method)

            def wrapped(*args, **kwargs):
                meeting.wait()
                return real(*args, **kwargs)

            monkeypatch.setattr(owner, method, wrapped)

    else:
        here, both = [], asyncio.Event()

        def meets(owner, method):
            real = getattr(owner, f"a{method}")

            async def wrapped(*args, **kwargs):
                here.append(method)
                if len(here) == 2:
                    both.set()
                await asyncio.wait_for(both.wait(), 20)
                return await real(*args, **kwargs)

            monkeypatch.setattr(owner, f"a{method}", wrapped)

    meets(kind, "lexical_search")
    meets(CountingEmbeddings, "embed_query")
    assert len(await driver(rag.as_hybrid_retriever(k=3), "invoke", "apple")) == 3


async def test_a_docstore_of_any_kind_will_do(driver):
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
    )
    rag.add_documents([Document(text, id=str(n)) for n, text in enumerate(texts())])
    found = await driver(rag.as_hybrid_retriever(k=2), "invoke", "number7")
    assert found[0].id == "7"


def test_arguments_that_cannot_work_are_refused(rag):
    with pytest.raises(ConfigurationError, match=r"\(0, 0\)"):
        rag.as_hybrid_retriever(weights=(0, 0))
    with pytest.raises(ValueError, match="weights"):
        rag.as_hybrid_retriever(weights=(1, -1))
    with pytest.raises(ValueError, match="nonsense"):
        HybridRetriever(vectorstore=rag, nonsense=1)
    with pytest.raises(ConfigurationError, match="Comparison"):
        rag.as_hybrid_retriever(filter={"$or": []})
