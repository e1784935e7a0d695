"""Looking again at what was suspicious, since it may have been on its way."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_rag._flow import Flow
from langchain_rag.audit._reading import Corrupt
from langchain_rag.audit.findings import ORPHANS, TRACKING, Finding, FindingKind
from langchain_rag.audit.looking import (
    BATCH,
    Intents,
    Parts,
    in_groups,
    intents_of,
    manifests_of,
    views_of,
)
from langchain_rag.audit.tracking import still_different
from langchain_rag.errors import ConcurrentWriteError
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.manifest import Manifest


def confirmed(
    parts: Parts, findings: Sequence[Finding], *, claimed: bool = False
) -> Flow[tuple[list[Finding], set[str]]]:
    """Say which findings are still true.

    Args:
        parts: What is looked at.
        findings: What an earlier look found.
        claimed: Whether the caller has claimed the documents, so that nobody is writing them.

    Returns:
        Those of them that still are, in their order, and the ids of documents that a call is
        writing now.
    """
    true: set[Finding] = set()
    busy: set[str] = set()
    ids = list(dict.fromkeys(f.document_id for f in findings if f.document_id is not None))
    by_id: dict[str | None, list[Finding]] = {}
    for finding in findings:
        by_id.setdefault(finding.document_id, []).append(finding)
    for batch in batched(ids, BATCH):
        about = [finding for id_ in batch for finding in by_id[id_]]
        found, writing = yield from _again(parts, batch, about, claimed=claimed)
        true |= found
        busy |= writing
    for about in batched(by_id.get(None, []), BATCH):
        found, _ = yield from _again(parts, [], about, claimed=claimed)
        true |= found
    return [finding for finding in findings if finding in true], busy


def _again(
    parts: Parts,
    document_ids: Sequence[str],
    findings: Sequence[Finding],
    *,
    claimed: bool,
) -> Flow[tuple[set[Finding], set[str]]]:
    """Look again at some documents, and at findings that name them or none."""
    keys = parts.lifecycle.keys
    # In the order of the first look, for the same reason.
    there = yield from _there(parts, findings)
    intents = yield from intents_of(parts, [keys.intent(id_) for id_ in document_ids])
    if not claimed:
        intents.busy |= yield from _being_written(parts, list(intents.left))
    manifests, corrupt = yield from manifests_of(
        parts, [keys.manifest(id_) for id_ in document_ids]
    )
    now: set[Finding] = set()
    suspicious = {f.document_id for f in findings if f.kind not in ORPHANS | TRACKING}
    doubted = [m for m in manifests if m.document_id in suspicious]
    listing = (yield from parts.rows.needed()) if doubted else None
    for group in in_groups(doubted):
        for view in (yield from views_of(parts, group, listing, intents)):
            now.update(parts.expected.examine(view))
    tracking = [f.key for f in findings if f.kind in TRACKING]
    now.update((yield from still_different(parts, tracking)))
    unreadable = corrupt | intents.corrupt
    unreadable |= yield from _unknown(parts, findings)
    named = _named(parts, manifests, intents)
    for finding in findings:
        if finding.kind in ORPHANS:
            true = finding.key in there and finding.key not in named
        elif finding.kind is FindingKind.UNFINISHED_CHANGE:
            true = finding.document_id in intents.left
        else:
            true = finding in now or finding.key in unreadable
        if true and finding.document_id not in intents.busy:
            now.add(finding)
        else:
            now.discard(finding)
    return now.intersection(findings), intents.busy


def _being_written(parts: Parts, document_ids: Sequence[str]) -> Flow[set[str]]:
    """Say which documents somebody has claimed, perhaps in another process.

    They have an intent, and had one a moment ago: either its writer is at it still, and keeps
    the claim against us, or it is gone, and we keep the claim from nobody.
    """
    busy: set[str] = set()
    for id_ in document_ids:
        try:
            yield from parts.lifecycle.holding([id_], _nothing)
        except ConcurrentWriteError:
            busy.add(id_)
    return busy


def _nothing(_: Claim) -> Flow[None]:
    yield from ()


def _there(parts: Parts, findings: Sequence[Finding]) -> Flow[set[str]]:
    """Say which rows and records of orphans are still there."""
    rows = [f.key for f in findings if f.kind is FindingKind.ORPHAN_ROW]
    found = yield from parts.rows.get(rows)
    there = set[str]() if found is None else set(found.owners)
    keys = [f.key for f in findings if f.kind in ORPHANS - {FindingKind.ORPHAN_ROW}]
    values = yield from parts.read(keys)
    return there | {key for key, value in zip(keys, values, strict=True) if value is not None}


def _unknown(parts: Parts, findings: Sequence[Finding]) -> Flow[dict[str, Corrupt]]:
    """Read manifests and intents again whose document is not known."""
    keys = parts.lifecycle.keys
    corrupt = [
        f.key
        for f in findings
        if f.kind is FindingKind.CORRUPT_RECORD and f.document_id is None
    ]
    _, unreadable = yield from manifests_of(
        parts, [key for key in corrupt if key.startswith(keys.manifests)]
    )
    intents = yield from intents_of(
        parts, [key for key in corrupt if key.startswith(keys.intents)]
    )
    return unreadable | intents.corrupt


def _named(parts: Parts, manifests: Sequence[Manifest], intents: Intents) -> set[str]:
    """Return the ids of rows and the keys of records that are named now."""
    keys = parts.lifecycle.keys
    entries = [entry for manifest in manifests for entry in manifest.chunks]
    chunks = {entry.key for entry in entries} | intents.chunks
    named = {key for c in chunks for key in (keys.chunk(c), keys.variations(c))}
    named.update(id_ for entry in entries for id_ in entry.variation_ids())
    return named | intents.rows
