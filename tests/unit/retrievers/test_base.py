"""What all retrievers over `RAGVectorStore` have in common."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
from langchain_rag.retrievers.hierarchical import HierarchicalRetriever
from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
from langchain_rag.retrievers.time_weighted import TimeWeightedRetriever
from langchain_rag.testing import CountingEmbeddings, InjectedFault
from langchain_rag.vectorstores import RAGVectorStore

KINDS = [
    AutoMergingRetriever,
    HierarchicalRetriever,
    SentenceWindowRetriever,
    TimeWeightedRetriever,
]
TEXTS = ["prime number", "prime factor", "square root", "round circle", "odd number"]


class Scripted(RAGRetriever):
    """Notes how it was asked, and answers or fails as it is told."""

    error: BaseException | None = None
    asked: list[Any] = Field(default_factory=list)

    def _found(self, query, k, options):
        self.asked.append((query, k, options))
        if self.error is not None:
            raise self.error
        yield from ()
        return [Document(f"{query} {n}") for n in range(k)]


class Log(BaseCallbackHandler):
    """Notes what a retriever tells."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_retriever_start(self, serialized, query, *, tags=None, metadata=None, **kwargs):
        self.told.append(("start", query, tags, metadata["by"], kwargs.get("name")))

    def on_retriever_end(self, documents, *, tags=None, **kwargs):
        self.told.append(("end", [one.page_content for one in documents], tags))

    def on_retriever_error(self, error, *, tags=None, **kwargs):
        self.told.append(("error", type(error), tags))


@pytest.fixture
def rag(memory: InMemoryVectorStore) -> RAGVectorStore:
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    rag.add_documents(
        [Document(text, metadata={"n": {"in": n}}) for n, text in enumerate(TEXTS)], ids=TEXTS
    )
    return rag


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


@pytest.mark.parametrize("kind", KINDS)
async def test_each_is_a_retriever_of_distinct_chunks(driver, rag, embeddings, kind):
    """Over chunks without tree, sentences, summaries and times, each is plain search."""
    plain = await driver(rag, "similarity_search", "prime number", k=3)
    retriever = kind(vectorstore=rag, k=3, fallback=False)
    embeddings.reset()
    found = await driver(retriever, "invoke", "prime number")
    assert texts(found) == texts(plain)
    assert texts(found)[0] == "prime number"
    assert embeddings.queries == ["prime number"]
    assert embeddings.documents == []
    assert texts(await driver(retriever, "invoke", "prime number", k=1)) == ["prime number"]
    assert await driver(retriever, "invoke", "prime number", k=0) == []
    assert await driver(kind(vectorstore=rag, k=-1), "invoke", "prime number") == []
    several = await driver(retriever, "batch", ["odd number", "square root"])
    assert [texts(some)[0] for some in several] == ["odd number", "square root"]
    assert [len(some) for some in several] == [3, 3]


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_returned_is_what_is_stored(driver, rag, kind):
    retriever = kind(vectorstore=rag, k=1, fallback=False)
    [first] = await driver(retriever, "invoke", "odd number")
    first.metadata["n"]["in"] = "changed"
    first.metadata["more"] = True
    [second] = await driver(retriever, "invoke", "odd number")
    assert second.metadata["n"] == {"in": 4}
    assert "more" not in second.metadata


@pytest.mark.parametrize("kind", KINDS)
async def test_an_empty_store(driver, memory, kind):
    rag = RAGVectorStore(vectorstore=memory, docstore=InMemoryStore(), source_id_key=None)
    assert await driver(kind(vectorstore=rag, fallback=False), "invoke", "odd") == []


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_store_is_told(driver, rag, kind):
    """A filter, and what a call says beats what the constructor said."""

    def odd(document):
        return document.page_content.startswith("odd")

    retriever = kind(
        vectorstore=rag, search_kwargs={"filter": odd, "match_details": True}, fallback=False
    )
    [found] = await driver(retriever, "invoke", "prime number")
    match = found.metadata["langchain_rag_match"]
    assert found.page_content == "odd number"
    assert (match["kind"], match["text"], match["rank"]) == ("chunk", "odd number", 1)
    assert match["score"] == pytest.approx(0.5, abs=0.01)
    every = await driver(retriever, "invoke", "prime number", filter=None, match_details=False)
    assert texts(every)[0] == "prime number"
    assert len(every) == 4
    assert not any("langchain_rag_match" in one.metadata for one in every)
    assert retriever.search_kwargs == {"filter": odd, "match_details": True}


@pytest.mark.parametrize("kind", KINDS)
def test_another_kind_of_store(memory, kind):
    with pytest.raises(ValueError, match=r"InMemoryVectorStore; .*RAGVectorStore"):
        kind(vectorstore=memory)


