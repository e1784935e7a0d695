"""Auto-merging without a store, against a reference that recurs from the top."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.retrievers.merging import Merged, Tree, merge, tree_of

Nested = Any
"""A leaf is None, and a piece with others below it the list of them."""

nested = st.recursive(
    st.none(), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=10
)


def height(one: Nested) -> int:
    return 0 if one is None else 1 + max(map(height, one))


def tree_from(tops: list[Nested]) -> tuple[Tree, list[str]]:
    """The tree, and the names of its leaves in reading order."""
    parents: dict[str, tuple[str, ...]] = {}
    levels: dict[str, int] = {}
    children: dict[str, int] = {}
    leaves: list[str] = []

    def add(one: Nested, name: str, above: tuple[str, ...]) -> None:
        parents[name], levels[name] = above, height(one)
        if one is None:
            leaves.append(name)
            return
        children[name] = len(one)
        for n, below in enumerate(one):
            add(below, f"{name}.{n}", (name,))

    for n, top in enumerate(tops):
        add(top, str(n), ())
    return Tree(parents, children, levels), leaves


def slow_merge(
    tops: list[Nested], ranks: dict[str, int], scores: dict[str, float], threshold: Fraction
) -> list[tuple[str, list[str]]]:
    """For each piece that is left, in order, the leaves that it stands for."""

    def left(one: Nested, name: str) -> dict[str, list[str]]:
        if one is None:
            return {name: [name]} if name in ranks else {}
        names = [f"{name}.{n}" for n in range(len(one))]
        found: dict[str, list[str]] = {}
        for below, of in zip(one, names, strict=True):
            found |= left(below, of)
        whole = [of for of in names if of in found]
        if not whole or Fraction(len(whole), len(one)) < threshold:
            return found
        return {name: [leaf for leaves in found.values() for leaf in leaves]}

    found: dict[str, list[str]] = {}
    for n, top in enumerate(tops):
        found |= left(top, str(n))
    return sorted(found.items(), key=lambda pair: min(ranks[leaf] for leaf in pair[1]))


@settings(max_examples=60)
@given(st.data())
def test_against_a_reference(data: st.DataObject) -> None:
    tops = data.draw(st.lists(nested, min_size=1, max_size=3))
    tree, leaves = tree_from(tops)
    chosen = data.draw(st.lists(st.sampled_from(leaves), unique=True))
    percent = data.draw(st.integers(1, 100))
    scores = {leaf: float(n * n % 7) for n, leaf in enumerate(chosen)}
    found = [Merged(leaf, scores[leaf], rank) for rank, leaf in enumerate(chosen)]
    ranks = {leaf: rank for rank, leaf in enumerate(chosen)}
    expected = slow_merge(tops, ranks, scores, Fraction(percent, 100))
    made = merge(found, tree, percent / 100)
    assert [one.key for one in made] == [key for key, _ in expected]
    for one, (_, below) in zip(made, expected, strict=True):
        assert one.leaves == len(below)
        assert one.rank == min(ranks[leaf] for leaf in below)
        assert one.score == pytest.approx(sum(scores[leaf] for leaf in below) / len(below))


FIFTY, FIFTY_LEAVES = tree_from([[None] * 50])


@pytest.mark.parametrize(
    ("number", "threshold", "merges"),
    # As floats 0.14 * 50 is more than 7.
    [
        (25, 0.5, True),
        (24, 0.5, False),
        (7, 0.14, True),
        (1, 0.02, True),
        (49, 1.0, False),
        (50, 1.0, True),
    ],
)
def test_exactly_the_threshold_is_enough(number: int, threshold: float, merges: bool) -> None:
    found = [Merged(leaf, 1.0, rank) for rank, leaf in enumerate(FIFTY_LEAVES[:number])]
    keys = [one.key for one in merge(found, FIFTY, threshold)]
    assert keys == (["0"] if merges else FIFTY_LEAVES[:number])


def test_a_leaf_goes_into_what_contains_it() -> None:
    """`0.1.0` does not make `0.1`, but its text is in `0`, which `0.0` makes."""
    tree, _ = tree_from([[[None, None], [None, None, None]]])
    found = [Merged("0.1.0", 0.9, 0), Merged("0.0.0", 0.5, 1), Merged("0.0.1", 0.4, 2)]
    [one] = merge(found, tree, 0.5)
    assert (one.key, one.rank, one.leaves) == ("0", 0, 3)
    assert one.score == pytest.approx(0.6)


def test_three_levels() -> None:
    """Two of four leaves, on both sides of a piece, make the piece; that makes the top."""
    tree, _ = tree_from([[[None, None], [None, None]]])
    found = [Merged("0.0.1", 0.9, 0), Merged("0.1.0", 0.4, 1), Merged("0.1.1", 0.2, 2)]
    [top] = merge(found, tree, 1 / 2)
    assert (top.key, top.rank, top.leaves) == ("0", 0, 3)
    assert top.score == pytest.approx(0.5)
    # Of the left side one leaf of two is not enough, and so the top has one side of two.
    assert [one.key for one in merge(found, tree, 0.75)] == ["0.0.1", "0.1"]


def test_a_parent_that_was_found_itself_is_there_once() -> None:
    tree, _ = tree_from([[None, None]])
    found = [Merged("0.0", 0.9, 0), Merged("0", 0.5, 1)]
    [one] = merge(found, tree, 0.5)
    assert (one.key, one.rank, one.leaves) == ("0", 0, 2)
    assert one.score == pytest.approx(0.7)
    assert merge(found, tree, 1.0) == found


def test_a_leaf_of_two_parents_goes_into_one() -> None:
    tree = Tree(
        {"x": ("p", "q"), "y": ("q",)}, {"p": 1, "q": 2}, {"x": 0, "y": 0, "p": 1, "q": 1}
    )
    made = merge([Merged("x", 1.0, 0), Merged("y", 0.0, 1)], tree, 0.5)
    assert sum(one.leaves for one in made) == 2
    assert {one.key for one in made} == {"p", "q"}


def test_what_stands_in_no_tree_stays() -> None:
    found = [Merged("b", 0.1, 0), Merged("a", 0.2, 1)]
    assert merge(reversed(found), Tree({}, {}, {}), 0.5) == found


def manifest(*entries: ChunkEntry) -> Manifest:
    return Manifest("d", None, "c", "m", None, None, whole=False, chunks=entries)


def test_the_tree_is_read_out_of_manifests() -> None:
    top = ChunkEntry("top", "", (), level=1)
    leaf = ChunkEntry("leaf", "", (("chunk", 1),), parents=("top",))
    # What a repair took out is above nothing.
    orphan = ChunkEntry("orphan", "", (("chunk", 1),), parents=("gone",))
    tree = tree_of([manifest(top, leaf), manifest(orphan)])
    assert tree.parents == {"top": (), "leaf": ("top",), "orphan": ()}
    assert tree.children == {"top": 1}
    assert tree.levels == {"top": 1, "leaf": 0, "orphan": 0}
    found = [Merged("orphan", 1.0, 0)]
    assert merge(found, tree, 0.1) == found
