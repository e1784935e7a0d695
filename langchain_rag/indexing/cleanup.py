"""Deleting what is stored and no longer there, exactly, and not by accident."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from langchain_rag._flow import Flow
from langchain_rag.errors import CleanupRefusedError, ConcurrentWriteError, ConfigurationError
from langchain_rag.indexing.document_ids import Naming
from langchain_rag.lifecycle import identity
from langchain_rag.lifecycle.batches import MAX_RECORDS, batched
from langchain_rag.lifecycle.index_report import IndexReport
from langchain_rag.lifecycle.recorder import Recorder
from langchain_rag.lifecycle.settings import Settings
from langchain_rag.lifecycle.sources import SourceIdKey
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
        given = cast("object", limit)
        if not isinstance(given, int | float | None) or isinstance(given, bool):
            message = f"max_deletes is {given!r}; give a number of documents, or a share."
            raise ConfigurationError(message)
        if limit is not None and not (
            0 <= limit < 1 or (limit >= 1 and float(limit).is_integer())
        ):
            message = f"max_deletes is {limit}; give a number of documents, or a share below 1."
            raise ConfigurationError(message)

    @classmethod
    def of(
        cls,
        cleanup: Cleanup,
        max_deletes: float | None,
        sources: Iterable[str] | None,
        source_id_key: SourceIdKey,
        *,
        allow_empty: bool,
    ) -> CleanupRules:
        """Check what a call asks for.

        Args:
            cleanup: As in the attributes.
            max_deletes: The same.
            sources: The same; None for no others.
            source_id_key: Where a document's source is, None where sources are not known.
            allow_empty: As in the attributes.

        Raises:
            ConfigurationError: An argument cannot work, or two cannot work together.
        """
        if isinstance(sources, str):
            message = f"sources is the text {sources!r}; give a list of sources."
            raise ConfigurationError(message)
        named = frozenset(str(source) for source in sources or ())
        if named and (source_id_key is None or cleanup != "scoped_full"):
            why = (
                "the store was made with source_id_key=None and knows none"
                if source_id_key is None
                else f"cleanup={cleanup!r} does not go by sources"
            )
            message = f"sources was given, but {why}. Leave it out."
            raise ConfigurationError(message)
        return cls(cleanup, max_deletes, allow_empty, named)

    def check_loaded(self, count: int, report: IndexReport) -> None:
        """Refuse to clean up after a loader that returned nothing.

        Args:
            count: How many documents it returned.
            report: What was done.

        Raises:
            CleanupRefusedError: Everything would be deleted.
        """
        if self.cleanup == "full" and count == 0 and not self.allow_empty:
            message = (
                "No documents were loaded, and cleanup='full' would delete everything. See "
                "whether the loader works; if it is meant, give allow_empty=True."
            )
            raise CleanupRefusedError(message, report)


class Cleaning:
    """The clean-up of one run.

    Args:
        lifecycle: Where the documents are.
        tracking: Which there are.
        settings: How the run imports.
        rules: What may go.
        recorder: Writes the report.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        tracking: Tracking,
        settings: Settings,
        rules: CleanupRules,
        recorder: Recorder,
    ) -> None:
        self._lifecycle = lifecycle
        self._tracking = tracking
        self._settings = settings
        self._rules = rules
        self._recorder = recorder

    def run(self, naming: Naming) -> Flow[None]:
        """Delete what the run has not met.

        Args:
            naming: What it has met.

        Raises:
            CleanupRefusedError: More would be deleted than may be.
        """
        for source_id in self._rules.sources:
            naming.meet(source_id)
        stale, gone = yield from self._stale(naming)
        try:
            yield from self._check_limit(len(stale))
        except CleanupRefusedError as error:
            if not self._settings.dry_run:
                raise
            self._recorder.report.cleanup_left_out = str(error)
            return
        if self._settings.dry_run:
            self._recorder.deleted(stale)
            return
        for batch in batched(gone, MAX_RECORDS):
            yield from self._forget(batch)
        for batch in batched(stale, self._settings.batch_size):
            yield from self._delete(batch)

    def _stale(self, naming: Naming) -> Flow[tuple[list[str], list[str]]]:
        """List what is stored and has to go, and what is tracked and is gone already."""
        full = self._rules.cleanup == "full"
        found = yield from self._candidates(naming, full=full)
        stale: list[str] = []
        gone: list[str] = []
        for batch in batched(dict.fromkeys(found), MAX_RECORDS):
            manifests = yield from self._lifecycle.records.stored_manifests(batch)
            for id_ in batch:
                if id_ not in manifests:
                    gone.append(id_)
                elif id_.startswith(identity.GROUPS):
                    continue  # no loader returns it; it goes with its members
                # What a record says of its source may be older than the document.
                elif full or manifests[id_].read().source_id in naming.sources:
                    stale.append(id_)
        return stale, gone

    def _forget(self, batch: Sequence[str]) -> Flow[None]:
        """Forget what is not stored, but for what another call is about to store."""
        held = yield from self._lifecycle.claimed(batch)
        free = [id_ for id_ in batch if id_ not in held]
        # Read after that: who has given it back meanwhile has left a manifest, or an intent.
        manifests, intents = yield from self._lifecycle.records.manifests_and_intents(free)
        yield from self._tracking.forget(
            [id_ for id_ in free if id_ not in manifests and id_ not in intents]
        )

    def _candidates(self, naming: Naming, *, full: bool) -> Flow[Iterable[str]]:
        if not full:
            tracked = yield from self._tracking.of_sources(naming.sources, naming.ids)
            return [*tracked, *self._recorder.predecessors]
        tracked = yield from self._tracking.all()
        found = [id_ for id_ in tracked if id_ not in naming.ids]
        manifests = yield from self._lifecycle.records.all_manifests(naming.ids)
        return [*found, *(manifest.document_id for manifest in manifests)]

    def _check_limit(self, stale: int) -> Flow[None]:
        limit, report = self._rules.max_deletes, self._recorder.report
        if limit is None or not stale:
            return
        allowed = int(limit)
        if limit != allowed:
            # Of what was there before: what came in now must not make room.
            keys = yield from self._lifecycle.records.manifest_keys()
            new = 0 if report.dry_run else len(report.added)
            # As the number is written: 0.29 of 100 are 29, whatever binary fractions say.
            allowed = int(Fraction(str(limit)) * (len(keys) - new))
        if stale > allowed:
            message = (
                f"The clean-up would delete {stale} documents, and max_deletes={limit} allows "
                f"{allowed}. None was deleted. See whether the loader returned everything; if "
                "it is meant, raise max_deletes."
            )
            raise CleanupRefusedError(message, report)

    def _delete(self, batch: Sequence[str]) -> Flow[None]:
        try:
            yield from self._lifecycle.delete(batch, self._settings.batch_size)
        except ConcurrentWriteError as error:
            if not self._settings.tolerant:
                raise
            if len(batch) == 1:
                self._recorder.refused(batch[0], None, error)
                return
            for id_ in batch:
                yield from self._delete([id_])
            return
        yield from self._tracking.forget(batch)
        self._recorder.deleted(batch)
