"""Summaries over the chunks of several documents, kept as a document of its own.

The document's text lists the members' chunks, and how the summaries are made of them. So its
hash in its manifest tells whether a group is what its members say, without reading a summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_rag._flow import Flow
from langchain_rag.document_transformers import fingerprint_of
from langchain_rag.errors import StoreError
from langchain_rag.lifecycle import codec, identity
from langchain_rag.lifecycle.batches import MAX_RECORDS, batched
from langchain_rag.lifecycle.importing import Importer
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.recorder import Recorder
from langchain_rag.lifecycle.settings import Settings, Transformers
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.write import Lifecycle

Refreshed: TypeAlias = Literal["updated", "unchanged", "removed"]
"""What a refresh did: the summaries are others, or the same, or gone with the last member."""

Wanted: TypeAlias = Callable[[dict[str, Any]], bool]
"""Says by the metadata of a chunk whether it is of a group."""

Summarizes: TypeAlias = Callable[[Sequence[Document]], BaseDocumentTransformer]
"""Returns the transformer that makes the summaries of chunks."""


@dataclass(frozen=True, slots=True)
class Membership:
    """Which chunks a group is about: those for which all holds that is given.

    Attributes:
        ids: Document ids.
        sources: Sources of documents.
        wanted: Says so by a chunk's metadata.
    """

    ids: tuple[str, ...] | None
    sources: frozenset[str] | None
    wanted: Wanted | None

    def has(self, manifest: Manifest) -> bool:
        """Say whether a document's chunks may be of the group.

        Args:
            manifest: Of the document.
        """
        return (
            not manifest.document_id.startswith(identity.GROUPS)
            # Of those whose ids are given, only the manifests are read.
            and (self.sources is None or manifest.source_id in self.sources)
        )


class Grouping:
    """The summaries of one group.

    Args:
        lifecycle: Where the members are, and the summaries.
        name: Of the group.
        membership: Which chunks.
        summarizes: Makes the transformer.
        has_sources: Whether the store knows sources.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        name: str,
        membership: Membership,
        summarizes: Summarizes,
        *,
        has_sources: bool,
    ) -> None:
        self._lifecycle = lifecycle
        self._name = name
        self._membership = membership
        self._summarizes = summarizes
        self._has_sources = has_sources
        self.document_id = identity.GROUPS + name

    def stale(self) -> Flow[bool]:
        """Say whether a refresh would change anything."""
        chunks = yield from self._chunks()
        live = yield from self._live()
        return not self._is_current(live, self._text(chunks))

    def refresh(self, settings: Settings) -> Flow[Refreshed]:
        """Bring the summaries to what the members say.

        Args:
            settings: How to import.

        Returns:
            What was done.
        """
        yield from self._lifecycle.recovery.sweep_leftovers()
        chunks = yield from self._chunks()
        text = self._text(chunks)
        live = yield from self._live()
        if not settings.force and self._is_current(live, text):
            return "unchanged"
        if not text:
            yield from self._lifecycle.delete([self.document_id], 1)
            return "removed"
        own = self._lifecycle.transformers
        transformer = self._summarizes([document for _, document in chunks])
        # The audit takes a document of other transformers for one that is out of date. How the
        # summaries are made is said by the text of the group's document.
        borrowed = Transformers(transformer, own.chunk, own.namespace, own.fingerprints)
        lifecycle = Lifecycle(self._lifecycle.stores, borrowed)
        # What an interruption leaves, the store's next call has to sweep.
        lifecycle.recovery = self._lifecycle.recovery
        yield from Importer(lifecycle, settings, Recorder()).add([self._source(text)])
        return "updated"

    def remove(self) -> Flow[None]:
        """Delete the summaries."""
        yield from self._lifecycle.delete([self.document_id], 1)

    def _is_current(self, live: Manifest | None, text: str) -> bool:
        if live is None:
            return not text
        stored = (live.parent_fingerprint, live.chunk_fingerprint)
        pairs = zip(stored, self._lifecycle.transformers.fingerprints, strict=True)
        return (
            not live.doubtful
            and live.content_hash == identity.digest(text)
            and all(one == other or None in {one, other} for one, other in pairs)
        )

    def _live(self) -> Flow[Manifest | None]:
        found = yield from self._lifecycle.records.manifests([self.document_id])
        return found.get(self.document_id)

    def _source(self, text: str) -> SourceDocument:
        metadata: dict[str, Any] = {"group": self._name}
        return SourceDocument(
            document_id=self.document_id,
            source_id=self.document_id if self._has_sources else None,
            content=text,
            metadata=metadata,
            content_hash=identity.digest(text),
            metadata_hash=identity.metadata_hash(metadata),
        )

    def _text(self, chunks: Sequence[tuple[str, Document]]) -> str:
        """Say what the summaries are made of; nothing where there are none to make."""
        if len(chunks) < 2:
            return ""
        made_by = fingerprint_of(self._summarizes([]))
        return "\n".join([f"made by {made_by or 'unknown'}", *(mark for mark, _ in chunks)])

    def _chunks(self) -> Flow[list[tuple[str, Document]]]:
        """Read the chunks of the members, each with what tells it from another one."""
        membership = self._membership
        if membership.ids is None:
            manifests = yield from self._lifecycle.records.all_manifests()
            manifests.sort(key=lambda one: (one.source_id or "", one.document_id))
        else:
            found = yield from self._lifecycle.records.manifests(membership.ids)
            manifests = list(found.values())
        chunks: list[tuple[str, Document]] = []
        for manifest in filter(membership.has, manifests):
            # What stands above others is a summary itself, or has the same text again.
            entries = [entry for entry in manifest.chunks if entry.level == 0]
            marks = {entry.key: f"{entry.key} {entry.metadata_hash}" for entry in entries}
            for batch in batched(marks, MAX_RECORDS):
                documents = yield from self._read(batch, manifest.document_id)
                for key, document in zip(batch, documents, strict=True):
                    if membership.wanted is None or membership.wanted(document.metadata):
                        chunks.append((marks[key], document))
        return chunks

    def _read(self, chunk_keys: Sequence[str], document_id: str) -> Flow[list[Document]]:
        found = yield from self._lifecycle.records.stored_chunks(chunk_keys)
        documents: list[Document] = []
        for key in chunk_keys:
            if key not in found:
                message = (
                    f"A chunk of document {document_id!r}, a member of group {self._name!r}, "
                    "is not in the docstore. If the document was not being changed just now, "
                    "see verify()."
                )
                raise StoreError(message)
            record = found[key].read()
            documents.append(Document(record.content, metadata=codec.decode(record.metadata)))
        return documents
