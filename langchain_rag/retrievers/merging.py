"""Which parents take the place of their children; no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_rag.lifecycle.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Merged:
    """A chunk that was found, or stands for several that were.

    Attributes:
        key: Its key.
        score: Its score; the mean of those that it stands for.
        rank: The best place that one of them had, from 0.
        leaves: How many it stands for.
    """

    key: str
    score: float
    rank: int
    leaves: int = 1


@dataclass(frozen=True, slots=True)
class Tree:
    """The trees of some documents.

    Attributes:
        parents: For each chunk the keys of those above it.
        children: For each chunk the number of those below it.
        levels: For each chunk its height.
    """

    parents: Mapping[str, tuple[str, ...]]
    children: Mapping[str, int]
    levels: Mapping[str, int]

    def above(self, key: str) -> set[str]:
        """Return the keys of all chunks above one."""
        found: set[str] = set()
        todo = list(self.parents.get(key, ()))
        while todo:
            parent = todo.pop()
            if parent not in found:
                found.add(parent)
                todo += self.parents.get(parent, ())
        return found


def tree_of(manifests: Iterable[Manifest]) -> Tree:
    """Read the trees out of manifests.

    Args:
        manifests: Of the documents.
    """
    entries = {entry.key: entry for manifest in manifests for entry in manifest.chunks}
    # A summary does not contain what is below it. What is not there, a repair has taken out.
    larger = {key for key, entry in entries.items() if not (entry.given and entry.kinds)}
    parents = {
        key: tuple(parent for parent in entry.parents if parent in larger)
        for key, entry in entries.items()
    }
    children = Counter(parent for some in parents.values() for parent in some)
    return Tree(parents, children, {key: entry.level for key, entry in entries.items()})


def merge(found: Iterable[Merged], tree: Tree, threshold: float) -> list[Merged]:
    """Put parents in the place of their children, from the lowest level up.

    Args:
        found: What was found.
        tree: Where it stands.
        threshold: Share of a parent's children that have to be there, above 0 and up to 1.

    Returns:
        What is left, best first.
    """
    current = {one.key: one for one in found}
    above = {parent for some in tree.parents.values() for parent in some}
    for parent in sorted(above, key=lambda key: (tree.levels[key], key)):
        below = [key for key in current if parent in tree.parents.get(key, ())]
        if below and len(below) / tree.children[parent] >= threshold:
            # All that the parent's text contains, and the parent if it was found itself.
            within = [key for key in current if key == parent or parent in tree.above(key)]
            parts = [current.pop(key) for key in within]
            leaves = sum(one.leaves for one in parts)
            current[parent] = Merged(
                parent,
                sum(one.score * one.leaves for one in parts) / leaves,
                min(one.rank for one in parts),
                leaves,
            )
    return sorted(current.values(), key=lambda one: one.rank)


def apart(found: Iterable[Merged], chosen: Iterable[Merged], tree: Tree) -> list[Merged]:
    """Leave out what is chosen already, or within something that is.

    Args:
        found: What was found, best first.
        chosen: What was chosen.
        tree: Where both stand.

    Returns:
        The rest of what was found.
    """
    keys = {one.key for one in chosen}
    return [one for one in found if one.key not in keys and not keys & tree.above(one.key)]
