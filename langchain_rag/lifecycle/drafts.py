"""Chunks and variations made of what the transformers returned; no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag._reserved import (
    CHUNK,
    DOCUMENT,
    KIND,
    NAMESPACE,
    RESERVED,
    TRANSFORMER,
    without_reserved,
)
from langchain_rag.document_transformers.nodes import Node, node_of
from langchain_rag.errors import InvalidDocumentError, TransformerError
from langchain_rag.lifecycle import codec, identity
from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.lifecycle.places import NO_PLACE, Place, fits, places_of
from langchain_rag.lifecycle.projection import projection
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.lifecycle.sources import SourceDocument

_NONE: Final = frozenset[str]()

WHOLE_CHUNK: Final = "chunk"
"""Kind of the one variation of a chunk where there is no `chunk_transformer`."""


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
        content = _storable(output.page_content, owner)
        metadata = codec.encode(without_reserved(output.metadata), owner)
        key = identity.chunk_key(namespace, source.document_id, content, ordinals[content])
        before = reusable.get(key)
        node = node_of(output.metadata)
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
        metadata_hash = identity.metadata_hash(metadata, ignored)
        chunks.append(DraftChunk(namespace, record, metadata_hash, before))
        nodes.append((key, node, _text(output.metadata.get(TRANSFORMER))))
    for chunk, place in zip(chunks, places_of(nodes, source.document_id), strict=True):
        chunk.place = place
        given = place.given(chunk.record.content)
        if given is not None and not chunk.unchanged:
            keep_variations(chunk, given)
    return chunks


def set_variations(
    chunk: DraftChunk,
    outputs: Sequence[Document],
    made_by: str | None,
    own: Mapping[str | None, set[str]] | None = None,
) -> None:
    """Give a chunk the variations that the `chunk_transformer` returned for it.

    Blank ones are dropped, equal ones of one kind merged.

    Args:
        chunk: The chunk; it is changed.
        outputs: What came of it.
        made_by: Class name of the transformer, for outputs that do not say; None without one.
        own: What `own_keys` says of the batch.

    Raises:
        TransformerError: Nothing usable came of it.
        UnstorableMetadataError: The metadata would not read back.
    """
    owner = f"a variation of chunk {chunk.record.key!r}"
    variations: dict[tuple[str, str], Variation] = {}
    for output in outputs:
        if not output.page_content.strip():
            continue
        text = _storable(output.page_content, owner)
        made = _text(output.metadata.get(TRANSFORMER)) or made_by
        kind = _text(output.metadata.get(KIND)) or made or WHOLE_CHUNK
        extra = _extra(chunk, output.metadata, (own or {}).get(made, _NONE), owner)
        variations.setdefault((kind, text), Variation(kind, made, text, extra))
    if not variations:
        message = (
            f"The chunk_transformer returned nothing usable for chunk {chunk.record.key!r} of "
            f"document {chunk.record.document_id!r}, so no search could find it. Let it return "
            "at least one text, for example by adding a CopyDocumentTransformer."
        )
        raise TransformerError(message)
    keep_variations(chunk, list(variations.values()))


def stand_in(chunk: DraftChunk, outputs: Sequence[Document]) -> None:
    """Give a chunk its plain text, since a transformer failed, beside what others made of it.

    Args:
        chunk: The chunk; it is changed.
        outputs: What came of it.
    """
    made = [output for output in outputs if output.page_content.strip()]
    try:
        set_variations(chunk, made, None)
    except (InvalidDocumentError, TransformerError):
        chunk.variations = []  # nothing usable, or nothing that can be stored
    content = chunk.record.content
    plain = Variation(WHOLE_CHUNK, None, content, {})
    kept = [one for one in chunk.variations or () if one.kind != WHOLE_CHUNK]
    copied = any(one.text == content for one in kept)
    keep_variations(chunk, kept if copied else [*kept, plain])
    chunk.incomplete = True


def _extra(
    chunk: DraftChunk, metadata: dict[str, Any], own: Collection[str], owner: str
) -> dict[str, Any]:
    """Return what a variation has beside the chunk's metadata, encoded."""
    inherited = chunk.record.metadata
    # What was handed on is the same object, if it is nothing that can be changed.
    new = {
        key: value
        for key, value in metadata.items()
        if key not in RESERVED and (key in own or inherited.get(key, _NONE) is not value)
    }
    if not new:
        return new
    return {
        key: value
        for key, value in codec.encode(new, owner).items()
        if key in own or _differs(inherited, key, value)
    }


def own_keys(
    chunks: Sequence[DraftChunk], outputs: Sequence[Sequence[Document]], made_by: str | None
) -> dict[str | None, set[str]]:
    """Find out which metadata keys the transformers set, rather than hand on.

    A splitter with `add_start_index` gives the first piece of a chunk the index 0, and the
    chunk may have the index 0 itself. Only the other pieces tell that the two are not the
    same thing, and will part when the chunk's metadata changes.

    Args:
        chunks: The chunks of a batch.
        outputs: What came of each.
        made_by: Class name of the transformer, for outputs that do not say.

    Returns:
        Keys by the class name of the transformer.
    """
    found: dict[str | None, set[str]] = {}
    for chunk, documents in zip(chunks, outputs, strict=True):
        inherited = chunk.record.metadata
        owner = f"a variation of chunk {chunk.record.key!r}"
        for document in documents:
            made = _text(document.metadata.get(TRANSFORMER)) or made_by
            keys = found.setdefault(made, set())
            for key, value in document.metadata.items():
                handed_on = inherited.get(key, _NONE) is value
                if not handed_on and key not in keys and key not in RESERVED:
                    encoded = codec.encode({key: value}, owner)[key]
                    if _differs(inherited, key, encoded):
                        keys.add(key)
    return found


def _differs(inherited: Mapping[str, Any], key: str, value: object) -> bool:
    return key not in inherited or inherited[key] != value


def keep_variations(chunk: DraftChunk, variations: list[Variation]) -> None:
    """Give a chunk variations that are fit to be stored.

    Args:
        chunk: The chunk; it is changed.
        variations: Its variations.
    """
    chunk.variations = variations
    chunk.record = replace(chunk.record, fan_out=len(variations))


def rows_of(chunk: DraftChunk) -> list[Document]:
    """Make the rows of the vector store for a chunk's variations.

    Args:
        chunk: A chunk whose variations are known.

    Returns:
        One document for each variation: its id, its text, what of the metadata a store can
        filter on, and whom it belongs to.
    """
    positions = Counter[str]()
    rows: list[Document] = []
    inherited = projection(codec.decode(chunk.record.metadata))
    for variation in chunk.variations or ():
        metadata = dict(inherited)
        if variation.extra:
            metadata = projection(codec.decode({**chunk.record.metadata, **variation.extra}))
        metadata |= {
            KIND: variation.kind,
            CHUNK: chunk.record.key,
            DOCUMENT: chunk.record.document_id,
        }
        if variation.transformer is not None:
            metadata[TRANSFORMER] = variation.transformer
        if chunk.namespace:
            metadata[NAMESPACE] = chunk.namespace
        id_ = identity.variation_id(chunk.record.key, variation.kind, positions[variation.kind])
        positions[variation.kind] += 1
        rows.append(document_of(variation.text, metadata, id_))
    return rows


def _storable(text: str, owner: str) -> str:
    fault = codec.unstorable_text(text)
    if fault is not None:
        message = f"The text of {owner} has {fault}, which not every store can hold. Remove it."
        raise InvalidDocumentError(message)
    return text


def _text(value: object) -> str | None:
    # A transformer of the user's may use our keys for anything.
    return value if isinstance(value, str) else None
