"""What somebody put into the docstore, or a disk damaged: refused with its key, never run."""

from __future__ import annotations

import json
import pickle  # noqa: TID251 - to make what must not be loaded
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.storage import LocalFileStore, create_kv_docstore
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from sqlalchemy import text

from langchain_rag import RAGVectorStore
from langchain_rag._flow import run
from langchain_rag.errors import CorruptStoreError
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import DRIVERS, CountingEmbeddings, Driver

NAMES = ("euler", "gauss", "noether")

Vandal = Callable[[str, Any], None]
"""Puts something in the place of the value of a key."""


class Trap:
    """Unpickled, it makes a file: whoever loads it has run what it says."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def payloads(trap: Path) -> dict[str, bytes]:
    """What may stand where a record was, as bytes."""
    constructor = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "prompts", "prompt", "PromptTemplate"],
        "kwargs": {"template": "{x}", "input_variables": ["x"]},
    }
    document = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "document", "Document"],
        "kwargs": {"page_content": "forged", "metadata": {"evil": constructor}},
    }
    return {
        "empty": b"",
        "not text": b"\xff\xfe\x00",
        "truncated": json.dumps(document).encode()[:-20],
        "a number": b"3",
        "a list": b"[[[[]]]]",
        "very deep": b"[" * 100_000,
        "pickled": pickle.dumps(Trap(trap)),
        "lc constructor": json.dumps(constructor).encode(),
        "lc inside": json.dumps(document).encode(),
        "lc not implemented": b'{"lc": 1, "type": "not_implemented", "id": ["os", "system"]}',
        "lc secret": b'{"lc": 1, "type": "secret", "id": ["PATH"]}',
        "other metadata": b'{"format": 1, "key": [1], "document_id": {}}',
        "not json": b'{"format": NaN, "key": Infinity}',
    }


@pytest.fixture(params=["memory", "files", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Vandal]]:
    """A docstore, and a way around it to its values."""
    if request.param == "memory":
        store = InMemoryStore()
        yield store, store.store.__setitem__
    elif request.param == "files":
        files = LocalFileStore(tmp_path / "files")
        yield create_kv_docstore(files), lambda key, value: files.mset([(key, value)])
    else:
        engine: Any = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")

        def overwrite(key: str, value: bytes) -> None:
            update = text("UPDATE langchain_rag_documents SET metadata = :v WHERE key = :k")
            with engine.begin() as connection:
                connection.execute(update, {"v": value, "k": key})
                # Text where it is text: a driver hands bytes on as bytes.
                if value.isascii():
                    connection.execute(update, {"v": value.decode(), "k": key})

        yield SQLDocStore(engine), overwrite
        engine.dispose()


# In memory nothing but a Document is read, and both drivers run one flow; so every payload is
# read from files and from SQL, in one driver each.
CELLS = [
    *[(driver, "memory", "pickled") for driver in DRIVERS],
    *[(DRIVERS[0], "files", payload) for payload in payloads(Path())],
    *[(DRIVERS[1], "sqlite", payload) for payload in payloads(Path())],
]


@pytest.mark.parametrize("room", ["chunk", "manifest", "variations"])
@pytest.mark.parametrize(
    ("driver", "place", "payload"),
    CELLS,
    indirect=["driver", "place"],
    ids=[f"{driver.name}-{place}-{payload}" for driver, place, payload in CELLS],
)
async def test_a_damaged_record(
    driver: Driver, place: tuple[Any, Vandal], payload: str, room: str, tmp_path: Path
) -> None:
    docstore, overwrite = place
    trap = tmp_path / "sprung"
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docstore,
        source_id_key=None,
    )
    await driver(rag, "add_texts", [f"{name} wrote" for name in NAMES], ids=list(NAMES))
    keys = rag._lifecycle.keys
    key = getattr(keys, room)("euler" if room == "manifest" else chunk_key_of(rag, "euler"))
    overwrite(key, payloads(trap)[payload])

    # Whatever else is asked for is served.
    found = await driver(rag, "similarity_search", "euler wrote", k=3)
    others = {"gauss wrote", "noether wrote"}
    assert {chunk.page_content for chunk in found} >= others
    assert len(await driver(rag, "get_by_ids", ["gauss", "noether"])) == 2
    assert await driver(rag, "add_texts", ["gauss wrote on"], ids=["gauss"]) == ["gauss"]
    assert await driver(rag, "delete", ["noether"])
    # What is asked for itself is refused by its key.
    if room != "variations":  # those are read for a repair only
        with pytest.raises(CorruptStoreError, match=key):
            await driver(rag, "get_by_ids", ["euler"])
    if room == "manifest":
        for method, *args in (("add_texts", ["new"]), ("delete",)):
            with pytest.raises(CorruptStoreError, match=key):
                await driver(rag, method, *args, ids=["euler"])
    assert not trap.exists()


async def test_a_search_says_which_chunk_it_left_out(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    docs = InMemoryStore()
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docs,
        source_id_key=None,
    )
    await driver(rag, "add_texts", ["one", "two"], ids=["a", "b"])
    key = rag._lifecycle.keys.chunk(chunk_key_of(rag, "a"))
    docs.store[key] = "something else"
    assert [c.page_content for c in await driver(rag, "similarity_search", "one")] == ["two"]
    assert f"A hit was left out: The docstore's value at {key!r}" in caplog.text


async def test_a_chunk_of_another_namespace_document_or_text(driver: Driver) -> None:
    """Well formed, and still not the one that belongs there."""
    docs = InMemoryStore()
    wrapped = InMemoryVectorStore(CountingEmbeddings())
    ours, theirs = (
        RAGVectorStore(vectorstore=wrapped, docstore=docs, source_id_key=None, namespace=name)
        for name in ("ours", "theirs")
    )
    await driver(ours, "add_texts", ["one", "two"], ids=["a", "b"])
    await driver(theirs, "add_texts", ["one"], ids=["a"])
    key = ours._lifecycle.keys.chunk(chunk_key_of(ours, "a"))
    whole: Any = docs.store[key]
    forgeries = [
        docs.store[theirs._lifecycle.keys.chunk(chunk_key_of(theirs, "a"))],
        docs.store[ours._lifecycle.keys.chunk(chunk_key_of(ours, "b"))],
        whole.model_copy(update={"page_content": "one and more"}),
        Document("one", metadata={**whole.metadata, "document_id": "b"}),
        Document("one", metadata={**whole.metadata, "ordinal": 1}),
    ]
    for forged in forgeries:
        docs.store[key] = forged
        with pytest.raises(CorruptStoreError, match=rf"{key}.* confirm"):
            await driver(ours, "get_by_ids", ["a"])
        found = await driver(ours, "similarity_search", "one", k=3)
        assert [chunk.page_content for chunk in found] == ["two"]
        assert len(await driver(theirs, "get_by_ids", ["a"])) == 1


@pytest.mark.parametrize("room", ["manifest", "intent"])
async def test_a_record_of_another_document(driver: Driver, room: str) -> None:
    """Believed, it would have another document's chunks deleted."""
    docs = InMemoryStore()
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docs,
        source_id_key=None,
    )
    await driver(rag, "add_texts", ["one", "two"], ids=["a", "b"])
    keys = rag._lifecycle.keys
    manifest: Any = docs.store[keys.manifest("b")]
    if room == "manifest":
        docs.store[keys.manifest("a")] = manifest
    else:
        entries = manifest.metadata["chunks"]
        made = {
            "writer": "x",
            "version": None,
            "entries": entries,
            "overwrites": [],
            "chunk_fingerprint": None,
        }
        docs.store[keys.intent("a")] = Document(
            "", metadata={"format": manifest.metadata["format"], "document_id": "b", **made}
        )
    with pytest.raises(CorruptStoreError, match=r"names document 'b', which belongs elsewhere"):
        await driver(rag, "delete", ["a"])
    assert [c.page_content for c in await driver(rag, "get_by_ids", ["b"])] == ["two"]


def chunk_key_of(rag: RAGVectorStore, document_id: str) -> str:
    lifecycle = rag._lifecycle
    (entry,) = run(lifecycle.records.manifests([document_id]))[document_id].chunks
    return entry.key
