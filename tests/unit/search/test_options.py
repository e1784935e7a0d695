"""What of a search's options is for us, and which rows are what is wanted."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import DOCUMENT, KIND
from langchain_rag.errors import ConfigurationError
from langchain_rag.search.options import ALL, OURS, Wanted, wanted_of


def test_nothing_of_ours() -> None:
    given = {"filter": {"kinds": 1}, "k": 3}
    wanted, rest = wanted_of(given)
    assert wanted is ALL
    assert rest == given
    assert rest is not given


OPTIONS: dict[str, tuple[Any, Wanted]] = {
    "kinds": (["a", "b", "a"], Wanted(kinds=frozenset("ab"))),
    "except_kinds": ("chunk", Wanted(except_kinds=frozenset({"chunk"}))),
    "within": ({"d"}, Wanted(within=frozenset("d"))),
    "match_details": (True, Wanted(match_details=True)),
    "return_documents": (True, Wanted(return_documents=True)),
    "aggregation": ("rank_sum", Wanted(aggregation="rank_sum")),
}


def test_all_options_are_tested() -> None:
    assert OPTIONS.keys() == OURS


@pytest.mark.parametrize("name", OPTIONS)
def test_each_alone_and_never_for_the_store(name: str) -> None:
    value, expected = OPTIONS[name]
    given = {name: value, "filter": 1}
    assert wanted_of(given) == (expected, {"filter": 1})
    assert given == {name: value, "filter": 1}


def test_none_is_all() -> None:
    nothing = {"kinds": None, "except_kinds": None, "within": None}
    assert wanted_of(nothing) == (ALL, {})


def test_all_together() -> None:
    wanted, rest = wanted_of({name: value for name, (value, _) in OPTIONS.items()})
    assert rest == {}
    assert wanted.allowed == {KIND: ["a", "b"], DOCUMENT: ["d"]}


@pytest.mark.parametrize("name", ["kinds", "except_kinds", "within"])
@pytest.mark.parametrize(
    "value", [1, b"a", [1], ["a", None], [["a"]], [{}], iter("a"), object(), 0.5]
)
def test_what_is_no_set_of_texts(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is .*give a set of texts"):
        wanted_of({name: value})


@pytest.mark.parametrize("value", ["sum", "", None, 1, ["best"], {}])
def test_what_is_no_aggregation(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^aggregation is .*'best', 'rank_sum'"):
        wanted_of({"aggregation": value})


@pytest.mark.parametrize("name", ["kinds", "within"])
def test_an_empty_set_is_nothing(name: str) -> None:
    empties: list[object] = [set(), [], ()]
    for empty in empties:
        wanted, _ = wanted_of({name: empty})
        assert wanted.nothing
    assert not ALL.nothing
    assert not wanted_of({"except_kinds": []})[0].nothing


def row(kind: object, document: object) -> Document:
    return Document("", metadata={KIND: kind, DOCUMENT: document})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), "ax ay bx by"),
        (Wanted(kinds=frozenset("a")), "ax ay"),
        (Wanted(kinds=frozenset()), ""),
        (Wanted(except_kinds=frozenset("a")), "bx by"),
        (Wanted(kinds=frozenset("ab"), except_kinds=frozenset("b")), "ax ay"),
        (Wanted(within=frozenset("y")), "ay by"),
        (Wanted(kinds=frozenset("b"), within=frozenset("yz")), "by"),
    ],
)
def test_rows(wanted: Wanted, found: str) -> None:
    pairs = ["ax", "ay", "bx", "by"]
    assert [p for p in pairs if wanted.is_allowed(row(*p))] == found.split()


def test_rows_that_say_nothing() -> None:
    bare = Document("")
    assert Wanted().is_allowed(bare)
    assert Wanted(except_kinds=frozenset("a")).is_allowed(bare)
    assert not Wanted(kinds=frozenset("a")).is_allowed(bare)
    assert not Wanted(within=frozenset("d")).is_allowed(bare)
