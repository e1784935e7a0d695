"""Whose a record or a row is that no manifest names.

A chunk's key is a hash of its document's id, so what its record says can be relied on. Where
there is no such record, nobody can say which document to claim before something is deleted;
then all manifests and intents are asked whether they name it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from langchain_rag._flow import Flow
from langchain_rag.audit._reading import Corrupt, parsed
from langchain_rag.audit._rows import Owner
from langchain_rag.audit.findings import ROWS, Finding
from langchain_rag.audit.looking import BATCH, Parts, intents_of, manifests_of, prefix_of
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import ChunkEntry
from langchain_rag.lifecycle.records import ChunkRecord


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
    readable = True
    keys = parts.lifecycle.keys
    for prefix in (keys.intents, keys.manifests, keys.intents):
        for batch in batched((yield from parts.listed(prefix)), BATCH):
            found: Iterable[tuple[str, Iterable[ChunkEntry]]]
            if prefix == keys.manifests:
                manifests, corrupt = yield from manifests_of(parts, batch)
                found = [(manifest.document_id, manifest.chunks) for manifest in manifests]
            else:
                intents = yield from intents_of(parts, batch)
                corrupt = intents.corrupt
                found = [(intent.document_id, intent.entries) for intent in intents.all]
            readable = readable and not corrupt
            for document_id, entries in found:
                for key in names(parts, entries, rows=rows).intersection(wanted):
                    named[key] = document_id
    return named, readable


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
        named |= {keys.chunk(entry.key), keys.variations(entry.key)}
        if rows:
            named.update(entry.variation_ids())
    return named


def _anonymous(
    parts: Parts, findings: Sequence[Finding]
) -> Flow[dict[Finding, Owner | Corrupt | None]]:
    """Return what is there and says of nobody that it is his, with what it says."""
    records = [finding.key for finding in findings if finding.kind not in ROWS]
    chunks = yield from _chunks(parts, records)
    rows = [finding.key for finding in findings if finding.kind in ROWS]
    found = yield from parts.rows.get(rows)
    owners = dict[str, Owner]() if found is None else found.owners
    anonymous: dict[Finding, Owner | Corrupt | None] = {}
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


def _chunks(parts: Parts, keys: Sequence[str]) -> Flow[dict[str, ChunkRecord | Corrupt | None]]:
    """Read the chunk of each record that is there."""
    prefix = prefix_of(parts.lifecycle.keys.chunk)
    places = {key: prefix + key.rpartition("/")[2] for key in keys}
    wanted = list(dict.fromkeys([*places, *places.values()]))
    values = dict(zip(wanted, (yield from parts.read(wanted)), strict=True))
    read = parts.lifecycle.reader.chunk
    return {
        key: parsed(read, place, values[place])
        for key, place in places.items()
        if values[key] is not None
    }
