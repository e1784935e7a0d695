"""What an import may cost (I5): what did not change is not paid for again."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.testing import Driver, ScriptedChatModel, World, audit, contents
from langchain_rag.vectorstores import RAGVectorStore

PARAGRAPHS = 20


def paragraphs(**changed: str) -> str:
    texts = {f"p{n}": f"this is paragraph {n:02}" for n in range(PARAGRAPHS)} | changed
    return "\n\n".join(texts.values())


class Setting:
    """A world with a model that counts, and a document of twenty paragraphs in it."""

    def __init__(self, driver: Driver, *, with_parent: bool = True) -> None:
        self.driver = driver
        self.world = World()
        self.llm = ScriptedChatModel(
            answer=lambda prompt: f"What of {prompt.splitlines()[0]}?\nAnd why is it so?"
        )
        self.with_parent = with_parent
        self.version = "1"

    def start(self, **options: Any) -> RAGVectorStore:
        questions = GenerateQuestionsTransformer.from_llm(self.llm, version=self.version)
        splitter = RecursiveCharacterTextSplitter(
            separators=["\n\n"], chunk_size=25, chunk_overlap=0
        )
        return self.world.start(
            parent_transformer=splitter if self.with_parent else None,
            chunk_transformer=CopyDocumentTransformer() + questions,
            **options,
        )

    async def add(self, rag: RAGVectorStore, text: str, **metadata: Any) -> None:
        options = {"force": metadata.pop("force")} if "force" in metadata else {}
        document = Document(text, metadata={"source": "s", **metadata})
        await self.driver(rag, "add_documents", [document], ids=["a"], **options)
        assert audit(rag) == []

    def forget(self) -> None:
        self.llm.reset()
        self.world.embeddings.reset()
        self.world.plan.forget()


@pytest.fixture
async def setting(driver: Driver) -> Setting:
    setting = Setting(driver)
    await setting.add(setting.start(), paragraphs())
    assert setting.llm.calls == PARAGRAPHS
    assert len(setting.world.rows.store) == PARAGRAPHS * 3
    setting.forget()
    return setting


@pytest.mark.parametrize("restart", [True, False])
async def test_one_paragraph_of_twenty_changes(setting: Setting, restart: bool) -> None:
    rag = setting.start()
    if not restart:
        await setting.driver(rag, "delete", [])
    before = contents(rag)
    await setting.add(rag, paragraphs(p7="a new paragraph"))
    assert setting.llm.calls == 1
    assert "a new paragraph" in setting.llm.prompts[0]
    assert len(setting.world.embeddings.documents) == 3
    calls = setting.world.plan.calls
    assert [(c.name, c.size) for c in calls if c.name in {"add_documents", "delete"}] == [
        ("add_documents", 3),
        ("delete", 3),
    ]
    after = contents(rag)
    assert len(after.rows.keys() & before.rows.keys()) == 19 * 3
    kept = after.room("chunks").keys() & before.room("chunks").keys()
    assert len(kept) == 19
    written = {key for call in calls if call.name == "mset" for key in call.keys}
    assert {key.partition("/")[0] for key in written} == {
        "chunks",
        "variations",
        "manifests",
        "intents",
    }
    assert len(written) == 4


async def test_paragraphs_that_only_move(setting: Setting) -> None:
    rag = setting.start()
    text = "\n\n".join(reversed(paragraphs().split("\n\n")))
    await setting.add(rag, text)
    assert (setting.llm.calls, setting.world.embeddings.documents) == (0, [])
    assert {c.name for c in setting.world.plan.calls} == {"mset", "mdelete"}
    chunks = await setting.driver(rag, "get_by_ids", ["a"])
    assert "\n\n".join(chunk.page_content for chunk in chunks) == text


async def test_only_the_metadata_changes(setting: Setting) -> None:
    rag = setting.start()
    ids = set(setting.world.rows.store)
    await setting.add(rag, paragraphs(), edition=2)
    assert setting.llm.calls == 0
    assert set(setting.world.rows.store) == ids
    assert {row["metadata"]["edition"] for row in setting.world.rows.store.values()} == {2}
    chunks = await setting.driver(rag, "get_by_ids", ["a"])
    assert {chunk.metadata["edition"] for chunk in chunks} == {2}


async def test_metadata_that_no_row_shows_changes(setting: Setting) -> None:
    rag = setting.start()
    await setting.add(rag, paragraphs(), nested={"x": 1})
    assert setting.llm.calls == 0
    chunks = await setting.driver(rag, "get_by_ids", ["a"])
    assert {str(chunk.metadata["nested"]) for chunk in chunks} == {"{'x': 1}"}


async def test_the_variations_of_a_chunk_are_lost(setting: Setting) -> None:
    """Then they are made again, rather than guessed."""
    rag = setting.start()
    key = next(key for key in setting.world.docs.store if key.startswith("variations/"))
    setting.world.docs.mdelete([key])
    await setting.add(rag, paragraphs(), edition=2)
    assert setting.llm.calls == 1


@pytest.mark.parametrize("restart", [True, False])
async def test_nothing_changes(setting: Setting, restart: bool) -> None:
    rag = setting.start()
    if not restart:
        await setting.add(rag, paragraphs())
    saved = setting.world.save()
    await setting.add(rag, paragraphs())
    assert setting.world.plan.calls == []
    assert (setting.llm.calls, setting.world.embeddings.documents) == (0, [])
    assert setting.world.save() == saved


async def test_force_does_everything_again(setting: Setting) -> None:
    rag = setting.start()
    before = contents(rag)
    await setting.add(rag, paragraphs(), force=True)
    assert setting.llm.calls == PARAGRAPHS
    assert len(setting.world.embeddings.documents) == PARAGRAPHS * 3
    after = contents(rag)
    assert after.rows == before.rows
    for room in ("chunks", "variations"):
        assert after.room(room) == before.room(room)
    # A change all the same: if it is interrupted, that can be seen.
    (manifest,) = after.room("manifests").values()
    assert manifest.metadata["revision"] == 2


async def test_a_new_version_of_the_transformer_does_everything_again(
    setting: Setting,
) -> None:
    setting.version = "2"
    rag = setting.start()
    await setting.add(rag, paragraphs())
    assert setting.llm.calls == PARAGRAPHS
    assert len(contents(rag).rows) == PARAGRAPHS * 3


async def test_a_document_that_becomes_one_chunk_and_back(driver: Driver) -> None:
    """Its chunk is then called as it is itself, and that costs nothing."""
    setting = Setting(driver)
    rag = setting.start()
    await setting.add(rag, "one paragraph here\n\nanother paragraph")
    first, _ = await driver(rag, "get_by_ids", ["a"])
    setting.forget()
    await setting.add(rag, "one paragraph here")
    (whole,) = await driver(rag, "get_by_ids", ["a"])
    assert (first.id != "a", whole.id) == (True, "a")
    assert (setting.llm.calls, setting.world.embeddings.documents) == (0, [])
    assert [d.id for d in await driver(rag, "similarity_search", "one")] == ["a"]
    await setting.add(rag, "one paragraph here\n\nanother paragraph")
    assert (await driver(rag, "get_by_ids", ["a"]))[0] == first
    assert setting.llm.calls == 1


async def test_only_the_source_changes(driver: Driver) -> None:
    world = World()

    def start(source: str) -> RAGVectorStore:
        return world.start(source_id_key=lambda document: source)

    await driver(start("one"), "add_texts", ["text"], ids=["a"])
    world.plan.forget()
    world.embeddings.reset()
    rag = start("two")
    await driver(rag, "add_texts", ["text"], ids=["a"])
    (manifest,) = contents(rag).room("manifests").values()
    assert manifest.metadata["source_id"] == "two"
    assert world.embeddings.documents == []
    assert set(world.plan.names()) == {"mset", "mdelete"}


async def test_one_call_for_each_phase_and_batch(driver: Driver) -> None:
    setting = Setting(driver)
    rag = setting.start()
    texts = [paragraphs(p0=f"the first of text {n}") for n in range(5)]
    documents = [Document(text, metadata={"source": "s"}) for text in texts]
    ids = list("abcde")
    await driver(rag, "add_documents", documents, ids=ids, batch_size=5)
    phases = ["mset", "mset", "add_documents", "mset", "mdelete"]
    assert setting.world.plan.names() == phases
    assert setting.world.plan.calls[2].size == 5 * PARAGRAPHS * 3
    assert setting.world.embeddings.batches == 1
    # Changed: what is dead goes, too.
    setting.forget()
    changed = [
        Document(text.replace("first", "new first"), metadata={"source": "s"}) for text in texts
    ]
    await driver(rag, "add_documents", changed, ids=ids, batch_size=2)
    batch = ["mset", "mset", "add_documents", "mset", "delete", "mdelete", "mdelete"]
    assert setting.world.plan.names() == batch * 3
    # Deleted: the intent, the commit, and what is dead.
    setting.forget()
    await driver(rag, "delete", ids)
    assert setting.world.plan.names() == ["mset", "mdelete", "delete", "mdelete", "mdelete"]
    assert contents(rag) == ({}, {})


async def test_a_model_sees_all_calls_of_a_batch_together(driver: Driver) -> None:
    setting = Setting(driver, with_parent=False)
    setting.llm.delay = 0.05
    answer = setting.llm.answer
    meeting = threading.Barrier(4)

    def answer_together(prompt: str) -> str:
        # Threads wait for each other, however busy the machine is; tasks all begin at once.
        if driver.name == "sync":
            meeting.wait(60)
        return answer(prompt)

    setting.llm.answer = answer_together
    rag = setting.start(max_concurrency=4)
    documents = [Document(f"text {n}", metadata={"source": "s"}) for n in range(8)]
    await driver(rag, "add_documents", documents)
    assert setting.llm.calls == 8
    assert setting.llm.peak == 4
    # Without a limit, and with the call's own.
    for limit, peak in ((None, 8), (8, 8)):
        setting.llm.reset()
        meeting = threading.Barrier(peak)
        rag = setting.start(max_concurrency=None)
        config = {} if limit is None else {"max_concurrency": limit}
        await driver(rag, "add_documents", documents, config=config, force=True)
        assert setting.llm.peak == peak


async def test_equal_documents_of_one_call_are_imported_once(driver: Driver) -> None:
    setting = Setting(driver, with_parent=False)
    rag = setting.start()
    same = [Document("text", metadata={"source": "s"}) for _ in range(3)]
    ids = await driver(rag, "add_documents", same)
    assert len(set(ids)) == 1
    assert setting.llm.calls == 1


async def test_options_reach_the_wrapped_store(driver: Driver) -> None:
    seen = Counter[str]()
    world = World()
    inner = world.rows

    class Noting(type(inner)):  # type: ignore[misc]
        def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
            seen.update(kwargs.keys())
            return super().add_documents(documents, ids=ids)

        async def aadd_documents(self, documents: Any, ids: Any = None, **kw: Any) -> Any:
            seen.update(kw.keys())
            return await super().aadd_documents(documents, ids=ids)

    world.rows = Noting(world.embeddings)
    rag = world.start(source_id_key=None)
    await driver(rag, "add_texts", ["a"], bulk_size=3, batch_size=7)
    # batch_size is LangChain's word for how many documents go together: it is ours.
    assert seen == {"bulk_size": 1}
