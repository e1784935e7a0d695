"""Ids that documents keep when they change."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.errors import DuplicateIdError
from langchain_rag.indexing.document_ids import DuplicateDocument, Naming
from langchain_rag.lifecycle.identity import digest, positional_id

SOURCES = st.sampled_from(["", "a", "b", "a1", "\N{GRINNING FACE}", "a\0b"])
TEXTS = st.text(max_size=5)


def placed(naming: Naming, source: str | None, text: str, metadata: str = "") -> str | None:
    return naming.place(source, digest(text), digest(metadata))


def names(documents: list[tuple[str, str]]) -> list[str | None]:
    """Name documents, None for those that are given twice."""
    naming = Naming()
    found: list[str | None] = []
    for source, text in documents:
        try:
            found.append(placed(naming, source, text))
        except DuplicateDocument:
            found.append(None)
    return found


@given(st.lists(SOURCES, max_size=20))
def test_a_name_depends_on_the_place_and_not_on_the_text(sources: list[str]) -> None:
    first = names([(source, f"text {n}") for n, source in enumerate(sources)])
    second = names([(source, f"changed {n}") for n, source in enumerate(sources)])
    assert first == second
    assert None not in first


@given(st.lists(SOURCES, max_size=20))
def test_no_two_places_have_one_name(sources: list[str]) -> None:
    found = names([(source, str(n)) for n, source in enumerate(sources)])
    assert len(set(found)) == len(found)
    assert all(str(UUID(name)) == name for name in found)


@given(st.lists(SOURCES, min_size=1, max_size=20), st.data())
def test_other_sources_in_between_change_nothing(
    sources: list[str], data: st.DataObject
) -> None:
    """So that documents of a source may come in any order beside those of others."""
    order = data.draw(st.permutations(range(len(sources))))
    documents = [(sources[n], f"text {n}") for n in order]
    by_source: dict[str, list[str | None]] = {}
    for (source, _), name in zip(documents, names(documents), strict=True):
        by_source.setdefault(source, []).append(name)
    for source, found in by_source.items():
        assert found == [positional_id(source, n) for n in range(len(found))]


@given(st.lists(st.tuples(SOURCES, TEXTS), max_size=30))
def test_what_is_given_twice_takes_no_place(documents: list[tuple[str, str]]) -> None:
    found = names(documents)
    unique = list(dict.fromkeys(documents))
    assert [name for name in found if name is not None] == names(unique)
    assert found.count(None) == len(documents) - len(unique)


@given(st.text(max_size=4), st.integers(0, 200), st.text(max_size=4), st.integers(0, 200))
def test_source_and_place_are_never_mixed_up(a: str, m: int, b: str, n: int) -> None:
    """Source "a1" and place 2 are not source "a" and place 12."""
    assert (positional_id(a, m) == positional_id(b, n)) == ((a, m) == (b, n))


def test_the_names_stay_the_same_from_release_to_release() -> None:
    """They are in users' databases: another name is another document."""
    assert positional_id("a.pdf", 0) == "391b471f-7918-5d61-822f-4cad6103a363"
    assert positional_id("a.pdf", 1) == "c549c23d-ca30-5c5b-a3f8-46096071a641"


def test_metadata_tells_documents_apart() -> None:
    naming = Naming()
    assert placed(naming, "a", "same", "page 1") == positional_id("a", 0)
    assert placed(naming, "a", "same", "page 2") == positional_id("a", 1)
    with pytest.raises(DuplicateDocument):
        placed(naming, "a", "same", "page 1")
    assert placed(naming, "b", "same", "page 1") == positional_id("b", 0)
    assert naming.sources == Counter(a=2, b=1)


def test_without_sources_a_document_is_named_by_what_it_says() -> None:
    naming = Naming()
    assert placed(naming, None, "text") is None
    with pytest.raises(DuplicateDocument):
        placed(naming, None, "text")
    assert placed(naming, None, "other") is None
    assert not naming.sources


def test_a_refused_document_keeps_its_place() -> None:
    naming = Naming()
    assert placed(naming, "a", "1") == positional_id("a", 0)
    assert naming.skip("a") == positional_id("a", 1)
    assert placed(naming, "a", "3") == positional_id("a", 2)


def test_a_source_is_met_without_taking_a_place() -> None:
    naming = Naming()
    naming.meet("a")
    naming.meet(None)
    assert list(naming.sources) == ["a"]
    assert placed(naming, "a", "1") == positional_id("a", 0)


def test_an_id_of_its_own() -> None:
    naming = Naming()
    naming.own("x", digest("1"), digest("m"))
    naming.own("y", digest("1"), digest("m"))
    with pytest.raises(DuplicateDocument):
        naming.own("x", digest("1"), digest("m"))
    for text, metadata in (("2", "m"), ("1", "n")):
        with pytest.raises(DuplicateIdError, match="Two documents have the id 'x'"):
            naming.own("x", digest(text), digest(metadata))
