"""What verify() leaves out, what it cannot check, and what it says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import run
from langchain_rag.audit import FindingKind
from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.errors import ConfigurationError, StoreError
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    FaultyVectorStore,
    SyncOnlyVectorStore,
    audit,
)
from langchain_rag.vectorstores import RAGVectorStore
from tests.unit.audit.conftest import (
    PAGES,
    Lab,
    missing_row,
    ownerless_row,
    ownerless_row_of_a_chunk,
    page,
    stored,
    transformers,
    unknown_row,
)


class Spy(FaultyVectorStore):
    """Looks around in the middle of a write, when some of the rows are there."""

    look: Callable[[], Any]

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        half = len(documents) // 2
        super().add_documents(documents[:half], ids=kwargs["ids"][:half])
        self.look()
        return super().add_documents(documents, **kwargs)


@pytest.mark.parametrize("docstore", ["memory", "sql"])
def test_a_document_that_is_being_written_is_no_finding(docstore: str, tmp_path: Path) -> None:
    lab = Lab(Driver("sync"))
    docs: Any = InMemoryStore()
    if docstore == "sql":
        docs = SQLDocStore(create_engine(f"sqlite:///{tmp_path / 'docs.sqlite'}"))
    spy = Spy(lab.world.rows, lab.world.plan)
    rag = RAGVectorStore(vectorstore=spy, docstore=docs, **transformers())
    other = RAGVectorStore(vectorstore=lab.world.rows, docstore=docs, **transformers())
    looks = []
    spy.look = lambda: looks.append(other.verify())
    rag.add_documents([page("a"), page("b")], ids=["a", "b"])
    rag.add_documents([page("a", 3), page("b", rev=2)], ids=["a", "b"])
    first, second = looks
    assert (first.findings, second.findings) == ((), ())
    assert first.busy == second.busy == ("a", "b")
    assert "2 documents were being written" in str(second)
    # And a repair in the middle of it changes nothing, and says so.
    repairs = []
    spy.look = lambda: repairs.append(other.repair())
    lab.world.rows.delete([lab_row(rag, "b")])
    rag.add_documents([page("a", 1), page("b", 4)], ids=["a", "b"])
    (report,) = repairs
    assert not report.ok
    assert set(report.busy) == {"a", "b"}
    assert audit(rag) == []
    assert other.verify().ok
    if docstore == "sql":
        docs.engine.dispose()


def lab_row(rag: RAGVectorStore, document_id: str) -> str:
    lifecycle = rag._lifecycle
    manifest = run(lifecycle.records.manifests([document_id]))[document_id]
    return manifest.chunks[0].variation_ids()[0]


async def test_what_was_on_its_way_is_looked_at_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are listed before a change, and manifests are read after it."""
    rows = lab.rag.verify().rows
    listed = type(lab.world.rows.store)(lab.world.rows.store)
    await lab.driver(lab.rag, "add_documents", [page("d"), page("a", 4)], ids=["d", "a"])

    class Stale(InMemoryVectorStore):
        """Lists what there was, and gives by id what there is."""

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            return lab.world.rows.get_by_ids(ids)

        async def aget_by_ids(self, ids: Any, /) -> list[Document]:
            return self.get_by_ids(ids)

    stale = Stale(lab.world.embeddings)
    stale.store = listed
    rag = RAGVectorStore(vectorstore=stale, docstore=lab.world.docs, **transformers())
    report = await lab.driver(rag, "verify")
    assert report.ok
    assert report.rows == rows


async def test_foreign_fingerprints_are_said_and_left(lab: Lab) -> None:
    lab.start(chunk_transformer=CopyDocumentTransformer())
    report = await lab.verify()
    assert report.counts == {FindingKind.FOREIGN_FINGERPRINT: 3}
    repaired = await lab.repair()
    assert repaired.repaired == ()
    assert len(repaired.left) == 3
    assert not repaired.ok
    await lab.index(PAGES)
    assert (await lab.verify()).ok


async def test_transformers_without_a_fingerprint_are_no_finding(driver: Driver) -> None:
    lab = Lab(driver)
    await lab.index(PAGES)

    class Nameless(CopyDocumentTransformer):
        pass

    lab.start(chunk_transformer=Nameless())
    assert lab.rag.fingerprints[1] is None
    assert (await lab.verify()).ok


