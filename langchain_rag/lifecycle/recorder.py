"""Makes the report of `rag.index()` of what becomes of each document."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from langchain_rag._flow import Flow
from langchain_rag.document_transformers.overseer import Overseer
from langchain_rag.lifecycle.index_report import (
    IndexEvent,
    IndexFailure,
    IndexReport,
    Listener,
    Outcome,
)
from langchain_rag.lifecycle.manifest import Manifest, dead
from langchain_rag.lifecycle.plan import Change
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.tracking import Tracking


class Recorder:
    """Writes a report, has documents tracked, and tells a listener.

    Args:
        report: The report to write.
        tracking: Is told of documents before they are written; None where nobody tracks them.
        listener: Is told of each document.
        total: How many documents there are, None where nobody knows.
        relabels: Whether the wrapped store changes metadata without an embedding.

    Attributes:
        report: The same.
        texts: Texts that the wrapped store was given to embed.
        predecessors: Documents that `add_documents` stored, and that have another id here.
    """

    def __init__(
        self,
        report: IndexReport | None = None,
        *,
        tracking: Tracking | None = None,
        listener: Listener | None = None,
        total: int | None = None,
        relabels: bool = False,
    ) -> None:
        self.report = IndexReport() if report is None else report
        self.texts = 0
        self.predecessors: list[str] = []
        self._tracking = tracking
        self._listener = listener
        self._relabels = relabels
        self._total = total
        self._done = 0

    def expect(
        self, sources: Sequence[SourceDocument], manifests: Mapping[str, Manifest]
    ) -> Flow[None]:
        """Have documents tracked before any of them is written.

        Args:
            sources: The documents.
            manifests: Those of them that are stored, by document id.
        """
        if sources and self._tracking is not None and not self.report.dry_run:
            yield from self._tracking.expect(sources, manifests)

    def forget(self, sources: Sequence[SourceDocument]) -> Flow[None]:
        """Have documents no longer tracked that were expected, and are not stored after all.

        Args:
            sources: The documents.
        """
        if sources and self._tracking is not None:
            yield from self._tracking.forget([source.document_id for source in sources])

    def unchanged(self, source: SourceDocument) -> None:
        """Note a document that is stored as it is.

        Args:
            source: The document.
        """
        self.report.unchanged.append(source.document_id)
        self._tell("unchanged", source.document_id, source.source_id)

    def written(self, source: SourceDocument, change: Change) -> None:
        """Note a document that was written.

        Args:
            source: The document.
            change: What was written.
        """
        report = self.report
        outcome: Literal["added", "updated"] = "updated" if change.old else "added"
        (report.updated if change.old else report.added).append(source.document_id)
        report.rows_written += len(change.rows) + len(change.relabelled)
        self.texts += len(change.rows)
        if not self._relabels:
            self.texts += len(change.relabelled)
        if change.old is not None:
            report.rows_deleted += len(dead(change.old.chunks, change.new).variations)
        self._tell(outcome, source.document_id, source.source_id)

    def failed(
        self, source: SourceDocument, errors: Sequence[Exception], chunk: str | None = None
    ) -> None:
        """Note a document, or a chunk of one, that failed.

        Args:
            source: The document.
            errors: What failed.
            chunk: Key of the chunk whose plain text stands in; None where the document
                stays as it was.
        """
        id_, source_id = source.document_id, source.source_id
        reasons = [_reason(error) for error in errors]
        self.report.failed += [
            IndexFailure(id_, source_id, chunk, reason) for reason in reasons
        ]
        if chunk is None:
            self._tell("failed", id_, source_id, reasons[0])

    def refused(self, document_id: str | None, source_id: str | None, error: Exception) -> None:
        """Note a document that was found unfit before anything was done about it.

        Args:
            document_id: Its id, None where it has none.
            source_id: Its source, None where it is not known.
            error: Why.
        """
        reason = _reason(error)
        self.report.failed.append(IndexFailure(document_id, source_id, None, reason))
        self._tell("failed", document_id, source_id, reason)

    def repeated(self) -> None:
        """Note a document that says the same as one before."""
        self._tell("unchanged", None, None)

    def deleted(self, document_ids: Sequence[str]) -> None:
        """Note documents that the clean-up deleted.

        Args:
            document_ids: The documents.
        """
        self.report.deleted += document_ids
        for id_ in document_ids:
            self._tell("deleted", id_, None)

    def asked(self, *overseers: Overseer) -> None:
        """Note what a batch asked of models.

        Args:
            overseers: What followed it.
        """
        report = self.report
        for overseer in overseers:
            report.cache_hits += overseer.cache_hits
            if report.dry_run:
                report.llm_calls += overseer.calls
                report.input_tokens = (report.input_tokens or 0) + overseer.tokens

    def spent(self, phase: str, seconds: float) -> None:
        """Note how long something took.

        Args:
            phase: What.
            seconds: How long.
        """
        took = self.report.seconds
        took[phase] = took.get(phase, 0.0) + seconds

    @contextmanager
    def timed(self, phase: str) -> Generator[None]:
        """Note how long a block took.

        Args:
            phase: What the block does.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent(phase, time.perf_counter() - start)

    def _tell(
        self,
        outcome: Outcome,
        document_id: str | None,
        source_id: str | None,
        reason: str | None = None,
    ) -> None:
        self._done += outcome != "deleted"
        if self._listener is not None:
            self._listener(
                IndexEvent(outcome, document_id, source_id, self._done, self._total, reason)
            )


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
