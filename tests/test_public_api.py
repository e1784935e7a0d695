"""What is public is what `__all__` says, and importing it is cheap."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import langchain_rag

PUBLIC = [
    "langchain_rag",
    "langchain_rag.backends",
    "langchain_rag.document_transformers",
    "langchain_rag.embedding_cache",
    "langchain_rag.errors",
    "langchain_rag.retrievers",
    "langchain_rag.storage",
    "langchain_rag.structured_query",
    "langchain_rag.testing",
    "langchain_rag.vectorstores",
]
HEAVY = ["chromadb", "sqlalchemy", "langchain_classic", "langchain_community"]


@pytest.mark.parametrize("name", PUBLIC)
def test_all_is_what_is_visible(name: str) -> None:
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None
    visible = {
        attribute
        for attribute in {*dir(module), *vars(module)}
        if not attribute.startswith("_") and attribute != "annotations"
    }
    # Modules are visible once imported, and so is what a module imports for itself; the
    # rest of what is visible is what the module defines or re-exports.
    stray = {
        attribute
        for attribute in visible - set(module.__all__)
        if not isinstance(getattr(module, attribute), ModuleType)
        and getattr(getattr(module, attribute), "__module__", "").startswith("langchain_rag")
    }
    assert stray == set()
    assert set(module.__all__) - {"__version__"} <= visible


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, public


def test_the_names() -> None:
    assert set(langchain_rag.__all__) == {
        "CopyDocumentTransformer",
        "DocumentTransformerPipeline",
        "DocumentTransformers",
        "GenerateQuestionsTransformer",
        "IndexEvent",
        "IndexFailure",
        "IndexReport",
        "LazyDocumentTransformer",
        "RAGVectorStore",
        "SummarizeAndQuestionsTransformer",
        "SummarizeTransformer",
        "WrapperVectorStore",
        "__version__",
        "errors",
    }


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", langchain_rag.__version__)
    assert version("langchain-rag") == langchain_rag.__version__


# What is done one after the other in one new process, and what that must not have loaded yet.
STEPS: list[tuple[str, set[str]]] = [
    ("import langchain_rag", {"langchain_rag.audit"}),
    ("import langchain_rag.document_transformers", {"langchain_text_splitters"}),
    ("import langchain_rag.testing", {"pytest"}),
    (f"import {', '.join(PUBLIC)}", set()),
    # In memory, all of it works without them.
    (
        (
            "from langchain_core.embeddings import DeterministicFakeEmbedding as E\n"
            "from langchain_core.stores import InMemoryByteStore\n"
            "from langchain_core.vectorstores import InMemoryVectorStore\n"
            "from langchain_rag import RAGVectorStore\n"
            "store = InMemoryVectorStore(E(size=4))\n"
            "rag, _ = RAGVectorStore.from_vs_in_memory(store, source_id_key=None)\n"
            "rag.add_texts(['a'])\n"
            "assert rag.similarity_search('a')"
        ),
        set(),
    ),
    (
        (
            "assert 'SelfQueryRetriever' in dir(langchain_rag.retrievers)\n"
            "langchain_rag.structured_query.translator_for(store)"
        ),
        {"langchain_chroma", "qdrant_client", "langchain_postgres", "pymilvus"},
    ),
    (
        (
            "storage = langchain_rag.storage\n"
            "storage.InMemoryRecordManager\n"
            "assert set(storage.__all__) <= set(dir(storage))"
        ),
        set(),
    ),
    (
        (
            "from langchain_rag.embedding_cache import *\n"
            "cached = CachedEmbeddings(E(size=4), ByteStoreEmbeddingCache(InMemoryByteStore()))"
        ),
        set(),
    ),
]


def test_importing_is_cheap() -> None:
    code = ["import sys"]
    for step, more in STEPS:
        code += [step, f"loaded = {set(HEAVY) | more!r} & set(sys.modules)"]
        code += [f"assert not loaded, ({step!r}, loaded)"]
    # The first call of a cache needs langchain-classic, and a database SQLAlchemy.
    code += [
        "cached.embed_documents(['a'])",
        "assert 'langchain_classic' in sys.modules",
        "assert not {'langchain_community', 'sqlalchemy'} & set(sys.modules)",
        "import asyncio",
        "async def main():",
        "    store = storage.SQLDocStore(storage.create_engine('sqlite+aiosqlite://'))",
        "    assert await store.amget(['k']) == [None]",
        "asyncio.run(main())",
    ]
    command = [sys.executable, "-W", "error", "-c", "\n".join(code)]
    subprocess.run(command, check=True, timeout=60)


def test_the_package_is_typed() -> None:
    (path,) = langchain_rag.__path__
    assert importlib.resources.files("langchain_rag").joinpath("py.typed").is_file(), path
