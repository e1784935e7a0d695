"""A tree of summaries while it grows; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_rag._documents import copied, document_of
from langchain_rag._reserved import NODE, without_reserved
from langchain_rag.document_transformers._documents import made_of, name_of
from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.documents import Document

__all__ = ["Tree"]


class _Branch:
    """A chunk of the tree: a leaf, or a summary.

    Args:
        name: Names it in the tree.
        level: Its height.
        text: Its text.
        metadata: What all leaves below it have in common.
    """

    def __init__(self, name: str, level: int, text: str, metadata: dict[str, Any]) -> None:
        self.name = name
        self.level = level
        self.text = text
        self.metadata = metadata
        self.parents: list[str] = []


class Tree:
    """Chunks of one document, and summaries above them.

    Args:
        document: The document.
        leaves: Its chunks, in reading order; blank ones are left out.
        own: Metadata that each summary has, whatever its leaves say.
        level_key: Metadata key of the level.

    Attributes:
        document: The same.
        failed: Whether something failed that was noted; it does not grow any more then.

    Raises:
        TransformerError: The leaves are chunks of a tree already.
    """

    def __init__(
        self,
        document: Document,
        leaves: Sequence[Document],
        own: Mapping[str, Any] | None = None,
        *,
        level_key: str,
    ) -> None:
        self.document = document
        self.failed = False
        self._own = dict(own or {})
        self._level_key = level_key
        self._leaves = [leaf for leaf in leaves if leaf.page_content.strip()]
        if any(NODE in leaf.metadata for leaf in self._leaves):
            msg = (
                f"The chunks of document {name_of(document)} stand in a tree already, so that"
                " none can be built on them: give a splitter that makes one level of chunks."
            )
            raise TransformerError(msg)
        self._summaries: list[_Branch] = []
        self._bottom = [
            _Branch(f"0.{n}", 0, leaf.page_content, without_reserved(leaf.metadata))
            for n, leaf in enumerate(self._leaves)
        ]
        self._top = list(self._bottom)

    @property
    def texts(self) -> list[str]:
        """Texts of what is highest so far, in reading order."""
        return [branch.text for branch in self._top]

    def grow(
        self, level: int, clusters: Sequence[Sequence[int]], summaries: Sequence[str | None]
    ) -> None:
        """Put one more level on top.

        Args:
            level: Its height.
            clusters: Positions in `texts`, in reading order.
            summaries: One for each cluster; None for one whose only member goes on as it is.
        """
        top: list[_Branch] = []
        for cluster, summary in zip(clusters, summaries, strict=True):
            members = [self._top[position] for position in cluster]
            if summary is None:
                top += members
                continue
            shared = _shared([member.metadata for member in members])
            branch = _Branch(f"{level}.{len(top)}", level, summary, shared)
            for member in members:
                member.parents.append(branch.name)
            top.append(branch)
            self._summaries.append(branch)
        self._top = top

    def leaves(self) -> list[Document]:
        """Return the chunks, marked, with their metadata."""
        return [
            marked(
                document_of(
                    leaf.page_content, {**copied(leaf.metadata), self._level_key: 0}, leaf.id
                ),
                Node(branch.name, tuple(branch.parents)),
            )
            for leaf, branch in zip(self._leaves, self._bottom, strict=True)
        ]

    def summaries(self, transformer: str) -> list[Document]:
        """Return the summaries, marked, the lowest first.

        Args:
            transformer: Class name of the transformer.
        """
        return [self._made(branch, transformer) for branch in self._summaries]

    def _made(self, branch: _Branch, transformer: str) -> Document:
        given = without_reserved(self.document.metadata)
        metadata = {
            key: value
            for key, value in given.items()
            # A splitter may drop metadata, or say more; then the document does not know.
            if not any(
                key in leaf.metadata and not _same(leaf.metadata[key], value)
                for leaf in self._bottom
            )
        }
        metadata |= branch.metadata | self._own
        metadata[self._level_key] = branch.level
        made = made_of(self.document, branch.text, metadata, transformer=transformer, kind=None)
        node = Node(branch.name, tuple(branch.parents), branch.level, kind="summary")
        return marked(made, node)


def _shared(metadatas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = metadatas
    return {
        key: value
        for key, value in first.items()
        if all(key in other and _same(other[key], value) for other in others)
    }


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
