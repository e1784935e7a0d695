"""What each adapter makes of the store that it is for."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document

from langchain_rag.backends import chroma as chroma_adapter
from langchain_rag.backends import faiss, lancedb, milvus, postgres, qdrant, refused
from langchain_rag.errors import ConfigurationError, IdsIgnoredError
from langchain_rag.testing import CountingEmbeddings


def rows_of(store: Chroma) -> dict[str, Any]:
    backend = chroma_adapter.backend(store, "Chroma")
    assert backend.rows is not None
    return dict(backend.rows())


def test_chroma_is_told_which_metadata_keys_go(chroma: Chroma) -> None:
    backend = chroma_adapter.backend(chroma, "Chroma")
    chroma.add_documents(
        [Document("cats", metadata={"a": 1, "b": 2}), Document("dogs", metadata={"a": 1})],
        ids=["c", "d"],
    )
    rows = [Document("cats", metadata={"b": 3}, id="c"), Document("new", id="n")]
    assert backend.fitted is not None
    fitted = backend.fitted(rows)
    assert [row.metadata for row in fitted] == [{"a": None, "b": 3}, {}]
    assert [row.metadata for row in rows] == [{"b": 3}, {}]
    chroma.add_documents(fitted, ids=["c", "n"])
    assert rows_of(chroma) == {"c": {"b": 3}, "d": {"a": 1}, "n": {}}


def test_chroma_lists_page_by_page(chroma: Chroma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_adapter, "_PAGE", 2)
    chroma.add_texts(list("abcde"), [{"n": n} for n in range(5)], ids=list("abcde"))
    assert rows_of(chroma) == {id_: {"n": n} for n, id_ in enumerate("abcde")}


class Mode(Enum):
    DENSE = "dense"
    SPARSE = "sparse"
    HYBRID = "hybrid"


@pytest.mark.parametrize("mode", Mode)
def test_qdrant_is_asked_by_text_where_that_is_more(mode: Mode) -> None:
    store = SimpleNamespace(
        embeddings=CountingEmbeddings(),
        retrieval_mode=mode,
        similarity_search_with_score_by_vector=None,
        _select_relevance_score_fn=None,
    )
    assert (qdrant.backend(store, "Qdrant").dense is not None) is (mode is Mode.DENSE)


def milvus_store(**options: Any) -> Any:
    defaults: dict[str, Any] = {
        "embeddings": CountingEmbeddings(),
        "auto_id": False,
        "enable_dynamic_field": True,
        "metadata_schema": None,
        "_metadata_field": None,
        "_is_embedding_only": True,
        "_is_multi_vector": False,
        "similarity_search_with_score_by_vector": None,
        "asimilarity_search_with_score_by_vector": None,
        "_select_relevance_score_fn": None,
    }
    return SimpleNamespace(**(defaults | options))


@pytest.mark.parametrize(
    "options",
    [
        {"embeddings": [CountingEmbeddings(), CountingEmbeddings()]},
        {"embeddings": None},
        {"_is_embedding_only": False},
        {"_is_multi_vector": True},
    ],
)
def test_milvus_is_asked_by_text_where_that_is_more(options: Any) -> None:
    assert milvus.backend(milvus_store(), "Milvus").dense is not None
    assert milvus.backend(milvus_store(**options), "Milvus").dense is None


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, None),
        ({"auto_id": True}, IdsIgnoredError),
        ({"enable_dynamic_field": False}, ConfigurationError),
        ({"enable_dynamic_field": False, "_metadata_field": "metadata"}, None),
        ({"enable_dynamic_field": False, "metadata_schema": {"page": "INT64"}}, None),
    ],
)
def test_which_milvus_is_refused(options: Any, kind: type[Exception] | None) -> None:
    refusal = milvus.backend(milvus_store(**options), "Milvus").refusal
    assert refusal is not None
    error = refusal()
    assert error is None if kind is None else isinstance(error, kind)


@pytest.mark.parametrize(
    ("hybrid", "embeddings", "dense"),
    [
        (None, CountingEmbeddings(), True),
        (object(), CountingEmbeddings(), False),
        (None, SimpleNamespace(embed_query_inline_template=None), False),
    ],
)
def test_postgres_is_asked_by_text_where_that_is_more(
    hybrid: Any, embeddings: Any, dense: bool
) -> None:
    store = SimpleNamespace(
        embeddings=embeddings,
        similarity_search_with_score_by_vector=None,
        asimilarity_search_with_score_by_vector=None,
        _select_relevance_score_fn=None,
        _PGVectorStore__vs=SimpleNamespace(hybrid_search_config=hybrid),
    )
    assert (postgres.backend(store, "PGVectorStore").dense is not None) is dense


def test_faiss_with_a_function_for_embeddings_is_asked_by_text() -> None:
    store = SimpleNamespace(embeddings=None, index=SimpleNamespace(ntotal=0))
    backend = faiss.backend(store, "FAISS")
    assert backend.dense is None
    assert backend.filtered_from is not None
    assert backend.filtered_from() == 1  # an empty index takes no search for nothing


class Column(list[Any]):
    """A type that has fields, as Arrow's struct has."""


