"""Which documents a clean-up may delete: those that a record manager or the manifests name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from langchain_core.indexing import RecordManager

from langchain_rag._flow import Flow, call
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.sources import SourceDocument
from langchain_rag.lifecycle.write import Lifecycle

_SOURCES: Final = 500
"""Sources that are asked about in one call."""


class Tracking(Protocol):
    """Says which documents there are, and of which sources."""

    def expect(
        self, sources: Sequence[SourceDocument], manifests: Mapping[str, Manifest]
    ) -> Flow[None]:
        """Note documents before they are written, so that none is ever stored and not named.

        Args:
            sources: The documents.
            manifests: Those of them that are stored, by document id.
        """
        ...

    def of_sources(self, source_ids: Iterable[str], seen: set[str]) -> Flow[list[str]]:
        """List the documents of sources.

        Args:
            source_ids: The sources.
            seen: Documents to leave out.
        """
        ...

    def all(self) -> Flow[list[str]]:
        """List all documents."""
        ...

    def forget(self, document_ids: Sequence[str]) -> Flow[None]:
        """Forget documents after they were deleted.

        Args:
            document_ids: The documents.
        """
        ...


class TrackedByRecords:
    """What LangChain's record manager notes; it stays true for `index()`.

    Args:
        records: The record manager.
    """

    def __init__(self, records: RecordManager) -> None:
        self._records = records

    def expect(
        self, sources: Sequence[SourceDocument], manifests: Mapping[str, Manifest]
    ) -> Flow[None]:
        """Note documents; see `Tracking.expect`."""
        records = self._records
        ids = [source.document_id for source in sources]
        known = yield from call(records.exists, records.aexists, ids)
        new: list[SourceDocument] = []
        for source, is_known in zip(sources, known, strict=True):
            live = manifests.get(source.document_id)
            # A record may be older than its document, and name another source.
            if not is_known or live is None or live.source_id != source.source_id:
                new.append(source)
        if new:
            yield from call(
                records.update,
                records.aupdate,
                [source.document_id for source in new],
                group_ids=[source.source_id for source in new],
            )

    def of_sources(self, source_ids: Iterable[str], seen: set[str]) -> Flow[list[str]]:
        """List the documents of sources; see `Tracking.of_sources`."""
        records = self._records
        found: list[str] = []
        for group in batched(source_ids, _SOURCES):
            keys = yield from call(records.list_keys, records.alist_keys, group_ids=group)
            found += [key for key in keys if key not in seen]
        return found

    def all(self) -> Flow[list[str]]:
        """List all documents."""
        return (yield from call(self._records.list_keys, self._records.alist_keys))

    def forget(self, document_ids: Sequence[str]) -> Flow[None]:
        """Forget documents; see `Tracking.forget`."""
        records = self._records
        if document_ids:
            yield from call(records.delete_keys, records.adelete_keys, document_ids)


class TrackedByManifests:
    """What is stored, where there is no record manager. All manifests may have to be read.

    Args:
        lifecycle: Where the documents are.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle

    def expect(
        self,
        sources: Sequence[SourceDocument],  # noqa: ARG002 - the manifests will name them
        manifests: Mapping[str, Manifest],  # noqa: ARG002
    ) -> Flow[None]:
        """Do nothing; see `Tracking.expect`."""
        yield from ()

    def of_sources(self, source_ids: Iterable[str], seen: set[str]) -> Flow[list[str]]:
        """List the documents of sources; see `Tracking.of_sources`."""
        wanted = set(source_ids)
        manifests = yield from self._lifecycle.records.all_manifests(seen)
        return [m.document_id for m in manifests if m.source_id in wanted]

    def all(self) -> Flow[list[str]]:
        """List all documents."""
        return self._lifecycle.records.document_ids()

    def forget(self, document_ids: Sequence[str]) -> Flow[None]:  # noqa: ARG002
        """Do nothing: their manifests are gone."""
        yield from ()
