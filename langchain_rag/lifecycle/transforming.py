"""From documents to chunks with variations, through both transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_rag._flow import Flow
from langchain_rag.document_transformers import fingerprint_of, reads_metadata
from langchain_rag.document_transformers.overseeing import Overseer
from langchain_rag.errors import RAGError
from langchain_rag.lifecycle import drafts, records
from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.lineage import transform
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.stores import Stores

NO_TRANSFORMER: Final = "none"
"""Fingerprint of a transformer that is not there."""


@dataclass(frozen=True, slots=True)
class Transformers:
    """The two stages that a document goes through.

    Attributes:
        parent: Cuts documents into chunks; None keeps them whole.
        chunk: Makes the variations of a chunk; None searches the chunk itself.
        namespace: Namespace of the store.
    """

    parent: BaseDocumentTransformer | None
    chunk: BaseDocumentTransformer | None
    namespace: str

    @property
    def fingerprints(self) -> tuple[str | None, str | None]:
        """Identity of the two, None for one that has none that can be relied on."""
        return _fingerprint(self.parent), _fingerprint(self.chunk)

    def cut(
        self,
        batch: Sequence[SourceDocument],
        manifests: Mapping[str, Manifest],
        settings: Settings,
        overseer: Overseer,
    ) -> Flow[list[list[drafts.DraftChunk]]]:
        """Cut documents into chunks.

        Args:
            batch: The documents.
            manifests: Live manifests to build on, by document id.
            settings: How to import.
            overseer: Notes which documents could not be cut, where it is tolerant.

        Returns:
            For each document its chunks, in reading order.
        """
        inputs = [source.copy() for source in batch]
        outputs = [[document] for document in inputs]
        if self.parent is not None:
            # A blank document has no chunks; not every transformer would know what to do.
            filled = [n for n, document in enumerate(inputs) if document.page_content.strip()]
            # Numbered as the batch is, so that a trouble names the right document.
            own = overseer.part(filled)
            cut = yield from transform(
                self.parent, [inputs[n] for n in filled], settings.config, own
            )
            overseer.take_over(own, filled)
            outputs = [list[Document]() for _ in inputs]
            for n, documents in zip(filled, cut, strict=True):
                outputs[n] = documents
        chunk_fingerprint = _fingerprint(self.chunk)
        drafted: list[list[drafts.DraftChunk]] = [[] for _ in batch]
        for number, (source, documents) in enumerate(zip(batch, outputs, strict=True)):
            if number in overseer.troubles:
                continue
            live = manifests.get(source.document_id)
            try:
                drafted[number] = drafts.draft_chunks(
                    source,
                    documents,
                    self.namespace,
                    live,
                    chunk_fingerprint,
                    ignored=settings.ignored,
                )
            except RAGError as error:
                if not overseer.tolerant:
                    raise
                overseer.trouble(number, error)
        return drafted

    def vary(
        self,
        chunks: Sequence[drafts.DraftChunk],
        stores: Stores,
        keys: StorageKeys,
        settings: Settings,
        overseer: Overseer,
    ) -> Flow[None]:
        """Make the variations of the chunks that are new, and only of them.

        Args:
            chunks: The chunks of a batch; they are changed.
            stores: Where the variations of chunks with other metadata are read.
            keys: Where in the docstore.
            settings: How to import.
            overseer: Notes for which chunks that failed, where it is tolerant. They have no
                variations then, or with `on_error="copy"` their plain text.
        """
        # Same text, other metadata: the rows change, and what the model said does not, where
        # it was told the text only.
        todo = [n for n, chunk in enumerate(chunks) if chunk.needs_variations]
        moved = [chunks[n] for n in todo if chunks[n].before]
        if self.chunk is not None and reads_metadata(self.chunk):
            for chunk in moved:
                chunk.before = None
            moved = []
        places = [keys.variations(chunk.record.key) for chunk in moved]
        found = yield from stores.mget(places)
        for chunk, key, value in zip(moved, places, found, strict=True):
            if value is None:
                chunk.before = None
            else:
                content = chunk.record.content
                drafts.keep_variations(chunk, records.read_variations(key, value, content))
        numbers = [n for n in todo if chunks[n].before is None]
        new = [chunks[number] for number in numbers]
        inputs = [chunk.input for chunk in new]
        outputs = [[document] for document in inputs]
        own = overseer.part(numbers)
        if self.chunk is not None:
            outputs = yield from transform(self.chunk, inputs, settings.config, own)
        self._set_variations(new, outputs, own)
        if settings.on_error == "copy":
            for number in own.troubles:
                drafts.stand_in(new[number], outputs[number])
        overseer.take_over(own, numbers)

    def _set_variations(
        self,
        chunks: Sequence[drafts.DraftChunk],
        outputs: Sequence[list[Document]],
        overseer: Overseer,
    ) -> None:
        made_by = None if self.chunk is None else type(self.chunk).__name__
        numbers = [n for n in range(len(chunks)) if n not in overseer.troubles]
        if overseer.tolerant:
            numbers = [n for n in numbers if self._is_storable(n, chunks, outputs, overseer)]
        own = drafts.own_keys(
            [chunks[n] for n in numbers], [outputs[n] for n in numbers], made_by
        )
        for n in numbers:
            drafts.set_variations(chunks[n], outputs[n], made_by, own)

    def _is_storable(
        self,
        number: int,
        chunks: Sequence[drafts.DraftChunk],
        outputs: Sequence[list[Document]],
        overseer: Overseer,
    ) -> bool:
        """Try it on the chunk alone, so that what is wrong with it does not stop others."""
        try:
            drafts.set_variations(chunks[number], outputs[number], None)
        except RAGError as error:
            chunks[number].variations = None
            overseer.trouble(number, error)
            return False
        return True


def _fingerprint(transformer: BaseDocumentTransformer | None) -> str | None:
    return NO_TRANSFORMER if transformer is None else fingerprint_of(transformer)


def is_current(
    source: SourceDocument,
    manifest: Manifest | None,
    fingerprints: tuple[str | None, str | None],
) -> bool:
    """Say whether a document, transformed as it would be now, is what is stored.

    Args:
        source: The document.
        manifest: Its live manifest.
        fingerprints: Of the two transformers, None for one that cannot be relied on.
    """
    return (
        manifest is not None
        and None not in fingerprints
        and not manifest.doubtful
        and (manifest.parent_fingerprint, manifest.chunk_fingerprint) == fingerprints
        and manifest.content_hash == source.content_hash
        and manifest.metadata_hash == source.metadata_hash
        and manifest.source_id == source.source_id
    )