def lance_store(types: dict[str, str] | None, **options: Any) -> Any:
    column = Column(
        SimpleNamespace(name=name, type=kind) for name, kind in (types or {}).items()
    )
    schema = SimpleNamespace(field=lambda name: SimpleNamespace(type=column))
    table = None if types is None else SimpleNamespace(schema=schema)
    defaults = {
        "mode": "append",
        "api_key": None,
        "get_table": lambda: table,
        "_select_relevance_score_fn": None,
    }
    return SimpleNamespace(**(defaults | options))


def fitted(store: Any, *metadatas: dict[str, Any]) -> list[dict[str, Any]]:
    backend = lancedb.backend(store, "LanceDB")
    assert backend.fitted is not None
    rows = [Document(f"row {n}", id=str(n), metadata=m) for n, m in enumerate(metadatas)]
    made = backend.fitted(rows)
    assert [(row.id, row.page_content) for row in made] == [
        (row.id, row.page_content) for row in rows
    ]
    return [row.metadata for row in made]


def test_lance_s_first_rows_get_the_keys_of_all() -> None:
    one, two = fitted(lance_store(None), {"a": 1, "b": "text"}, {"c": True})
    assert one.keys() == two.keys() >= {"a", "b", "c", "transformer", "langchain_rag_chunk"}
    assert (one["a"], one["b"], one["c"]) == (1, "text", None)
    # A text is never None, since a column of nothing but None has no type.
    assert (two["a"], two["b"], two["c"], two["transformer"]) == (None, "", True, "")


def test_lance_s_later_rows_get_the_keys_and_types_of_its_table() -> None:
    store = lance_store({"n": "int64", "x": "double", "t": "string", "b": "bool"})
    assert fitted(
        store,
        {"n": 1, "x": 1.5, "t": "text", "b": True, "new": 1},
        {"n": "text", "x": 2, "t": 5, "b": 1},
        {"n": True},
    ) == [
        {"n": 1, "x": 1.5, "t": "text", "b": True},
        {"n": None, "x": 2.0, "t": "", "b": None},
        {"n": None, "x": None, "t": "", "b": None},
    ]


@pytest.mark.parametrize(
    ("options", "refuses"),
    [
        ({}, False),
        ({"mode": "overwrite"}, True),
        ({"mode": "overwrite", "api_key": "k"}, False),
    ],
)
def test_which_lance_is_refused(options: Any, refuses: bool) -> None:
    refusal = lancedb.backend(lance_store({}, **options), "LanceDB").refusal
    assert refusal is not None
    assert isinstance(refusal(), ConfigurationError) is refuses


def test_sqlite_vec_is_refused() -> None:
    refusal = refused.sqlite_vec(None, "SQLiteVec").refusal
    assert refusal is not None
    assert "cannot delete" in str(refusal())
