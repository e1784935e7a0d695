"""Chunks made of what the `parent_transformer` returned, and their tree; no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag._reserved import TRANSFORMER, without_reserved
from langchain_rag.document_transformers.nodes import Node, node_of
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle import codec, identity
from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.lifecycle.sources import SourceDocument


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


@dataclass(slots=True)
class DraftChunk:
    """A chunk on its way into the stores.

    Attributes:
        namespace: Namespace of the store.
        record: What the docstore will hold.
        metadata_hash: Hash of its metadata.
        before: Its entry in the live manifest, if it can be built on.
        variations: What will be searched for it; None while not known.
        incomplete: Whether a transformer failed, and its plain text stands in.
        place: Where it stands in the tree of its document's chunks.
    """

    namespace: str
    record: ChunkRecord
    metadata_hash: str
    before: ChunkEntry | None
    variations: list[Variation] | None = None
    incomplete: bool = False
    place: Place = NO_PLACE

    @property
    def unchanged(self) -> bool:
        """Whether its variations stand in the vector store as they have to."""
        return self.before is not None and self.before.metadata_hash == self.metadata_hash

    @property
    def needs_variations(self) -> bool:
        """Whether its variations have yet to be read or made."""
        return self.variations is None and not self.unchanged

    @property
    def input(self) -> Document:
        """The document to hand to the `chunk_transformer`."""
        return document_of(
            self.record.content,
            codec.decode(self.record.metadata),
            # For errors only: whoever reads one knows the document, not the key.
            f"{self.record.document_id}/{self.record.key}",
        )

    @property
    def entry(self) -> ChunkEntry:
        """Its entry in the next manifest."""
        kinds = tuple(Counter(variation.kind for variation in self.variations or ()).items())
        if self.before is not None and self.variations is None:
            kinds = self.before.kinds
        return ChunkEntry(
            self.record.key,
            self.metadata_hash,
            kinds,
            self.incomplete,
            given=self.place.is_given,
            parents=self.place.parents,
            level=self.place.level,
        )

    def keep(self, variations: list[Variation]) -> None:
        """Give it variations that are fit to be stored.

        Args:
            variations: All of them.
        """
        self.variations = variations
        self.record = replace(self.record, fan_out=len(variations))


def draft_chunks(
    source: SourceDocument,
    outputs: Iterable[Document],
    namespace: str,
    old: Manifest | None,
    chunk_fingerprint: str | None,
    *,
    ignored: frozenset[str] = frozenset(),
) -> list[DraftChunk]:
    """Make chunks of what the `parent_transformer` returned for a document.

    Args:
        source: The document.
        outputs: What came of it; blank texts are dropped.
        namespace: Namespace of the store.
        old: The live manifest of the document.
        chunk_fingerprint: Identity of the `chunk_transformer`, None where it has none.
        ignored: Metadata keys whose change is no change.

    Returns:
        The chunks in reading order. Those that may build on the live version know it.

    Raises:
        TransformerError: Nothing came of a document that has text, or text that cannot be
            stored; or its chunks are marked as a tree that is none.
        UnstorableMetadataError: The metadata would not read back.
    """
    kept = [output for output in outputs if output.page_content.strip()]
    if not kept and source.content.strip():
        message = (
            f"The parent_transformer returned nothing for document {source.document_id!r}, "
            "which has text. Let it return at least one chunk, or do not import the document."
        )
        raise TransformerError(message)
    whole = len(kept) == 1 and kept[0].page_content == source.content
    reusable: dict[str, ChunkEntry] = (
        {entry.key: entry for entry in old.chunks if not entry.incomplete}
        if old and chunk_fingerprint is not None and old.chunk_fingerprint == chunk_fingerprint
        else {}
    )
    owner = f"a chunk of document {source.document_id!r}"
    ordinals = Counter[str]()
    chunks: list[DraftChunk] = []
    nodes: list[tuple[str, Node | None, str | None]] = []
    for output in kept:
        content = codec.storable_text(output.page_content, owner)
        metadata = codec.encode(without_reserved(output.metadata), owner)
        key = identity.chunk_key(namespace, source.document_id, content, ordinals[content])
        metadata_hash = identity.metadata_hash(metadata, ignored)
        node = node_of(output.metadata)
        before = reusable.get(key)
        if before is not None and not fits(before, node):
            before = None
        record = ChunkRecord(
            key=key,
            document_id=source.document_id,
            content=content,
            ordinal=ordinals[content],
            metadata=metadata,
            whole=whole,
            fan_out=before.fan_out if before else 0,
        )
        ordinals[content] += 1
        chunks.append(DraftChunk(namespace, record, metadata_hash, before))
        nodes.append((key, node, text_or_none(output.metadata.get(TRANSFORMER))))
    for chunk, place in zip(chunks, places_of(nodes, source.document_id), strict=True):
        chunk.place = place
        given = place.given(chunk.record.content)
        if given is not None and not chunk.unchanged:
            chunk.keep(given)
    return chunks


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


def text_or_none(value: object) -> str | None:
    """Return a metadata value if it is a text: a user's transformer may use our keys freely."""
    return value if isinstance(value, str) else None
