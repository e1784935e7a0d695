"""One writer for a document; as many as there are documents otherwise."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import Flow, Operation, run
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle import claims
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.storage._claims import SQLClaim
from langchain_rag.testing import (
    CountingEmbeddings,
    FaultPlan,
    FaultyDocStore,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore


@pytest.fixture(params=["process", "sqlite file", "sqlite memory"])
def docstore(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "process":
        yield InMemoryStore()
        return
    url = "sqlite://" if "memory" in request.param else f"sqlite:///{tmp_path / 'rag.db'}"
    engine = create_engine(url)
    yield SQLDocStore(engine)
    engine.dispose()


def inside(body: Any = None) -> Any:
    """A body for `holding` that ends at once, or does what it is told."""

    def flow(claim: claims.Claim) -> Flow[str]:
        yield from ()
        if body is not None:
            body()
        return claim.writer

    return flow


def test_a_claim_is_held_and_released(docstore: Any) -> None:
    def hold(documents: dict[str, str], body: Any = None, store: Any = docstore) -> str:
        writer: str = run(claims.holding(store, documents, inside(body)))
        return writer

    def meanwhile() -> None:
        with pytest.raises(ConcurrentWriteError, match=r"'doc' is being written.*again"):
            hold({"other": "other", "key": "doc"})
        # Another document, or another docstore, is no conflict; nor did the refused claim
        # leave its other document claimed.
        writers.append(hold({"other": "other"}))
        hold({"key": "doc"}, store=InMemoryStore())

    writers: list[str] = []
    writers.append(hold({"key": "doc"}, meanwhile))
    assert len(set(writers)) == 2
    hold({"key": "doc"})


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, GeneratorExit])
def test_a_claim_is_released_by_an_error(docstore: Any, error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(error):
        run(claims.holding(docstore, {"key": "doc"}, inside(fail)))
    run(claims.holding(docstore, {"key": "doc"}, inside()))


def test_a_claim_that_cannot_be_given_back_hides_nothing(
    docstore: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_claim: Any) -> None:
        raise OSError

    for kind in (claims.ProcessClaim, SQLClaim):
        monkeypatch.setattr(kind, "release", refuse)
    with pytest.raises(ZeroDivisionError):
        run(claims.holding(docstore, {"key": "doc"}, inside(lambda: 1 // 0)))
    assert "could not be given back" in caplog.text
    assert run(claims.holding(docstore, {"other": "doc"}, inside()))


class Gate(BaseDocumentTransformer):
    """Waits, in the middle of an import, for texts that say so."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go = threading.Event()
        self.areached = asyncio.Event()
        self.ago = asyncio.Event()

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        if any("wait" in document.page_content for document in documents):
            self.reached.set()
            assert self.go.wait(10)
        return documents

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        if any("wait" in document.page_content for document in documents):
            self.areached.set()
            await asyncio.wait_for(self.ago.wait(), 10)
        return documents


def store(gate: Gate, docstore: Any = None, **options: Any) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docstore or InMemoryStore(),
        source_id_key=None,
        chunk_transformer=gate,
        **options,
    )


def test_two_threads_one_document() -> None:
    gate = Gate()
    rag = store(gate)
    errors: list[BaseException] = []

    def first() -> None:
        try:
            rag.add_texts(["wait for it"], ids=["a"])
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    assert gate.reached.wait(10)
    with pytest.raises(ConcurrentWriteError, match="'a'"):
        rag.add_texts(["other"], ids=["a"])
    with pytest.raises(ConcurrentWriteError, match="'a'"):
        rag.delete(["a"])
    rag.add_texts(["no conflict"], ids=["b"])
    gate.go.set()
    thread.join(10)
    assert errors == []
    assert {row[:2] for row in reachable(rag)} == {("a", "wait for it"), ("b", "no conflict")}
    assert audit(rag) == []
    rag.add_texts(["other"], ids=["a"])
    assert audit(rag) == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_claim_goes_where_giving_it_back_is_interrupted(fails: bool) -> None:
    """A second interruption may come while the claim is about to be given back."""
    docstore = InMemoryStore()

    def body(claim: claims.Claim) -> Flow[None]:
        yield from ()
        if fails:
            raise KeyboardInterrupt

    flow = claims.holding(docstore, {"manifests/a": "a"}, body)
    acquire = next(flow)
    assert isinstance(acquire, Operation)
    acquire.sync()
    release = flow.send(None)
    assert isinstance(release, Operation)
    with pytest.raises(KeyboardInterrupt) as interrupt:  # and its frames keep the claim alive
        flow.throw(KeyboardInterrupt())
    assert interrupt.tb is not None
    assert run(claims.claimed(docstore, ["manifests/a"])) == [False]


async def test_two_tasks_one_document() -> None:
    gate = Gate()
    rag = store(gate)
    task = asyncio.create_task(rag.aadd_texts(["wait for it"], ids=["a"]))
    await gate.areached.wait()
    with pytest.raises(ConcurrentWriteError, match="'a'"):
        await rag.aadd_texts(["other"], ids=["a"])
    with pytest.raises(ConcurrentWriteError, match="'a'"):
        await rag.adelete(["a"])
    # Readers are never in the way.
    assert await rag.asimilarity_search("wait") == []
    gate.ago.set()
    assert await task == ["a"]
    assert {row[1] for row in reachable(rag)} == {"wait for it"}
    assert audit(rag) == []


