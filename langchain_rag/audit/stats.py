"""`stats()`: count what is stored."""

from __future__ import annotations

import time
from collections import Counter

from langchain_rag._flow import Flow
from langchain_rag.audit.reports import StatsReport
from langchain_rag.audit.scan import BATCH, Parts, in_groups
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.repository import Corrupt


def stats(parts: Parts) -> Flow[StatsReport]:
    """Count documents, chunks, variations and rows.

    Args:
        parts: What to count.
    """
    begin = time.perf_counter()
    records = parts.records
    listing = yield from parts.rows.listed()
    unfinished = yield from records.intent_keys()
    unreadable = Corrupt()
    numbers: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    sources: set[str] = set()
    for batch in batched((yield from records.manifest_keys()), BATCH):
        manifests = yield from records.manifests_at(batch, unreadable)
        for group in in_groups(manifests):
            numbers["characters"] += yield from _characters(parts, group)
        for manifest in manifests:
            numbers["documents"] += 1
            numbers["chunks"] += len(manifest.chunks)
            numbers["doubtful"] += manifest.doubtful
            numbers[_made_by(parts, manifest)] += 1
            for entry in manifest.chunks:
                kinds.update(dict(entry.kinds))
            if manifest.source_id is not None:
                sources.add(manifest.source_id)
    return StatsReport(
        documents=numbers["documents"],
        sources=len(sources),
        chunks=numbers["chunks"],
        variations=dict(kinds),
        current=numbers["current"],
        foreign=numbers["foreign"],
        unknown=numbers["unknown"],
        doubtful=numbers["doubtful"],
        unfinished=len(unfinished),
        unreadable=len(unreadable),
        characters=numbers["characters"],
        rows=None if listing is None else len(listing.owners),
        foreign_rows=0 if listing is None else listing.foreign,
        seconds=time.perf_counter() - begin,
    )


def _made_by(parts: Parts, manifest: Manifest) -> str:
    stored = (manifest.parent_fingerprint, manifest.chunk_fingerprint)
    if parts.expected.foreign(manifest):
        return "foreign"
    return "unknown" if None in (*stored, *parts.expected.fingerprints) else "current"


def _characters(parts: Parts, manifests: list[Manifest]) -> Flow[int]:
    keys = [entry.key for manifest in manifests for entry in manifest.chunks]
    chunks = yield from parts.records.chunks(keys, {})
    return sum(len(chunk.content) for chunk in chunks.values())
