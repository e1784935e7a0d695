"""The lineage of one source document, and the pure decisions about it.

A *manifest* names the chunks and variations of a document that are live. An *intent* is
written ahead of every change and names what the change is going to write or delete; it goes
when the change is done. Recovery is one rule: what an intent names and no manifest does is
dead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from langchain_rag.lifecycle.identity import digest, variation_id
from langchain_rag.lifecycle.layout import Layout


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """One chunk in a manifest.

    Attributes:
        key: Chunk key.
        metadata_hash: Hash of the chunk's metadata; empty where it is not known, after a
            crash in the middle of writing it in place. What was made of the chunk still
            holds.
        kinds: Number of variations of each kind, in the order in which they were made.
        incomplete: Whether a transformer failed and the chunk's plain text stands in: the
            next import makes its variations again.
        given: Whether its variations, if any, are not those of the `chunk_transformer`.
        parents: Keys of the chunks above it, where the document is a tree of chunks.
        level: Its height in the tree; 0 for what is nearest to the document's own text.
    """

    key: str
    metadata_hash: str
    kinds: tuple[tuple[str, int], ...]
    incomplete: bool = False
    given: bool = False
    parents: tuple[str, ...] = ()
    level: int = 0

    @property
    def fan_out(self) -> int:
        """How many variations the chunk has."""
        return sum(count for _, count in self.kinds)

    def variation_ids(self) -> list[str]:
        """Return the ids of its variations, in the order in which they were made."""
        return [
            variation_id(self.key, kind, position)
            for kind, count in self.kinds
            for position in range(count)
        ]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is live of one source document.

    Attributes:
        document_id: Its id.
        source_id: Its source, None where the store knows no sources.
        content_hash: Hash of its text.
        metadata_hash: Hash of its metadata.
        parent_fingerprint: Identity of the `parent_transformer` that cut it, None where it
            has none that can be relied on.
        chunk_fingerprint: The same of the `chunk_transformer`.
        whole: Whether it came out of `parent_transformer` as one chunk of the same text.
        chunks: Its chunks in reading order.
        revision: How often the document was written, from 1; no part of what is compared. It
            tells a change that was committed from one that was not, also where the change
            makes what is there already.
        ignored: Metadata keys that its hashes leave out; no part of what is compared.
        layout: How its text is put together from its chunks, None where it cannot be; follows
            from the rest, and so is no part of what is compared.
    """

    document_id: str
    source_id: str | None
    content_hash: str
    metadata_hash: str
    parent_fingerprint: str | None
    chunk_fingerprint: str | None
    whole: bool
    chunks: tuple[ChunkEntry, ...]
    revision: int = field(default=0, compare=False)
    ignored: tuple[str, ...] = field(default=(), compare=False)
    layout: Layout | None = field(default=None, compare=False)

    @property
    def version(self) -> str:
        """Hash of everything in the manifest."""
        return digest(repr(self))

    @property
    def doubtful(self) -> bool:
        """Whether the next import has to make the document again.

        So it is where a crash left chunks half written, a repair took out what was lost, or
        a transformer failed and a plain text stands in.
        """
        return not (self.content_hash and self.metadata_hash) or any(
            entry.incomplete for entry in self.chunks
        )

    @property
    def lowest(self) -> list[ChunkEntry]:
        """The chunks nearest to the document's own text, in reading order."""
        level = min((entry.level for entry in self.chunks), default=0)
        return [entry for entry in self.chunks if entry.level == level]

    def entry(self, chunk_key: str) -> ChunkEntry | None:
        """Return the entry of a chunk, None where the document has no such chunk."""
        return next((entry for entry in self.chunks if entry.key == chunk_key), None)


@dataclass(frozen=True, slots=True)
class Intent:
    """What a change of one document is going to write or delete.

    Attributes:
        document_id: The document.
        writer: The call that makes the change.
        version: `Manifest.version` after the change, None where the document goes.
        entries: Every chunk that the change may write or delete, as it was and as it will
            be; a chunk that changes in place stands there twice.
        overwrites: Keys of the live chunks that the change writes in place.
        chunk_fingerprint: `Manifest.chunk_fingerprint` after the change.
    """

    document_id: str
    writer: str
    version: str | None
    entries: tuple[ChunkEntry, ...]
    overwrites: tuple[str, ...] = ()
    chunk_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """What must go from the stores.

    Attributes:
        variations: Variation ids.
        chunks: Chunk keys.
    """

    variations: list[str] = field(default_factory=list[str])
    chunks: list[str] = field(default_factory=list[str])


def dead(entries: Iterable[ChunkEntry], live: Manifest | None) -> Dead:
    """Apply the rule of recovery: what is named here and is not live is dead.

    Args:
        entries: What a change may have written or may have to delete.
        live: The manifest, None where the document is gone or never came.

    Returns:
        Ids and keys, each once.
    """
    live_entries = set(live.chunks) if live else set[ChunkEntry]()
    # An entry that is live as it stands has nothing dead. Where a change only adds, as most
    # do, that settles it, before any id is computed.
    named = [entry for entry in entries if entry not in live_entries]
    if not named:
        return Dead()
    live_chunks = {entry.key for entry in live_entries}
    live_variations = {id_ for entry in live_entries for id_ in entry.variation_ids()}
    # dict.fromkeys keeps the order and drops what a chunk's two entries share.
    variations = dict.fromkeys(id_ for entry in named for id_ in entry.variation_ids())
    chunks = dict.fromkeys(entry.key for entry in named)
    return Dead(
        variations=[id_ for id_ in variations if id_ not in live_variations],
        chunks=[key for key in chunks if key not in live_chunks],
    )


def recovered(intent: Intent, live: Manifest | None) -> Manifest | None:
    """Return the manifest that is true after a change that did not finish.

    A change that was not committed may have written some live chunks in place. They still
    serve, but nothing may rely on their metadata, nor on their variations if it had another
    transformer, or gave them another role in a tree: the next import of the document writes
    them again.

    Args:
        intent: The change.
        live: The manifest that was found.

    Returns:
        The manifest to write in its place, or None where it may stay as it is.
    """
    if live is None or live.version == intent.version:
        return None
    overwritten = {entry.key for entry in live.chunks}.intersection(intent.overwrites)
    if not overwritten:
        return None
    chunks = tuple(
        replace(entry, metadata_hash="") if entry.key in overwritten else entry
        for entry in live.chunks
    )
    roles = {(entry.key, entry.given) for entry in intent.entries if entry.key in overwritten}
    same = intent.chunk_fingerprint == live.chunk_fingerprint and len(roles) <= len(overwritten)
    fingerprint = live.chunk_fingerprint if same else None
    doubtful = replace(live, metadata_hash="", chunk_fingerprint=fingerprint, chunks=chunks)
    return doubtful if doubtful != live else None
