"""Whose a record or a row is that no manifest names.

A chunk's key is a hash of its document's id, so what its record says can be relied on. Where
there is no such record, nobody can say which document to claim before something is deleted;
then all manifests and intents are asked whether they name it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from langchain_rag._flow import Flow
from langchain_rag.audit.findings import ROWS, Finding
from langchain_rag.audit.rows import Owner
from langchain_rag.audit.scan import BATCH, Parts
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest
from langchain_rag.lifecycle.records import ChunkRecord
from langchain_rag.lifecycle.repository import Corrupt


def owners_of(parts: Parts, keys: Sequence[str]) -> Flow[dict[str, str | None]]:
    """Say whose some records are.

    Args:
        parts: What is looked at.
        keys: Keys of chunks and of variations.

    Returns:
        The document of each record that is there, None where nobody can say.
    """
    owners: dict[str, str | None] = {}
    for batch in batched(keys, BATCH):
        chunks = yield from _chunks(parts, batch)
        for key, chunk in chunks.items():
            owners[key] = chunk.document_id if isinstance(chunk, ChunkRecord) else None
    return owners


def nobodys(
    parts: Parts, findings: Sequence[Finding], *, certainly: bool
) -> Flow[set[Finding]]:
    """Say which findings without a document are true: what they are about is nobody's.

    What is written meanwhile does not escape: an intent is written before all else, so that
    one of the two looks at all intents meets it; a writer that came and went between them
    has left a record, or a row, that says whose it is.

    Args:
        parts: What is looked at.
        findings: Findings about records and rows of which the document is not known.
        certainly: Whether what is nobody's is going to be deleted. Then nothing is, as long
            as there is a manifest or an intent that cannot be read: it may name anything.
    """
    before = yield from _anonymous(parts, findings)
    if not before:
        return set()
    wanted = {finding.key for finding in before}
    rows = any(finding.kind in ROWS for finding in before)
    named, readable = yield from named_by(parts, wanted, rows=rows)
    if certainly and not readable:
        return set()
    after = yield from _anonymous(parts, findings)
    return {
        finding
        for finding, state in before.items()
        if finding.key not in named and finding in after and after[finding] == state
    }


def named_by(
    parts: Parts, wanted: Collection[str], *, rows: bool
) -> Flow[tuple[dict[str, str], bool]]:
    """Read all intents, all manifests, and all intents again.

    Args:
        parts: What is looked at.
        wanted: Keys of records and ids of rows.
        rows: Whether there are rows among them.

    Returns:
        The document that names each of them, for those that any names, and whether all could
        be read.
    """
    named: dict[str, str] = {}
    corrupt = Corrupt()
    records = parts.records
    for listed in (records.intent_keys, records.manifest_keys, records.intent_keys):
        for batch in batched((yield from listed()), BATCH):
            for one in (yield from records.records_at(batch, corrupt)).values():
                if isinstance(one, Manifest | Intent):
                    entries = one.chunks if isinstance(one, Manifest) else one.entries
                    for key in names(parts, entries, rows=rows).intersection(wanted):
                        named[key] = one.document_id
    return named, not corrupt


def names(parts: Parts, entries: Iterable[ChunkEntry], *, rows: bool = True) -> set[str]:
    """Return the keys of records, and the ids of rows, of some chunks.

    Args:
        parts: What is looked at.
        entries: The chunks.
        rows: Whether the rows are asked for.
    """
    keys = parts.lifecycle.keys
    named: set[str] = set()
    for entry in entries:
        named.update(keys.of_chunk(entry.key))
        if rows:
            named.update(entry.variation_ids())
    return named


def _anonymous(
    parts: Parts, findings: Sequence[Finding]
) -> Flow[dict[Finding, Owner | str | None]]:
    """Return what is there and says of nobody that it is his, with what it says."""
    records = [finding.key for finding in findings if finding.kind not in ROWS]
    chunks = yield from _chunks(parts, records)
    rows = [finding.key for finding in findings if finding.kind in ROWS]
    found = yield from parts.rows.get(rows)
    owners = dict[str, Owner]() if found is None else found.owners
    anonymous: dict[Finding, Owner | str | None] = {}
    for finding in findings:
        if finding.kind in ROWS:
            owner = owners.get(finding.key)
            if owner is not None and owner.document is None:
                anonymous[finding] = owner
        elif finding.key in chunks:
            chunk = chunks[finding.key]
            if not isinstance(chunk, ChunkRecord):
                anonymous[finding] = chunk
    return anonymous


def _chunks(parts: Parts, keys: Sequence[str]) -> Flow[dict[str, ChunkRecord | str | None]]:
    """Read the chunk of each record that is there, or say what is wrong with it."""
    prefix = parts.lifecycle.keys.chunks
    owners = {key: prefix + key.rpartition("/")[2] for key in keys}
    corrupt = Corrupt()
    wanted = dict.fromkeys([*owners, *owners.values()])
    found = yield from parts.records.records_at(wanted, corrupt)
    chunks: dict[str, ChunkRecord | str | None] = {}
    for key, owner in owners.items():
        if key in found or key in corrupt:
            chunk = found.get(owner)
            chunks[key] = chunk if isinstance(chunk, ChunkRecord) else corrupt.get(owner)
    return chunks
