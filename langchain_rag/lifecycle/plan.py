"""What has to be written for a document: decisions, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from langchain_core.documents import Document

from langchain_rag.lifecycle.drafts import DraftChunk
from langchain_rag.lifecycle.layout import layout_of
from langchain_rag.lifecycle.manifest import Intent, Manifest
from langchain_rag.lifecycle.settings import Fingerprints
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.variations import rows_of


@dataclass(slots=True)
class Change:
    """What is to happen to one document.

    Attributes:
        document_id: The document.
        old: Its live manifest, None for a new document.
        new: Its next manifest, None for a document that goes.
        chunks: Chunk records to write, with their variations where those change.
        rows: Variations to write to the vector store.
        relabelled: Variations of which only the metadata is another one.
    """

    document_id: str
    old: Manifest | None
    new: Manifest | None
    chunks: list[DraftChunk]
    rows: list[Document]
    relabelled: list[Document] = field(default_factory=list[Document])

    @property
    def committed(self) -> Manifest | None:
        """The manifest that is written when everything else is there."""
        if self.new is None:
            return None
        return replace(self.new, revision=self.old.revision + 1 if self.old else 1)

    def intent(self, writer: str) -> Intent:
        """Name everything that the change may write or delete."""
        entries = [
            entry for manifest in (self.old, self.new) if manifest for entry in manifest.chunks
        ]
        live = {entry.key for entry in self.old.chunks} if self.old else set[str]()
        return Intent(
            document_id=self.document_id,
            writer=writer,
            version=self.committed.version if self.committed else None,
            entries=tuple(dict.fromkeys(entries)),
            overwrites=tuple(
                chunk.record.key for chunk in self.chunks if chunk.record.key in live
            ),
            chunk_fingerprint=self.new.chunk_fingerprint if self.new else None,
        )


def is_current(
    source: SourceDocument, live: Manifest | None, fingerprints: Fingerprints
) -> bool:
    """Return whether a document, transformed as it would be now, is what is stored.

    Args:
        source: The document.
        live: Its live manifest.
        fingerprints: Of the `parent_transformer` and the `chunk_transformer`.
    """
    return (
        live is not None
        and None not in fingerprints
        and not live.doubtful
        and (live.parent_fingerprint, live.chunk_fingerprint) == fingerprints
        and live.content_hash == source.content_hash
        and live.metadata_hash == source.metadata_hash
        and live.source_id == source.source_id
    )


def change_of(
    source: SourceDocument,
    chunks: list[DraftChunk],
    old: Manifest | None,
    fingerprints: Fingerprints,
    ignored: Iterable[str] = (),
) -> Change | None:
    """Decide what has to be written for a document.

    Args:
        source: The document.
        chunks: Its chunks; those that are not unchanged have variations.
        old: Its live manifest.
        fingerprints: Of the `parent_transformer` and the `chunk_transformer`.
        ignored: Metadata keys that the hashes leave out.

    Returns:
        The change, None where the stores already say what they have to.
    """
    new = Manifest(
        document_id=source.document_id,
        source_id=source.source_id,
        content_hash=source.content_hash,
        metadata_hash=source.metadata_hash,
        parent_fingerprint=fingerprints[0],
        chunk_fingerprint=fingerprints[1],
        whole=len(chunks) == 1 and chunks[0].record.whole,
        chunks=tuple(chunk.entry for chunk in chunks),
        ignored=tuple(sorted(ignored)),
    )
    texts = {chunk.record.key: chunk.record.content for chunk in chunks}
    lowest = [texts[entry.key] for entry in new.lowest]
    new = replace(new, layout=layout_of(source.content, lowest, source.metadata))
    # A chunk that became its whole document, or ceased to be, changes its public id, which
    # only the docstore knows.
    rewritten = [
        chunk
        for chunk in chunks
        if not chunk.unchanged or old is None or old.whole != new.whole
    ]
    if new == old and not rewritten:
        return None
    changed = [chunk for chunk in rewritten if not chunk.unchanged]
    return Change(
        source.document_id,
        old,
        new,
        rewritten,
        rows=[row for chunk in changed if chunk.before is None for row in rows_of(chunk)],
        relabelled=[row for chunk in changed if chunk.before for row in rows_of(chunk)],
    )


def deletion(manifest: Manifest) -> Change:
    """Return the change by which a document goes.

    Args:
        manifest: Its live manifest.
    """
    return Change(manifest.document_id, manifest, None, [], [])
