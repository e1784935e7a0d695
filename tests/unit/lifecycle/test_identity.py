"""Ids that never collide, in the shape that every store takes."""

from __future__ import annotations

import re
import uuid

from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.lifecycle import identity
from langchain_rag.lifecycle.identity import StorageKeys, digest

anything = st.text(st.characters(exclude_categories=[]), max_size=6)
parts = st.lists(anything, max_size=4)
odd = st.text("a\x00/:|", max_size=3)


@given(parts, parts)
def test_two_lists_of_parts_never_collide(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


@given(st.lists(odd, min_size=1, max_size=4), st.integers(0, 20))
def test_moving_a_separator_gives_another_digest(one: list[str], where: int) -> None:
    joined = "".join(one)
    cut = where % (len(joined) + 1)
    other = [joined[:cut], joined[cut:]]
    assert (digest(*one) == digest(*other)) == (one == other)


@given(odd, odd, odd, st.integers(0, 12))
def test_moving_a_separator_gives_another_id(a: str, b: str, c: str, n: int) -> None:
    keys = [
        identity.chunk_key(a, b, c, n),
        identity.chunk_key(a + b, "", c, n),
        identity.chunk_key(a, b + c, "", n),
        identity.chunk_key(a, b, c + str(n), 0),
    ]
    names = [(a, b, c, n), (a + b, "", c, n), (a, b + c, "", n), (a, b, c + str(n), 0)]
    assert len(set(keys)) == len(set(names))
    ids = [identity.variation_id(a, b, n), identity.variation_id(a + b, "", n)]
    assert (ids[0] == ids[1]) == (b == "")


@given(anything, anything)
def test_no_source_is_not_an_empty_one(content: str, metadata: str) -> None:
    none = identity.document_id(None, content, metadata)
    empty = identity.document_id("", content, metadata)
    assert none != empty
    assert none != identity.document_id(content, metadata, "")


@given(anything, anything, anything)
def test_ids_have_the_shape_of_a_uuid(a: str, b: str, c: str) -> None:
    for id_ in (
        identity.document_id(a, b, c),
        identity.document_id(None, b, c),
        identity.chunk_key(a, b, c, 3),
        identity.variation_id(a, b, 3),
    ):
        assert str(uuid.UUID(id_)) == id_


def test_ids_are_the_same_in_every_version_of_this_package() -> None:
    """Whoever changes them makes every stored row an orphan: then FORMAT has to change."""
    assert digest("a", "bc").startswith("3fafa1cf2f19a7c1129beb20cf0983f7")
    ids = [
        identity.document_id("s", "text", "{}"),
        identity.chunk_key("ns", "doc", "text", 0),
        identity.variation_id("c", "copy", 1),
    ]
    assert ids == [
        "a30d34a0-e311-5363-a526-1b6f04064e51",
        "7fa2e7af-9eef-5528-ac9f-cf153c7e72bc",
        "71b34136-61d4-5d23-890f-327752074bbd",
    ]
    assert StorageKeys("").manifest("a").startswith("manifests/77fb6eea7e396b55/3b196fd4907b")
    assert len({identity.chunk_key("", "d", "t", n) for n in range(100)}) == 100


@given(anything, anything)
def test_storage_keys_keep_to_what_file_stores_take(namespace: str, id_: str) -> None:
    keys = StorageKeys(namespace)
    for key in (keys.manifest(id_), keys.intent(id_), keys.chunk(id_), keys.variations(id_)):
        assert re.fullmatch(r"[a-z]+/[0-9a-f]{16}/[0-9a-f-]+", key)
    assert keys.manifest(id_).startswith(keys.manifests)
    assert keys.intent(id_).startswith(keys.intents)


def test_namespaces_and_rooms_are_apart() -> None:
    one, other = StorageKeys("one"), StorageKeys("other")
    key = str(uuid.uuid4())
    made = {
        getattr(keys, room)(key)
        for keys in (one, other)
        for room in ("manifest", "intent", "chunk", "variations")
    }
    assert len(made) == 8
    assert one.manifests != other.manifests
    assert one.chunk(key).endswith(key)
