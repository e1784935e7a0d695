"""`verify()`: look at everything, then once more at what is suspicious."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from langchain_rag._flow import Flow
from langchain_rag.audit.findings import Finding, FindingKind
from langchain_rag.audit.owners import owners_of
from langchain_rag.audit.recheck import confirmed
from langchain_rag.audit.reports import VerifyReport
from langchain_rag.audit.rows import Listing, Owner
from langchain_rag.audit.scan import (
    BATCH,
    Intents,
    Parts,
    in_groups,
    views_of,
)
from langchain_rag.audit.tracking import differences, tracked_by
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.repository import Corrupt


def verify(parts: Parts) -> Flow[VerifyReport]:
    """Say what is wrong in the stores, without changing anything.

    Documents may be written meanwhile: what is suspicious is looked at again before it is
    reported, and a document that a call is writing is no finding.

    Args:
        parts: What to look at.
    """
    begin = time.perf_counter()
    first = yield from _Look(parts).all()
    findings, busy = yield from confirmed(parts, first.findings)
    return VerifyReport(
        findings=tuple(findings),
        documents=len(first.stored),
        rows=first.rows,
        foreign_rows=first.foreign,
        busy=tuple(sorted(busy | first.busy)),
        unchecked=tuple(_unchecked(parts)),
        seconds=time.perf_counter() - begin,
        waiting=tuple(first.waiting),
    )


@dataclass(slots=True)
class _First:
    """What the first look saw."""

    findings: list[Finding] = field(default_factory=list[Finding])
    stored: set[str] = field(default_factory=set[str])
    busy: set[str] = field(default_factory=set[str])
    waiting: list[str] = field(default_factory=list[str])
    rows: int | None = None
    foreign: int = 0


class _Look:
    """The first look; holds ids and keys of everything, and texts of a batch."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._keys = parts.lifecycle.keys
        self._seen = _First()
        self._records: set[str] = set()
        self._unreadable = Corrupt()  # manifests, then intents

    def all(self) -> Flow[_First]:
        """Look at everything."""
        parts, keys, seen = self._parts, self._keys, self._seen
        # Rows and chunks before intents and manifests: what is written meanwhile is named by
        # an intent or a manifest when those are read.
        listing = yield from parts.rows.listed()
        if listing is not None:
            seen.rows, seen.foreign = len(listing.owners), listing.foreign
        self._records.update((yield from parts.records.chunk_keys()))
        intent_keys = yield from parts.records.intent_keys()
        unreadable = Corrupt()
        found = yield from parts.records.intents_at(intent_keys, unreadable)
        intents = Intents.of(found)
        seen.busy = intents.busy
        for document_id in intents.left:
            seen.findings.append(
                Finding(FindingKind.UNFINISHED_CHANGE, document_id, keys.intent(document_id))
            )
        tracked = yield from tracked_by(parts)
        for batch in batched((yield from parts.records.manifest_keys()), BATCH):
            yield from self._documents(batch, listing, intents)
        self._unreadable |= unreadable
        orphans = yield from self._orphans(listing, intents)
        seen.findings += differences(parts, seen.stored, tracked, self._unreadable)
        owners = {f.document_id for f in orphans} | tracked | seen.stored
        seen.findings += _corrupt(parts, self._unreadable, owners)
        seen.findings += orphans
        return seen

    def _documents(
        self, batch: Sequence[str], listing: Listing | None, intents: Intents
    ) -> Flow[None]:
        manifests = yield from self._parts.records.manifests_at(batch, self._unreadable)
        self._seen.stored.update(manifest.document_id for manifest in manifests)
        self._seen.waiting += [m.document_id for m in manifests if m.doubtful]
        for group in in_groups(manifests):
            views = yield from views_of(self._parts, group, listing, intents)
            for view in views:
                if view.manifest.document_id not in intents.busy:
                    self._seen.findings += self._parts.expected.examine(view)
            entries = [entry for manifest in group for entry in manifest.chunks]
            for entry in entries:
                self._records.difference_update(self._keys.of_chunk(entry.key))
                if listing is not None:
                    for id_ in entry.variation_ids():
                        listing.owners.pop(id_, None)  # what is left in the end is orphaned

    def _orphans(self, listing: Listing | None, intents: Intents) -> Flow[list[Finding]]:
        keys = self._keys
        for key in intents.chunks:
            self._records.difference_update(keys.of_chunk(key))
        # What is gone by now is no finding: its owner deleted it, and may be adding it again.
        owners = yield from owners_of(self._parts, sorted(self._records))
        findings = [
            Finding(
                FindingKind.ORPHAN_CHUNK
                if key.startswith(keys.chunks)
                else FindingKind.ORPHAN_VARIATIONS,
                owner,
                key,
            )
            for key, owner in owners.items()
        ]
        if listing is not None:
            left = [pair for pair in listing.owners.items() if pair[0] not in intents.rows]
            known = {*owners.values(), *self._seen.stored, *intents.left, *intents.busy}
            for batch in batched(left, BATCH):
                findings += yield from self._rows(batch, known - {None})
        return findings

    def _rows(
        self, batch: Sequence[tuple[str, Owner]], known: Collection[str | None]
    ) -> Flow[list[Finding]]:
        """Tell what is an orphan from what may be another database's."""
        keys = self._keys
        places = {id_: keys.chunk(owner.chunk or "") for id_, owner in batch}
        chunks = yield from owners_of(self._parts, list(dict.fromkeys(places.values())))
        findings: list[Finding] = []
        for id_, owner in batch:
            document = owner.document or chunks.get(places[id_])
            there = document in known or places[id_] in chunks
            if document is not None and not there:
                records = {keys.manifest(document), keys.intent(document)}
                there = not records.isdisjoint(self._unreadable)
            kind = FindingKind.ORPHAN_ROW if there else FindingKind.UNKNOWN_ROW
            findings.append(Finding(kind, document, id_))
        return findings


def _corrupt(parts: Parts, corrupt: Corrupt, documents: set[str | None]) -> list[Finding]:
    """Report manifests and intents that cannot be read, with their document if it is known."""
    if not corrupt:
        return []
    keys = parts.lifecycle.keys
    owners: dict[str, str] = {}
    for id_ in documents:
        if id_ is not None:
            owners |= {keys.manifest(id_): id_, keys.intent(id_): id_}
    return [
        Finding(FindingKind.CORRUPT_RECORD, owners.get(key), key, problem)
        for key, problem in corrupt.items()
    ]


def _unchecked(parts: Parts) -> list[str]:
    unchecked: list[str] = []
    name = type(parts.lifecycle.stores.vectorstore).__name__
    if not parts.rows.can_list and parts.rows.can_get:
        unchecked.append(f"{name} cannot list its rows: orphan rows were not looked for.")
    elif not parts.rows.can_list:
        unchecked.append(
            f"{name} can neither list its rows nor give them by id: they were not checked."
        )
    if parts.record_manager is None:
        unchecked.append("No record manager is known: what index() tracks was not checked.")
    return unchecked