async def test_documents_of_add_documents_need_not_be_tracked(lab: Lab) -> None:
    await lab.driver(lab.rag, "add_documents", [page("d"), page("e")], ids=["d", "F" * 64])
    assert (await lab.verify()).ok


async def test_without_a_record_manager_it_says_so(lab: Lab) -> None:
    lab.start(record_manager=None)
    report = await lab.verify()
    assert report.ok
    assert "No record manager is known" in report.unchecked[0]
    given = InMemoryRecordManager("other")
    given.create_schema()
    report = await lab.driver(lab.rag, "verify", record_manager=given)
    assert report.counts == {FindingKind.STORED_NOT_TRACKED: 3}
    kwargs = lab.rag.index_kwargs(lab.world.record_manager)
    report = await lab.driver(lab.rag, "verify", record_manager=kwargs["record_manager"])
    assert report.ok
    assert report.unchecked == ()


async def test_rows_of_others_are_counted_and_left(lab: Lab) -> None:
    lab.world.rows.add_documents([Document("mine", metadata={"a": 1})], ids=["mine"])
    report = await lab.verify()
    assert (report.ok, report.foreign_rows) == (True, 1)
    assert "1 rows are not langchain-rag's" in str(report)
    await missing_row(lab)
    await lab.repair()
    assert "mine" in lab.world.rows.store
    assert (await lab.driver(lab.rag, "stats")).foreign_rows == 1


async def test_a_row_that_names_its_chunk_only(lab: Lab) -> None:
    before = stored(lab.rag)
    await ownerless_row_of_a_chunk(lab)
    (finding,) = (await lab.verify()).findings
    document_id = lab.manifest("b").document_id
    assert (finding.kind, finding.document_id) == (FindingKind.ORPHAN_ROW, document_id)
    assert (await lab.repair()).repaired == (finding,)
    assert stored(lab.rag) == before


async def test_unknown_rows_are_left_unless_one_says_so(lab: Lab) -> None:
    await unknown_row(lab)
    await ownerless_row(lab)
    before = stored(lab.rag)
    report = await lab.repair()
    assert (report.ok, report.repaired, len(report.left)) == (False, (), 2)
    assert stored(lab.rag) == before
    assert "repair(unknown_rows=True)" in str(report)
    assert set((await lab.verify()).findings) == set(report.left)
    report = await lab.repair(unknown_rows=True)
    assert (report.ok, report.rows_deleted) == (True, 2)
    lab.settled()


class Unlistable(SyncOnlyVectorStore):
    """A store that nothing is known of."""


