"""The translator of a store, through what wraps it."""

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    StructuredQuery,
    Visitor,
)
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.structured_query import (
    ChromaTranslator,
    CommunityPGVectorTranslator,
    FAISSTranslator,
    InMemoryTranslator,
    LanceDBTranslator,
    MilvusTranslator,
    PGVectorStoreTranslator,
    PGVectorTranslator,
    QdrantTranslator,
    others,
    register_translator,
    registry,
    translator_for,
)
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.vectorstores import RAGVectorStore, WrapperVectorStore


class Unknown(VectorStore):
    def similarity_search(self, query, k=4, **kwargs):
        return []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        return cls()


class Wrapping(Unknown):
    def __init__(self, vectorstore):
        self.vectorstore = vectorstore


MINE = ChromaTranslator()


class Sub(InMemoryVectorStore):
    pass


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))


def memory(cls=InMemoryVectorStore):
    return cls(CountingEmbeddings(8))


def dotted(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def test_in_memory_and_its_subclasses():
    assert isinstance(translator_for(memory()), InMemoryTranslator)
    assert isinstance(translator_for(memory(Sub)), InMemoryTranslator)


def test_chroma():
    from langchain_chroma import Chroma

    assert isinstance(translator_for(Chroma.__new__(Chroma)), ChromaTranslator)


def test_community_chroma_by_name_alone():
    fake = type("Chroma", (Unknown,), {"__module__": "langchain_community.vectorstores.chroma"})
    assert isinstance(translator_for(fake()), ChromaTranslator)


# Our own, found by the names of the stores' classes, which are not imported.
OWN = {
    "langchain_qdrant.qdrant.QdrantVectorStore": QdrantTranslator,
    "langchain_qdrant.vectorstores.Qdrant": QdrantTranslator,
    "langchain_community.vectorstores.qdrant.Qdrant": QdrantTranslator,
    "langchain_postgres.v2.vectorstores.PGVectorStore": PGVectorStoreTranslator,
    "langchain_postgres.vectorstores.PGVector": PGVectorTranslator,
    "langchain_community.vectorstores.pgvector.PGVector": CommunityPGVectorTranslator,
    "langchain_milvus.vectorstores.milvus.Milvus": MilvusTranslator,
    "langchain_community.vectorstores.milvus.Milvus": MilvusTranslator,
    "langchain_community.vectorstores.faiss.FAISS": FAISSTranslator,
    "langchain_community.vectorstores.lancedb.LanceDB": LanceDBTranslator,
}


def named(dotted_class, **attributes):
    """A store that is called like another one."""
    module, _, name = dotted_class.rpartition(".")
    return type(name, (Unknown,), {"__module__": module, **attributes})()


KNOWN = {
    "metadata_payload_key": "meta",
    "use_jsonb": True,
    "_PGVectorStore__vs": SimpleNamespace(
        metadata_columns=["year"], id_column="i", content_column="c", embedding_column="e"
    ),
    "metadata_column": "meta",
    "meta_fields": [SimpleNamespace(name="a", index=True)],
}


@pytest.mark.parametrize("dotted_class", OWN)
def test_our_own(dotted_class):
    found: Any = translator_for(Wrapping(Wrapping(named(dotted_class, **KNOWN))))
    assert (type(found), found.dates) == (OWN[dotted_class], "iso")
    store = type("Mine", (type(named(dotted_class, **KNOWN)),), {})()
    found = translator_for(store, dates="timestamp")
    assert found.dates == "timestamp"


def test_what_ours_learn_of_the_store():
    equal = Comparison(Comparator.EQ, "year", 1)
    qdrant = translator_for(named("langchain_qdrant.qdrant.QdrantVectorStore", **KNOWN))
    assert qdrant.visit_comparison(equal).must[0].key == "meta.year"
    postgres = translator_for(
        named("langchain_postgres.v2.vectorstores.PGVectorStore", **KNOWN)
    )
    assert postgres.visit_comparison(equal) == {"$or": [{"year": {"$eq": 1}}]}
    with pytest.raises(ConfigurationError, match="'c', whose name is a column that holds"):
        postgres.visit_comparison(Comparison(Comparator.EQ, "c", 1))
    milvus = translator_for(
        named("langchain_milvus.vectorstores.milvus.Milvus", _metadata_field="meta")
    )
    assert milvus.visit_comparison(equal) == 'meta["year"] == 1'


def test_a_pgvector_that_cannot_filter():
    name = "langchain_community.vectorstores.pgvector.PGVector"
    with pytest.raises(NoTranslatorError, match="use_jsonb=True"):
        translator_for(named(name, use_jsonb=False))


def test_faiss_fetches_all_where_nobody_counts_for_it(embeddings):
    name = "langchain_community.vectorstores.faiss.FAISS"
    store = named(name, index=SimpleNamespace(ntotal=99))
    query = StructuredQuery("", Comparison(Comparator.EQ, "a", 1))
    for alone in (store, Wrapping(store)):
        assert translator_for(alone).visit_structured_query(query)[1]["fetch_k"] == 99
    rag, _ = RAGVectorStore.from_vs_in_memory(WrapperVectorStore(store))
    assert set(translator_for(rag).visit_structured_query(query)[1]) == {"filter"}


COMMUNITY = {
    "langchain_pinecone.vectorstores.PineconeVectorStore": "PineconeTranslator",
    "langchain_elasticsearch.vectorstores.ElasticsearchStore": "ElasticsearchTranslator",
    "langchain_weaviate.vectorstores.WeaviateVectorStore": "WeaviateTranslator",
    "langchain_community.vectorstores.myscale.MyScale": "MyScaleTranslator",
    "langchain_community.vectorstores.tencentvectordb.TencentVectorDB": (
        "TencentVectorDBTranslator"
    ),
}


@pytest.mark.filterwarnings("ignore:.*langchain-community.* is being sunset")
@pytest.mark.parametrize("dotted_class", COMMUNITY)
def test_the_communitys(dotted_class):
    found = translator_for(Wrapping(named(dotted_class, **KNOWN)))
    assert type(found).__name__ == COMMUNITY[dotted_class]
    with pytest.raises(ConfigurationError, match="leave dates='timestamp' out"):
        translator_for(named(dotted_class, **KNOWN), dates="timestamp")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_translator_of_the_community_that_is_named_exists():
    for name in others._TRANSLATORS.values():
        module, _, attribute = name.partition(".")
        found = import_module(f"langchain_community.query_constructors.{module}")
        assert issubclass(getattr(found, attribute), Visitor)


def test_a_translator_that_is_gone(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_community.query_constructors.pinecone", None)
    name = "langchain_pinecone.vectorstores.PineconeVectorStore"
    with pytest.raises(NoTranslatorError) as caught:
        translator_for(Wrapping(named(name)))
    message = str(caught.value)
    assert "pip install langchain-community" in message
    assert "structured_query_translator=" in message
    assert f"register_translator({name!r}, ...)" in message


def test_through_wrappers_at_any_depth():
    rag, _ = RAGVectorStore.from_vs_in_memory(WrapperVectorStore(Wrapping(memory())))
    assert isinstance(translator_for(Wrapping(rag)), InMemoryTranslator)
    assert isinstance(rag.structured_query_translator(), InMemoryTranslator)


def test_through_a_store_that_calls_it_inner(memory):
    class Holding(Unknown):
        def __init__(self, inner):
            self.inner = inner

    assert isinstance(translator_for(Wrapping(Holding(memory))), InMemoryTranslator)


def test_a_registered_one():
    store, given = Unknown(), []

    def factory(one):
        given.append(one)
        return MINE

    register_translator(dotted(Unknown), factory)
    assert translator_for(store) is MINE
    assert given == [store]
    register_translator(dotted(Unknown), lambda store: InMemoryTranslator())
    assert isinstance(translator_for(store), InMemoryTranslator)


def test_a_registered_wrapper_comes_before_what_it_wraps():
    register_translator(dotted(Wrapping), lambda store: ChromaTranslator())
    assert isinstance(translator_for(Wrapping(memory())), ChromaTranslator)


def test_none():
    with pytest.raises(NoTranslatorError) as caught:
        translator_for(Wrapping(Unknown()))
    message = str(caught.value)
    assert f"{dotted(Unknown)} in {dotted(Wrapping)}" in message
    assert "structured_query_translator=" in message
    assert f"register_translator({dotted(Unknown)!r}, ...)" in message


def test_a_store_that_wraps_itself():
    loop = Wrapping(None)
    loop.vectorstore = Wrapping(loop)
    with pytest.raises(NoTranslatorError, match="Wrapping"):
        translator_for(loop)


@pytest.mark.parametrize("name", ["Chroma", ".Chroma", ""])
def test_a_name_without_module_is_refused(name):
    with pytest.raises(ConfigurationError, match=r"module\.Class"):
        register_translator(name, lambda store: ChromaTranslator())