async def test_gather_of_the_same_document_does_no_damage() -> None:
    for _ in range(5):
        rag = World().start(source_id_key=None)
        results = await asyncio.gather(
            *(rag.aadd_texts([f"version {n}"], ids=["a"]) for n in range(6)),
            return_exceptions=True,
        )
        assert any(result == ["a"] for result in results)
        assert all(r == ["a"] or isinstance(r, ConcurrentWriteError) for r in results)
        assert len(contents(rag).rows) == 1
        assert audit(rag) == []


async def test_gather_of_different_documents_works() -> None:
    rag = World().start(source_id_key=None)
    results = await asyncio.gather(
        *(
            rag.aadd_texts([f"text {n}", f"text {n}b"], ids=[f"{n}", f"{n}b"])
            for n in range(20)
        ),
        rag.adelete(["unknown"]),
    )
    assert results[:2] == [["0", "0b"], ["1", "1b"]]
    assert len(contents(rag).rows) == 40
    assert audit(rag) == []
    await asyncio.gather(*(rag.adelete([f"{n}", f"{n}b"]) for n in range(20)))
    assert contents(rag) == ({}, {})


def test_threads_with_different_documents_work() -> None:
    rag = World().start(source_id_key=None)
    errors: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for round_ in range(5):
                rag.add_texts([f"text {n} {round_}"], ids=[f"{n}"])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert {row[1] for row in reachable(rag)} == {f"text {n} 4" for n in range(6)}
    assert audit(rag) == []


class Slow(InMemoryVectorStore):
    """Stops in the middle of a write."""

    def __init__(self) -> None:
        super().__init__(CountingEmbeddings())
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self.slow = True

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
        done = await super().aadd_documents(documents[:1], ids=ids[:1], **kwargs)
        if self.slow:
            self.reached.set()
            await self.go.wait()
        return done + await super().aadd_documents(documents[1:], ids=ids[1:], **kwargs)


@pytest.mark.parametrize("again", ["the same", "another", "a deletion"])
async def test_a_task_cancelled_in_the_middle(again: str) -> None:
    wrapped = Slow()
    rag = RAGVectorStore(vectorstore=wrapped, docstore=InMemoryStore(), source_id_key=None)
    task = asyncio.create_task(rag.aadd_texts(["one", "two"], ids=["a", "b"]))
    await wrapped.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done(), "it waits for the write, which no later one may overtake"
    task.cancel()
    wrapped.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(contents(rag).rows) == 2
    assert audit(rag, settled=False) == []
    wrapped.slow = False
    if again == "the same":
        await rag.aadd_texts(["one", "two"], ids=["a", "b"])
        assert {row[0] for row in reachable(rag)} == {"a", "b"}
    elif again == "another":
        await rag.aadd_texts(["three"], ids=["c"])
        assert {row[0] for row in reachable(rag)} == {"c"}
    else:
        await rag.adelete(["unknown"])
        assert contents(rag) == ({}, {})
    assert audit(rag) == []


async def test_two_instances_on_one_database(tmp_path: Any) -> None:
    """A web server may well construct one for each request."""
    engine = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")
    wrapped = Slow()

    def start() -> RAGVectorStore:
        return RAGVectorStore(
            vectorstore=wrapped, docstore=SQLDocStore(engine), source_id_key=None
        )

    one, other = start(), start()
    task = asyncio.create_task(one.aadd_texts(["one", "two"], ids=["a", "b"]))
    await wrapped.reached.wait()
    wrapped.slow = False
    # What the first one is writing is not taken for what a crash left.
    await other.aadd_texts(["three"], ids=["c"])
    with pytest.raises(ConcurrentWriteError, match="'a'"):
        await other.aadd_texts(["new"], ids=["a"])
    with pytest.raises(ConcurrentWriteError, match="'b'"):
        await other.adelete(["b"])
    assert len(contents(one).room("intents")) == 2
    assert len(contents(one).rows) == 2
    task.cancel()
    wrapped.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await other.aadd_texts(["new"], ids=["a"])
    assert {row[:2] for row in reachable(other)} == {("a", "new"), ("c", "three")}
    engine.dispose()


async def test_a_leftover_that_its_writer_is_sweeping() -> None:
    """A sweep that meets a claimed document leaves it to whoever has it."""
    plan, docs = FaultPlan(), InMemoryStore()
    wrapped = Slow()
    first = RAGVectorStore(
        vectorstore=wrapped, docstore=FaultyDocStore(docs, plan), source_id_key=None
    )
    task = asyncio.create_task(first.aadd_texts(["one", "two"], ids=["a", "b"]))
    await wrapped.reached.wait()
    task.cancel()
    wrapped.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    wrapped.slow = False
    key = next(key for key in docs.store if key.startswith("manifests") or "intents" in key)
    manifest = key.replace("intents", "manifests")
    claim = claims.ProcessClaim(first.docstore, {manifest: "somebody's"})
    claim.acquire()
    await first.aadd_texts(["three"], ids=["c"])
    assert len(contents(first).room("intents")) == 1
    claim.release()
    # It is not forgotten: whoever next writes the document clears it.
    await first.adelete(["a", "b"])
    assert audit(first) == []
