"""`rag.index()` beside LangChain's `index()`, over real stores, and interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.errors import DuplicateIdError
from langchain_rag.storage import create_engine
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    InjectedCrash,
    InjectedFault,
    ScriptedChatModel,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.indexed import (
    ROWS,
    Setting,
    answer,
    numbered,
    page,
    paragraphs,
    place,
    splitter,
)


@pytest.fixture
def setting(driver: Driver) -> Setting:
    return Setting(driver)


# --- beside LangChain's index() ----------------------------------------------------------


async def by_langchain(setting: Setting, documents: list[Document], **options: Any) -> Any:
    rag = setting.start()
    options.setdefault("cleanup", "scoped_full")
    result = await setting.driver.index(documents, **rag.index_kwargs(), **options)
    assert audit(rag) == []
    return result


PAGES = [page(paragraphs("a", "b"), "one"), page("c", "one"), page("d", "two")]


async def test_what_index_stored_is_taken_over(setting: Setting) -> None:
    await by_langchain(setting, PAGES)
    theirs = set(setting.records())
    assert len(theirs) == 3
    report = await setting.index(PAGES)
    # Other names for the same documents: in, and the old ones out.
    assert (report.num_added, report.num_deleted) == (3, 3)
    assert set(report.deleted) == theirs
    assert setting.records() == {
        place("one", 0): "one",
        place("one", 1): "one",
        place("two", 0): "two",
    }
    assert len(setting.rows()) == 4 * ROWS
    assert await setting.is_clean()
    assert (await setting.index(PAGES)).num_skipped == 3


async def test_what_rag_index_stored_is_taken_over(setting: Setting) -> None:
    await setting.index(PAGES)
    result = await by_langchain(setting, PAGES)
    assert (result["num_added"], result["num_deleted"]) == (3, 3)
    assert len(setting.records()) == 3
    assert not setting.records().keys() & {place("one"), place("two")}
    assert len(setting.rows()) == 4 * ROWS
    assert await setting.is_clean()
    result = await by_langchain(setting, PAGES)
    assert (result["num_skipped"], result["num_deleted"]) == (3, 0)


@pytest.mark.parametrize("cleanup", ["scoped_full", "full"])
async def test_to_and_fro(setting: Setting, cleanup: str) -> None:
    setting.options["variation_cache"] = setting.cache
    for n in range(3):
        pages = [*PAGES[:2], page(f"d {n}", "two")]
        await by_langchain(setting, pages, cleanup=cleanup)
        assert len(setting.records()) == 3
        await setting.index(pages, cleanup=cleanup)
        assert len(setting.records()) == 3
        assert len(setting.rows()) == 4 * ROWS
        assert await setting.is_clean()
    # Under whatever name: what a model said of a text is paid for once.
    assert setting.llm.calls == 3 + 3


async def test_each_sees_what_the_other_deleted(setting: Setting) -> None:
    await setting.index(PAGES)
    result = await by_langchain(setting, PAGES[:1], cleanup="full")
    assert (result["num_added"], result["num_deleted"]) == (1, 3)
    report = await setting.index(PAGES[2:], cleanup="full")
    assert (report.num_added, report.num_deleted) == (1, 1)
    result = await by_langchain(setting, [], cleanup="full")
    assert result["num_deleted"] == 1
    assert (setting.records(), contents(setting.start())) == ({}, ({}, {}))


async def test_scopes_of_the_other_are_left_alone(setting: Setting) -> None:
    await setting.index(PAGES)
    result = await by_langchain(setting, PAGES[2:])
    assert (result["num_added"], result["num_deleted"]) == (1, 1)
    report = await setting.index(PAGES[:2])
    assert (report.num_skipped, report.num_deleted) == (2, 0)
    assert await setting.is_clean()


async def test_what_add_documents_stored_is_not_cleaned_by_scope(setting: Setting) -> None:
    """By `full` it is: afterwards what is stored is what the loader returned."""
    rag = setting.start()
    await setting.driver(rag, "add_documents", [page("by hand", "one")], ids=["hand"])
    report = await setting.index(PAGES)
    assert (report.num_added, report.num_deleted) == (3, 0)
    assert "hand" in {one[0] for one in reachable(setting.start())}
    # Indexed under its id, it is known ever after.
    report = await setting.index([page("by hand", "one", "hand")])
    assert (report.unchanged, report.num_deleted) == (["hand"], 2)
    assert setting.records() == {"hand": "one", place("two"): "two"}
    assert (await setting.index([PAGES[1]])).deleted == ["hand"]
    await setting.driver(rag, "add_documents", [page("by hand", "one")], ids=["hand"])
    assert (await setting.index(PAGES, cleanup="full")).deleted == ["hand"]
    assert await setting.is_clean()


async def test_what_add_documents_named_by_its_words_is_not_doubled(setting: Setting) -> None:
    rag = setting.start()
    pages = [page("one", "a"), page("two", "a")]
    added = await setting.driver(rag, "add_documents", pages)
    dry = await setting.index(pages, dry_run=True)
    report = await setting.index(pages)
    assert (report.num_added, sorted(report.deleted)) == (2, sorted(added))
    assert (dry.num_added, sorted(dry.deleted)) == (2, sorted(added))
    assert await setting.is_clean()


async def test_records_that_are_older_than_their_documents(setting: Setting) -> None:
    """A document belongs to the source that it says, whatever its record says."""
    await setting.index([page("x", "a", "x")])
    await setting.driver(setting.start(), "delete", ["x"])
    await setting.index([page("x", "b", "x")])
    assert (await setting.index([page("y", "a", "y")])).deleted == []
    assert set(setting.records().items()) == {("x", "b"), ("y", "a")}
    await setting.driver(setting.start(), "add_documents", [page("x", "c", "x")], ids=["x"])
    assert (await setting.index([page("z", "b", "z")])).deleted == []
    assert {"x", "y", "z"} <= {one[0] for one in reachable(setting.start())}
    # What is gone already is forgotten, and counts nowhere.
    await setting.driver(setting.start(), "delete", ["y"])
    report = await setting.index([page("v", "a", "v")], max_deletes=0)
    assert report.num_deleted == 0
    assert "y" not in setting.records()


async def test_an_own_id_that_is_a_place_of_another(setting: Setting) -> None:
    await setting.index([page("zero", "a")])
    (hit,) = await setting.driver(setting.start(), "get_by_ids", [place("a")])
    report = await setting.index([hit, page("new first", "a")])
    assert (report.num_skipped, report.num_added) == (1, 1)
    with pytest.raises(DuplicateIdError):
        await setting.index([page("new first", "a"), hit])


async def test_one_document_that_is_changed_while_it_is_read(setting: Setting) -> None:
    def load() -> Iterator[Document]:
        document = page("", "a")
        for n in range(5):
            document.page_content = f"text {n}"
            yield document

    assert (await setting.index(load())).num_added == 5


# --- real stores -------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Any]:
    """Makes a store on Chroma on disk and SQLite, as a new process would."""
    engine: Any = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")
    embeddings = CountingEmbeddings()
    llm = ScriptedChatModel(answer=answer)
    client = chromadb.PersistentClient(
        str(tmp_path / "chroma"), Settings(anonymized_telemetry=False)
    )

    def start(**options: Any) -> Any:
        from langchain_rag.document_transformers import GenerateQuestionsTransformer

        questions = GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=2, version="1")
        rag, kwargs = RAGVectorStore.from_vs_in_sql(
            Chroma("pages", embeddings, client=client),
            engine=engine,
            parent_transformer=splitter(),
            chunk_transformer=CopyDocumentTransformer() + questions,
            **options,
        )
        return rag, kwargs, llm, embeddings

    yield start
    engine.dispose()


async def test_on_disk(driver: Driver, disk: Any) -> None:
    def documents() -> Iterator[Document]:
        for n in range(12):
            yield page(paragraphs(f"{n}a", f"{n}b"), f"s{n % 3}")

    rag, kwargs, llm, embeddings = disk()
    dry = await driver(rag, "index", documents(), batch_size=5, dry_run=True)
    report = await driver(rag, "index", documents(), batch_size=5)
    assert (report.num_added, report.llm_calls) == (dry.num_added, dry.llm_calls) == (12, 24)
    assert report.rows_written == dry.rows_written == 24 * ROWS
    rag, kwargs, _, _ = disk()
    asked, embedded = llm.calls, len(embeddings.documents)
    report = await driver(rag, "index", documents(), batch_size=5)
    assert report.num_skipped == 12
    assert (llm.calls, len(embeddings.documents)) == (asked, embedded)
    edited = [*documents()]
    edited[4] = page(paragraphs("4a", "new"), "s1")
    report = await driver(rag, "index", edited[:-1], max_deletes=0.1)
    assert (report.num_updated, report.num_skipped, report.num_deleted) == (1, 10, 1)
    assert (report.llm_calls, report.rows_written) == (1, ROWS)
    found = await driver(rag, "similarity_search", "paragraph new", k=30)
    assert len(found) == 22
    assert (await driver(rag, "verify")).ok
    # LangChain's index() over the same: the answers are known.
    asked = llm.calls
    result = await driver.index(edited[:-1], cleanup="scoped_full", **kwargs)
    assert (result["num_added"], result["num_deleted"]) == (11, 11)
    assert llm.calls == asked
    assert (await driver(rag, "verify")).ok
    report = await driver(rag, "index", [], cleanup="full", allow_empty=True)
    assert report.num_deleted == 11
    assert rag.vectorstore.get()["ids"] == []


# --- interrupted -------------------------------------------------------------------------


async def interrupted(setting: Setting, documents: Any, prompt: str, **options: Any) -> None:
    """Index until the model is asked about some text, and stop dead there."""
    rag = setting.start()

    def stop(asked: str) -> str:
        if prompt in asked:
            if setting.driver.name == "sync":
                raise stopping
            task.cancel()
        return answer(asked)

    # A KeyboardInterrupt would end pytest's event loop, if it came out of a task.
    stopping = KeyboardInterrupt()
    setting.llm.answer = stop
    task = asyncio.ensure_future(_shown(setting, rag, documents, options))
    with pytest.raises((_InterruptedError, asyncio.CancelledError)):
        await task
    setting.llm.answer = answer


class _InterruptedError(Exception):
    pass


async def _shown(setting: Setting, rag: Any, documents: Any, options: dict[str, Any]) -> None:
    try:
        await setting.driver(rag, "index", documents, **options)
    except KeyboardInterrupt:
        raise _InterruptedError from None


@pytest.mark.parametrize("with_records", [True, False])
async def test_interrupted_while_a_model_answers(driver: Driver, with_records: bool) -> None:
    setting = Setting(driver, max_concurrency=2)
    setting.options["variation_cache"] = setting.cache
    if not with_records:
        setting.options["record_manager"] = None
    documents = [page(paragraphs(*(f"{n}{p}" for p in "abcd")), f"s{n % 2}") for n in range(10)]
    await interrupted(setting, documents, " 6b", batch_size=2)
    rag = setting.start()
    paid = setting.llm.calls
    kept = (await driver(setting.cache, "stats")).entries
    # Only what was in flight is lost.
    assert paid - 3 <= kept < paid
    assert kept < 40
    before = {one[0] for one in reachable(rag)}
    done = [m.metadata["document_id"] for m in contents(rag).room("manifests").values()]
    assert {place(f"s{n % 2}", n // 2) for n in range(2)} <= {*done} <= before
    setting.llm.reset()
    report = await setting.index(documents, batch_size=2)
    assert setting.llm.calls == 40 - kept
    assert sorted([*report.added, *report.unchanged]) == sorted(
        place(f"s{n % 2}", n // 2) for n in range(10)
    )
    assert sorted(report.unchanged) == sorted(done)
    assert len(setting.rows()) == 40 * ROWS
    assert await setting.is_clean()
    assert (await setting.index(documents)).num_skipped == 10


async def test_a_change_that_is_interrupted_shows_the_old_version(setting: Setting) -> None:
    old = [page(paragraphs("same", f"old{n}"), f"s{n}") for n in range(4)]
    new = [page(paragraphs("same", f"new{n}"), f"s{n}") for n in range(4)]
    await setting.index(old)
    await interrupted(setting, new, "new2", batch_size=4)
    copies = {text for text in setting.texts() if "?" not in text}
    assert {text for text in copies if "old" in text} == {
        paragraphs(f"old{n}") for n in range(4)
    }
    report = await setting.index(new)
    assert report.num_updated == 4
    assert not any("old" in text for text in setting.texts())
    assert len(setting.rows()) == 8 * ROWS
    assert await setting.is_clean()


@pytest.mark.parametrize("moment", ["before", "inside", "after"])
@pytest.mark.parametrize("flavour", [InjectedCrash, InjectedFault])
async def test_interrupted_at_any_write(
    driver: Driver, moment: Any, flavour: type[BaseException]
) -> None:
    """The same call continues, wherever it was stopped."""
    call = 1
    while True:
        setting = Setting(driver)
        setting.options["variation_cache"] = setting.cache
        await setting.index([page(paragraphs("a", "b"), "one"), page("goes", "one")])
        documents = [page(paragraphs("a", "new"), "one"), page("more", "two")]
        rag = setting.start()
        setting.forget()
        setting.world.plan.arm(call, moment, flavour)
        with suppress(flavour):
            await driver(rag, "index", documents, batch_size=1)
        if setting.world.plan.armed:
            break
        report = await setting.index(documents, batch_size=1)
        # What the model said is not asked again, but for what a crash found in flight, and
        # all is as if nothing had happened.
        assert 2 <= setting.llm.calls <= (2 if flavour is InjectedFault else 3)
        assert report.failed == []
        assert setting.records() == {place("one"): "one", place("two"): "two"}
        assert {text for text in setting.texts() if "?" not in text} == {
            *(paragraphs("a"), paragraphs("new").strip(), "more"),
        }
        assert len(setting.rows()) == 3 * ROWS
        assert await setting.is_clean()
        setting.forget()
        assert (await setting.index(documents)).num_skipped == 2
        assert setting.spent() == (0, 0, 0, 0)
        call += 1
    assert call > 10


async def test_two_runs_at_a_time() -> None:
    """Neither writes what the other writes; together they are as one."""
    setting = Setting(Driver("async"))
    setting.llm.delay = 0.01
    documents = [page(paragraphs(f"{n}"), f"s{n}") for n in range(8)]
    rag = setting.start()
    reports = await asyncio.gather(
        *(rag.aindex(part, on_error="skip", batch_size=2) for part in (documents, documents))
    )
    assert audit(rag) == []
    for report in reports:
        assert all("being written by another call" in f.reason for f in report.failed)
        assert report.num_added + report.num_skipped + report.num_failed == 8
    assert len(setting.rows()) == 8 * ROWS
    assert await setting.is_clean()
    assert (await setting.index(documents)).num_skipped == 8


@pytest.mark.parametrize("number", [1, 16])
async def test_one_pool_for_all_batches(driver: Driver, number: int) -> None:
    """The model is asked about the next batches while one is written."""
    setting = Setting(driver, max_concurrency=number)
    setting.llm.delay = 0.1 if number > 1 else 0
    documents = [page(paragraphs(*numbered(2)), f"s{n}") for n in range(20)]
    report = await setting.index(documents, batch_size=5)
    assert (report.llm_calls, setting.llm.peak) == (40, number)


async def test_the_calls_own_concurrency_beats_the_stores(driver: Driver) -> None:
    setting = Setting(driver, max_concurrency=16)
    setting.llm.delay = 0.02
    documents = [page(paragraphs(*numbered(2)), f"s{n}") for n in range(5)]
    await setting.index(documents, config={"max_concurrency": 3})
    assert setting.llm.peak == 3


# --- what is left out of a hash ------------------------------------------------------------


async def test_what_is_ignored_is_no_damage(setting: Setting) -> None:
    pages = [page("one", "a", mtime=1.5), page("two", "b", mtime="now")]
    await setting.index(pages, ignore_metadata={"mtime"})
    rag = setting.start()
    assert (await setting.driver(rag, "verify")).ok
    assert (await setting.driver(rag, "repair")).ok
    later = [page("one", "a", mtime=2.5), page("two changed", "b", mtime="later")]
    report = await setting.index(later, ignore_metadata={"mtime"})
    assert (report.num_skipped, report.num_updated) == (1, 1)
    assert (await setting.driver(setting.start(), "verify")).ok
    assert (await setting.index(later)).num_updated == 2
    assert (await setting.driver(setting.start(), "verify")).ok
