"""Case 17: more variations in one document than a store takes in one call."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import CountingEmbeddings, Driver, ScriptedTransformer, contents
from langchain_rag.vectorstores import RAGVectorStore

pytestmark = pytest.mark.full

MANY = 6_000


@pytest.fixture
def docstore(tmp_path: Path) -> Iterator[SQLDocStore]:
    engine = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")
    yield SQLDocStore(engine)
    engine.dispose()


async def test_case_17_six_thousand_variations_on_chroma(
    driver: Driver, tmp_path: Path, docstore: SQLDocStore
) -> None:
    settings = Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(tmp_path / "chroma", settings)
    chroma = Chroma(
        collection_name=f"case-{uuid.uuid4()}",
        embedding_function=CountingEmbeddings(size=2),
        client=client,
    )
    assert client.get_max_batch_size() < MANY
    rag = RAGVectorStore(
        vectorstore=chroma,
        docstore=docstore,
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(
            lambda text: [f"{text} {n}" for n in range(MANY)]
        ),
    )
    await driver(rag, "add_documents", [Document("many")], ids=["a"])
    assert len(chroma.get(include=[])["ids"]) == MANY
    (found,) = await driver(rag, "similarity_search", "many 1", k=3)
    assert found == Document("many", id="a")
    assert await driver(rag, "delete", ["a"]) is True
    assert contents(rag) == ({}, {})


async def test_case_17_six_thousand_chunks_on_sqlite(
    driver: Driver, docstore: SQLDocStore
) -> None:
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings(size=2)),
        docstore=docstore,
        source_id_key=None,
        parent_transformer=ScriptedTransformer(str.splitlines),
    )
    text = "\n".join(f"line {n}" for n in range(MANY))
    await driver(rag, "add_documents", [Document(text)], ids=["a"])
    found = contents(rag)
    assert len(found.rows) == len(found.room("chunks")) == MANY
    chunks = await driver(rag, "get_by_ids", ["a"])
    assert "\n".join(chunk.page_content for chunk in chunks) == text
    assert await driver(rag, "delete", ["a"]) is True
    assert contents(rag) == ({}, {})
