"""Cases in which one of the stores is lost, and what it costs to have it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_rag.audit import FindingKind
from langchain_rag.backends import backend_of
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.storage import create_engine
from langchain_rag.testing import (
    Contents,
    CountingEmbeddings,
    Driver,
    ScriptedChatModel,
    audit,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore

PAGES = [
    Document(f"{name} wrote on numbers.", metadata={"source": f"{name}.md"})
    for name in ("Euclid", "Gauss", "Noether")
]


def rows_of(store: VectorStore) -> list[str]:
    rows = backend_of(store).rows
    assert rows is not None
    return [id_ for id_, _ in rows()]


def stored(rag: RAGVectorStore) -> Contents:
    """What is stored, without how often it was written."""
    found = contents(rag)
    for record in found.room("manifests").values():
        record.metadata.pop("revision", None)
    return found


@pytest.fixture
def model() -> ScriptedChatModel:
    return ScriptedChatModel(answer=lambda prompt: f"Who wrote?\nOn what ({len(prompt)})?")


class Library:
    """What a program makes at its start, over a database that may be deleted in between."""

    def __init__(self, wrapped: VectorStore, file: Path, model: ScriptedChatModel) -> None:
        self.wrapped, self.file = wrapped, file
        self.engine: Any = create_engine(f"sqlite:///{file}")
        self.rag, self.index_kwargs = RAGVectorStore.from_vs_in_sql(
            wrapped,
            engine=self.engine,
            chunk_transformer=GenerateQuestionsTransformer.from_llm(model)
            + CopyDocumentTransformer(),
        )

    def close(self) -> None:
        self.engine.dispose()

    def lose_docstore(self) -> None:
        self.close()
        for ending in ("", "-wal", "-shm"):
            self.file.with_name(self.file.name + ending).unlink(missing_ok=True)


async def test_case_1_the_vector_store_is_wiped(
    driver: Driver,
    wrapped: VectorStore,
    tmp_path: Path,
    model: ScriptedChatModel,
    embeddings: CountingEmbeddings,
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    before = stored(library.rag)
    assert model.calls == 3
    library.close()
    wrapped.delete(rows_of(wrapped))
    model.reset()
    embeddings.reset()

    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    # The run after it sees nothing: neither does LangChain, whatever is wrapped.
    result = await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    assert result["num_skipped"] == 3
    report = await driver(library.rag, "verify")
    assert report.counts == {FindingKind.MISSING_ROW: 9}
    assert len(report.document_ids) == 3
    repaired = await driver(library.rag, "repair")
    assert (repaired.ok, repaired.rows_written, repaired.llm_calls) == (True, 9, 0)
    assert model.calls == 0
    assert len(embeddings.documents) == 9
    assert stored(library.rag) == before
    assert (await driver(library.rag, "verify")).ok
    assert audit(library.rag) == []
    hits = await driver(library.rag, "similarity_search", "Gauss", k=1)
    assert hits[0].page_content == "Gauss wrote on numbers."
    library.close()


async def test_case_2_the_docstore_is_deleted_and_the_vectors_are_not(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    rows = sorted(rows_of(wrapped))
    before = stored(library.rag)
    library.lose_docstore()

    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    result = await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    assert result["num_added"] == 3
    assert sorted(rows_of(wrapped)) == rows
    assert stored(library.rag) == before
    assert (await driver(library.rag, "verify")).ok
    assert audit(library.rag) == []
    library.close()


async def test_case_2_with_a_text_that_changed_meanwhile(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    library.lose_docstore()

    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    changed = [
        Document("Euclid wrote the Elements.", metadata=PAGES[0].metadata),
        *PAGES[1:],
    ]
    await driver.index(changed, cleanup="scoped_full", **library.index_kwargs)
    report = await driver(library.rag, "verify")
    assert report.counts == {FindingKind.UNKNOWN_ROW: 3}  # `index()` gave the text another id
    # They name no chunk that is there, so no search returns them meanwhile.
    hits = await driver(library.rag, "similarity_search", "Euclid", k=10)
    assert sorted(hit.page_content for hit in hits) == sorted(
        page.page_content for page in changed
    )
    model.reset()
    # They might be another database's: nobody but the user can say.
    repaired = await driver(library.rag, "repair")
    assert (repaired.ok, len(repaired.left), repaired.rows_deleted) == (False, 3, 0)
    assert "repair(unknown_rows=True)" in str(repaired)
    assert (await driver(library.rag, "verify")).findings == report.findings
    repaired = await driver(library.rag, "repair", unknown_rows=True)
    assert (repaired.ok, repaired.rows_deleted, model.calls) == (True, 3, 0)
    assert len(rows_of(wrapped)) == 9
    assert (await driver(library.rag, "verify")).ok
    assert audit(library.rag) == []
    library.close()


async def test_case_2_with_stable_ids_and_a_text_that_changed_meanwhile(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    ids = [page.metadata["source"] for page in PAGES]
    await driver(library.rag, "add_documents", PAGES, ids=ids)
    library.lose_docstore()

    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    changed = Document("Euclid wrote the Elements.", metadata=PAGES[0].metadata)
    await driver(library.rag, "add_documents", [changed, *PAGES[1:]], ids=ids)
    assert (await driver(library.rag, "verify")).counts == {FindingKind.ORPHAN_ROW: 3}
    repaired = await driver(library.rag, "repair")
    assert (repaired.ok, repaired.rows_deleted) == (True, 3)
    assert audit(library.rag) == []
    library.close()


async def test_two_databases_on_one_collection_leave_each_other_alone(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    """As in the first use of two projects that forgot to give the collection another name."""
    mine = Library(wrapped, tmp_path / "mine.sqlite", model)
    theirs = Library(wrapped, tmp_path / "theirs.sqlite", model)
    await driver.index(PAGES[:1], cleanup="scoped_full", **mine.index_kwargs)
    await driver.index(PAGES[1:], cleanup="scoped_full", **theirs.index_kwargs)
    before = contents(mine.rag).rows
    for library, others in ((mine, 6), (theirs, 3)):
        report = await driver(library.rag, "verify")
        assert report.counts == {FindingKind.UNKNOWN_ROW: others}
        repaired = await driver(library.rag, "repair")
        assert (repaired.ok, repaired.repaired, repaired.rows_deleted) == (False, (), 0)
    assert contents(mine.rag).rows == before
    hits = await driver(theirs.rag, "similarity_search", "Gauss", k=1)
    assert hits[0].page_content == "Gauss wrote on numbers."
    mine.close()
    theirs.close()


async def test_a_lost_chunk_is_made_again_and_the_rest_costs_nothing(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    before = stored(library.rag)
    key = min(library.rag.docstore.yield_keys(prefix="chunks/"))
    library.rag.docstore.mdelete([key])
    model.reset()
    repaired = await driver(library.rag, "repair")
    assert len(repaired.reimport) == 1
    assert (await driver(library.rag, "verify")).ok
    result = await driver.index(PAGES, cleanup="scoped_full", **library.index_kwargs)
    assert (result["num_added"], result["num_skipped"]) == (1, 2)
    assert model.calls == 0  # the cache of answers on the same database has it
    assert stored(library.rag) == before
    library.close()


async def test_a_lost_chunk_of_a_page_that_changed_leaves_nothing(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    """The record of what was repaired stays, so that the next run knows what to clean up."""
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES[:1], cleanup="scoped_full", **library.index_kwargs)
    library.rag.docstore.mdelete(list(library.rag.docstore.yield_keys(prefix="chunks/")))
    await driver(library.rag, "repair")
    changed = [Document("Euclid wrote the Elements.", metadata=PAGES[0].metadata)]
    result = await driver.index(changed, cleanup="scoped_full", **library.index_kwargs)
    assert (result["num_added"], result["num_deleted"]) == (1, 1)
    assert (await driver(library.rag, "stats")).documents == 1
    assert (await driver(library.rag, "verify")).ok
    assert audit(library.rag) == []
    library.close()


async def test_an_untracked_document_is_cleaned_up_by_the_next_run(
    driver: Driver, wrapped: VectorStore, tmp_path: Path, model: ScriptedChatModel
) -> None:
    library = Library(wrapped, tmp_path / "rag.sqlite", model)
    await driver.index(PAGES[:1], cleanup="scoped_full", **library.index_kwargs)
    manager = library.rag.record_manager
    assert manager is not None
    manager.delete_keys(manager.list_keys())
    repaired = await driver(library.rag, "repair")
    assert repaired.counts == {FindingKind.STORED_NOT_TRACKED: 1}
    changed = [Document("Euclid wrote the Elements.", metadata=PAGES[0].metadata)]
    result = await driver.index(changed, cleanup="scoped_full", **library.index_kwargs)
    assert (result["num_added"], result["num_deleted"]) == (1, 1)
    assert audit(library.rag) == []
    library.close()