class Mute(Unlistable):
    """It cannot even give rows by id."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


class Nameless(Unlistable):
    """The rows that it gives have no id."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        return [
            Document(row.page_content, metadata=row.metadata) for row in super().get_by_ids(ids)
        ]


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the look-up of backends from looking into these stores."""
    from langchain_rag.backends import Backend
    from langchain_rag.backends import registry as real

    known = real.backend_of

    def backend_of(store: object) -> Backend:
        return Backend("unknown") if isinstance(store, Unlistable) else known(store)

    for module in ("audit.rows", "lifecycle.rows"):
        monkeypatch.setattr(f"langchain_rag.{module}.backend_of", backend_of)


@pytest.mark.usefixtures("unknown")
async def test_a_store_that_cannot_list_is_asked_by_id(lab: Lab) -> None:
    store = Unlistable(lab.world.embeddings)
    store.inner = lab.world.rows
    rag = RAGVectorStore(vectorstore=store, docstore=lab.world.docs, **transformers())
    report = await lab.driver(rag, "verify")
    assert (report.ok, report.rows) == (True, None)
    assert "Unlistable cannot list its rows" in str(report)
    await missing_row(lab)
    report = await lab.driver(rag, "verify")
    assert report.counts == {FindingKind.MISSING_ROW: 1}
    assert (await lab.driver(rag, "repair")).rows_written == 1
    assert audit(rag) == []
    # Rows of an orphaned chunk can be worked out, and go before it.
    del lab.world.docs.store[lab.place("manifest", "b")]
    assert (await lab.driver(rag, "repair")).ok
    assert audit(rag) == []


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize("kind", [Mute, Nameless])
async def test_a_store_that_gives_nothing_is_not_checked(
    kind: type[Unlistable], lab: Lab
) -> None:
    store = kind(lab.world.embeddings)
    store.inner = lab.world.rows
    rag = RAGVectorStore(vectorstore=store, docstore=lab.world.docs, **transformers())
    await missing_row(lab)
    report = await lab.driver(rag, "verify")
    assert report.ok
    assert "can neither list its rows nor give them by id" in str(report)
    assert (await lab.driver(rag, "repair")).ok


class Doubled(InMemoryVectorStore):
    """Holds some rows twice, as a store that only appends does."""

    twice: set[str]

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        found = super().get_by_ids(ids)
        return found + [row for row in found if row.id in self.twice]

    async def aget_by_ids(self, ids: Any, /) -> list[Document]:
        return self.get_by_ids(ids)

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        self.twice -= set(ids)
        super().delete(ids, **kwargs)

    async def adelete(self, ids: Any = None, **kwargs: Any) -> None:
        self.delete(ids)


async def test_doubled_rows(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_rag.backends import Backend

    store = Doubled(lab.world.embeddings)
    store.store, store.twice = lab.world.rows.store, {lab.row("b")}

    def rows() -> Any:
        for id_, row in store.store.items():
            yield from [(id_, row["metadata"])] * (2 if id_ in store.twice else 1)

    monkeypatch.setattr(
        "langchain_rag.audit.rows.backend_of", lambda _: Backend("doubled", rows=rows)
    )
    rag = RAGVectorStore(vectorstore=store, docstore=lab.world.docs, **transformers())
    report = await lab.driver(rag, "verify")
    assert report.counts == {FindingKind.DOUBLED_ROW: 1}
    repaired = await lab.driver(rag, "repair")
    assert (repaired.rows_deleted, repaired.rows_written) == (1, 1)
    assert store.twice == set()
    assert (await lab.driver(rag, "verify")).ok
    assert audit(rag) == []


async def test_a_store_that_cannot_be_read_is_no_damage(lab: Lab) -> None:
    """An error of the whole docstore must never pass for records that may be deleted."""
    before = dict(lab.world.docs.store)

    class Wrong(InMemoryStore):
        def mget(self, keys: Any) -> Any:
            raise ConfigurationError("the engine is asynchronous")

        async def amget(self, keys: Any) -> Any:
            raise NotImplementedError

    docs = Wrong()
    docs.store = lab.world.docs.store
    rag = RAGVectorStore(vectorstore=lab.world.rows, docstore=docs, **transformers())
    for method in ("verify", "repair", "stats"):
        with pytest.raises((ConfigurationError, NotImplementedError)):
            await lab.driver(rag, method)
    assert lab.world.docs.store == before


async def test_a_failure_of_the_vector_store_is_raised(lab: Lab) -> None:
    class Stubborn(InMemoryVectorStore):
        def delete(self, ids: Any = None, **kwargs: Any) -> Any:
            return False

        async def adelete(self, ids: Any = None, **kwargs: Any) -> Any:
            return False

    store = Stubborn(CountingEmbeddings())
    store.store = lab.world.rows.store
    rag = RAGVectorStore(vectorstore=store, docstore=lab.world.docs, **transformers())
    del lab.world.docs.store[lab.place("manifest", "b")]
    with pytest.raises(StoreError, match="answered False"):
        await lab.driver(rag, "repair")
    assert not (await lab.driver(rag, "verify")).ok


async def test_rows_come_by_pages_from_a_store_that_is_asynchronous(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_rag.backends import Backend

    lab = Lab(driver)
    await lab.index(PAGES)
    asked: list[str] = []

    def rows() -> Any:
        asked.append("sync")
        for id_, row in lab.world.rows.store.items():
            yield id_, row["metadata"]

    async def arows() -> Any:
        asked.append("async")
        for row in rows():
            yield row

    known = Backend("known", rows=rows, arows=arows)
    monkeypatch.setattr("langchain_rag.audit.rows.backend_of", lambda _: known)
    monkeypatch.setattr("langchain_rag.audit.rows.PAGE", 5)
    report = await lab.verify()
    assert (report.ok, report.rows) == (True, 18)
    assert asked[0] == driver.name
    await missing_row(lab)
    assert (await lab.verify()).counts == {FindingKind.MISSING_ROW: 1}


async def test_batches_are_small_and_lose_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_rag.audit import recheck, repair, scan, verify

    for module in (scan, repair, recheck, verify):
        monkeypatch.setattr(module, "BATCH", 1)
    monkeypatch.setattr(scan, "MAX_CHUNKS", 1)
    assert (await lab.verify()).ok
    lab.world.rows.store.clear()
    assert (await lab.verify()).counts == {FindingKind.MISSING_ROW: 18}
    assert (await lab.repair()).rows_written == 18
    lab.settled()


async def test_a_chunk_of_another_document_is_corrupt(lab: Lab) -> None:
    """Two manifests that name the same chunk, as a damaged or forged one may."""
    from dataclasses import replace

    from langchain_rag.lifecycle.records import write_manifest

    a, b = lab.manifest("a"), lab.manifest("b")
    forged = replace(b, chunks=(a.chunks[0], *b.chunks[1:]))
    lab.world.docs.store[lab.place("manifest", "b")] = write_manifest(forged)
    report = await lab.verify()
    assert FindingKind.CORRUPT_RECORD in report.counts
    assert any("It names document" in finding.detail for finding in report.findings)


async def test_what_another_process_left_is_swept_by_one_that_swept_before(lab: Lab) -> None:
    """It knows nothing of that process; an add would not look for what it left."""
    from langchain_rag.lifecycle.manifest import Intent
    from langchain_rag.lifecycle.records import write_intent

    assert not lab.rag._lifecycle.recovery.unswept
    intent = Intent("dead", "a writer of another process", None, ())
    lab.world.docs.store[lab.rag._lifecycle.keys.intent("dead")] = write_intent(intent)
    report = await lab.verify()
    assert report.counts == {FindingKind.UNFINISHED_CHANGE: 1}
    assert report.document_ids == ["dead"]
    assert (await lab.repair()).ok
    assert (await lab.verify()).ok
    lab.settled()


async def test_a_collection_that_is_not_there_has_no_rows(lab: Lab) -> None:
    """Some stores cannot be asked before the first row is added, or after all were dropped."""
    from dataclasses import replace

    rows = lab.rag._lifecycle.stores.rows
    there = False

    def exists() -> bool:
        return there

    rows.backend = replace(rows.backend, exists=exists)
    rows._there = False
    report = await lab.verify()
    assert (report.rows, report.counts) == (0, {FindingKind.MISSING_ROW: 18})
    there = True
    assert (await lab.verify()).ok


class Listed(InMemoryVectorStore):
    """Can list, and cannot give rows by id, as Milvus's class."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


