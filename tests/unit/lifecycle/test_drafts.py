"""Where chunks stand in a tree, and whether what was made of one still serves."""

from __future__ import annotations

import pytest

from langchain_rag.document_transformers.nodes import Node
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle.drafts import NO_PLACE, Place, places_of
from langchain_rag.lifecycle.records import Variation


def test_names_become_keys() -> None:
    nodes = [
        ("k1", Node("leaf", ("mid", "other")), "Cutter"),
        ("k2", Node("mid", ("top",), level=1, searched=False), "Cutter"),
        ("k3", None, None),
        ("k4", Node("other", ("top",), level=2), None),
        ("k5", Node("top", level=5, kind="summary"), "Writer"),
    ]
    assert places_of(nodes, "doc") == [
        Place(("k2", "k4"), 0, searched=True, kind=None, made_by="Cutter"),
        Place(("k5",), 1, searched=False, kind=None, made_by="Cutter"),
        NO_PLACE,
        Place(("k5",), 2, searched=True, kind=None, made_by=None),
        Place((), 5, searched=True, kind="summary", made_by="Writer"),
    ]


def test_no_chunks_no_places() -> None:
    assert places_of([], "doc") == []


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([("k1", Node("a", level=1)), ("k2", Node("a"))], "two chunks are called 'a'"),
        ([("k1", Node("a", ("b",)))], "'a' stands under 'b', which is not there"),
        ([("k1", Node("a", ("b",))), ("k2", None)], "under 'b', which is not there"),
        ([("k1", Node("a", ("a",)))], "'a' stands under 'a', which is no higher"),
        (
            [("k1", Node("a", ("b",), level=1)), ("k2", Node("b", level=1))],
            "'a' stands under 'b', which is no higher",
        ),
        (
            [("k1", Node("a", ("b",), level=1)), ("k2", Node("b", ("a",), level=2))],
            "'b' stands under 'a', which is no higher",
        ),
        ([("k1", Node("", ("",)))], "'' stands under '', which is no higher"),
    ],
)
def test_no_tree(nodes: list[tuple[str, Node | None]], problem: str) -> None:
    with pytest.raises(TransformerError, match=problem) as caught:
        places_of([(key, node, None) for key, node in nodes], "the doc")
    assert "made no tree of document 'the doc'" in str(caught.value)
    assert "Let it return all levels" in str(caught.value)


def test_what_a_place_gives() -> None:
    assert NO_PLACE.given("text") is None
    assert Place(level=1).given("text") is None
    assert Place(level=1, searched=False).given("text") == []
    assert Place(searched=False, kind="summary").given("text") == []
    given = Place(level=1, kind="summary", made_by="Writer").given("text")
    assert given == [Variation("summary", "Writer", "text", {})]
