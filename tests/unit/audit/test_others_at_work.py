"""Others write between any two steps of a verify() or a repair()."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import Flow, Operation, run
from langchain_rag._flow.drivers import performed
from langchain_rag._reserved import DOCUMENT
from langchain_rag.audit import FindingKind
from langchain_rag.audit import recheck as recheck_module
from langchain_rag.audit.repair import repair
from langchain_rag.audit.verify import verify
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle.manifest import Intent
from langchain_rag.lifecycle.records import write_intent
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import CountingEmbeddings, Driver, audit, reachable
from langchain_rag.vectorstores import RAGVectorStore
from tests.unit.audit.conftest import Lab, transformers, unfinished_change

Action = Callable[[], Any]


class Pair:
    """Two stores, of two processes so to speak, on the same data."""

    def __init__(self, docstore: InMemoryStore | None = None) -> None:
        self.rows = InMemoryVectorStore(CountingEmbeddings())
        self.docs = InMemoryStore() if docstore is None else docstore
        self.mine, self.other = self.start(), self.start()
        self.add()

    def start(self) -> RAGVectorStore:
        return RAGVectorStore(vectorstore=self.rows, docstore=self.docs, source_id_key=None)

    def add(self, rev: int = 0) -> None:
        pages = [Document(text, metadata={"rev": rev}) for text in ("alpha", "beta")]
        self.other.add_documents(pages, ids=["1", "2"])

    def delete(self) -> None:
        self.other.delete(["1"])

    def whole(self) -> bool:
        return {id_ for id_, _, _ in reachable(self.mine)} == {"1", "2"}


async def interleaved(
    driver: Driver, flow: Flow[Any], actions: Sequence[tuple[int, Action]] = ()
) -> tuple[Any, int]:
    """Drive a flow, and act before some of its steps; a document may be claimed just then."""
    pending, count = list(actions), 0

    def act() -> None:
        while pending and pending[0][0] <= count:
            try:
                pending[0][1]()
            except ConcurrentWriteError:
                return
            pending.pop(0)

    try:
        operation: Any = next(flow)
        while True:
            act()
            count += 1
            assert isinstance(operation, Operation)
            try:
                if driver.name == "sync":
                    result = operation.sync(*operation.args, **operation.kwargs)
                else:
                    result = await performed(operation)
            except BaseException as error:
                operation = flow.throw(error)
            else:
                operation = flow.send(result)
    except StopIteration as stop:
        for _, action in pending:
            action()
        return stop.value, count


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck_module, "PAUSES", (0.0, 0.0, 0.0))


def flow_of(rag: RAGVectorStore, what: str) -> Flow[Any]:
    parts = rag._parts()
    return verify(parts) if what == "verify" else repair(parts, unknown_rows=True)


@pytest.mark.parametrize("what", ["verify", "repair"])
async def test_a_document_is_deleted_and_added_again(driver: Driver, what: str) -> None:
    """Its chunks have the same keys as before, so that what was listed is there again."""
    total = 40
    begin = 0
    while begin < total:
        for end in range(begin, total + 1):
            pair = Pair()
            flow = flow_of(pair.mine, what)
            report, total = await interleaved(
                driver, flow, [(begin, pair.delete), (end, pair.add)]
            )
            findings = report.findings if what == "verify" else report.repaired
            assert findings == (), (begin, end)
            assert pair.whole(), (begin, end)
            assert audit(pair.mine) == [], (begin, end)
        begin += 1
    assert total > 5


@pytest.mark.parametrize("what", ["verify", "repair"])
async def test_metadata_is_written_in_place(driver: Driver, what: str) -> None:
    total, begin = 40, 0
    while begin < total:
        pair = Pair()
        flow = flow_of(pair.mine, what)
        report, total = await interleaved(driver, flow, [(begin, partial(pair.add, 1))])
        assert (report.findings if what == "verify" else report.repaired) == ()
        assert audit(pair.mine) == []
        begin += 1


def corrupt_chunk(pair: Pair) -> None:
    keys = [key for key in pair.docs.store if key.startswith("chunks/")]
    pair.docs.store[keys[0]] = Document("nonsense")


def no_chunk(pair: Pair) -> None:
    del pair.docs.store[next(key for key in pair.docs.store if key.startswith("chunks/"))]


def nameless_row(pair: Pair) -> None:
    for row in pair.rows.store.values():
        if row["metadata"].get(DOCUMENT) == "1":
            row["metadata"] = {k: v for k, v in row["metadata"].items() if k != DOCUMENT}
    corrupt_chunk(pair)


@pytest.mark.parametrize("damage", [corrupt_chunk, no_chunk, nameless_row])
async def test_what_nobody_owns_is_somebodys_at_last(
    driver: Driver, damage: Callable[[Pair], None]
) -> None:
    """A document lost its manifest and more; while that is cleared it is added again."""
    total, begin, hurt = 60, 0, 0
    while begin < total:
        pair = Pair()
        damage(pair)
        del pair.docs.store[pair.mine._lifecycle.keys.manifest("1")]
        report, total = await interleaved(
            driver, flow_of(pair.mine, "repair"), [(begin, pair.add)]
        )
        if not pair.whole():
            # It came in the very moment of the deletion; then that is said.
            assert report.reimport == ("1",)
            pair.add()
            hurt += 1
        assert pair.whole(), begin
        assert audit(pair.mine) == [], begin
        assert pair.mine.verify().ok, begin
        begin += 1
    # From the last reading to the last deletion: of its record, its row, the claim.
    assert hurt <= 4


async def test_what_somebody_is_about_to_write_is_left(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its intent is there, and nothing else of it yet."""
    from langchain_rag.lifecycle import claims

    monkeypatch.setattr(claims, "is_writing", lambda writer, *_: writer == "at work")
    total, begin, gone = 60, 0, 0
    while begin < total:
        pair = Pair()
        manifest = run(pair.mine._lifecycle.records.manifests(["1"]))["1"]
        del pair.docs.store[pair.mine._lifecycle.keys.manifest("1")]
        intent = write_intent(Intent("1", "at work", None, manifest.chunks))
        place = pair.mine._lifecycle.keys.intent("1")
        corrupt_chunk(pair)
        begun = partial(pair.docs.store.__setitem__, place, intent)
        _, total = await interleaved(driver, flow_of(pair.mine, "repair"), [(begin, begun)])
        gone += pair.mine._lifecycle.keys.chunk(manifest.chunks[0].key) not in pair.docs.store
        begin += 1
    # After the last look at all intents: the record is read, and deleted, and what follows.
    assert gone < total / 3


