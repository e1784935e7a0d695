"""`repair()`: make the stores equal the manifests, without a model.

```text
1  manifests and intents that cannot be read go
2  what interrupted calls left is swept
3  documents: rows are written from stored texts; chunks without text are taken out
4  what no manifest names goes: rows before the chunks that they stand for
5  the record manager learns what is stored
```

Everything about a document is done under a claim on it, and is looked at again there first.
An interruption at any point leaves what the next `repair()` finds: nothing is written that no
manifest or intent names, and no chunk goes before its rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from langchain_rag._flow import Flow
from langchain_rag.audit.checks import kinds_of
from langchain_rag.audit.findings import ORPHANS, ROWS, TRACKING, Finding, FindingKind
from langchain_rag.audit.fixes import Mending, doubtful, mend
from langchain_rag.audit.owners import named_by
from langchain_rag.audit.recheck import confirmed
from langchain_rag.audit.reports import RepairReport
from langchain_rag.audit.scan import Intents, Parts, in_groups, views_of
from langchain_rag.audit.tracking import track
from langchain_rag.audit.verify import verify
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle import claims
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.manifest import ChunkEntry, Manifest
from langchain_rag.lifecycle.plan import Change
from langchain_rag.lifecycle.repository import Corrupt

BATCH: Final = 100
"""Documents that are claimed and mended together."""

LISTED_BATCH: Final = 2_000
"""The same for a store that has to list all its rows to find some."""

_UNSETTLED: Final = frozenset({FindingKind.UNFINISHED_CHANGE, FindingKind.CORRUPT_RECORD})


def repair(parts: Parts, *, unknown_rows: bool = False) -> Flow[RepairReport]:
    """Repair what `verify` finds.

    Args:
        parts: What to repair.
        unknown_rows: Whether to delete rows of documents of which the docstore knows nothing.
    """
    begin = time.perf_counter()
    work = _Repair(parts, unknown_rows=unknown_rows)
    report = yield from verify(parts)
    found = list(report.findings)
    if any(finding.kind in _UNSETTLED for finding in found):
        yield from work.settle(found)
        report = yield from verify(parts)
        # Of an orphan that was known by a record that is gone now, it is said what it is now.
        now = {finding.key for finding in report.findings if finding.kind in ROWS}
        found = [f for f in found if f.kind not in ROWS or f.key not in now]
    yield from work.documents(report.findings)
    yield from work.orphans(report.findings)
    yield from work.tracking(report.findings)
    everything = dict.fromkeys(
        finding for finding in [*found, *report.findings] if finding not in work.dropped
    )
    left = [finding for finding in everything if work.leaves(finding)]
    return RepairReport(
        repaired=tuple(finding for finding in everything if finding not in set(left)),
        left=tuple(left),
        reimport=tuple(sorted(work.reimport)),
        rows_written=work.rows_written,
        rows_deleted=work.rows_deleted,
        busy=tuple(sorted(work.busy.union(report.busy))),
        unchecked=report.unchecked,
        seconds=time.perf_counter() - begin,
    )


class _Repair:
    """Does it, and counts."""

    def __init__(self, parts: Parts, *, unknown_rows: bool) -> None:
        self._parts = parts
        self._unknown_rows = unknown_rows
        self._lifecycle = parts.lifecycle
        self._keys = parts.lifecycle.keys
        self._cleared: list[Finding] = []  # of those without an owner, the last to go
        self.busy: set[str] = set()
        self.dropped: set[Finding] = set()  # true no more when their turn came
        self.reimport: set[str] = set()
        self.rows_written = 0
        self.rows_deleted = 0

    def leaves(self, finding: Finding) -> bool:
        """Say whether a finding is not repaired."""
        if finding.kind is FindingKind.UNKNOWN_ROW and not self._unknown_rows:
            return True
        name = finding.key if finding.document_id is None else finding.document_id
        return finding.kind is FindingKind.FOREIGN_FINGERPRINT or name in self.busy

    def settle(self, findings: Iterable[Finding]) -> Flow[None]:
        """Remove manifests and intents that cannot be read, then sweep."""
        for finding in findings:
            if finding.kind is FindingKind.CORRUPT_RECORD:
                for prefix, discard in (
                    (self._keys.intents, self._discard_intent),
                    (self._keys.manifests, self._discard_manifest),
                ):
                    if finding.key.startswith(prefix):
                        # Nobody may know its document; its manifest has the same last part.
                        manifest = self._keys.manifests + finding.key.removeprefix(prefix)
                        name = finding.document_id or finding.key
                        body = partial(discard, finding, manifest)
                        yield from self._holding({manifest: name}, body)
        self._lifecycle.recovery.unswept = True
        yield from self._lifecycle.recovery.sweep_leftovers()

    def documents(self, findings: Iterable[Finding]) -> Flow[None]:
        """Make right what the manifests name."""
        passed_over = {*ORPHANS, *TRACKING, FindingKind.FOREIGN_FINGERPRINT}
        concerned = (f.document_id for f in findings if f.kind not in passed_over)
        ids = dict.fromkeys(id_ for id_ in concerned if id_ is not None)
        # Where rows have to be listed to find one, many documents share a list.
        size = BATCH if self._parts.rows.can_get else LISTED_BATCH
        for batch in batched(ids, size):
            yield from self._each(batch, self._mend)

    def orphans(self, findings: Iterable[Finding]) -> Flow[None]:
        """Delete what no manifest names.

        It is looked at again under a claim on its document. Where nobody can say whose it is,
        it is claimed itself, against other repairs, and all manifests and intents are asked
        whether they name it.
        """
        by_document: dict[str, list[Finding]] = {}
        ownerless: list[Finding] = []
        for finding in findings:
            if finding.kind not in ORPHANS or self.leaves(finding):
                continue
            if finding.document_id is None:
                ownerless.append(finding)
            else:
                by_document.setdefault(finding.document_id, []).append(finding)

        def clear(document_ids: Sequence[str], claim: Claim) -> Flow[None]:
            about = [finding for id_ in document_ids for finding in by_document[id_]]
            yield from self._clear(about, claim)

        for batch in batched(by_document, BATCH):
            yield from self._each(batch, clear)
        for about in batched(ownerless, BATCH):
            documents = {finding.key: finding.key for finding in about}
            self._cleared = []
            yield from self._holding(documents, partial(self._clear, about))
            yield from self._make_sure()

    def _make_sure(self) -> Flow[None]:
        """Mend the document that came in the moment in which something of it was deleted."""
        if not self._cleared:
            return
        rows = any(finding.kind in ROWS for finding in self._cleared)
        wanted = {finding.key for finding in self._cleared}
        named, _ = yield from named_by(self._parts, wanted, rows=rows)
        yield from self._each(sorted(set(named.values())), self._mend)

    def tracking(self, findings: Iterable[Finding]) -> Flow[None]:
        """Make the record manager say what is stored."""

        def correct(document_ids: Sequence[str], _: Claim) -> Flow[None]:
            yield from track(self._parts, document_ids)

        ids = [finding.key for finding in findings if finding.kind in TRACKING]
        for batch in batched(ids, BATCH):
            yield from self._each(batch, correct)

    def _each(
        self,
        document_ids: Sequence[str],
        body: Callable[[Sequence[str], Claim], Flow[None]],
    ) -> Flow[None]:
        """Do something to claimed documents; those that cannot be claimed are busy."""
        try:
            yield from self._lifecycle.holding(document_ids, partial(body, document_ids))
        except ConcurrentWriteError:
            if len(document_ids) == 1:
                self.busy.update(document_ids)
                return
        else:
            return
        for id_ in document_ids:
            yield from self._each([id_], body)

    def _holding(
        self, documents: dict[str, str], body: Callable[[Claim], Flow[None]]
    ) -> Flow[None]:
        try:
            yield from claims.holding(self._lifecycle.stores.docstore, documents, body)
        except ConcurrentWriteError:
            self.busy.update(documents.values())

    def _discard_manifest(self, finding: Finding, _: str, claim: Claim) -> Flow[None]:
        corrupt = Corrupt()
        yield from self._parts.records.manifests_at([finding.key], corrupt)
        if corrupt:
            # Its chunks and rows are orphans now, and go as such.
            yield from claim.mdelete([finding.key])
            self.reimport.add(finding.document_id or finding.key)

    def _discard_intent(self, finding: Finding, manifest_key: str, claim: Claim) -> Flow[None]:
        records, corrupt = self._parts.records, Corrupt()
        found = yield from records.records_at([finding.key, manifest_key], corrupt)
        if finding.key not in corrupt:
            return
        manifest = found.get(manifest_key)
        if isinstance(manifest, Manifest):
            # It may have been writing live chunks in place: which, it does not say any more.
            yield from records.write_manifests(claim, [doubtful(manifest)])
            self.reimport.add(manifest.document_id)
        yield from claim.mdelete([finding.key])

    def _mend(self, document_ids: Sequence[str], claim: Claim) -> Flow[None]:
        settled = yield from self._lifecycle.recovery.settled(claim, document_ids)
        listing = yield from self._parts.rows.needed()
        for group in in_groups(settled.values()):
            views = yield from views_of(self._parts, group, listing, Intents())
            mendings = [mend(view, self._parts.expected) for view in views]
            yield from self._apply([m for m in mendings if m is not None], claim)

    def _apply(self, mendings: Sequence[Mending], claim: Claim) -> Flow[None]:
        changes = [mending.change for mending in mendings]
        doubled = [id_ for mending in mendings for id_ in mending.doubled]
        if doubled:
            yield from claim.confirm()
            yield from self._lifecycle.stores.delete_variations(doubled)
        yield from self._lifecycle.apply(changes, claim, {})
        gone = [entry for change in changes for entry in _gone(change)]
        self.rows_written += sum(len(change.rows) for change in changes)
        self.rows_deleted += len(doubled) + sum(entry.fan_out for entry in gone)
        self.reimport.update(m.change.document_id for m in mendings if m.lost)

    def _clear(self, findings: Sequence[Finding], claim: Claim) -> Flow[None]:
        true, _ = yield from confirmed(self._parts, findings, claimed=True)
        self.dropped.update(set(findings).difference(true))
        self._cleared = [finding for finding in true if finding.document_id is None]
        rows = [f.key for f in true if f.kind in ROWS]
        keys = [f.key for f in true if f.kind not in ROWS]
        if not self._parts.rows.can_list:
            rows += yield from self._rows_of(keys)
        if rows:
            yield from claim.confirm()
        yield from self._lifecycle.stores.delete_variations(list(dict.fromkeys(rows)))
        yield from claim.mdelete(keys)
        self.rows_deleted += len(rows)

    def _rows_of(self, keys: Sequence[str]) -> Flow[list[str]]:
        """Work out which rows stand for orphaned chunks, where they cannot be listed."""
        names = dict.fromkeys(key.rpartition("/")[2] for key in keys)
        found = yield from self._parts.records.variations(names, {})
        return [
            id_
            for name, variations in found.items()
            for id_ in ChunkEntry(name, "", kinds_of(variations)).variation_ids()
        ]


def _gone(change: Change) -> list[ChunkEntry]:
    kept = set(change.new.chunks) if change.new is not None else set[ChunkEntry]()
    return [entry for entry in change.old.chunks if entry not in kept] if change.old else []
