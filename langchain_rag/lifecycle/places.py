"""Where the chunks of a document stand in its tree; decisions, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from langchain_rag.document_transformers.nodes import Node
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle.manifest import ChunkEntry
from langchain_rag.lifecycle.records import Variation


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands.

    Attributes:
        parents: Keys of the chunks above it.
        level: Its height in the tree.
        searched: Whether it has variations.
        kind: Kind of its one variation, None where the `chunk_transformer` makes them.
        made_by: Class name of the transformer that made the chunk, if it said so.
    """

    parents: tuple[str, ...] = ()
    level: int = 0
    searched: bool = True
    kind: str | None = None
    made_by: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether its variations, if any, are not those of the `chunk_transformer`."""
        return not self.searched or self.kind is not None

    def given(self, content: str) -> list[Variation] | None:
        """Return the variations that a chunk has without the `chunk_transformer`.

        Args:
            content: Its text.

        Returns:
            Its variations; None where it goes through the `chunk_transformer`.
        """
        if not self.searched:
            return []
        return None if self.kind is None else [Variation(self.kind, self.made_by, content, {})]


NO_PLACE: Final = Place()
"""That of every chunk of a document that is no tree."""


def fits(before: ChunkEntry, node: Node | None) -> bool:
    """Say whether the variations that a chunk had are those of its place now.

    Args:
        before: Its entry in the live manifest.
        node: Its place now, None where there is no tree.
    """
    place = NO_PLACE if node is None else _place(node)
    if before.level != place.level or before.given != place.is_given:
        return False
    if not place.is_given:
        return bool(before.kinds)
    return before.kinds == (((place.kind, 1),) if place.searched and place.kind else ())


def places_of(
    nodes: Sequence[tuple[str, Node | None, str | None]], document_id: str
) -> list[Place]:
    """Turn the names that a transformer gave chunks into their keys.

    Args:
        nodes: For each chunk of a document its key, its mark, and the class name of the
            transformer that made it.
        document_id: The document, for errors.

    Returns:
        One place for each chunk.

    Raises:
        TransformerError: Two chunks have one name, or one stands under a chunk that is not
            there or not above it.
    """
    named: dict[str, tuple[str, Node]] = {}
    for key, node, _ in nodes:
        if node is not None and named.setdefault(node.name, (key, node))[0] != key:
            raise _no_tree(document_id, f"two chunks are called {node.name!r}")
    places: list[Place] = []
    for _, node, made_by in nodes:
        if node is None:
            places.append(NO_PLACE)
            continue
        for parent in node.parents:
            if parent not in named:
                problem = f"chunk {node.name!r} stands under {parent!r}, which is not there"
                raise _no_tree(document_id, problem)
            # So there is no circle, either.
            if named[parent][1].level <= node.level:
                problem = f"chunk {node.name!r} stands under {parent!r}, which is no higher"
                raise _no_tree(document_id, problem)
        parents = tuple(named[parent][0] for parent in node.parents)
        places.append(replace(_place(node), parents=parents, made_by=made_by))
    return places


def _place(node: Node) -> Place:
    return Place(level=node.level, searched=node.searched, kind=node.kind)


def _no_tree(document_id: str, problem: str) -> TransformerError:
    message = (
        f"The parent_transformer made no tree of document {document_id!r}: {problem}. Let it "
        "return all levels, each chunk under a name of its own, below parents of a higher "
        "level."
    )
    return TransformerError(message)
