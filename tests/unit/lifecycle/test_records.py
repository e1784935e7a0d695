"""Records read back as written, and anything else is refused with its key."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle import records
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.testing import Driver, World

ENTRY = ChunkEntry("key", "hash", (("copy", 1), ("questions", 3)))
MANIFEST = Manifest("doc", None, "c", "m", "p", None, whole=True, chunks=(ENTRY, ENTRY))
INTENT = Intent("doc", "writer", None, (ENTRY,), ("key",))
CHUNK = ChunkRecord("key", "doc", "text", 0, {"a": [1]}, whole=False, fan_out=4)
VARIATIONS = [
    Variation("copy", "Copy", "text", {}),
    Variation("chunk", None, "other", {"level": 2}),
]

Read = Callable[[str, object], object]
KINDS: dict[str, tuple[Document, Read, object]] = {
    "manifest": (records.write_manifest(MANIFEST), records.read_manifest, MANIFEST),
    "intent": (records.write_intent(INTENT), records.read_intent, INTENT),
    "chunk": (records.write_chunk(CHUNK), records.read_chunk, CHUNK),
    "variations": (
        records.write_variations("key", VARIATIONS, "text"),
        lambda key, value: records.read_variations(key, value, "text"),
        VARIATIONS,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind: str) -> None:
    written, read, expected = KINDS[kind]
    assert read("somewhere/key", written) == expected
    assert written.id is None


def test_variations_of_another_chunk_are_refused() -> None:
    written, read, _ = KINDS["variations"]
    with pytest.raises(CorruptStoreError, match="it is of chunk 'key'"):
        read("somewhere/else", written)


def test_a_variation_that_equals_its_chunk_is_not_written_twice() -> None:
    written, _, _ = KINDS["variations"]
    assert [v["text"] for v in written.metadata["variations"]] == [None, "other"]


def corruptions(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Truncate, and put a value of another type in every place."""
    found: list[dict[str, Any]] = []

    def places(value: Any, path: list[Any]) -> list[list[Any]]:
        # What is the user's own may be anything.
        if path and path[-1] in {"metadata", "extra"}:
            return [path]
        items = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        return [path, *(p for key, item in items for p in places(item, [*path, key]))]

    for path in places(metadata, [])[1:]:
        for wrong in (
            3.5,
            object(),
            b"x",
            {"x": "y"} if path[-1] not in {"metadata", "extra"} else [],
        ):
            copy = deepcopy(metadata)
            holder: Any = copy
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = wrong
            found.append(copy)
        if isinstance(path[-1], str):
            copy = deepcopy(metadata)
            holder = copy
            for step in path[:-1]:
                holder = holder[step]
            del holder[path[-1]]
            found.append(copy)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_damaged_is_refused_with_its_key(kind: str) -> None:
    written, read, _ = KINDS[kind]
    damaged = corruptions(written.metadata)
    assert len(damaged) > 8
    for metadata in damaged:
        value = written.model_copy()
        value.metadata = metadata
        with pytest.raises(CorruptStoreError, match=r"'some/key' should be .*import .*again"):
            read("some/key", value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [b"bytes", "text", {"format": 1}, 1, Document("")])
def test_what_we_did_not_write_is_refused(kind: str, value: object) -> None:
    with pytest.raises(CorruptStoreError, match="some/key"):
        KINDS[kind][1]("some/key", value)


@pytest.mark.parametrize("kind", KINDS)
def test_another_format_is_refused(kind: str) -> None:
    written, read, _ = KINDS[kind]
    later = written.model_copy(deep=True)
    later.metadata["format"] = records.FORMAT + 1
    with pytest.raises(CorruptStoreError, match=r"its format is 2, and this version reads 1"):
        read("some/key", later)


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_is_not_taken_for_another(kind: str) -> None:
    for other, (written, _, _) in KINDS.items():
        if other != kind:
            with pytest.raises(CorruptStoreError):
                KINDS[kind][1]("k", written)


async def test_damaged_metadata_is_reported_with_the_key(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "add_texts", ["text"], [{"a": (1,)}], ids=["a"])
    key = next(key for key in world.docs.store if key.startswith("chunks/"))
    world.docs.store[key].metadata["metadata"] = {"a": {"$type": "no such type"}}
    with pytest.raises(CorruptStoreError, match=key):
        await driver(rag, "get_by_ids", ["a"])


async def test_a_damaged_manifest_stops_writes_of_its_document(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "add_texts", ["text"], ids=["a"])
    key = next(key for key in world.docs.store if key.startswith("manifests/"))
    world.docs.store[key] = Document("")
    with pytest.raises(CorruptStoreError, match=key):
        await driver(rag, "add_texts", ["new"], ids=["a"])
    with pytest.raises(CorruptStoreError, match=key):
        await driver(rag, "delete", ["a"])
    with pytest.raises(CorruptStoreError, match=key):
        await driver(rag, "delete")
    assert await driver(rag, "add_texts", ["new"], ids=["b"]) == ["b"]


async def test_a_damaged_intent_stops_writes_of_its_document(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "add_texts", ["text", "other"], ids=["a", "b"])
    key = rag._lifecycle.keys.intent("a")
    world.docs.mset([(key, Document(""))])
    rag = world.start(source_id_key=None)
    for text in ("new", "newer"):
        assert await driver(rag, "add_texts", [text], ids=["b"]) == ["b"]
        assert f"An unfinished write was left as it is: The docstore's value at {key!r}" in (
            caplog.text
        )
        caplog.clear()
    with pytest.raises(CorruptStoreError, match=key):
        await driver(rag, "add_texts", ["new"], ids=["a"])
