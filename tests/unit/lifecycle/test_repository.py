"""One call for each flow, what is damaged raised or collected, and nothing read too early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag._flow import Flow, arun, run
from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle import claims
from langchain_rag.lifecycle.identity import StorageKeys, chunk_key
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.lifecycle.repository import Repository
from langchain_rag.lifecycle.stores import Stores
from langchain_rag.testing import CountingEmbeddings, Driver


class Spied(InMemoryStore):
    """Notes the keys of each read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[list[str]] = []

    def mget(self, keys: Sequence[str]) -> list[Any]:
        self.reads.append(list(keys))
        return super().mget(keys)

    async def amget(self, keys: Sequence[str]) -> list[Any]:
        return self.mget(keys)


KEYS = StorageKeys("space")
CHUNK = chunk_key("space", "a", "text", 0)
RECORD = ChunkRecord(CHUNK, "a", "text", 0, {}, whole=True, fan_out=2)
VARIATIONS = [Variation("copy", None, "text", {}), Variation("piece", "T", "ex", {})]
MANIFEST = Manifest("a", None, "h", "h", None, None, True, (ChunkEntry(CHUNK, "h", ()),), 1)
INTENT = Intent("a", "writer", None, MANIFEST.chunks)


class Room:
    """A docstore with all records of document "a", and damaged ones of document "bad"."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.docs = Spied()
        stores = Stores(InMemoryVectorStore(CountingEmbeddings()), self.docs)
        self.records = Repository(stores, KEYS)

        def write(claim: claims.Claim) -> Flow[None]:
            yield from self.records.write_intents(claim, [INTENT])
            yield from self.records.write_chunks(claim, [(RECORD, VARIATIONS)])
            yield from self.records.write_manifests(claim, [MANIFEST])

        self.claimed(write)
        for key in (KEYS.manifest("bad"), KEYS.intent("bad"), *KEYS.of_chunk("bad")):
            self.docs.store[key] = Document("nonsense")

    def claimed(self, body: Any) -> None:
        run(claims.holding(self.docs, {KEYS.manifest("a"): "a"}, body))

    async def do(self, method: str, *args: Any) -> Any:
        flow = getattr(self.records, method)(*args)
        return run(flow) if self._driver.name == "sync" else await arun(flow)


@pytest.fixture
def room(driver: Driver) -> Room:
    return Room(driver)


FLOWS: list[tuple[str, str, Any, list[str]]] = [
    ("manifests", "a", MANIFEST, [KEYS.manifest("bad")]),
    ("intents", "a", INTENT, [KEYS.intent("bad")]),
    ("chunks", CHUNK, RECORD, [KEYS.chunk("bad")]),
    ("records_at", KEYS.manifest("a"), MANIFEST, [KEYS.manifest("bad")]),
    ("records_at", KEYS.intent("a"), INTENT, [KEYS.intent("bad")]),
    ("records_at", KEYS.chunk(CHUNK), RECORD, [KEYS.chunk("bad")]),
]


@pytest.mark.parametrize(("method", "name", "expected", "damaged"), FLOWS)
async def test_what_is_there_is_read_in_one_call(
    room: Room, method: str, name: str, expected: Any, damaged: list[str]
) -> None:
    bad = damaged[0] if method == "records_at" else "bad"
    assert await room.do(method, [name, "gone", name]) == {name: expected}
    with pytest.raises(CorruptStoreError, match="should be"):
        await room.do(method, [name, bad])
    corrupt: dict[str, str] = {}
    assert await room.do(method, [name, bad], corrupt) == {name: expected}
    assert list(corrupt) == damaged
    assert "should be" in corrupt[damaged[0]]
    assert [len(keys) for keys in room.docs.reads] == [2, 2, 2]


async def test_variations_are_read_with_the_texts_of_their_chunks(room: Room) -> None:
    assert await room.do("variations", {CHUNK: "text"}) == {CHUNK: VARIATIONS}
    lost = await room.do("variations", {CHUNK: None})
    assert [variation.text for variation in lost[CHUNK]] == ["", ""]
    corrupt: dict[str, str] = {}
    found = await room.do("chunks_and_variations", [CHUNK, "bad", "gone"], corrupt)
    assert found == ({CHUNK: RECORD}, {CHUNK: VARIATIONS})
    assert list(corrupt) == list(KEYS.of_chunk("bad"))
    assert len(room.docs.reads) == 3


@pytest.mark.parametrize(
    ("method", "names", "expected"),
    [
        ("manifests_and_intents", ["a"], [{"a": MANIFEST}, {"a": INTENT}]),
        ("manifests_and_chunks", ["a", CHUNK], [{"a": MANIFEST}, {CHUNK: RECORD}]),
    ],
)
async def test_two_kinds_are_found_in_one_call_and_verified_when_they_are_read(
    room: Room, method: str, names: list[str], expected: list[dict[str, Any]]
) -> None:
    found = await room.do(method, [*names, "bad", "gone"])
    assert len(room.docs.reads) == 1
    for some, records in zip(found, expected, strict=True):
        with pytest.raises(CorruptStoreError):
            some.pop("bad").read()
        assert {name: one.read() for name, one in some.items()} == records


async def test_intents_are_asked_for_before_manifests(room: Room) -> None:
    """A change that ends between two reads leaves no intent, and its manifest is seen."""
    await room.do("manifests_and_intents", ["a"])
    assert room.docs.reads == [[KEYS.intent("a"), KEYS.manifest("a")]]


async def test_what_is_stored_is_listed(room: Room) -> None:
    for key in (KEYS.manifest("bad"), KEYS.intent("bad"), *KEYS.of_chunk("bad")):
        del room.docs.store[key]
    assert await room.do("manifest_keys") == [KEYS.manifest("a")]
    assert await room.do("intent_keys") == [KEYS.intent("a")]
    assert await room.do("chunk_keys") == list(KEYS.of_chunk(CHUNK))
    assert await room.do("document_ids") == ["a"]
    assert await room.do("all_manifests", ["a"]) == []
    assert await room.do("manifests_at", [KEYS.manifest("a"), "gone"]) == [MANIFEST]
    assert await room.do("intents_at", [KEYS.intent("a"), "gone"]) == [INTENT]


async def test_what_is_deleted_is_gone(room: Room) -> None:
    def delete(claim: claims.Claim) -> Flow[None]:
        yield from room.records.delete_manifests(claim, ["a", "bad"])
        yield from room.records.delete_chunks(claim, [CHUNK, "bad"])
        yield from room.records.delete_intents(claim, ["a", "bad"])

    room.claimed(delete)
    assert room.docs.store == {}


@pytest.mark.parametrize("method", ["manifests", "manifests_and_intents", "records_at"])
async def test_nothing_is_no_call(room: Room, method: str) -> None:
    assert not any(await room.do(method, []))
    assert room.docs.reads == []
