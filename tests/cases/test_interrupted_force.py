"""A change that makes what is there already is a change: interrupted, it is not done."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag import RAGVectorStore
from langchain_rag.document_transformers import GenerateQuestionsTransformer
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    FaultPlan,
    FaultyDocStore,
    FaultyVectorStore,
    InjectedCrash,
    ScriptedChatModel,
    World,
    audit,
    contents,
)


async def test_force_that_failed_is_not_taken_for_done(driver: Driver) -> None:
    """A store that cannot replace a row deletes it first; then the embedding fails."""

    class Picky(InMemoryVectorStore):
        fail = False

        def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
            self.delete(ids)
            if self.fail:
                raise OSError
            return super().add_documents(documents, ids=ids, **kwargs)

        async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> Any:
            return self.add_documents(documents, ids=ids, **kwargs)

    wrapped = Picky(CountingEmbeddings())
    rag = RAGVectorStore(vectorstore=wrapped, docstore=InMemoryStore(), source_id_key=None)
    await driver(rag, "add_texts", ["alpha", "gamma"], ids=["1", "2"])
    wrapped.fail = True
    with pytest.raises(OSError):
        await driver(rag, "add_texts", ["alpha"], ids=["1"], force=True)
    wrapped.fail = False
    await driver(rag, "add_texts", ["alpha"], ids=["1"])
    found = await driver(rag, "similarity_search", "alpha", k=2)
    assert {chunk.page_content for chunk in found} == {"alpha", "gamma"}
    assert audit(rag) == []


@pytest.mark.parametrize("call", range(1, 7))
async def test_a_forced_import_that_crashed_leaves_no_mixture(
    driver: Driver, call: int
) -> None:
    """The model answers otherwise every time, so rows and record can be told apart."""
    plan, docs = FaultPlan(), InMemoryStore()
    rows = InMemoryVectorStore(CountingEmbeddings())
    llm = ScriptedChatModel(answer=lambda _: f"What is answer {len(llm.prompts)}?")

    def start() -> RAGVectorStore:
        return RAGVectorStore(
            vectorstore=FaultyVectorStore(rows, plan),
            docstore=FaultyDocStore(docs, plan),
            source_id_key=None,
            chunk_transformer=GenerateQuestionsTransformer.from_llm(llm, version="1"),
        )

    rag = start()
    await driver(rag, "add_texts", ["a text"], ids=["a"])
    plan.arm(call, "after")
    plan._faults[-1].flavour = InjectedCrash
    try:
        await driver(rag, "add_texts", ["a text"], ids=["a"], force=True)
    except InjectedCrash:
        plan.dead = False
    rag = start()
    await driver(rag, "add_texts", ["a text"], ids=["a"])
    assert audit(rag) == []
    found = contents(rag)
    (record,) = found.room("variations").values()
    (row,) = found.rows.values()
    assert [one["text"] for one in record.metadata["variations"]] == [row.page_content]


async def test_a_key_that_the_transformer_set_is_not_inherited(driver: Driver) -> None:
    """The first piece of a chunk has the index 0, and so has the chunk, by chance."""

    def start(world: World) -> RAGVectorStore:
        parts: dict[str, Any] = {
            "chunk_overlap": 0,
            "add_start_index": True,
            "keep_separator": False,
        }
        return world.start(
            source_id_key=None,
            parent_transformer=RecursiveCharacterTextSplitter(
                chunk_size=20, separators=["\n"], **parts
            ),
            chunk_transformer=RecursiveCharacterTextSplitter(
                chunk_size=6, separators=[" "], **parts
            ),
        )

    def rows(world: World) -> list[Any]:
        return sorted(
            (row["text"], row["metadata"]["start_index"]) for row in world.rows.store.values()
        )

    old = "aaaaa bbbbb ccccc\nddddd eeeee fffff"
    new = f"zzzzz yyyyy xxxxx\n{old}"
    changed, fresh = World(), World()
    rag = start(changed)
    await driver(rag, "add_documents", [Document(old)], ids=["1"])
    await driver(rag, "add_documents", [Document(new)], ids=["1"])
    await driver(start(fresh), "add_documents", [Document(new)], ids=["1"])
    assert rows(changed) == rows(fresh)