class IdInMetadata(InMemoryVectorStore):
    """Gives the id in the metadata only, as Qdrant's class."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        return [
            Document(row.page_content, metadata={**row.metadata, "_id": row.id})
            for row in super().get_by_ids(ids)
        ]

    async def aget_by_ids(self, ids: Any, /) -> list[Document]:
        return self.get_by_ids(ids)


@pytest.mark.parametrize(("kind", "lost"), [(Listed, 1), (IdInMetadata, 0)])
async def test_a_store_whose_rows_are_hard_to_get(
    kind: type[InMemoryVectorStore], lost: int, lab: Lab
) -> None:
    store = kind(lab.world.embeddings)
    store.store = lab.world.rows.store
    rag = RAGVectorStore(vectorstore=store, docstore=lab.world.docs, **transformers())
    await missing_row(lab)
    assert (await lab.driver(rag, "verify")).counts == {FindingKind.MISSING_ROW: 1}
    assert (await lab.driver(rag, "repair")).rows_written == 1
    lab.settled()
    # Without the rows' texts a chunk whose variations are lost has to be made again.
    before = stored(lab.rag).records
    del lab.world.docs.store[lab.place("variations", "b")]
    report = await lab.driver(rag, "repair")
    assert (report.ok, len(report.reimport)) == (True, lost)
    lab.settled()
    # Nothing is wrong any more, and yet something is to be done.
    after = await lab.driver(rag, "verify")
    assert (after.ok, after.waiting) == (True, report.reimport)
    assert ("Import again" in str(after)) is bool(lost)
    assert (stored(lab.rag).records == before) is (not lost)
