"""Records read back as written, and anything else is refused with its key."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle import records
from langchain_rag.lifecycle.layout import Layout
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


# --- trees and layouts

LAYOUT = Layout((("", 0), ("\n\n", 0), ("", 3)), " ", ("source", "page"))
TREE = replace(
    MANIFEST,
    chunks=(
        ChunkEntry("top", "h", (("summary", 1),), level=2, given=True),
        ChunkEntry("inner", "h", (), parents=("top",), level=1, given=True),
        ChunkEntry("leaf", "h", (("copy", 2),), parents=("inner", "top"), incomplete=True),
    ),
    layout=LAYOUT,
)
TREE_INTENT = replace(INTENT, entries=TREE.chunks)


def test_trees_and_layouts_read_back() -> None:
    written = records.write_manifest(TREE)
    found = records.read_manifest("k", written)
    assert found == TREE
    assert found.layout == LAYOUT  # which equality leaves out
    assert found.version == TREE.version
    assert records.read_intent("k", records.write_intent(TREE_INTENT)) == TREE_INTENT
    # As a docstore that keeps JSON gives it back.
    stored = Document("", metadata=json.loads(json.dumps(written.metadata)))
    assert records.read_manifest("k", stored) == TREE


def test_a_chunk_that_is_in_no_tree_says_nothing_of_one() -> None:
    (entry, _) = records.write_manifest(MANIFEST).metadata["chunks"]
    assert entry.keys() == {"key", "metadata_hash", "kinds"}


@pytest.mark.parametrize("optional", ["parents", "level", "given", "incomplete"])
def test_what_an_entry_need_not_have(optional: str) -> None:
    written = records.write_manifest(TREE)
    for entry in written.metadata["chunks"]:
        entry.pop(optional, None)
    nothing: dict[str, Any] = {"parents": (), "level": 0, "given": False, "incomplete": False}
    assert records.read_manifest("k", written).chunks == tuple(
        replace(entry, **{optional: nothing[optional]}) for entry in TREE.chunks
    )


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("chunks", 1, "parents"), "top"),
        (("chunks", 1, "parents"), None),
        (("chunks", 1, "parents"), [1]),
        (("chunks", 1, "parents"), [["top"]]),
        (("chunks", 1, "level"), "1"),
        (("chunks", 1, "level"), None),
        (("chunks", 1, "level"), True),
        (("chunks", 1, "level"), 1.0),
        (("chunks", 1, "given"), None),
        (("chunks", 1, "given"), 1),
        (("layout",), []),
        (("layout",), "text"),
        (("layout",), {}),
        (("layout", "joints"), None),
        (("layout", "joints"), {}),
        (("layout", "joints"), [["", 0, 0]]),
        (("layout", "joints"), [[""]]),
        (("layout", "joints"), ["ab"]),
        (("layout", "joints", 1), [0, ""]),
        (("layout", "joints", 1), ["", "0"]),
        (("layout", "joints", 1), ["", None]),
        (("layout", "joints", 1), ["", True]),
        (("layout", "joints", 1), [None, 0]),
        (("layout", "tail"), None),
        (("layout", "tail"), 1),
        (("layout", "keys"), None),
        (("layout", "keys"), "page"),
        (("layout", "keys"), [1]),
    ],
)
def test_a_damaged_tree_or_layout_is_refused(where: tuple[Any, ...], wrong: object) -> None:
    written = records.write_manifest(TREE)
    holder: Any = written.metadata
    for step in where[:-1]:
        holder = holder[step]
    holder[where[-1]] = wrong
    with pytest.raises(CorruptStoreError, match="'some/key' should be a manifest"):
        records.read_manifest("some/key", written)


def test_a_negative_overlap_is_refused() -> None:
    """By it, a text would be put together of the ends of its chunks."""
    written = records.write_manifest(TREE)
    written.metadata["layout"]["joints"][1] = ["", -3]
    with pytest.raises(CorruptStoreError, match="'some/key' should be a manifest"):
        records.read_manifest("some/key", written)


# --- variations that are a part of their chunk

CONTENT = "One sentence. Another, which is longer. One sentence."


def test_a_variation_that_is_a_part_of_its_chunk_is_not_written_again() -> None:
    texts = [CONTENT, "One sentence.", "Another", "another", "One sentence. ", CONTENT + " "]
    made = [Variation("piece", None, text, {}) for text in texts]
    written = records.write_variations("key", made, CONTENT)
    assert [one["text"] for one in written.metadata["variations"]] == [
        None,
        [0, 13],
        [14, 21],
        "another",
        [0, 14],
        CONTENT + " ",
    ]
    assert records.read_variations("v/key", written, CONTENT) == made


@given(st.text(min_size=1), st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50))))
def test_any_part_reads_back(content: str, places: list[tuple[int, int]]) -> None:
    texts = [content[start : start + length] for start, length in places]
    made = [Variation("piece", None, text, {}) for text in texts if text]
    written = records.write_variations("key", made, content)
    stored = Document("", metadata=json.loads(json.dumps(written.metadata)))
    assert records.read_variations("v/key", stored, content) == made
    assert all(not isinstance(one["text"], str) for one in stored.metadata["variations"])


@pytest.mark.parametrize(
    "place",
    [
        [0, len(CONTENT) + 1],
        [-1, 3],
        [3, 3],
        [4, 3],
        [0],
        [0, 1, 2],
        [],
        ["0", "1"],
        [0, None],
        [True, 3],
        {},
        7,
    ],
)
def test_a_place_outside_of_the_chunk_is_refused(place: object) -> None:
    made = [Variation("piece", None, "One", {})]
    written = records.write_variations("key", made, CONTENT)
    written.metadata["variations"][0]["text"] = place
    with pytest.raises(CorruptStoreError, match="'v/key' should be the variations"):
        records.read_variations("v/key", written, CONTENT)


def test_the_variations_of_a_chunk_whose_text_is_lost() -> None:
    texts = [CONTENT, "One", "something else"]
    made = [Variation("piece", "T", text, {"n": 1}) for text in texts]
    written = records.write_variations("key", made, CONTENT)
    assert records.read_variations("v/key", written, None) == [
        Variation("piece", "T", text, {"n": 1}) for text in ("", "", "something else")
    ]
