"""The audit sees each kind of damage, and the world keeps what it should."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_rag.testing import (
    Contents,
    CountingEmbeddings,
    InjectedCrash,
    ScriptedTransformer,
    SyncOnlyVectorStore,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

DOC = Document("a b", metadata={"n": 1})


def over(vectorstore: VectorStore) -> RAGVectorStore:
    return RAGVectorStore(
        vectorstore=vectorstore,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(str.split),
    )


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def rag(world: World) -> RAGVectorStore:
    rag = world.start(source_id_key=None, chunk_transformer=ScriptedTransformer(str.split))
    rag.add_documents([DOC], ids=["1"])
    assert audit(rag) == []
    return rag


def key(world: World, room: str) -> str:
    return next(key for key in world.docs.store if key.startswith(room))


def starts(problems: list[str]) -> list[str]:
    return sorted({problem[:2] for problem in problems})


def test_a_row_without_its_chunk(world: World, rag: RAGVectorStore) -> None:
    world.docs.mdelete([key(world, "chunks/")])
    assert starts(audit(rag)) == ["I1", "I4"]
    assert starts(audit(rag, settled=False)) == ["I1"]
    assert reachable(rag) == set()


def test_rows_and_records_without_a_manifest(world: World, rag: RAGVectorStore) -> None:
    world.docs.mdelete([key(world, "manifests/")])
    problems = audit(rag, settled=False)
    assert starts(problems) == ["I3"]
    assert len(problems) == 4  # two rows, a chunk, its variations


def test_a_foreign_key(world: World, rag: RAGVectorStore) -> None:
    world.docs.mset([("notes/1", DOC)])
    assert audit(rag) == ["I3: notes/1 is no key of ours"]


def test_lost_rows_and_records(world: World, rag: RAGVectorStore) -> None:
    world.rows.store.popitem()
    world.docs.mdelete([key(world, "variations/")])
    problems = audit(rag)
    assert len(problems) == 2
    assert all("is lost" in problem for problem in problems)
    assert audit(rag, settled=False) == []


def test_doubled_rows(world: World, rag: RAGVectorStore) -> None:
    first, second = world.rows.store.values()
    second["text"] = first["text"]
    assert audit(rag) != []
    assert "has 2 rows" in audit(rag)[0]


def test_a_chunk_that_is_named_twice(world: World, rag: RAGVectorStore) -> None:
    manifest = world.docs.store[key(world, "manifests/")]
    manifest.metadata["chunks"] *= 2
    assert any("is named 2 times" in problem for problem in audit(rag))


def test_rows_and_chunks_of_another_document(world: World, rag: RAGVectorStore) -> None:
    next(iter(world.rows.store.values()))["metadata"]["langchain_rag_document"] = "2"
    world.docs.store[key(world, "chunks/")].metadata["document_id"] = "2"
    problems = audit(rag)
    assert starts(problems) == ["I4"]
    assert len(problems) == 2


def test_an_intent_that_is_left(world: World, rag: RAGVectorStore) -> None:
    world.plan.arm(2, "before", InjectedCrash)
    with pytest.raises(InjectedCrash):
        rag.delete(["1"])
    assert audit(rag) == ["I4: intent left for '1'"]
    assert audit(rag, settled=False) == []


def test_contents_are_copies(world: World, rag: RAGVectorStore) -> None:
    found = contents(rag)
    for document in [*found.rows.values(), *found.records.values()]:
        document.metadata.clear()
    assert audit(rag) == []


def test_a_world_goes_back(world: World, rag: RAGVectorStore) -> None:
    saved, before = world.save(), contents(rag)
    for _ in range(2):
        rag.delete(["1"])
        assert contents(rag) == Contents({}, {})
        world.load(saved)
        assert contents(rag) == before


def test_rows_are_read_from_chroma_and_from_wrapped_stores() -> None:
    chroma = Chroma(
        collection_name=f"audit-{uuid.uuid4()}",
        embedding_function=CountingEmbeddings(),
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
    )
    stores: list[VectorStore] = [chroma, SyncOnlyVectorStore(CountingEmbeddings())]
    for store in stores:
        rag = over(store)
        rag.add_documents([DOC], ids=["1"])
        assert audit(rag) == []
        assert reachable(rag) == {("1", "a b", "a"), ("1", "a b", "b")}
    chroma.delete_collection()


def test_a_store_that_cannot_list_its_rows() -> None:
    class Opaque(SyncOnlyVectorStore):
        def __init__(self) -> None:
            super().__init__(CountingEmbeddings())
            self.hidden: Any = vars(self).pop("inner")

    with pytest.raises(TypeError, match="Opaque cannot list its rows"):
        contents(over(Opaque()))
