"""From checked documents to both stores, batch by batch, some batches ahead of others.

While one batch is written, the model is asked about the next ones. Reading what is stored and
writing it is done in turn, by one batch at a time; only the transformers work side by side.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final, TypeAlias

from langchain_core.documents import Document

from langchain_rag._flow import Flow, give_turn_back, stream, take_turn
from langchain_rag._flow.together import values_of
from langchain_rag.embedding_cache import EmbeddingTally, tallying
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle import plan
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.drafting import Draft, Drafting
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.recorder import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import SourceDocument, SourceIdKey, check_documents
from langchain_rag.lifecycle.write import Lifecycle

logger = logging.getLogger(__name__)

Batch: TypeAlias = Sequence[SourceDocument]

_AHEAD: Final = 3
"""Batches under way: one is written, one is with the model, and one waits, so that the model
has work until the last call of the one before."""


def add_documents(
    lifecycle: Lifecycle,
    documents: Iterable[Document],
    ids: Sequence[str | None] | None,
    source_id_key: SourceIdKey,
    settings: Settings,
) -> Flow[list[str]]:
    """Check documents, and import them.

    Args:
        lifecycle: Where to.
        documents: The documents.
        ids: Document ids, one for each document, None where it has none.
        source_id_key: Where a document's source is.
        settings: How.

    Returns:
        One document id for each document, in their order.

    Raises:
        InvalidDocumentError: A document cannot be stored; nothing was written.
        RAGError: An import failed; see `Importer.add`.
    """
    sources = check_documents(list(documents), ids, source_id_key)
    with tallying(EmbeddingTally(refresh=True)) if settings.force else nullcontext():
        yield from Importer(lifecycle, settings, Recorder()).add(sources)
    return [source.document_id for source in sources]


class Importer:
    """Imports documents, new or changed.

    Args:
        lifecycle: Where to.
        settings: How.
        recorder: Is told what becomes of each.
    """

    def __init__(self, lifecycle: Lifecycle, settings: Settings, recorder: Recorder) -> None:
        self._lifecycle = lifecycle
        self._fingerprints = lifecycle.transformers.fingerprints
        self._settings = settings
        self._recorder = recorder
        self._aside = lifecycle.stores.any_thread
        self._drafting = Drafting(lifecycle, settings, recorder)

    def add(self, sources: Iterable[SourceDocument]) -> Flow[None]:
        """Import documents.

        Args:
            sources: Checked documents; equal ones count once.

        Raises:
            TransformerError: A transformer failed. Documents of earlier batches are stored.
            ConcurrentWriteError: Another call is writing one of them.
            StoreError: A store did not do what its contract says.
        """
        unique = {source.document_id: source for source in sources}
        batches = batched(unique.values(), self._settings.batch_size)

        def next_batch() -> Flow[Batch | None]:
            yield from ()
            return next(batches, None)

        if unique:
            yield from self.run(next_batch)

    def run(self, next_batch: Callable[[], Flow[Batch | None]]) -> Flow[None]:
        """Import batch after batch.

        Args:
            next_batch: Returns a flow that returns the next batch, None after the last one.
                No document may come twice.
        """
        self._lifecycle.stores.rows.check()
        if not self._settings.dry_run:
            yield from self._lifecycle.recovery.sweep_leftovers()

        def produce() -> Flow[Flow[None] | None]:
            batch = yield from next_batch()
            return None if batch is None else self._batch(batch)

        values_of((yield from stream(produce, _AHEAD)))

    def _batch(self, batch: Batch) -> Flow[None]:
        yield from take_turn(aside=self._aside)
        manifests, left = yield from self._look(batch)
        waiting = [
            source
            for source in batch
            if source.document_id in left or not self._is_current(source, manifests)
        ]
        names = {source.document_id for source in waiting}
        unchanged = [source for source in batch if source.document_id not in names]
        yield from self._noted_unchanged(unchanged, manifests)
        if waiting and self._settings.dry_run:
            yield from self._estimate(waiting, manifests)
        elif waiting:
            yield from self._claimed(waiting)

    def _look(self, batch: Batch) -> Flow[tuple[dict[str, Manifest], set[str]]]:
        """Read manifests without a claim, and which documents an interrupted call left."""
        ids = [source.document_id for source in batch]
        manifests, left = yield from self._lifecycle.records.manifests_and_intents(ids)
        return {
            id_: manifest.read() for id_, manifest in manifests.items() if id_ not in left
        }, set(left)

    def _claimed(self, batch: Batch) -> Flow[None]:
        """Import while no other call may write the documents."""
        ids = [source.document_id for source in batch]
        try:
            yield from self._lifecycle.holding(ids, partial(self._import, batch))
        except ConcurrentWriteError as error:
            if not self._settings.tolerant:
                raise
            yield from self._claimed_apart(batch, error)

    def _claimed_apart(self, batch: Batch, error: ConcurrentWriteError) -> Flow[None]:
        """Import those documents of a batch that nobody else is writing."""
        held = yield from self._lifecycle.claimed([source.document_id for source in batch])
        taken = [source for source in batch if source.document_id in held]
        free = [source for source in batch if source.document_id not in held]
        if not taken and len(batch) == 1:
            taken, free = free, taken  # it was given back meanwhile, and the next run is soon
        for source in taken:
            self._recorder.failed(source, [error])
        # Where nobody holds any, one was lost half-way, and nobody knows which.
        for group in [free] if taken else [[source] for source in free]:
            if group:
                yield from take_turn(aside=self._aside)
                yield from self._claimed(group)

    def _import(self, batch: Batch, claim: Claim) -> Flow[None]:
        ids = [source.document_id for source in batch]
        with self._recorder.timed("reading"):
            manifests = yield from self._lifecycle.recovery.settled(claim, ids)
        changed = [source for source in batch if not self._is_current(source, manifests)]
        names = {source.document_id for source in changed}
        unchanged = [source for source in batch if source.document_id not in names]
        yield from self._noted_unchanged(unchanged, manifests)
        yield from give_turn_back()
        drafts = yield from self._drafting.run(changed, manifests)
        yield from take_turn(aside=self._aside)
        with self._recorder.timed("writing"):
            yield from self._expect([draft.source for draft in drafts], manifests)
            yield from self._write(drafts, manifests, claim)

    def _estimate(self, batch: Batch, manifests: Mapping[str, Manifest]) -> Flow[None]:
        """Find out what an import would do."""
        yield from self._expect(batch, manifests)
        yield from give_turn_back()
        for draft in (yield from self._drafting.run(batch, manifests)):
            change = self._change(draft, manifests)
            if change is None:
                self._recorder.unchanged(draft.source)
            else:
                self._recorder.written(draft.source, change)

    def _write(
        self, drafts: Sequence[Draft], manifests: Mapping[str, Manifest], claim: Claim
    ) -> Flow[None]:
        settings = self._settings
        decided = [(draft, self._change(draft, manifests)) for draft in drafts]
        changes = [change for _, change in decided if change is not None]
        try:
            yield from self._lifecycle.apply(changes, claim, settings.options)
        except Exception as error:
            new = [d.source for d in drafts if d.source.document_id not in manifests]
            yield from self._forget_unstored(new)
            if not settings.tolerant or isinstance(error, ConcurrentWriteError):
                raise
            if len(drafts) == 1:
                self._recorder.failed(drafts[0].source, [error])
                return
            yield from self._write_each(drafts, claim)
            return
        for draft, change in decided:
            if change is None:
                self._recorder.unchanged(draft.source)
            else:
                self._recorder.written(draft.source, change)

    def _write_each(self, drafts: Sequence[Draft], claim: Claim) -> Flow[None]:
        """Write documents one by one, since one of them may be to blame for all."""
        for draft in drafts:
            # What failed was taken back, which may have put other manifests in place.
            id_ = draft.source.document_id
            manifests = yield from self._lifecycle.recovery.settled(claim, [id_])
            yield from self._expect([draft.source], manifests)
            yield from self._write([draft], manifests, claim)

    def _forget_unstored(self, batch: Batch) -> Flow[None]:
        """Have new documents no longer tracked whose import failed and left nothing."""
        try:
            manifests, left = yield from self._look(batch)
            names = manifests.keys() | left
            gone = [source for source in batch if source.document_id not in names]
            yield from self._recorder.forget(gone)
        except Exception:
            logger.debug("Documents stay tracked that are not stored.", exc_info=True)

    def _change(self, draft: Draft, manifests: Mapping[str, Manifest]) -> plan.Change | None:
        live = manifests.get(draft.source.document_id)
        return plan.change_of(
            draft.source, draft.chunks, live, self._fingerprints, self._settings.ignored
        )

    def _is_current(self, source: SourceDocument, manifests: Mapping[str, Manifest]) -> bool:
        known = None if self._settings.force else manifests.get(source.document_id)
        return plan.is_current(source, known, self._fingerprints)

    def _expect(self, batch: Batch, manifests: Mapping[str, Manifest]) -> Flow[None]:
        """Have documents tracked before they are written, and note which they replace."""
        # `add_documents` may have stored them under an id that is made of what they say.
        derived = [
            source.derived_id
            for source in batch
            if source.placed and source.document_id not in manifests
        ]
        self._recorder.predecessors += yield from self._lifecycle.records.stored_manifests(
            derived
        )
        yield from self._recorder.expect(batch, manifests)

    def _noted_unchanged(self, batch: Batch, manifests: Mapping[str, Manifest]) -> Flow[None]:
        if batch:
            yield from self._expect(batch, manifests)
        for source in batch:
            self._recorder.unchanged(source)
