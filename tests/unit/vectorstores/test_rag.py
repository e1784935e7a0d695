"""The constructor and what it holds; the life of documents is in tests/cases."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    ScriptedTransformer,
    SyncOnlyVectorStore,
    World,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore


def parts(**options: Any) -> dict[str, Any]:
    return {
        "vectorstore": InMemoryVectorStore(CountingEmbeddings()),
        "docstore": InMemoryStore(),
        **options,
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"vectorstore": None}, "vectorstore must be a VectorStore, not NoneType"),
        ({"docstore": {}}, "docstore must be a BaseStore.*dict"),
        ({"search_type": "nearest"}, "search_type is 'nearest'; it must be one of .*mmr"),
        ({"max_concurrency": 0}, "max_concurrency is 0; it must be 1 or more"),
        ({"source_id_key": 3}, "source_id_key is 3; give a metadata key"),
        ({"parent_transformer": str.split}, "must be a langchain_core BaseDocumentTransformer"),
        ({"chunk_transformer": CopyDocumentTransformer}, "A transformer is a ABCMeta"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        RAGVectorStore(**parts(**options))


class Descendant(RAGVectorStore):
    """A store of the user's."""


@pytest.mark.parametrize("kind", [RAGVectorStore, Descendant])
def test_a_store_of_ours_is_not_wrapped_again(kind: type[RAGVectorStore]) -> None:
    with pytest.raises(ConfigurationError, match="is a RAGVectorStore already"):
        RAGVectorStore(**parts(vectorstore=kind(**parts())))


def test_a_store_of_somebody_else_s_may_have_our_name() -> None:
    namesake = type("RAGVectorStore", (InMemoryVectorStore,), {})
    assert RAGVectorStore(**parts(vectorstore=namesake(CountingEmbeddings())))


def test_what_it_holds() -> None:
    given = parts()
    rag = RAGVectorStore(**given, source_id_key="page", max_concurrency=None)
    assert rag.vectorstore is given["vectorstore"]
    assert rag.docstore is given["docstore"]
    assert rag.embeddings is given["vectorstore"].embeddings
    assert rag.source_id_key == "page"
    for name in ("vectorstore", "docstore", "embeddings", "source_id_key"):
        with pytest.raises(AttributeError):
            setattr(rag, name, None)


def test_search_kwargs_are_copied() -> None:
    given = {"k": 1}
    rag = RAGVectorStore(**parts(source_id_key=None, search_kwargs=given))
    rag.add_texts(["a", "b"])
    given["k"] = 2
    assert len(rag.similarity_search("a")) == 1
    rag.as_retriever().search_kwargs["k"] = 2
    assert len(rag.similarity_search("a")) == 1


def test_fingerprints() -> None:
    assert RAGVectorStore(**parts()).fingerprints == ("none", "none")
    copy = CopyDocumentTransformer()
    rag = RAGVectorStore(**parts(parent_transformer=ScriptedTransformer(str.split)))
    assert rag.fingerprints == (None, "none")
    rag = RAGVectorStore(**parts(chunk_transformer=copy))
    assert rag.fingerprints == ("none", copy.fingerprint)


def test_a_transformer_that_is_taken_away_is_a_change() -> None:
    given = parts(source_id_key=None)
    with_copies = RAGVectorStore(**given, chunk_transformer=CopyDocumentTransformer())
    with_copies.add_texts(["text"], ids=["a"])
    assert len(contents(with_copies).rows) == 1
    without = RAGVectorStore(**given)
    without.add_texts(["text"], ids=["a"])
    (row,) = contents(without).rows.values()
    assert row.metadata["langchain_rag_kind"] == "chunk"
    assert "transformer" not in row.metadata


def test_every_method_of_a_vector_store_has_its_twin() -> None:
    """And the same parameters, with the same defaults."""
    for name, method in inspect.getmembers(RAGVectorStore, callable):
        twin = getattr(RAGVectorStore, f"a{name}", None)
        if name.startswith("_") or twin is None or not hasattr(VectorStore, f"a{name}"):
            continue
        mine = inspect.signature(method).parameters
        assert list(inspect.signature(twin).parameters) == list(mine), name
        for parameter, other in zip(
            mine.values(), inspect.signature(twin).parameters.values(), strict=True
        ):
            assert (parameter.default, parameter.kind) == (other.default, other.kind), name


async def test_deleting_everything_is_deleting_what_is_ours(driver: Driver) -> None:
    world = World()
    mine = world.start(source_id_key=None, namespace="mine")
    other = world.start(source_id_key=None, namespace="other")
    world.rows.add_documents([Document("not ours", id="x")])
    world.docs.mset([("not ours", Document("x"))])
    await driver(mine, "add_texts", ["a", "b"])
    await driver(other, "add_texts", ["c"], ids=["c"])
    assert await driver(mine, "delete") is True
    assert await driver(mine, "similarity_search", "a") == []
    assert [d.id for d in await driver(other, "similarity_search", "c")] == ["c"]
    assert world.rows.get_by_ids(["x"]) != []
    assert world.docs.mget(["not ours"]) != [None]
    # What is not ours is no result, whatever its score.
    assert [d.page_content for d in await driver(other, "similarity_search", "not ours")] == [
        "c"
    ]


async def test_from_texts_with_every_part(driver: Driver) -> None:
    given = parts()
    rag = await driver(
        RAGVectorStore,
        "from_texts",
        ["a b"],
        CountingEmbeddings(),
        [{"source": "s"}],
        ids=["1"],
        source_id_key="source",
        chunk_transformer=ScriptedTransformer(str.split),
        **given,
    )
    assert rag.vectorstore is given["vectorstore"]
    assert rag.docstore is given["docstore"]
    assert len(contents(rag).rows) == 2


def test_the_translator_of_the_wrapped_store() -> None:
    assert RAGVectorStore(**parts()).structured_query_translator() is not None
    store = SyncOnlyVectorStore(CountingEmbeddings())
    odd = RAGVectorStore(**parts(vectorstore=store))
    assert odd.structured_query_translator() is not None  # that of what it wraps in turn
    store.inner = None  # type: ignore[assignment]
    with pytest.raises(NoTranslatorError, match="SyncOnlyVectorStore"):
        odd.structured_query_translator()
