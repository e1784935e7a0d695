"""`rag.index()`: imports what is new or changed, and cleans up what is no longer there."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from langchain_core.documents import Document
from langchain_core.indexing import RecordManager
from langchain_core.runnables.config import merge_configs

from langchain_rag._flow import Flow
from langchain_rag.document_transformers.llm.usage import ModelUsage
from langchain_rag.embedding_cache import CachedEmbeddings, EmbeddingTally, tallying
from langchain_rag.errors import (
    InvalidDocumentError,
    RAGError,
)
from langchain_rag.indexing.cleanup import Cleaning, CleanupRules
from langchain_rag.indexing.document_ids import DuplicateDocument, Naming
from langchain_rag.indexing.loading import Documents, Loading
from langchain_rag.indexing.progress import listening
from langchain_rag.lifecycle.importing import Importer
from langchain_rag.lifecycle.index_report import IndexReport, Listener
from langchain_rag.lifecycle.recorder import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import (
    SourceDocument,
    SourceIdKey,
    check_document,
    source_of,
)
from langchain_rag.lifecycle.tracking import TrackedByManifests, TrackedByRecords, Tracking
from langchain_rag.lifecycle.write import Lifecycle

logger = logging.getLogger(__name__)


def index(
    lifecycle: Lifecycle,
    documents: Documents,
    records: RecordManager | None,
    source_id_key: SourceIdKey,
    settings: Settings,
    *,
    rules: CleanupRules,
    progress: bool | Listener,
) -> Flow[IndexReport]:
    """Index documents, and count what models and embeddings do for it.

    Args:
        lifecycle: Where to.
        documents: The documents.
        records: Notes which documents there are; without one, their manifests name them.
        source_id_key: Where a document's source is.
        settings: How to import.
        rules: What to clean up.
        progress: True for a bar, False for nothing, or a listener.

    Returns:
        What was done, and what it took.

    Raises:
        RAGError: See `Indexing.run`.
        ConfigurationError: `documents` or `progress` cannot work.
    """
    loading = Loading(documents)
    usage = ModelUsage()
    counted = merge_configs(settings.config, {"callbacks": [usage]})
    tally = EmbeddingTally(refresh=settings.force)
    with listening(progress, loading.total) as listener, tallying(tally):
        run = Indexing(
            lifecycle,
            TrackedByManifests(lifecycle) if records is None else TrackedByRecords(records),
            source_id_key,
            replace(settings, config=counted),
            rules=rules,
            listener=listener,
        )
        report = run.report
        try:
            return (yield from run.run(loading))
        finally:
            report.embedding_cache_hits = tally.hits
            if not report.dry_run:
                report.llm_calls = usage.calls
                report.input_tokens = usage.input_tokens
                report.output_tokens = usage.output_tokens
                if isinstance(lifecycle.stores.vectorstore.embeddings, CachedEmbeddings):
                    report.embeddings = tally.embedded


class Indexing:
    """One run.

    Args:
        lifecycle: Where to.
        tracking: Which documents there are.
        source_id_key: Where a document's source is.
        settings: How to import.
        rules: What to clean up.
        listener: Is told of each document.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        tracking: Tracking,
        source_id_key: SourceIdKey,
        settings: Settings,
        *,
        rules: CleanupRules,
        listener: Listener | None = None,
    ) -> None:
        self._lifecycle = lifecycle
        self._tracking = tracking
        self._source_id_key = source_id_key
        self._settings = settings
        self._rules = rules
        self._listener = listener
        self._naming = Naming()
        self._count = 0
        self._nameless = 0
        self.report = IndexReport(dry_run=settings.dry_run)

    def run(self, loading: Loading) -> Flow[IndexReport]:
        """Index documents.

        Args:
            loading: Reads them.

        Returns:
            What was done.

        Raises:
            RAGError: Something failed, with `on_error="raise"`. Documents of earlier batches
                are stored; nothing was cleaned up.
            CleanupRefusedError: More would be deleted than may be.
        """
        start = time.perf_counter()
        self._note_fingerprints()
        recorder = Recorder(
            self.report,
            tracking=self._tracking,
            listener=self._listener,
            total=loading.total,
            relabels=self._lifecycle.stores.rows.backend.relabel is not None,
        )

        def next_batch() -> Flow[Sequence[SourceDocument] | None]:
            while True:
                size = self._settings.batch_size
                with recorder.timed("loading"):
                    batch = yield from loading.next(
                        size, lambda one: self._checked(one, recorder)
                    )
                if batch is None or batch:
                    return batch

        try:
            yield from Importer(self._lifecycle, self._settings, recorder).run(next_batch)
        except GeneratorExit:
            raise  # nothing can be awaited
        except BaseException as error:
            if isinstance(error, RAGError):
                error.add_note("on_error='skip' or 'copy' goes on with the other documents.")
            with suppress(Exception):  # the first error is the one to report
                yield from loading.close()
            raise
        finally:
            self.report.embeddings = recorder.texts
        yield from loading.close()
        with recorder.timed("cleaning"):
            yield from self._clean_up(recorder)
        recorder.spent("total", time.perf_counter() - start)
        return self.report

    def _note_fingerprints(self) -> None:
        transformers = self._lifecycle.transformers
        stages = zip(("parent", "chunk"), transformers.fingerprints, strict=True)
        for stage in [stage for stage, fingerprint in stages if fingerprint is None]:
            note = (
                f"The {stage}_transformer has no fingerprint (a model, or code, that does not "
                "say what it is), so every document is made again in every run: give it a "
                "`version`."
            )
            self.report.notes.append(note)
            logger.warning(note)

    def _checked(self, document: Document, recorder: Recorder) -> Sequence[SourceDocument]:
        position, self._count = self._count, self._count + 1
        try:
            return [self._named(document, position)]
        except DuplicateDocument:
            self.report.duplicates += 1
            recorder.repeated()
        except InvalidDocumentError as error:
            if not self._settings.tolerant:
                raise
            id_, source_id = self._name_of_refused(document)
            self._nameless += id_ is None
            recorder.refused(id_, source_id, error)
        return []

    def _named(self, document: Document, position: int) -> SourceDocument:
        naming = self._naming
        source = check_document(
            document,
            None,
            position,
            self._source_id_key,
            name=naming.place,
            ignored=self._settings.ignored,
        )
        if document.id is not None:
            naming.meet(source.source_id)
            naming.own(source.document_id, source.content_hash, source.metadata_hash)
        naming.ids.add(source.document_id)
        return source

    def _name_of_refused(self, document: object) -> tuple[str | None, str | None]:
        """Say which document cannot be stored, so that its old version is not cleaned up."""
        if not isinstance(document, Document):
            return None, None
        try:
            source_id = source_of(document, "a document", self._source_id_key)
        except InvalidDocumentError:
            return self._kept(document.id), None
        if document.id is None and source_id is not None:
            return self._naming.skip(source_id), source_id
        self._naming.meet(source_id)
        return self._kept(document.id), source_id

    def _kept(self, document_id: str | None) -> str | None:
        """Have the clean-up leave what is stored of a document."""
        if document_id is not None:
            self._naming.ids.add(document_id)
        return document_id

    def _clean_up(self, recorder: Recorder) -> Flow[None]:
        rules = self._rules
        if rules.cleanup is None:
            return
        rules.check_loaded(self._count, self.report)
        if self._nameless:
            self.report.cleanup_left_out = (
                f"{self._nameless} documents failed that have no id and no known source, so "
                "nobody knows which stored documents are theirs. Mend them, or clean up later."
            )
            return
        cleaning = Cleaning(self._lifecycle, self._tracking, self._settings, rules, recorder)
        yield from cleaning.run(self._naming)