@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_that_is_none(rag, kind):
    with pytest.raises(ValueError, match="treshold"):
        kind(vectorstore=rag, treshold=0.5)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (AutoMergingRetriever, {"threshold": 0}),
        (AutoMergingRetriever, {"threshold": 1.01}),
        (AutoMergingRetriever, {"fetch_k": 0}),
        (HierarchicalRetriever, {"documents": 0}),
        (SentenceWindowRetriever, {"window": -1}),
        (SentenceWindowRetriever, {"within": "page"}),
        (TimeWeightedRetriever, {"decay_rate": 1.5}),
        (TimeWeightedRetriever, {"decay_rate": -0.1}),
    ],
)
def test_a_value_that_cannot_work(rag, kind, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        kind(vectorstore=rag, **wrong)


async def test_how_the_flow_is_asked(driver, rag):
    retriever = Scripted(vectorstore=rag, k=2, search_kwargs={"k": 3, "filter": "f"})
    asked = retriever.asked
    assert texts(await driver(retriever, "invoke", "q")) == ["q 0", "q 1", "q 2"]
    assert len(await driver(retriever, "invoke", "q", k=1, kinds={"summary"})) == 1
    assert len(await driver(retriever, "invoke", "q", k=0)) == 0
    (_, three, options), (_, one, more) = asked
    assert (three, options) == (3, {"filter": "f"})
    assert one == 1
    assert {key: value for key, value in more.items() if key != "k"} == {
        "filter": "f",
        "kinds": {"summary"},
    }
    assert retriever.search_kwargs == {"k": 3, "filter": "f"}


async def test_plain_search_answers_where_it_fails(driver, rag, caplog):
    plain = await driver(rag, "similarity_search", "odd number", k=2)
    retriever = Scripted(vectorstore=rag, k=2, error=InjectedFault("no such tree"))
    with caplog.at_level(logging.WARNING):
        assert await driver(retriever, "invoke", "odd number") == plain
        [one] = await driver(retriever, "invoke", "odd number", k=1, match_details=True)
    assert one.metadata["langchain_rag_match"]["text"] == "odd number"
    [first, _] = caplog.messages
    assert first.startswith("Scripted failed (InjectedFault: no such tree)")


async def test_without_fallback_a_failure_is_raised(driver, rag, caplog):
    retriever = Scripted(vectorstore=rag, error=InjectedFault("no such tree"), fallback=False)
    with pytest.raises(InjectedFault, match="no such tree"):
        await driver(retriever, "invoke", "odd number")
    assert caplog.messages == []


@pytest.mark.parametrize("error", [ConfigurationError("no"), KeyboardInterrupt(), SystemExit()])
async def test_what_is_raised_in_any_case(driver, rag, caplog, error):
    if driver.name == "async" and not isinstance(error, Exception):
        pytest.skip("an event loop does not outlive these")
    with pytest.raises(type(error)):
        await driver(Scripted(vectorstore=rag, error=error), "invoke", "odd number")
    assert caplog.messages == []


@pytest.mark.parametrize("kind", KINDS)
async def test_an_option_that_cannot_work_is_raised(driver, rag, kind):
    with pytest.raises(ConfigurationError, match="aggregation"):
        await driver(kind(vectorstore=rag), "invoke", "q", aggregation="worst")
    with pytest.raises(ConfigurationError, match="kinds"):
        await driver(kind(vectorstore=rag), "invoke", "q", kinds={1})


async def test_what_plain_search_cannot_do_either_is_raised(driver, rag, caplog):
    class Failing(CountingEmbeddings):
        def embed_query(self, text):
            raise InjectedFault("no embeddings")

    rag.vectorstore.embedding = Failing()
    with pytest.raises(InjectedFault, match="no embeddings"):
        await driver(SentenceWindowRetriever(vectorstore=rag), "invoke", "odd number")


@pytest.mark.parametrize("kind", KINDS)
async def test_callbacks_and_tags_arrive(driver, rag, kind):
    log = Log()
    retriever = kind(
        vectorstore=rag, k=1, tags=["own"], metadata={"by": "me"}, name="finder", fallback=False
    )
    await driver(retriever, "invoke", "odd number", {"callbacks": [log], "tags": ["call"]})
    assert log.told[0][:2] == ("start", "odd number")
    assert set(log.told[0][2]) == {"own", "call"}
    assert log.told[0][3:] == ("me", "finder")
    assert log.told[1][:2] == ("end", ["odd number"])
    assert len(log.told) == 2


async def test_callbacks_hear_of_an_error(driver, rag):
    log = Log()
    retriever = Scripted(
        vectorstore=rag, error=InjectedFault("no"), fallback=False, metadata={"by": "me"}
    )
    with pytest.raises(InjectedFault):
        await driver(retriever, "invoke", "q", {"callbacks": [log]})
    assert [(what, about) for what, about, *_ in log.told] == [
        ("start", "q"),
        ("error", InjectedFault),
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_bound_arguments(driver, rag, kind):
    log = Log()
    retriever = kind(vectorstore=rag, metadata={"by": "me"}, fallback=False)
    bound = retriever.with_config(callbacks=[log], tags=["bound"]).bind(k=2)
    assert len(await driver(bound, "invoke", "odd number")) == 2
    assert [one[0] for one in log.told] == ["start", "end"]
    assert "bound" in log.told[0][2]


async def test_one_of_a_batch_may_fail(driver, rag):
    class Picky(Scripted):
        def _found(self, query, k, options):
            if query == "bad":
                raise InjectedFault("bad")
            return (yield from super()._found(query, k, options))

    retriever = Picky(vectorstore=rag, k=1, fallback=False)
    good, bad = await driver(retriever, "batch", ["good", "bad"], return_exceptions=True)
    assert texts(good) == ["good 0"]
    assert isinstance(bad, InjectedFault)