async def test_as_long_as_a_manifest_cannot_be_read_it_may_name_anything(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_rag.audit import repair

    pair = Pair()
    keys = pair.mine._lifecycle.keys
    corrupt_chunk(pair)
    del pair.docs.store[keys.manifest("1")]
    pair.docs.store[keys.manifests + "0" * 64] = Document("nonsense")
    monkeypatch.setattr(repair._Repair, "settle", lambda *_: iter(()))
    before = {key for key in pair.docs.store if "manifests" not in key}
    await interleaved(driver, flow_of(pair.mine, "repair"))
    assert before <= pair.docs.store.keys()
    monkeypatch.undo()
    await interleaved(driver, flow_of(pair.mine, "repair"))
    assert not before <= pair.docs.store.keys()
    assert audit(pair.mine) == []


class Claimed(InMemoryStore):
    """Says which documents another process is writing."""

    writing = True

    def claimed(self, keys: Sequence[str]) -> list[bool]:
        return [self.writing for _ in keys]

    async def aclaimed(self, keys: Sequence[str]) -> list[bool]:
        return self.claimed(keys)


async def test_a_writer_that_comes_to_its_end_left_nothing(driver: Driver) -> None:
    total, begin = 40, 0
    while begin <= total:
        docs = Claimed()
        pair = Pair(docs)
        keys = pair.mine._lifecycle.keys
        intent = Intent("1", "of another process", None, ())
        docs.store[keys.intent("1")] = write_intent(intent)

        def finish(docs: Claimed = docs, key: str = keys.intent("1")) -> None:
            del docs.store[key]
            docs.writing = False

        report, total = await interleaved(
            driver, flow_of(pair.mine, "verify"), [(begin, finish)]
        )
        assert report.findings == (), begin
        begin += 1


class Untouchable(InMemoryStore):
    """A database on which one may only read."""

    def claim(self, documents: Any) -> Any:
        raise PermissionError

    def claimed(self, keys: Sequence[str]) -> list[bool]:
        return [False] * len(keys)

    async def aclaimed(self, keys: Sequence[str]) -> list[bool]:
        return self.claimed(keys)

    def mset(self, key_value_pairs: Any) -> None:
        raise PermissionError

    def mdelete(self, keys: Any) -> None:
        raise PermissionError


async def test_verify_only_reads(lab: Lab) -> None:
    await unfinished_change(lab)
    lab.world.rows.delete([lab.row("a")])
    docs = Untouchable()
    docs.store = lab.world.docs.store
    rag = RAGVectorStore(vectorstore=lab.world.rows, docstore=docs, **transformers())
    report = await lab.driver(rag, "verify")
    assert report.counts == {FindingKind.UNFINISHED_CHANGE: 1, FindingKind.MISSING_ROW: 1}
    assert report.busy == ()


def test_verify_of_a_read_only_database(tmp_path: Any) -> None:
    rows = InMemoryVectorStore(CountingEmbeddings())
    file = tmp_path / "rag.sqlite"
    engines = [create_engine(f"sqlite:///{file}")]
    rag = RAGVectorStore(vectorstore=rows, docstore=SQLDocStore(engines[0]), source_id_key=None)
    rag.add_documents([Document("alpha")], ids=["1"])
    key = rag._lifecycle.keys.intent("1")
    rag.docstore.mset([(key, write_intent(Intent("1", "dead", None, ())))])
    engines.append(create_engine(f"sqlite:///file:{file}?mode=ro&uri=true"))
    reader = RAGVectorStore(
        vectorstore=rows, docstore=SQLDocStore(engines[1]), source_id_key=None
    )
    assert reader.verify().counts == {FindingKind.UNFINISHED_CHANGE: 1}
    for engine in engines:
        engine.dispose()
