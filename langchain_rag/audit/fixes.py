"""What has to be written to make a document right again: decisions, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langchain_core.documents import Document

from langchain_rag._reserved import KIND, TRANSFORMER, without_reserved
from langchain_rag.audit.checks import Expectations, View, kinds_of
from langchain_rag.audit.findings import FindingKind
from langchain_rag.lifecycle import codec
from langchain_rag.lifecycle.drafts import DraftChunk
from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.lifecycle.plan import Change
from langchain_rag.lifecycle.projection import projection
from langchain_rag.lifecycle.records import ChunkRecord, Variation
from langchain_rag.lifecycle.variations import rows_of

_OF_STORES: Final = frozenset({"_id", "_collection_name", "pk"})
"""Metadata that wrapped stores (Qdrant, Milvus) add to what they return."""


@dataclass(slots=True)
class Mending:
    """What makes a document right again.

    Attributes:
        change: For the lifecycle to apply.
        doubled: Ids of rows to delete first, since they are there twice.
        lost: How many chunks go, for want of their text.
    """

    change: Change
    doubled: list[str] = field(default_factory=list[str])
    lost: int = 0


def mend(view: View, expected: Expectations) -> Mending | None:
    """Decide how to make a document right again without a model.

    What text is there is embedded again where its row is not right. A chunk whose text is
    gone is taken out, with its rows, and the document is no longer current: the next import
    makes that chunk again, and only that.

    Args:
        view: What was read of it.
        expected: What the store takes for right.

    Returns:
        What to do, None where the document is right.
    """
    old = view.manifest
    mending = Mending(Change(old.document_id, old, old, [], []))
    kept: list[ChunkEntry] = []
    for entry in old.chunks:
        record = view.chunks.get(entry.key)
        bad = view.bad_rows(entry)
        if record is None or expected.fault_of(view, entry) is not None:
            mending.lost += 1
            continue
        draft = DraftChunk(expected.keys.namespace, record, entry.metadata_hash, None)
        if not view.fits(entry):
            if (
                view.doubtful(entry)
                and entry.key in view.variations
                and not view.torn(entry)
                and not bad
            ):
                # An interrupted change wrote it in place; the next import writes it again.
                kept.append(entry)
                continue
            draft.variations = from_rows(view, entry, record) if not bad else None
            if draft.variations is None:
                mending.lost += 1
                continue
            mending.change.chunks.append(draft)
        kept.append(entry)
        if bad:
            draft.variations = view.variations.get(entry.key)
            rows = rows_of(draft)
            mending.change.rows += [row for row in rows if row.id in bad]
            mending.doubled += [
                id_ for id_, kind in bad.items() if kind is FindingKind.DOUBLED_ROW
            ]
    if mending.lost:
        mending.change.new = replace(old, content_hash="", chunks=_without_lost(old, kept))
    change = mending.change
    return mending if mending.lost or change.chunks or change.rows else None


def _without_lost(old: Manifest, kept: Sequence[ChunkEntry]) -> tuple[ChunkEntry, ...]:
    """Put those above a lost chunk in its place, for the chunks below it."""
    above = {entry.key: entry.parents for entry in old.chunks}
    left = {entry.key for entry in kept}

    def found(parents: Sequence[str]) -> tuple[str, ...]:
        todo, seen = list(parents), dict[str, None]()
        for one in todo:  # which grows
            if one not in seen:
                seen[one] = None
                todo += () if one in left else above.get(one, ())
        return tuple(one for one in seen if one in left)

    return tuple(replace(entry, parents=found(entry.parents)) for entry in kept)


def doubtful(manifest: Manifest) -> Manifest:
    """Return the manifest of a document of which nothing may be relied on.

    Its chunks are still found; the next import makes all of them again.
    """
    chunks = tuple(replace(entry, metadata_hash="") for entry in manifest.chunks)
    return replace(manifest, content_hash="", chunk_fingerprint=None, chunks=chunks)


def from_rows(view: View, entry: ChunkEntry, record: ChunkRecord) -> list[Variation] | None:
    """Read a chunk's variations from its rows, which have all that rows are made of.

    Args:
        view: What was read of its document.
        entry: The chunk in the manifest.
        record: Its record.

    Returns:
        The variations, None where not all rows could be read whole.
    """
    inherited = projection(codec.decode(record.metadata))
    rows = [view.documents.get(id_) for id_ in entry.variation_ids()]
    made = [_variation(row, inherited) for row in rows if row is not None]
    complete = [variation for variation in made if variation is not None]
    if len(complete) < len(rows) or kinds_of(complete) != entry.kinds:
        return None
    return complete


def _variation(row: Document, inherited: dict[str, Any]) -> Variation | None:
    kind, transformer = row.metadata.get(KIND), row.metadata.get(TRANSFORMER)
    if not isinstance(kind, str) or not isinstance(transformer, str | None):
        return None
    extra = {
        key: value
        for key, value in projection(without_reserved(row.metadata)).items()
        if key not in _OF_STORES and (key not in inherited or inherited[key] != value)
    }
    owner = f"row {row.id!r}"
    return Variation(kind, transformer, row.page_content, codec.encode(extra, owner))
