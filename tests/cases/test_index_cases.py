"""The cases that public users hit, with `rag.index()`."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.document_transformers import CopyDocumentTransformer, SummarizeTransformer
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache, CachedEmbeddings
from langchain_rag.errors import TransformerError
from langchain_rag.testing import CountingEmbeddings, Driver, ScriptedChatModel, audit, contents
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


@pytest.mark.parametrize("max_concurrency", [1, 8])
async def test_case_4_01_the_content_filter_refuses_one_chunk_of_fifty(
    setting: Setting, max_concurrency: int
) -> None:
    setting.options["max_concurrency"] = max_concurrency
    setting.llm.fail_when = lambda prompt: "paragraph   17" in prompt
    report = await setting.index([page(paragraphs(*numbered(50)))], on_error="copy")
    assert report.added == [place("s")]
    assert (report.num_failed, report.llm_calls) == (1, 50)
    (failure,) = report.failed
    assert failure.document_id == place("s")
    assert failure.source_id == "s"
    (chunk,) = (
        key
        for key, value in contents(setting.start()).room("chunks").items()
        if value.page_content == paragraphs("17")
    )
    assert failure.chunk == chunk
    assert "told to fail" in failure.reason
    # All have their copy, and all but one their questions.
    assert len(setting.rows()) == 49 * ROWS + 1
    assert [text for text in setting.texts() if "   17" in text] == [paragraphs("17")]
    # Refused again: nothing else is paid for. Accepted: neither.
    setting.forget()
    report = await setting.index([page(paragraphs(*numbered(50)))], on_error="copy")
    assert (setting.llm.calls, report.num_failed) == (1, 1)
    setting.llm.fail_when = None
    setting.forget()
    report = await setting.index([page(paragraphs(*numbered(50)))], on_error="copy")
    assert (setting.llm.calls, report.updated, report.failed) == (1, [place("s")], [])
    assert len(setting.rows()) == 50 * ROWS
    setting.forget()
    assert (await setting.index([page(paragraphs(*numbered(50)))])).unchanged == [place("s")]
    assert setting.spent() == (0, 0, 0, 0)


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
async def test_case_4_02_every_call_fails(setting: Setting, on_error: str) -> None:
    documents = [page(paragraphs("a", "b"), "one"), page(paragraphs("c"), "two")]
    setting.llm.fail_when = lambda prompt: True
    if on_error == "raise":
        with pytest.raises(TransformerError, match="told to fail"):
            await setting.index(documents)
    else:
        report = await setting.index(documents, on_error=on_error)
        assert report.num_failed == 2
        assert report.unchanged == []
        assert not report.ok
        if on_error == "skip":
            assert (report.added, report.updated) == ([], [])
    assert len(setting.rows()) == (3 if on_error == "copy" else 0)
    setting.llm.fail_when = None
    setting.forget()
    report = await setting.index(documents)
    assert setting.llm.calls == 3
    done = report.updated if on_error == "copy" else report.added
    assert done == [place("one"), place("two")]
    assert len(setting.rows()) == 3 * ROWS
    setting.forget()
    assert (await setting.index(documents)).num_skipped == 2
    assert setting.spent() == (0, 0, 0, 0)


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
async def test_case_4_03_an_unusable_answer_is_not_kept(
    setting: Setting, on_error: str
) -> None:
    setting.options["variation_cache"] = setting.cache
    documents = [page(paragraphs("good", "bad"))]
    setting.llm.answer = lambda prompt: "  \n" if " bad" in prompt else answer(prompt)
    if on_error == "raise":
        with pytest.raises(TransformerError, match="nothing usable"):
            await setting.index(documents)
    else:
        report = await setting.index(documents, on_error=on_error)
        assert ["nothing usable" in failure.reason for failure in report.failed] == [True]
    # Asked twice, as `max_attempts` says.
    assert len([prompt for prompt in setting.llm.prompts if " bad" in prompt]) == 2
    assert (await setting.driver(setting.cache, "stats")).entries == 1
    setting.llm.answer = answer
    setting.forget()
    report = await setting.index(documents)
    assert (setting.llm.calls, report.llm_calls, report.failed) == (1, 1, [])
    assert len(setting.rows()) == 2 * ROWS


@pytest.mark.parametrize("own_id", [None, "mine"])
async def test_case_4_05_one_paragraph_of_twenty_is_edited(
    setting: Setting, own_id: str | None
) -> None:
    id_ = own_id or place("s")
    names = numbered(20)
    report = await setting.index([page(paragraphs(*names), id_=own_id)])
    assert (report.added, report.llm_calls) == ([id_], 20)
    names[7] = "new"
    setting.forget()
    report = await setting.index([page(paragraphs(*names), id_=own_id)])
    assert setting.spent() == (1, ROWS, ROWS, ROWS)
    assert report.updated == [id_]
    assert (report.llm_calls, report.embeddings) == (1, ROWS)
    assert (report.rows_written, report.rows_deleted) == (ROWS, ROWS)
    assert sum("new" in row["text"] for row in setting.rows()) == 2


@pytest.mark.parametrize("cached", [False, True])
async def test_case_4_05_a_paragraph_is_inserted_at_the_top(
    setting: Setting, cached: bool
) -> None:
    """All `start_index` shift: where they are stored they are written, and not paid for."""
    setting.options["parent_transformer"] = splitter(add_start_index=True)
    if cached:
        setting.world.embeddings = embeddings = CountingEmbeddings()
        cache = ByteStoreEmbeddingCache(InMemoryByteStore())
        setting.world.rows = InMemoryVectorStore(
            CachedEmbeddings(embeddings, cache, model="counting")
        )
    await setting.index([page(paragraphs(*numbered(20)))])
    setting.forget()
    report = await setting.index([page(paragraphs("top", *numbered(20)))])
    assert (setting.llm.calls, report.llm_calls) == (1, 1)
    assert report.rows_deleted == 0
    rag = setting.start()
    chunks = contents(rag).room("chunks").values()
    length = len(paragraphs("top")) + 2
    starts = {chunk.metadata["metadata"]["start_index"] for chunk in chunks}
    assert starts == {n * length for n in range(21)}
    assert {row["metadata"]["start_index"] for row in setting.rows()} == starts
    if cached:
        # "And why is it so?" is one text, and known.
        assert len(setting.world.embeddings.documents) == 2
        assert (report.embeddings, report.rows_written) == (2, 21 * ROWS)


async def test_case_4_05_a_paragraph_is_inserted_where_nothing_shifts(
    setting: Setting,
) -> None:
    await setting.index([page(paragraphs(*numbered(20)))])
    setting.forget()
    await setting.index([page(paragraphs("top", *numbered(20)))])
    assert setting.spent() == (1, ROWS, ROWS, 0)


async def test_case_4_06_only_a_tag_changes(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings
) -> None:
    llm = ScriptedChatModel(answer=answer)
    rag = RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        parent_transformer=splitter(),
        chunk_transformer=CopyDocumentTransformer()
        + SummarizeTransformer.from_llm(llm, version="1"),
        embedding_cache=ByteStoreEmbeddingCache(InMemoryByteStore()),
    )

    async def index(**metadata: Any) -> Any:
        text = paragraphs(*numbered(5))
        report = await driver(rag, "index", [page(text, "a", **metadata), page("b", "b")])
        assert audit(rag) == []
        return report

    async def tagged(tag: str) -> int:
        in_memory = isinstance(wrapped, InMemoryVectorStore)
        wanted = (lambda row: row.metadata.get("tag") == tag) if in_memory else {"tag": tag}
        hits = await driver(rag, "similarity_search", "paragraph", k=9, filter=wanted)
        assert {hit.metadata["tag"] for hit in hits} <= {tag}
        return len(hits)

    await index(tag="old")
    assert (await tagged("old"), await tagged("new")) == (5, 0)
    asked = llm.calls
    embeddings.reset()
    report = await index(tag="new")
    assert (llm.calls - asked, report.llm_calls) == (0, 0)
    assert (embeddings.documents, report.embeddings) == ([], 0)
    assert (report.updated, report.unchanged) == ([place("a")], [place("b")])
    assert (report.rows_written, report.rows_deleted) == (10, 0)
    assert (await tagged("old"), await tagged("new")) == (0, 5)


async def test_case_4_07_index_a_and_b_and_then_only_a(setting: Setting) -> None:
    a, b = page("about a", "a"), page("about b", "b")
    await setting.index([a, b])
    report = await setting.index([a])
    assert (report.unchanged, report.deleted) == ([place("a")], [])
    assert setting.records() == {place("a"): "a", place("b"): "b"}
    report = await setting.index([a], cleanup=None)
    assert report.deleted == []
    report = await setting.index([a], cleanup="full")
    assert (report.unchanged, report.deleted) == ([place("a")], [place("b")])
    assert setting.records() == {place("a"): "a"}
    assert {row["metadata"]["source"] for row in setting.rows()} == {"a"}
    assert await setting.is_clean()


@pytest.mark.parametrize("blank", ["", "  ", "\n \t\n"])
async def test_case_4_08_a_blank_summary_is_dropped(setting: Setting, blank: str) -> None:
    """It is no answer; beside a copy the chunk is indexed without it."""
    summaries = SummarizeTransformer.from_llm(
        ScriptedChatModel(answer=lambda prompt: blank), version="1"
    )
    setting.options["chunk_transformer"] = summaries + CopyDocumentTransformer()
    report = await setting.index([page("a text")], on_error="copy")
    assert setting.world.embeddings.documents == ["a text"]
    assert (report.num_added, report.num_failed) == (1, 1)


async def test_case_4_08_a_blank_question_is_dropped(setting: Setting) -> None:
    setting.llm.answer = lambda prompt: "What is it?\n\n   \n?\n-\n2.\n"
    report = await setting.index([page("a text")])
    assert setting.world.embeddings.documents == ["a text", "What is it?"]
    assert (report.failed, report.rows_written) == ([], 2)
