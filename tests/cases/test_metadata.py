"""Cases 15 and 16: metadata comes back as it was given, and nothing is shared."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_classic.storage import LocalFileStore, create_kv_docstore
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import Driver, ScriptedTransformer, contents
from langchain_rag.vectorstores import RAGVectorStore

RICH: dict[str, Any] = {
    "tags": ["a", "b"],
    "nested": {"deep": {"er": [1, None, {"x": 0.5}]}},
    "nothing": None,
    "empty": [],
    "none of it": {},
    "page": 3,
    "ratio": 0.1,
    "flag": True,
    "when": datetime(2026, 11, 30, 12, tzinfo=UTC),
    "span": (1, 2),
    "ünïcode": "naïve — ∑ \U0001d518",
}


@pytest.fixture(params=["memory", "files", "sqlite"])
def docstore(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "memory":
        yield InMemoryStore()
    elif request.param == "files":
        yield create_kv_docstore(LocalFileStore(tmp_path))
    else:
        engine = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")
        yield SQLDocStore(engine)
        engine.dispose()


@pytest.mark.parametrize("split", [True, False])
async def test_case_15_a_chunk_comes_back_exactly_as_given(
    driver: Driver,
    make: Callable[..., RAGVectorStore],
    wrapped: VectorStore,
    docstore: Any,
    split: bool,
) -> None:
    splitter = CharacterTextSplitter(separator=" ", chunk_size=6, chunk_overlap=0)
    rag = make(
        wrapped,
        docstore=docstore,
        source_id_key=None,
        parent_transformer=splitter if split else None,
        chunk_transformer=CopyDocumentTransformer(),
    )
    given = Document("alpha betas", metadata=deepcopy(RICH))
    await driver(rag, "add_documents", [given], ids=["a"])
    for found in (
        await driver(rag, "get_by_ids", ["a"]),
        await driver(rag, "similarity_search", "alpha", k=5),
        [d for d, _ in await driver(rag, "similarity_search_with_score", "alpha", k=5)],
    ):
        assert len(found) == (2 if split else 1)
        for chunk in found:
            assert chunk.metadata == RICH
            assert repr(chunk.metadata) == repr(RICH)
    # What a store can filter on is there, and nothing that it could choke on.
    for row in contents(rag).rows.values():
        assert {"page", "ratio", "flag", "when", "ünïcode"} <= row.metadata.keys()
        assert {"tags", "nested", "nothing"}.isdisjoint(row.metadata)
    # To give the same again is to change nothing.
    before = contents(rag)
    await driver(rag, "add_documents", [given], ids=["a"])
    assert contents(rag) == before


class Scribbler(ScriptedTransformer):
    """Writes into what it is given."""

    def transform_documents(self, documents: Any, **kwargs: Any) -> list[Document]:
        outputs = super().transform_documents(documents, **kwargs)
        for document in documents:
            document.page_content = "scribbled"
            document.metadata["tags"].append("scribbled")
            document.metadata["scribbled"] = True
        return outputs


async def test_case_16_the_caller_s_documents_are_never_changed(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    rag = make(
        wrapped,
        source_id_key=None,
        parent_transformer=Scribbler(str.splitlines),
        chunk_transformer=Scribbler(lambda text: [text]),
    )
    documents = [
        Document("one\ntwo", id="own", metadata={"tags": ["x"]}),
        Document("three", metadata={"tags": ["y"], "d": {"e": 1}}),
    ]
    before = deepcopy(documents)
    ids = [None, "given"]
    await driver(rag, "add_documents", documents, ids=ids)
    assert documents == before
    assert ids == [None, "given"]
    metadatas = [{"tags": ["z"]}]
    await driver(rag, "add_texts", ["four"], metadatas)
    assert metadatas == [{"tags": ["z"]}]
    kept = deepcopy(documents)
    documents[0].metadata["tags"].append("later")
    documents[0].page_content = "later"
    found = await driver(rag, "get_by_ids", ["own"])
    assert [d.page_content for d in found] == ["one", "two"]
    assert all("later" not in d.metadata["tags"] for d in found)
    assert kept[0].metadata == {"tags": ["x"]}


async def test_case_16_writing_into_a_result_changes_nothing_stored(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    rag = make(wrapped, source_id_key=None, chunk_transformer=CopyDocumentTransformer())
    given = {"tags": ["x"], "d": {"e": [1]}}
    await driver(rag, "add_documents", [Document("one", metadata=deepcopy(given))], ids=["a"])
    before = contents(rag)

    async def results() -> list[list[Document]]:
        return [
            await driver(rag, "get_by_ids", ["a"]),
            await driver(rag, "similarity_search", "one"),
            [d for d, _ in await driver(rag, "similarity_search_with_score", "one")],
            await driver(rag, "max_marginal_relevance_search", "one"),
            await driver(rag.as_retriever(), "invoke", "one"),
        ]

    for (result,) in await results():
        result.page_content = "changed"
        result.metadata["tags"].append("changed")
        result.metadata["d"]["e"].clear()
        result.metadata["more"] = 1
    assert contents(rag) == before
    for (result,) in await results():
        assert result == Document("one", id="a", metadata=given)
