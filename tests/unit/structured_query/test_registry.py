"""The translator of a store, through what wraps it."""

import subprocess
import sys

import pytest
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.structured_query import (
    ChromaTranslator,
    InMemoryTranslator,
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


def test_through_wrappers_at_any_depth():
    rag, _ = RAGVectorStore.from_vs_in_memory(WrapperVectorStore(Wrapping(memory())))
    assert isinstance(translator_for(Wrapping(rag)), InMemoryTranslator)
    assert isinstance(rag.structured_query_translator(), InMemoryTranslator)


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


def test_imports_are_cheap():
    code = (
        "import sys, langchain_rag.structured_query, langchain_rag.retrievers as r\n"
        "assert 'SelfQueryRetriever' in dir(r)\n"
        "assert not {'chromadb', 'langchain_classic', 'langchain_chroma'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
