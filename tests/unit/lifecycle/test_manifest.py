"""The one rule of recovery."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.lifecycle.identity import variation_id
from langchain_rag.lifecycle.layout import Layout
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest, dead, recovered

entries = st.builds(
    ChunkEntry,
    key=st.sampled_from("abcd"),
    metadata_hash=st.sampled_from(["", "h", "i"]),
    kinds=st.lists(
        st.tuples(st.sampled_from(["copy", "questions"]), st.integers(0, 3)),
        max_size=2,
        unique_by=lambda kind: kind[0],
    ).map(tuple),
)
lives = st.lists(entries, max_size=4, unique_by=lambda entry: entry.key).map(
    lambda chunks: manifest(*chunks)
)


def manifest(*chunks: ChunkEntry) -> Manifest:
    return Manifest("doc", "s", "c", "m", "p", "q", whole=False, chunks=chunks)


def entry(key: str, **kinds: int) -> ChunkEntry:
    return ChunkEntry(key, "h", tuple(kinds.items()))


@given(st.lists(entries, max_size=6), st.none() | lives)
def test_dead_is_what_is_named_and_not_live(
    named: list[ChunkEntry], live: Manifest | None
) -> None:
    gone = dead(named, live)
    chunks = {e.key for e in live.chunks} if live else set()
    ids = {id_ for e in live.chunks for id_ in e.variation_ids()} if live else set()
    assert len(set(gone.variations)) == len(gone.variations)
    assert len(set(gone.chunks)) == len(gone.chunks)
    assert set(gone.chunks) == {e.key for e in named} - chunks
    assert set(gone.variations) == {id_ for e in named for id_ in e.variation_ids()} - ids


def test_a_chunk_that_loses_variations() -> None:
    live = manifest(entry("a", copy=1))
    gone = dead([entry("a", copy=1, questions=2)], live)
    assert gone.chunks == []
    assert gone.variations == [variation_id("a", "questions", n) for n in range(2)]


def test_fan_out_and_lookup() -> None:
    one = entry("a", copy=1, questions=3)
    assert one.fan_out == len(one.variation_ids()) == 4
    assert manifest(one).entry("a") is one
    assert manifest(one).entry("b") is None


def intent(version: str | None, *overwrites: str) -> Intent:
    return Intent("doc", "w", version, (), overwrites)


def test_recovered_leaves_what_was_committed() -> None:
    live = manifest(entry("a", copy=1))
    assert recovered(intent(live.version, "a"), live) is None


def test_recovered_leaves_what_is_gone() -> None:
    assert recovered(intent(None, "a"), None) is None
    assert recovered(intent("v", "a"), None) is None


def test_recovered_doubts_what_was_written_in_place() -> None:
    live = manifest(entry("a", copy=1), entry("b", copy=1))
    found = recovered(intent("other", "b", "unknown"), live)
    assert found is not None
    assert found.metadata_hash == ""
    assert [e.metadata_hash for e in found.chunks] == ["h", ""]
    # What is live stays live: the same chunks and variations.
    assert dead(live.chunks, found) == dead(live.chunks, live)
    # And once doubted is enough.
    assert recovered(intent("other", "b"), found) is None


def test_recovered_keeps_what_was_made_by_the_same_transformer() -> None:
    live = replace(manifest(entry("a", copy=1)), chunk_fingerprint="one")
    same = replace(intent("v", "a"), chunk_fingerprint="one")
    other = replace(intent("v", "a"), chunk_fingerprint="two")
    found = recovered(same, live)
    assert found is not None
    assert found.chunk_fingerprint == "one"
    # A second crash, of a change by another transformer: now the texts are in doubt too.
    again = recovered(other, found)
    assert again is not None
    assert again.chunk_fingerprint is None


def test_recovered_leaves_what_was_only_added_to() -> None:
    live = manifest(entry("a", copy=1))
    assert recovered(intent("other"), live) is None


@given(lives, lives)
def test_the_version_tells_manifests_apart(one: Manifest, other: Manifest) -> None:
    assert (one.version == other.version) == (one == other)
    assert replace(one, source_id=None).version != one.version


def place(key: str, **changes: Any) -> ChunkEntry:
    return replace(entry(key, copy=1), **changes)


@pytest.mark.parametrize(
    "other", [{"parents": ("t",)}, {"level": 1}, {"given": True}, {"incomplete": True}]
)
def test_another_place_is_another_version_and_nothing_is_dead(other: dict[str, Any]) -> None:
    """A chunk that only moves in its tree keeps what it has."""
    old, new = manifest(place("a")), manifest(place("a", **other))
    assert old != new
    assert old.version != new.version
    gone = dead([*old.chunks, *new.chunks], new)
    assert (gone.variations, gone.chunks) == ([], [])


def test_a_chunk_that_is_searched_no_longer() -> None:
    live = manifest(place("a", level=1, given=True, kinds=()))
    gone = dead([place("a"), *live.chunks], live)
    assert gone.variations == [variation_id("a", "copy", 0)]
    assert gone.chunks == []


def test_a_layout_is_no_difference() -> None:
    bare = manifest(entry("a", copy=1))
    laid = replace(bare, layout=Layout((("", 0),), "\n"))
    assert bare == laid


def test_recovered_keeps_the_tree_and_the_layout() -> None:
    chunks = (place("a", level=1, given=True), place("b", parents=("a",)))
    live = replace(manifest(*chunks), layout=Layout((("", 0),), "\n"))
    found = recovered(
        replace(intent("other", "a"), entries=chunks, chunk_fingerprint="q"), live
    )
    assert found is not None
    assert [(e.key, e.parents, e.level) for e in found.chunks] == [
        ("a", (), 1),
        ("b", ("a",), 0),
    ]
    assert found.layout == live.layout
    assert found.doubtful
