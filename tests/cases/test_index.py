"""`rag.index()`: ids, what a change costs, and clean-up."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_rag.document_transformers import CopyDocumentTransformer, SummarizeTransformer
from langchain_rag.errors import (
    CleanupRefusedError,
    ConfigurationError,
    InvalidDocumentError,
    MissingSourceError,
)
from langchain_rag.testing import Driver, World, audit, contents
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.indexed import ROWS, Setting, numbered, page, paragraphs, place, splitter


@pytest.fixture
def setting(driver: Driver) -> Setting:
    return Setting(driver)


# --- ids ---------------------------------------------------------------------------------


async def test_a_document_is_named_by_its_place_or_by_its_own_id(setting: Setting) -> None:
    documents = [page("1", "a"), page("2", "b"), page("3", "a"), page("4", "a", "mine")]
    report = await setting.index(documents)
    ids = [place("a", 0), place("b", 0), place("a", 1), "mine"]
    assert report.added == ids
    assert setting.records() == dict(zip(ids, "abaa", strict=True))
    changed = [
        Document(f"new {d.page_content}", metadata=d.metadata, id=d.id) for d in documents
    ]
    report = await setting.index(changed)
    assert (report.added, report.updated, report.deleted) == ([], ids, [])
    assert (await setting.index(changed)).unchanged == ids
    assert [d.id for d in documents] == [None, None, None, "mine"]


async def test_a_source_may_span_batches(setting: Setting) -> None:
    documents = [page(f"text {n}", "ab"[n % 2]) for n in range(10)]
    report = await setting.index(documents, batch_size=3)
    assert report.num_added == 10
    setting.forget()
    report = await setting.index(documents, batch_size=2)
    assert (report.num_skipped, report.num_deleted) == (10, 0)
    assert setting.spent() == (0, 0, 0, 0)


async def test_nothing_that_was_passed_in_is_changed(setting: Setting) -> None:
    document = page("text", tags=["x"])
    before = document.model_copy(deep=True)
    options = {"config": {"callbacks": [], "tags": ["t"]}, "ignore_metadata": ["mtime"]}
    await setting.index([document], **options)
    assert document == before
    assert options["config"] == {"callbacks": [], "tags": ["t"]}


async def test_two_namespaces_are_apart(setting: Setting) -> None:
    world = World()
    one, two = (
        RAGVectorStore(
            vectorstore=world.rows,
            docstore=world.docs,
            namespace=namespace,
        )
        for namespace in ("one", "two")
    )
    for rag in (one, two):
        report = await setting.driver(rag, "index", [page("1", "a"), page("2", "b")])
        assert report.num_added == 2
    report = await setting.driver(one, "index", [page("new", "a")], cleanup="full")
    assert (report.updated, report.deleted) == ([place("a")], [place("b")])
    report = await setting.driver(two, "index", [page("1", "a"), page("2", "b")])
    assert report.num_skipped == 2
    assert sorted(row["text"] for row in world.rows.store.values()) == ["1", "2", "new"]
    for rag in (one, two):
        assert (await setting.driver(rag, "verify")).ok


# --- what a change costs -----------------------------------------------------------------


async def test_unchanged_documents_cost_nothing(setting: Setting) -> None:
    documents = [page(paragraphs(*numbered(3)), source) for source in "abc"]
    report = await setting.index(documents)
    assert (report.num_added, report.llm_calls, report.rows_written) == (3, 9, 9 * ROWS)
    setting.forget()
    report = await setting.index(documents)
    assert setting.world.plan.calls == []
    assert setting.spent() == (0, 0, 0, 0)
    assert (report.llm_calls, report.embeddings, report.rows_written) == (0, 0, 0)
    assert report.as_dict() == {
        "num_added": 0,
        "num_updated": 0,
        "num_skipped": 3,
        "num_deleted": 0,
    }


async def test_a_paragraph_that_goes_costs_nothing(setting: Setting) -> None:
    await setting.index([page(paragraphs("a", "b", "c"))])
    setting.forget()
    report = await setting.index([page(paragraphs("a", "c"))])
    assert setting.spent() == (0, 0, 0, ROWS)
    assert (report.updated, report.rows_deleted) == ([place("s")], ROWS)


async def test_only_metadata_changes(setting: Setting) -> None:
    await setting.index([page(paragraphs("a", "b"), tag="old"), page("other", "o")])
    ids = set(setting.world.rows.store)
    setting.forget()
    report = await setting.index([page(paragraphs("a", "b"), tag="new"), page("other", "o")])
    calls, _, written, deleted = setting.spent()
    assert (calls, written, deleted) == (0, 2 * ROWS, 0)
    assert set(setting.world.rows.store) == ids
    tags = [row["metadata"].get("tag") for row in setting.rows()]
    assert sorted(map(str, tags)) == ["None"] * ROWS + ["new"] * 2 * ROWS
    assert (report.updated, report.unchanged) == ([place("s")], [place("o")])
    hits = await setting.driver(setting.start(), "similarity_search", "paragraph", k=2)
    assert [hit.metadata["tag"] for hit in hits] == ["new", "new"]


async def test_ignored_metadata_is_no_change(setting: Setting) -> None:
    def pages(mtime: int, **metadata: Any) -> list[Document]:
        return [page(paragraphs("a", "b"), mtime=mtime, **metadata)]

    await setting.index(pages(1), ignore_metadata=["mtime"])
    setting.forget()
    report = await setting.index(pages(2), ignore_metadata={"mtime"})
    assert report.unchanged == [place("s")]
    assert setting.world.plan.calls == []
    # Beside a real change it is written with it.
    report = await setting.index(pages(3, tag="x"), ignore_metadata=("mtime",))
    assert report.updated == [place("s")]
    assert {row["metadata"]["mtime"] for row in setting.rows()} == {3}
    # Not ignored, it is a change like any other.
    assert (await setting.index(pages(4, tag="x"))).updated == [place("s")]
    assert {row["metadata"]["mtime"] for row in setting.rows()} == {4}
    assert setting.llm.calls == 0


async def test_with_ignored_metadata_only_the_changed_paragraph_is_written(
    setting: Setting,
) -> None:
    ignore: dict[str, Any] = {"ignore_metadata": ["mtime"]}
    await setting.index([page(paragraphs("a", "b"), mtime=1)], **ignore)
    setting.forget()
    await setting.index([page(paragraphs("a", "c"), mtime=2)], **ignore)
    assert setting.spent() == (1, ROWS, ROWS, ROWS)


async def test_force_does_everything_again(setting: Setting) -> None:
    setting.options["variation_cache"] = setting.cache
    documents = [page(paragraphs("a", "b"))]
    await setting.index(documents)
    setting.forget()
    report = await setting.index(documents, force=True)
    assert setting.spent() == (2, 2 * ROWS, 2 * ROWS, 0)
    assert (report.updated, report.llm_calls) == ([place("s")], 2)


async def test_a_document_that_moves_to_another_source_is_tracked_there(
    setting: Setting,
) -> None:
    await setting.index([page("text", "a", "mine"), page("other", "b")])
    report = await setting.index([page("text", "b", "mine"), page("other", "b")])
    assert (report.updated, report.deleted) == (["mine"], [])
    assert setting.records() == {"mine": "b", place("b"): "b"}
    report = await setting.index([page("new", "a")])
    assert report.deleted == []
    assert (await setting.index([page("other", "b")])).deleted == ["mine"]
    assert await setting.is_clean()


# --- fingerprints ------------------------------------------------------------------------


async def test_a_new_splitter_redoes_the_chunks_that_it_cuts_otherwise(
    setting: Setting,
) -> None:
    setting.options["parent_transformer"] = splitter()
    await setting.index([page(paragraphs("a", "b", "c")), page(paragraphs("d"), "one")])
    setting.forget()
    # It cuts nothing otherwise.
    setting.options["parent_transformer"] = splitter(26)
    report = await setting.index(
        [page(paragraphs("a", "b", "c")), page(paragraphs("d"), "one")]
    )
    assert setting.spent() == (0, 0, 0, 0)
    assert report.num_updated == 2
    # Two paragraphs make a chunk; "c" stays one.
    setting.options["parent_transformer"] = splitter(50)
    report = await setting.index(
        [page(paragraphs("a", "b", "c")), page(paragraphs("d"), "one")]
    )
    assert setting.spent() == (1, ROWS, ROWS, 2 * ROWS)
    assert report.num_updated == 2


async def test_a_new_prompt_of_one_transformer_asks_that_one_only(setting: Setting) -> None:
    def transformers(prompt: str | None) -> Any:
        summaries = SummarizeTransformer.from_llm(setting.llm, prompt, version="1")
        return summaries + setting.questions() + CopyDocumentTransformer()

    setting.options["variation_cache"] = setting.cache
    setting.options["chunk_transformer"] = transformers(None)
    documents = [page(paragraphs("a", "b"))]
    report = await setting.index(documents)
    assert (report.llm_calls, report.cache_hits) == (4, 0)
    setting.forget()
    setting.options["chunk_transformer"] = transformers("Say it briefly: {context}")
    report = await setting.index(documents)
    assert all(prompt.startswith("Say it briefly") for prompt in setting.llm.prompts)
    assert (setting.llm.calls, report.llm_calls, report.cache_hits) == (2, 2, 2)
    assert report.updated == [place("s")]
    setting.forget()
    assert (await setting.index(documents)).num_skipped == 1
    assert setting.spent() == (0, 0, 0, 0)


async def test_a_new_chunk_transformer_leaves_nothing_of_the_old_one(setting: Setting) -> None:
    await setting.index([page(paragraphs("a", "b"))])
    setting.options["chunk_transformer"] = CopyDocumentTransformer()
    setting.forget()
    report = await setting.index([page(paragraphs("a", "b"))])
    assert (setting.llm.calls, report.updated) == (0, [place("s")])
    assert setting.texts() == [paragraphs("a"), paragraphs("b")]
    assert report.rows_deleted == 2 * (ROWS - 1)


# --- clean-up ----------------------------------------------------------------------------


@pytest.fixture(params=["records", "manifests"])
def tracked(request: pytest.FixtureRequest, driver: Driver) -> Setting:
    """With a record manager, and without one."""
    options = {} if request.param == "records" else {"record_manager": None}
    return Setting(driver, **options)


async def test_what_a_source_lacks_goes(tracked: Setting) -> None:
    await tracked.index([page(f"{source} {n}", source) for source in "ab" for n in range(3)])
    report = await tracked.index([page("a 0", "a"), page("new", "a")])
    assert (report.unchanged, report.updated) == ([place("a", 0)], [place("a", 1)])
    assert report.deleted == [place("a", 2)]
    assert len(tracked.rows()) == 5 * ROWS
    assert await tracked.is_clean()


async def test_a_source_that_yields_nothing_is_cleaned(tracked: Setting) -> None:
    await tracked.index([page("1", "a"), page("2", "b"), page("3", "c", "mine")])
    report = await tracked.index([page("1", "a")], sources=["a", "b", "unknown"])
    assert (report.unchanged, report.deleted) == ([place("a")], [place("b")])
    report = await tracked.index([], sources=["c"])
    assert report.as_dict() == {
        "num_added": 0,
        "num_updated": 0,
        "num_skipped": 0,
        "num_deleted": 1,
    }
    assert report.deleted == ["mine"]
    assert len(tracked.rows()) == ROWS
    assert await tracked.is_clean()


async def test_sources_may_be_a_generator_and_numbers(tracked: Setting) -> None:
    await tracked.index([Document("1", metadata={"source": 1})])
    report = await tracked.index([], sources=(n for n in [1]))
    assert report.deleted == [place("1")]


async def test_full_deletes_all_others(tracked: Setting) -> None:
    await tracked.index([page(f"{source} {n}", source) for source in "ab" for n in range(2)])
    report = await tracked.index([page("a 0", "a")], cleanup="full")
    assert sorted(report.deleted) == sorted([place("a", 1), place("b", 0), place("b", 1)])
    assert len(tracked.rows()) == ROWS
    assert await tracked.is_clean()


async def test_none_deletes_nothing(tracked: Setting) -> None:
    await tracked.index([page("a 0", "a"), page("a 1", "a")])
    report = await tracked.index([page("a 0", "a")], cleanup=None)
    assert report.deleted == []
    assert len(tracked.rows()) == 2 * ROWS


async def test_full_refuses_an_empty_loader(tracked: Setting) -> None:
    await tracked.index([page("1", "a"), page("2", "b")])
    with pytest.raises(CleanupRefusedError, match="allow_empty=True") as caught:
        await tracked.index(iter(()), cleanup="full")
    assert caught.value.report is not None
    assert caught.value.report.num_deleted == 0
    assert len(tracked.rows()) == 2 * ROWS
    report = await tracked.index([], cleanup="full", allow_empty=True)
    assert sorted(report.deleted) == sorted([place("a"), place("b")])
    assert tracked.rows() == []
    assert contents(tracked.start()) == ({}, {})
    assert tracked.records() == {}


@pytest.mark.parametrize("cleanup", ["scoped_full", "full"])
@pytest.mark.parametrize(
    ("limit", "allowed"),
    [(0, False), (2, False), (3, True), (0.25, False), (0.74, False), (0.75, True), (1, False)],
)
async def test_max_deletes(tracked: Setting, cleanup: str, limit: float, allowed: bool) -> None:
    await tracked.index([page(str(n), "a") for n in range(4)])
    documents = [page("new", "a")]
    if allowed:
        report = await tracked.index(documents, cleanup=cleanup, max_deletes=limit)
        assert report.num_deleted == 3
    else:
        with pytest.raises(CleanupRefusedError, match=r"delete 3 documents.*max_deletes") as c:
            await tracked.index(documents, cleanup=cleanup, max_deletes=limit)
        assert c.value.report is not None
        assert (c.value.report.updated, c.value.report.deleted) == ([place("a")], [])
    assert len(tracked.rows()) == (1 if allowed else 4) * ROWS
    assert sum(row["text"] == "new" for row in tracked.rows()) == 1
    assert await tracked.is_clean()


async def test_max_deletes_is_a_share_of_what_was_stored_before(tracked: Setting) -> None:
    """Else a run with many new documents could delete all old ones."""
    await tracked.index([page(str(n), "old") for n in range(4)])
    documents = [page(str(n), "new") for n in range(10)]
    dry = await tracked.index(documents, cleanup="full", max_deletes=0.5, dry_run=True)
    assert "delete 4 documents" in str(dry.cleanup_left_out)
    assert (dry.num_added, dry.num_deleted, dry.ok) == (10, 0, False)
    with pytest.raises(CleanupRefusedError, match="delete 4 documents"):
        await tracked.index(documents, cleanup="full", max_deletes=0.5)


@pytest.mark.parametrize("cleanup", ["scoped_full", "full"])
async def test_a_loader_that_raises_half_way(tracked: Setting, cleanup: str) -> None:
    """What came before is stored, and nothing is deleted."""
    await tracked.index([page(f"{source} {n}", source) for source in "ab" for n in range(3)])

    def load() -> Any:
        for n in range(2):
            yield page(f"new {n}", "a")
        message = "the disk is gone"
        raise OSError(message)

    with pytest.raises(OSError, match="the disk is gone"):
        await tracked.index(load(), cleanup=cleanup)
    assert audit(tracked.start()) == []
    copies = {"new 0", "new 1", "a 2", "b 0", "b 1", "b 2"}
    assert {text for text in tracked.texts() if "?" not in text} == copies
    assert await tracked.is_clean()


async def test_a_document_that_was_deleted_can_come_back(tracked: Setting) -> None:
    await tracked.index([page("1", "a"), page("2", "a")])
    await tracked.index([page("1", "a")])
    report = await tracked.index([page("1", "a"), page("2", "a")])
    assert (report.unchanged, report.added) == ([place("a", 0)], [place("a", 1)])
    assert await tracked.is_clean()


async def test_a_document_that_was_deleted_by_hand_comes_back(tracked: Setting) -> None:
    await tracked.index([page("1", "a"), page("2", "a")])
    await tracked.driver(tracked.start(), "delete", [place("a", 0)])
    report = await tracked.index([page("1", "a"), page("2", "a")])
    assert (report.added, report.unchanged) == ([place("a", 0)], [place("a", 1)])
    assert await tracked.is_clean()


# --- no sources --------------------------------------------------------------------------


async def test_without_sources_only_full_cleans_up(driver: Driver) -> None:
    setting = Setting(driver, source_id_key=None)
    documents = [Document("one"), Document("two", id="mine"), Document("one")]
    report = await setting.index(documents)
    assert (report.num_added, report.num_skipped, report.duplicates) == (2, 1, 1)
    assert set(setting.records().values()) == {None}
    report = await setting.index([Document("one")])
    assert (report.num_skipped, report.num_deleted) == (1, 0)
    report = await setting.index([Document("changed")], cleanup="full")
    assert (report.num_added, report.num_deleted) == (1, 2)
    assert "mine" in report.deleted
    assert await setting.is_clean()


async def test_a_function_may_give_the_source(driver: Driver) -> None:
    setting = Setting(driver, source_id_key=lambda document: document.metadata["path"][:1])
    documents = [Document(str(n), metadata={"path": f"{'ab'[n % 2]}/{n}"}) for n in range(4)]
    report = await setting.index(documents)
    assert report.added == [place("a"), place("b"), place("a", 1), place("b", 1)]
    assert (await setting.index(documents[:1])).deleted == [place("a", 1)]


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cleanup": "incremental"}, "cleanup is 'incremental'"),
        ({"cleanup": False}, "cleanup is False"),
        ({"on_error": "ignore"}, "on_error is 'ignore'"),
        ({"progress": 1}, "progress is 1"),
        ({"max_deletes": -1}, "max_deletes is -1"),
        ({"max_deletes": 1.5}, "max_deletes is 1.5"),
        ({"max_deletes": float("nan")}, "max_deletes is nan"),
        ({"max_deletes": float("inf")}, "max_deletes is inf"),
        ({"ignore_metadata": "mtime"}, "ignore_metadata is the text 'mtime'"),
        ({"sources": "a.pdf"}, "sources is the text 'a.pdf'"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value),
)
async def test_an_argument_that_cannot_work(
    setting: Setting, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        await setting.index([page("text")], **options)
    assert setting.world.plan.calls == []
    assert setting.records() == {}


@pytest.mark.parametrize("documents", [None, 3, "text", Document("text")])
async def test_what_are_no_documents(setting: Setting, documents: Any) -> None:
    with pytest.raises(ConfigurationError, match="docs is a"):
        await setting.index(documents)


async def test_a_document_without_a_source(setting: Setting) -> None:
    with pytest.raises(MissingSourceError, match="metadata has no 'source'"):
        await setting.index([page("a"), Document("b")])
    with pytest.raises(InvalidDocumentError, match="Item 1 of the documents is a str"):
        await setting.index([page("a"), "b"])


async def test_sources_for_a_store_that_knows_none(driver: Driver) -> None:
    setting = Setting(driver, source_id_key=None)
    with pytest.raises(ConfigurationError, match="sources"):
        await setting.index([Document("text")], sources=["a"])


def test_asynchronous_documents_need_aindex() -> None:
    rag = RAGVectorStore(vectorstore=World().rows, docstore=InMemoryStore())
    with pytest.raises(ConfigurationError, match="await aindex"):
        rag.index(_never())


async def _never() -> Any:
    yield page("text")
