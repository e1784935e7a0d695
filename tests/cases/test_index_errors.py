"""`rag.index()`: what fails, at each stage, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import CopyDocumentTransformer, SummarizeTransformer
from langchain_rag.errors import (
    DuplicateIdError,
    MissingSourceError,
    TransformerError,
    UnstorableMetadataError,
)
from langchain_rag.lifecycle.index_report import IndexReport
from langchain_rag.testing import Driver, InjectedFault, ScriptedTransformer, audit
from tests.cases.indexed import ROWS, Setting, page, paragraphs, place, splitter


@pytest.fixture
def setting(driver: Driver) -> Setting:
    return Setting(driver)


class Fussy(InMemoryVectorStore):
    """Refuses rows with some text, as a store with a limit on their length does."""

    bad = "\0"

    def add_documents(
        self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        if any(self.bad in document.page_content for document in documents):
            message = "the row is refused"
            raise InjectedFault(message)
        return super().add_documents(documents, ids, **kwargs)

    async def aadd_documents(
        self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        return self.add_documents(documents, ids, **kwargs)


class Marked(ScriptedTransformer):
    """One whose identity can be relied on."""

    fingerprint = "marked 1"


class Stage:
    """A store in which one stage fails for documents and chunks that say "bad"."""

    def __init__(self, name: str, driver: Driver) -> None:
        self.name = name
        self.setting = setting = Setting(driver)
        self.broken = True
        self.error: type[Exception] = TransformerError

        def fails(text: str) -> bool:
            return self.broken and "bad" in text

        setting.options["parent_transformer"] = splitter(5)

        if name == "parent":
            setting.options["parent_transformer"] = Marked(
                lambda text: text.split("\n\n"), fails
            )
        elif name == "chunk":
            setting.options["chunk_transformer"] = Marked(str.split, fails)
        elif name == "model":
            setting.llm.fail_when = fails
        elif name == "rows":
            self.error = InjectedFault
            setting.world.rows = Fussy(setting.world.embeddings)
            setting.world.rows.bad = "bad"
        else:
            self.error = UnstorableMetadataError

    def mend(self) -> None:
        self.broken = False
        if isinstance(self.setting.world.rows, Fussy):
            self.setting.world.rows.bad = "\0"

    def page(self, text: str, source: str, id_: str | None = None) -> Document:
        document = page(text, source, id_)
        if self.name == "document" and self.broken and "bad" in text:
            document.metadata["when"] = object()
        return document

    async def index(self, *texts: tuple[str, str], **options: Any) -> IndexReport:
        documents = [self.page(text, source) for text, source in texts]
        return await self.setting.index(documents, **options)

    def found(self) -> set[str]:
        """The sources and texts of the chunks that can be found."""
        rows = self.setting.rows()
        return {f"{row['metadata']['source']}: {row['text']}" for row in rows}


@pytest.fixture(params=["document", "parent", "chunk", "model", "rows"])
def stage(request: pytest.FixtureRequest, driver: Driver) -> Stage:
    return Stage(request.param, driver)


@pytest.fixture(params=["parent", "chunk", "model", "rows"])
def late_stage(request: pytest.FixtureRequest, driver: Driver) -> Stage:
    """One after the document itself was found fit."""
    return Stage(request.param, driver)


OLD = [("alpha\n\nbeta", "a"), ("old\n\nsame", "b"), ("gamma", "c")]
NEW = [("alpha\n\nnew", "a"), ("bad\n\nsame", "b"), ("delta", "c")]


async def test_raise_ends_the_run(stage: Stage) -> None:
    await stage.index(*OLD)
    before = stage.found()
    with pytest.raises(stage.error):
        await stage.index(*NEW)
    rag = stage.setting.start()
    assert audit(rag) == []
    assert stage.found() == before
    # A batch before it is stored, one after it is not begun or not written.
    with pytest.raises(stage.error):
        await stage.index(*NEW, batch_size=1)
    assert {text for text in stage.found() if text.startswith("b")} == {
        text for text in before if text.startswith("b")
    }
    assert any("new" in text for text in stage.found())
    stage.mend()
    report = await stage.index(*NEW)
    assert sorted([*report.updated, *report.unchanged]) == sorted(map(place, "abc"))
    assert place("b") in report.updated
    assert await stage.setting.is_clean()


@pytest.mark.parametrize("batch_size", [1, 100])
async def test_skip_leaves_the_old_version_and_goes_on(stage: Stage, batch_size: int) -> None:
    await stage.index(*OLD)
    before = stage.found()
    events: list[Any] = []
    report = await stage.index(
        *NEW, on_error="skip", batch_size=batch_size, progress=events.append
    )
    assert sorted(report.updated) == [*sorted([place("a"), place("c")])]
    assert (report.added, report.unchanged, report.deleted) == ([], [], [])
    (failure,) = report.failed
    assert (failure.document_id, failure.source_id, failure.chunk) == (place("b"), "b", None)
    assert failure.reason
    assert not report.ok
    assert sorted(event.outcome for event in events) == ["failed", "updated", "updated"]
    (failed,) = (event for event in events if event.outcome == "failed")
    assert (failed.document_id, failed.source_id) == (place("b"), "b")
    assert failed.reason == failure.reason
    theirs = {text for text in stage.found() if text.startswith("b")}
    assert theirs == {text for text in before if text.startswith("b")}
    assert any(text.startswith("c: ") and "delta" in text for text in stage.found())
    assert await stage.setting.is_clean()
    # It is tried again, also where nothing changed, and the others are not.
    stage.setting.forget()
    report = await stage.index(*NEW, on_error="skip", batch_size=batch_size)
    assert (report.num_skipped, report.num_failed) == (2, 1)
    stage.mend()
    report = await stage.index(*NEW)
    assert (report.updated, report.num_skipped) == ([place("b")], 2)
    assert await stage.setting.is_clean()


async def test_a_new_document_that_fails_is_not_tracked(late_stage: Stage) -> None:
    report = await late_stage.index(*NEW, on_error="skip")
    assert (sorted(report.added), report.num_failed) == (sorted([place("a"), place("c")]), 1)
    assert place("b") not in late_stage.setting.records()
    assert await late_stage.setting.is_clean()
    # It was never stored, so it cannot be deleted.
    report = await late_stage.index(("alpha", "a"), cleanup="full")
    assert report.deleted == [place("c")]
    assert await late_stage.setting.is_clean()


async def test_a_new_document_that_ends_the_run_is_not_tracked(late_stage: Stage) -> None:
    with pytest.raises(late_stage.error):
        await late_stage.index(*NEW)
    assert late_stage.setting.records() == {}
    assert await late_stage.setting.is_clean()


async def test_copy_stands_in_where_a_model_or_a_chunk_transformer_fails(stage: Stage) -> None:
    await stage.index(*OLD)
    before = stage.found()
    report = await stage.index(*NEW, on_error="copy")
    (failure,) = report.failed
    theirs = {text for text in stage.found() if text.startswith("b")}
    if stage.name in {"chunk", "model"}:
        assert sorted(report.updated) == sorted(map(place, "abc"))
        assert failure.chunk is not None
        assert {text for text in theirs if "bad" in text} == {"b: bad"}
    else:
        assert sorted(report.updated) == sorted([place("a"), place("c")])
        assert failure.chunk is None
        assert theirs == {text for text in before if text.startswith("b")}
    assert failure.document_id == place("b")
    assert report.num_failed == 1
    assert await stage.setting.is_clean()
    stage.mend()
    report = await stage.index(*NEW)
    assert (report.updated, report.num_skipped) == ([place("b")], 2)
    if stage.name == "model":
        assert report.llm_calls == 1
    assert await stage.setting.is_clean()


async def test_copy_keeps_what_others_made_of_the_chunk(driver: Driver) -> None:
    setting = Setting(driver)
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    upper = ScriptedTransformer(lambda text: [text.upper()])
    setting.options["chunk_transformer"] = setting.questions() + upper
    report = await setting.index([page("bad text")], on_error="copy")
    assert report.num_failed == 1
    assert setting.texts() == ["BAD TEXT", "bad text"]


async def test_one_failing_chunk_does_not_pay_for_the_others_twice(driver: Driver) -> None:
    """A transformer beside the model that fails leads to no second call of the model."""
    setting = Setting(driver)
    fussy = ScriptedTransformer(lambda text: [text.upper()], lambda text: " bad" in text)
    setting.options["chunk_transformer"] = setting.questions() + fussy
    documents = [page(paragraphs("a", "b", "bad", "c"))]
    report = await setting.index(documents, on_error="copy")
    assert [failure.chunk is not None for failure in report.failed] == [True]
    assert setting.llm.calls == 4


async def test_two_members_that_fail_for_one_chunk_are_each_reported_once(
    driver: Driver,
) -> None:
    setting = Setting(driver)
    setting.llm.fail_when = lambda prompt: " bad" in prompt
    fussy = ScriptedTransformer(lambda text: [text.upper()], lambda text: " bad" in text)
    setting.options["chunk_transformer"] = setting.questions() + fussy
    report = await setting.index([page(paragraphs("a", "bad"))], on_error="copy")
    assert len({failure.reason for failure in report.failed}) == len(report.failed)
    assert report.num_failed == 1


async def test_one_row_that_is_refused_fails_its_document_only(driver: Driver) -> None:
    setting = Setting(driver)
    rows = setting.world.rows = Fussy(setting.world.embeddings)
    setting.options["chunk_transformer"] = CopyDocumentTransformer()
    before = [page(paragraphs("a", f"old{n}"), f"s{n}") for n in range(5)]
    await setting.index(before)
    rows.bad = "bad3"
    after = [page(paragraphs("a", f"bad{n}"), f"s{n}") for n in range(5)]
    report = await setting.index(after, on_error="skip")
    assert [failure.document_id for failure in report.failed] == [place("s3")]
    assert "the row is refused" in report.failed[0].reason
    assert report.updated == [place(f"s{n}") for n in (0, 1, 2, 4)]
    assert sum("old" in text for text in setting.texts()) == 1
    assert sum("   a" in text for text in setting.texts()) == 5
    assert await setting.is_clean()


async def test_documents_that_cannot_be_named_stop_the_clean_up(setting: Setting) -> None:
    await setting.index([page("1", "a"), page("2", "a"), page("3", "b")])
    documents: list[Any] = [page("1", "a"), Document("no source")]
    for cleanup in ("scoped_full", "full"):
        report = await setting.index(documents, on_error="skip", cleanup=cleanup)
        assert report.num_deleted == 0
        assert report.cleanup_left_out is not None
        assert "1 documents failed" in report.cleanup_left_out
        assert report.failed[0].document_id is None
        assert not report.ok
        assert "Nothing was cleaned up" in str(report)
    # With an id it is known which one it is.
    documents = [page("1", "a"), Document("no source", id="mine")]
    report = await setting.index(documents, on_error="skip")
    assert (report.deleted, report.cleanup_left_out) == ([place("a", 1)], None)
    assert report.failed[0].document_id == "mine"


async def test_an_item_that_is_no_document(setting: Setting) -> None:
    documents: Any = [page("1", "a"), "not a document", page("2", "a")]
    report = await setting.index(documents, on_error="skip")
    assert (report.num_added, report.num_failed) == (2, 1)
    assert "Item 1 of the documents is a str" in report.failed[0].reason


async def test_an_unfit_document_keeps_its_place(setting: Setting) -> None:
    """So those after it keep their names, and its old version stays."""
    texts = ["1", "2", "3"]
    await setting.index([page(text, "a") for text in texts])
    documents = [page(text, "a") for text in texts]
    documents[1].metadata["when"] = object()
    setting.forget()
    report = await setting.index(documents, on_error="skip")
    assert [failure.document_id for failure in report.failed] == [place("a", 1)]
    assert report.unchanged == [place("a", 0), place("a", 2)]
    assert (setting.spent(), report.deleted) == ((0, 0, 0, 0), [])


async def test_equal_documents_of_a_source_count_once(setting: Setting) -> None:
    documents = [page("1", "a"), page("1", "a"), page("2", "a"), page("1", "b")]
    report = await setting.index(documents)
    assert report.added == [place("a", 0), place("a", 1), place("b", 0)]
    assert (report.duplicates, report.num_skipped) == (1, 1)
    own = [page("1", "a", "x"), page("1", "a", "x")]
    report = await setting.index(own)
    assert (report.added, report.duplicates) == (["x"], 1)


async def test_one_id_for_two_documents(setting: Setting) -> None:
    documents = [page("1", "a", "x"), page("2", "a", "x"), page("3", "a", "y")]
    with pytest.raises(DuplicateIdError, match="Two documents have the id 'x'"):
        await setting.index(documents)
    assert setting.rows() == []
    report = await setting.index(documents, on_error="skip", batch_size=1)
    assert sorted(report.added) == ["x", "y"]
    assert [failure.document_id for failure in report.failed] == ["x"]
    assert {text for text in setting.texts() if "?" not in text} == {"1", "3"}


async def test_all_documents_of_a_run_are_unfit(setting: Setting) -> None:
    await setting.index([page("1", "a", "x"), page("2", "b", "y")])
    bad = page("1", "a", "x")
    bad.metadata["when"] = object()
    report = await setting.index([bad], on_error="skip", cleanup="full")
    assert (report.num_failed, report.deleted) == (1, ["y"])


async def test_skip_does_not_hide_a_mistake_of_the_caller(setting: Setting) -> None:
    """Without `on_error` a missing source ends the run before anything of its batch."""
    with pytest.raises(MissingSourceError):
        await setting.index([page("1", "a"), Document("2")])
    assert setting.rows() == []


async def test_on_error_of_a_blank_document(setting: Setting) -> None:
    """It has no chunks, and that is no failure."""
    report = await setting.index([page("  ", "a"), page("text", "b")], on_error="skip")
    assert (report.num_added, report.failed) == (2, [])
    assert {row["metadata"]["source"] for row in setting.rows()} == {"b"}
    assert (await setting.index([page("  ", "a"), page("text", "b")])).num_skipped == 2


async def test_a_splitter_that_returns_nothing(setting: Setting) -> None:
    setting.options["parent_transformer"] = ScriptedTransformer(
        lambda text: [] if "bad" in text else [text]
    )
    report = await setting.index([page("bad", "a"), page("good", "b")], on_error="skip")
    assert (report.added, report.num_failed) == ([place("b")], 1)
    assert "returned nothing for document" in report.failed[0].reason
    setting.options["parent_transformer"] = splitter()
    assert (await setting.index([page("bad", "a"), page("good", "b")])).added == [place("a")]
    assert len(setting.rows()) == 2 * ROWS


async def test_copy_with_a_pipeline(setting: Setting) -> None:
    """What fails at its head stands in for all that would have come of it."""
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    words = ScriptedTransformer(str.split)
    setting.options["chunk_transformer"] = setting.questions() | words
    documents = [page("good", "a"), page("bad", "b"), page("fine", "c")]
    report = await setting.index(documents, on_error="copy")
    assert (report.num_added, report.num_failed, report.llm_calls) == (3, 1, 3)
    theirs: dict[str, list[str]] = {row["metadata"]["source"]: [] for row in setting.rows()}
    for row in setting.rows():
        theirs[row["metadata"]["source"]].append(row["text"])
    assert theirs["b"] == ["bad"]
    assert len(theirs["a"]) == len(theirs["c"]) == 8


async def test_copy_where_all_that_a_model_asks_for_is_refused_again(setting: Setting) -> None:
    """A copy that stands in stays until there is something better."""
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    documents = [page("bad", "a")]
    await setting.index(documents, on_error="copy")
    for on_error in ("skip", "copy"):
        report = await setting.index(documents, on_error=on_error)
        assert report.num_failed == 1
        assert setting.texts() == ["bad"]
    with pytest.raises(TransformerError):
        await setting.index(documents)
    assert setting.texts() == ["bad"]
    assert await setting.is_clean()


async def test_a_model_that_cuts_documents(setting: Setting) -> None:
    """As the `parent_transformer` it has no plain text to stand in."""
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    setting.llm.answer = lambda prompt: f"short: {prompt}"
    setting.options["parent_transformer"] = SummarizeTransformer.from_llm(
        setting.llm, "{context}", version="1"
    )
    setting.options["chunk_transformer"] = CopyDocumentTransformer()
    documents = [page("good", "a"), page("bad", "b"), page("fine", "c")]
    report = await setting.index(documents, on_error="copy")
    assert sorted(report.added) == sorted([place("a"), place("c")])
    assert [(f.document_id, f.chunk) for f in report.failed] == [(place("b"), None)]
    assert "told to fail" in report.failed[0].reason
    setting.llm.fail_when = None
    assert (await setting.index(documents)).added == [place("b")]
