"""`rag.index()`: imports what is new or changed, and cleans up what is no longer there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from langchain_core.documents import Document

from langchain_rag._flow import Flow
from langchain_rag.errors import (
    CleanupRefusedError,
    ConcurrentWriteError,
    ConfigurationError,
    InvalidDocumentError,
)
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.importing import Importer
from langchain_rag.lifecycle.index_report import IndexReport, Listener
from langchain_rag.lifecycle.loading import Loading
from langchain_rag.lifecycle.naming import DuplicateDocument, Naming
from langchain_rag.lifecycle.recording import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import (
    SourceDocument,
    SourceIdKey,
    check_document,
    source_of,
)
from langchain_rag.lifecycle.tracking import Tracking
from langchain_rag.lifecycle.write import Lifecycle

Cleanup: TypeAlias = Literal["scoped_full", "full"] | None
"""Which documents go that the run has not met: those of the sources that it has met, all, or
none."""


@dataclass(frozen=True, slots=True)
class CleanupRules:
    """What a clean-up may delete.

    Attributes:
        cleanup: Which documents that the run has not met.
        max_deletes: How many at most; below 1 and not whole, a share of what is stored.
        allow_empty: Whether `"full"` may delete everything where nothing was loaded.
        sources: Sources that the run is about, beside those that it meets.

    Raises:
        ConfigurationError: An argument cannot work.
    """

    cleanup: Cleanup
    max_deletes: float | None = None
    allow_empty: bool = False
    sources: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.cleanup not in {"scoped_full", "full", None}:
            message = f"cleanup is {self.cleanup!r}; give 'scoped_full', 'full' or None."
            raise ConfigurationError(message)
        limit = self.max_deletes
        if limit is not None and not (
            0 <= limit < 1 or (limit >= 1 and float(limit).is_integer())
        ):
            message = f"max_deletes is {limit}; give a number of documents, or a share below 1."
            raise ConfigurationError(message)


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
        relabels = self._lifecycle.stores.rows.backend.relabel is not None
        recorder = Recorder(
            self.report,
            self._tracking,
            self._listener,
            relabels=relabels,
            total=loading.total,
        )

        def next_batch() -> Flow[Sequence[SourceDocument] | None]:
            while True:
                begin = time.perf_counter()
                documents = yield from loading.next(self._settings.batch_size)
                recorder.spent("loading", time.perf_counter() - begin)
                batch = list(self._checked(documents, recorder))
                if batch or not documents:
                    return batch or None

        try:
            yield from Importer(self._lifecycle, self._settings, recorder).run(next_batch)
        except GeneratorExit:
            raise  # nothing can be awaited
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                yield from loading.close()
            raise
        finally:
            self.report.embeddings = recorder.texts
        yield from loading.close()
        begin = time.perf_counter()
        yield from self._clean_up(recorder)
        end = time.perf_counter()
        recorder.spent("cleaning", end - begin)
        recorder.spent("total", end - start)
        return self.report

    def _checked(
        self, documents: Sequence[Document], recorder: Recorder
    ) -> Iterable[SourceDocument]:
        for document in documents:
            position, self._count = self._count, self._count + 1
            try:
                yield self._named(document, position)
            except DuplicateDocument:
                self.report.duplicates += 1
                recorder.repeated()
            except InvalidDocumentError as error:
                if not self._settings.tolerant:
                    raise
                id_, source_id = self._name_of_refused(document)
                self._nameless += id_ is None
                recorder.refused(id_, source_id, error)

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
        return source

    def _name_of_refused(self, document: object) -> tuple[str | None, str | None]:
        """Say which document cannot be stored, so that its old version is not cleaned up."""
        if not isinstance(document, Document):
            return None, None
        try:
            source_id = source_of(document, "a document", self._source_id_key)
        except InvalidDocumentError:
            return document.id, None
        if document.id is None and source_id is not None:
            return self._naming.skip(source_id), source_id
        self._naming.meet(source_id)
        return document.id, source_id

    def _clean_up(self, recorder: Recorder) -> Flow[None]:
        rules, report = self._rules, self.report
        if rules.cleanup is None:
            return
        if rules.cleanup == "full" and self._count == 0 and not rules.allow_empty:
            message = (
                "No documents were loaded, and cleanup='full' would delete everything. See "
                "whether the loader works; if it is meant, give allow_empty=True."
            )
            raise CleanupRefusedError(message, report)
        if self._nameless:
            report.cleanup_left_out = (
                f"{self._nameless} documents failed that have no id and no known source, so "
                "nobody knows which stored documents are theirs. Mend them, or clean up later."
            )
            return
        stale = yield from self._stale()
        yield from self._check_limit(len(stale))
        for batch in batched(stale, self._settings.batch_size):
            if not report.dry_run:
                yield from self._delete(batch, recorder)
            else:
                recorder.deleted(batch)

    def _stale(self) -> Flow[list[str]]:
        report = self.report
        failed = [f.document_id for f in report.failed if f.document_id is not None]
        seen = {*report.added, *report.updated, *report.unchanged, *failed}
        if self._rules.cleanup == "full":
            found = yield from self._tracking.all()
            return [id_ for id_ in dict.fromkeys(found) if id_ not in seen]
        for source_id in self._rules.sources:
            self._naming.meet(source_id)
        found = yield from self._tracking.of_sources(self._naming.sources, seen)
        return [id_ for id_ in dict.fromkeys(found) if id_ not in seen]

    def _check_limit(self, stale: int) -> Flow[None]:
        limit = self._rules.max_deletes
        if limit is None or not stale:
            return
        allowed = int(limit)
        if limit != allowed:
            # Of what was there before: what came in now must not make room.
            stored = set((yield from self._tracking.all())).difference(self.report.added)
            # As the number is written: 0.29 of 100 are 29, whatever binary fractions say.
            allowed = int(Fraction(str(limit)) * len(stored))
        if stale > allowed:
            message = (
                f"The clean-up would delete {stale} documents, and max_deletes={limit} allows "
                f"{allowed}. None was deleted; what is new or changed is stored. See whether "
                "the loader returned everything; if it is meant, raise max_deletes."
            )
            raise CleanupRefusedError(message, self.report)

    def _delete(self, batch: Sequence[str], recorder: Recorder) -> Flow[None]:
        try:
            yield from self._lifecycle.delete(batch, self._settings.batch_size)
        except ConcurrentWriteError as error:
            if not self._settings.tolerant:
                raise
            if len(batch) == 1:
                recorder.refused(batch[0], None, error)
                return
            for id_ in batch:
                yield from self._delete([id_], recorder)
            return
        yield from self._tracking.forget(batch)
        recorder.deleted(batch)
