"""Looking again at what was suspicious, since it may have been on its way.

```text
1  manifest and intent of the document are read     3  what is suspicious is looked at
2  is anybody writing it?                           4, 5  the first two again
```

Where nobody was writing the document, and the same stood there before and after, it stood
still meanwhile. An intent that is still there, although its writer's claim is not, was left
behind: a writer takes its intent away before it gives its claim back. All of this only reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from langchain_rag._flow import Flow, call
from langchain_rag.audit.findings import ORPHANS, ROWS, TRACKING, Finding, FindingKind
from langchain_rag.audit.owners import names, nobodys
from langchain_rag.audit.rows import Owner
from langchain_rag.audit.scan import (
    BATCH,
    Intents,
    Parts,
    in_groups,
    views_of,
)
from langchain_rag.audit.tracking import still_different
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.repository import Corrupt

PAUSES: Final = (0.0, 0.01, 0.05)
"""Seconds to wait before each look at a document; one that never stands still is busy."""


def confirmed(
    parts: Parts, findings: Sequence[Finding], *, claimed: bool = False
) -> Flow[tuple[list[Finding], set[str]]]:
    """Say which findings are still true.

    Args:
        parts: What is looked at.
        findings: What an earlier look found.
        claimed: Whether the caller has claimed the documents, so that nobody is writing them,
            and is going to delete what is orphaned.

    Returns:
        Those of them that still are, in their order, and the ids of documents that a call is
        writing now.
    """
    true: set[Finding] = set()
    busy: set[str] = set()
    by_id: dict[str, list[Finding]] = {}
    ownerless: list[Finding] = []
    for finding in findings:
        if finding.document_id is None:
            ownerless.append(finding)
        else:
            by_id.setdefault(finding.document_id, []).append(finding)
    for batch in batched(by_id, BATCH):
        about = {id_: by_id[id_] for id_ in batch}
        if claimed:
            true |= yield from _look(parts, (yield from _stand(parts, batch)), about)
        else:
            found, moving = yield from _settled(parts, about)
            true |= found
            busy |= moving
    orphans = [finding for finding in ownerless if finding.kind in ORPHANS]
    true |= yield from nobodys(parts, orphans, certainly=claimed)
    true |= yield from _unreadable(parts, ownerless)
    return [finding for finding in findings if finding in true], busy


@dataclass(slots=True)
class _Stand:
    """Where some documents stand.

    Attributes:
        manifests: Their manifests, by document id.
        intents: What is not finished.
        corrupt: What is wrong with manifests and intents that cannot be read.
        states: What two readings are compared by, for each document.
    """

    manifests: dict[str, Manifest]
    intents: Intents
    corrupt: Corrupt
    states: dict[str, tuple[object, object]] = field(
        default_factory=dict[str, tuple[object, object]]
    )


def _stand(parts: Parts, document_ids: Sequence[str]) -> Flow[_Stand]:
    keys, corrupt = parts.lifecycle.keys, Corrupt()
    found = yield from parts.records.intents(document_ids, corrupt)
    intents = Intents.of(found.values())
    manifests = yield from parts.records.manifests(document_ids, corrupt)
    stand = _Stand(manifests, intents, corrupt)
    for id_ in document_ids:
        left, live = intents.left.get(id_), manifests.get(id_)
        stand.states[id_] = (
            corrupt.get(keys.intent(id_)) if left is None else left.writer,
            corrupt.get(keys.manifest(id_)) if live is None else live.version,
        )
    return stand


def _settled(
    parts: Parts, about: dict[str, list[Finding]]
) -> Flow[tuple[set[Finding], set[str]]]:
    """Look at documents while they stand still; those that never do are busy."""
    true: set[Finding] = set()
    moving = list(about)
    for pause in PAUSES:
        if pause:
            yield from call(_sleep, _asleep, pause)
        before = yield from _stand(parts, moving)
        written = yield from parts.lifecycle.claimed(moving)
        found = yield from _look(parts, before, {id_: about[id_] for id_ in moving})
        written |= yield from parts.lifecycle.claimed(moving)
        after = yield from _stand(parts, moving)
        written |= before.intents.busy | after.intents.busy
        still = {
            id_
            for id_ in moving
            if id_ not in written and before.states[id_] == after.states[id_]
        }
        true.update(finding for finding in found if finding.document_id in still)
        moving = [id_ for id_ in moving if id_ not in still]
        if not moving:
            break
    return true, set(moving)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


async def _asleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _look(parts: Parts, stand: _Stand, about: dict[str, list[Finding]]) -> Flow[set[Finding]]:
    """Look again at some documents, given where they stand."""
    findings = [finding for some in about.values() for finding in some]
    there, rows = yield from _there(parts, findings)
    now: set[Finding] = set()
    suspicious = {f.document_id for f in findings if f.kind not in ORPHANS | TRACKING}
    doubted = [m for id_, m in stand.manifests.items() if id_ in suspicious]
    listing = (yield from parts.rows.needed()) if doubted else None
    for group in in_groups(doubted):
        for view in (yield from views_of(parts, group, listing, stand.intents)):
            now.update(parts.expected.examine(view))
    tracking = [f.key for f in findings if f.kind in TRACKING]
    now.update((yield from still_different(parts, tracking)))
    entries = [entry for m in stand.manifests.values() for entry in m.chunks]
    entries += [entry for i in stand.intents.left.values() for entry in i.entries]
    named = names(parts, entries) if any(f.kind in ORPHANS for f in findings) else set[str]()

    def is_true(finding: Finding) -> bool:
        if finding.kind in ROWS:
            owner = rows.get(finding.key)
            if owner is None or owner.document not in {None, finding.document_id}:
                return False  # it is gone, or somebody else's now
            place = parts.lifecycle.keys.chunk(owner.chunk or "")
            if finding.kind is FindingKind.UNKNOWN_ROW and (
                place in there or stand.states[str(finding.document_id)] != (None, None)
            ):
                return False
            return finding.key not in named
        if finding.kind in ORPHANS:
            return finding.key in there and finding.key not in named
        if finding.kind is FindingKind.UNFINISHED_CHANGE:
            return finding.document_id in stand.intents.left
        return finding in now or finding.key in stand.corrupt

    return {
        finding
        for finding in findings
        if finding.document_id not in stand.intents.busy and is_true(finding)
    }


def _there(
    parts: Parts, findings: Sequence[Finding]
) -> Flow[tuple[set[str], dict[str, Owner]]]:
    """Say which records of orphans are there, and whom their rows name that are."""
    found = yield from parts.rows.get([f.key for f in findings if f.kind in ROWS])
    rows = {} if found is None else dict(found.owners)
    keys = [f.key for f in findings if f.kind in ORPHANS - ROWS]
    unknown = [rows.get(f.key) for f in findings if f.kind is FindingKind.UNKNOWN_ROW]
    place = parts.lifecycle.keys.chunk
    keys += [place(owner.chunk or "") for owner in unknown if owner is not None]
    corrupt = Corrupt()
    there = yield from parts.records.records_at(keys, corrupt)
    return {*there, *corrupt}, rows


def _unreadable(parts: Parts, findings: Sequence[Finding]) -> Flow[set[Finding]]:
    """Read manifests and intents again whose document is not known."""
    keys, unreadable = parts.lifecycle.keys, Corrupt()
    found = [f for f in findings if f.kind is FindingKind.CORRUPT_RECORD]
    suspicious = [f.key for f in found if f.key.startswith((keys.manifests, keys.intents))]
    yield from parts.records.records_at(suspicious, unreadable)
    return {finding for finding in found if finding.key in unreadable}
