"""What the record manager of `index()` says, beside what is stored."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from langchain_rag._flow import Flow, call
from langchain_rag.audit.findings import Finding, FindingKind
from langchain_rag.audit.scan import Parts
from langchain_rag.lifecycle.repository import Corrupt

_OF_INDEX: Final = re.compile(r"[0-9a-f]{64}")
"""Ids that only the `key_encoder` of `index_kwargs` gives; others are the user's own."""


def may_be_tracked(document_id: str) -> bool:
    """Say whether `index()` has given a document its id."""
    return _OF_INDEX.fullmatch(document_id) is not None


def tracked_by(parts: Parts) -> Flow[set[str]]:
    """List the documents that the record manager tracks."""
    manager = parts.record_manager
    if manager is None:
        return set()
    return set((yield from call(manager.list_keys, manager.alist_keys)))


def differences(
    parts: Parts, stored: Collection[str], tracked: Collection[str], unreadable: Collection[str]
) -> list[Finding]:
    """Compare the two.

    Args:
        parts: What is looked at.
        stored: Ids of the documents that have a manifest.
        tracked: Ids of those that the record manager tracks.
        unreadable: Keys of manifests that are there and cannot be read.
    """
    if parts.record_manager is None:
        return []
    place = parts.lifecycle.keys.manifest
    findings = [
        Finding(FindingKind.TRACKED_NOT_STORED, id_, id_)
        for id_ in sorted(tracked)
        if id_ not in stored and place(id_) not in unreadable
    ]
    return findings + [
        Finding(FindingKind.STORED_NOT_TRACKED, id_, id_)
        for id_ in sorted(stored)
        if id_ not in tracked and may_be_tracked(id_)
    ]


def still_different(parts: Parts, document_ids: Sequence[str]) -> Flow[list[Finding]]:
    """Compare the two again for some documents."""
    manager = parts.record_manager
    if manager is None or not document_ids:
        return []
    corrupt = Corrupt()
    manifests = yield from parts.records.manifests(document_ids, corrupt)
    known = yield from call(manager.exists, manager.aexists, document_ids)
    tracked = {id_ for id_, there in zip(document_ids, known, strict=True) if there}
    return differences(parts, manifests, tracked, corrupt)


def track(parts: Parts, document_ids: Sequence[str]) -> Flow[None]:
    """Make the record manager say what is stored; the documents are claimed.

    Args:
        parts: What is looked at.
        document_ids: Documents about which they differed.
    """
    manager = parts.record_manager
    if manager is None:
        return
    found = yield from still_different(parts, document_ids)
    gone = [f.key for f in found if f.kind is FindingKind.TRACKED_NOT_STORED]
    if gone:
        yield from call(manager.delete_keys, manager.adelete_keys, gone)
    unknown = [f.key for f in found if f.kind is FindingKind.STORED_NOT_TRACKED]
    manifests = yield from parts.records.manifests(unknown, {})
    if manifests:
        # Older than the next run, which deletes it if its source does not have it any more.
        yield from call(
            manager.update,
            manager.aupdate,
            list(manifests),
            group_ids=[manifest.source_id for manifest in manifests.values()],
        )
