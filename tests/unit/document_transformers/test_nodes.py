"""The mark by which a transformer says where a chunk stands."""

from __future__ import annotations

import enum
from copy import deepcopy
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import NODE, RESERVED, without_reserved
from langchain_rag.document_transformers.nodes import Node, marked, node_of
from langchain_rag.errors import TransformerError

NODES = [
    Node("a"),
    Node("a", ("b", "c"), level=3, searched=False, kind=None),
    Node("", (), level=0, searched=True, kind="summary"),
]


@pytest.mark.parametrize("node", NODES)
def test_a_mark_reads_back(node: Node) -> None:
    document = Document("text", metadata={"page": [1]}, id="id")
    before = deepcopy(document)
    made = marked(document, node)
    assert document == before
    assert (made.id, made.page_content) == ("id", "text")
    assert node_of(made.metadata) == node
    assert without_reserved(made.metadata) == {"page": [1]}


def test_the_last_mark_counts() -> None:
    twice = marked(marked(Document("text"), Node("a")), Node("b"))
    assert node_of(twice.metadata) == Node("b")


def test_no_mark() -> None:
    assert node_of({}) is None
    assert node_of({"level": 1}) is None
    assert NODE in RESERVED


def mark(**changes: Any) -> dict[str, Any]:
    whole = marked(Document(""), Node("a", ("b",))).metadata[NODE]
    return {**whole, **changes}


@pytest.mark.parametrize(
    "value",
    [
        None,
        "a",
        7,
        {},
        {"name": "a"},
        mark(name=None),
        mark(name=1),
        mark(parents="b"),
        mark(parents=None),
        mark(parents=["b", 1]),
        mark(level="1"),
        mark(level=1.0),
        mark(level=None),
        mark(searched=None),
        mark(searched=1),
        mark(kind=1),
        mark(kind=["summary"]),
    ],
)
def test_another_thing_in_its_place_is_refused(value: object) -> None:
    with pytest.raises(TransformerError, match=r"mark it with .*marked"):
        node_of({NODE: value})


class Kind(enum.StrEnum):
    SUMMARY = "summary"


@pytest.mark.parametrize("level", [True, -1])
def test_a_level_that_is_none_is_refused(level: int) -> None:
    with pytest.raises(TransformerError, match="mark it with"):
        node_of(marked(Document(""), Node("a", level=level)).metadata)


@pytest.mark.parametrize("field", ["name", "kind"])
def test_texts_of_a_class_of_their_own_are_refused(field: str) -> None:
    """What a record holds has to be exactly a text, or it does not read back."""
    with pytest.raises(TransformerError, match="mark it with"):
        node_of({NODE: mark(**{field: Kind.SUMMARY})})
