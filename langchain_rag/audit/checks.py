"""From what was read of a document to what is wrong with it: decisions, no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from langchain_core.documents import Document

from langchain_rag.audit.findings import Finding, FindingKind
from langchain_rag.audit.rows import Owner
from langchain_rag.lifecycle import identity
from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.lifecycle.repository import Corrupt


@dataclass(slots=True)
class View:
    """A document as it stands in the stores.

    Attributes:
        manifest: Its manifest.
        chunks: Records of the chunks that the manifest names, by chunk key.
        variations: Their variations, by chunk key.
        corrupt: What is wrong with those of both that cannot be read.
        owners: Whom its rows name, by row id; None where no row can be looked at.
        documents: Those of its rows that could be read whole.
        doubled: Ids of rows that are there twice.
        overwritten: Keys of chunks that an interrupted change may have written in place.
    """

    manifest: Manifest
    chunks: Mapping[str, ChunkRecord]
    variations: Mapping[str, list[Variation]]
    corrupt: Corrupt
    owners: Mapping[str, Owner] | None
    documents: Mapping[str, Document] = field(default_factory=dict[str, Document])
    doubled: Collection[str] = ()
    overwritten: Collection[str] = ()

    def doubtful(self, entry: ChunkEntry) -> bool:
        """Whether nothing may rely on a chunk's metadata and variations."""
        return not entry.metadata_hash or entry.key in self.overwritten

    def fits(self, entry: ChunkEntry) -> bool:
        """Whether the record of a chunk's variations is what the manifest says."""
        variations = self.variations.get(entry.key)
        return variations is not None and kinds_of(variations) == entry.kinds

    def torn(self, entry: ChunkEntry) -> bool:
        """Whether a chunk and its variations, which are written together, do not fit."""
        record, variations = self.chunks.get(entry.key), self.variations.get(entry.key)
        return (
            record is not None and variations is not None and record.fan_out != len(variations)
        )

    def bad_rows(self, entry: ChunkEntry) -> dict[str, FindingKind]:
        """Say of each row of a chunk that is not as it should be what is wrong."""
        bad: dict[str, FindingKind] = {}
        for id_ in () if self.owners is None else entry.variation_ids():
            owner = self.owners.get(id_) if self.owners is not None else None
            if owner is None:
                bad[id_] = FindingKind.MISSING_ROW
            elif owner != Owner(entry.key, self.manifest.document_id):
                bad[id_] = FindingKind.MISNAMED_ROW
            elif id_ in self.doubled:
                bad[id_] = FindingKind.DOUBLED_ROW
        return bad


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a store takes for right.

    Attributes:
        keys: Where in the docstore.
        fingerprints: Of its transformers, None for one that cannot be relied on.
    """

    keys: StorageKeys
    fingerprints: tuple[str | None, str | None]

    def examine(self, view: View) -> list[Finding]:
        """Say what is wrong with a document.

        Args:
            view: What was read of it.
        """
        findings: list[Finding] = []
        for entry in view.manifest.chunks:
            findings += self._examine_chunk(view, entry)
        if self.foreign(view.manifest):
            id_ = view.manifest.document_id
            findings.append(Finding(FindingKind.FOREIGN_FINGERPRINT, id_, id_))
        return findings

    def foreign(self, manifest: Manifest) -> bool:
        """Say whether a document was certainly made by other transformers."""
        stored = (manifest.parent_fingerprint, manifest.chunk_fingerprint)
        pairs = zip(stored, self.fingerprints, strict=True)
        return any(None not in pair and pair[0] != pair[1] for pair in pairs)

    def fault_of(self, view: View, entry: ChunkEntry) -> str | None:
        """Say what is wrong with the record of a chunk; None where it is right or missing."""
        record = view.chunks.get(entry.key)
        if record is None:
            return view.corrupt.get(self.keys.chunk(entry.key))
        id_ = view.manifest.document_id
        if record.document_id != id_:
            return f"It names document {record.document_id!r}."
        if not view.doubtful(entry) and (
            _hash(record, view.manifest.ignored) != entry.metadata_hash
        ):
            return "Its metadata is not what was stored."
        return None

    def _examine_chunk(self, view: View, entry: ChunkEntry) -> Iterator[Finding]:
        id_ = view.manifest.document_id
        key = self.keys.chunk(entry.key)
        fault = self.fault_of(view, entry)
        if fault is not None:
            yield Finding(FindingKind.CORRUPT_RECORD, id_, key, fault)
            return
        if entry.key not in view.chunks:
            yield Finding(FindingKind.MISSING_CHUNK, id_, key)
            return
        key = self.keys.variations(entry.key)
        if key in view.corrupt:
            yield Finding(FindingKind.CORRUPT_RECORD, id_, key, view.corrupt[key])
        elif entry.key not in view.variations:
            yield Finding(FindingKind.MISSING_VARIATIONS, id_, key)
        elif not view.fits(entry) and (view.torn(entry) or not view.doubtful(entry)):
            why = "It has other variations than the manifest says."
            yield Finding(FindingKind.CORRUPT_RECORD, id_, key, why)
        for row, kind in view.bad_rows(entry).items():
            yield Finding(kind, id_, row)


def kinds_of(variations: list[Variation]) -> tuple[tuple[str, int], ...]:
    """Count variations as a manifest does."""
    return tuple(Counter(variation.kind for variation in variations).items())


def _hash(record: ChunkRecord, ignored: Collection[str]) -> str | None:
    try:
        return identity.metadata_hash(record.metadata, ignored)
    except (TypeError, ValueError):
        return None
