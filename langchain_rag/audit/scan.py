"""Looking at all that is stored, batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from langchain_core.indexing import RecordManager

from langchain_rag._flow import Flow
from langchain_rag.audit.checks import Expectations, View
from langchain_rag.audit.rows import Found, Listing, Rows
from langchain_rag.lifecycle import claims
from langchain_rag.lifecycle.manifest import Intent, Manifest
from langchain_rag.lifecycle.repository import Corrupt, Repository
from langchain_rag.lifecycle.write import Lifecycle

BATCH: Final = 500
"""Manifests that are read together."""

MAX_CHUNKS: Final = 2_000
"""Chunks whose texts are in memory together, unless one document has more."""


@dataclass(slots=True)
class Parts:
    """What an audit looks at.

    Attributes:
        lifecycle: Where the documents are.
        record_manager: What `index()` has noted, None where it is not known.
        rows: Reads rows of the wrapped store.
        expected: What the store takes for right.
    """

    lifecycle: Lifecycle
    record_manager: RecordManager | None
    rows: Rows = field(init=False)
    expected: Expectations = field(init=False)

    def __post_init__(self) -> None:
        transformers = self.lifecycle.transformers
        self.rows = Rows(self.lifecycle.stores, transformers.namespace)
        self.expected = Expectations(self.lifecycle.keys, transformers.fingerprints)

    @property
    def records(self) -> Repository:
        """Where the records are read; what it lists and reads may be damaged."""
        return self.lifecycle.records


@dataclass(slots=True)
class Intents:
    """Changes that are not finished.

    Attributes:
        left: Those that no call of this process is making, by document id.
        busy: Ids of documents that a call is writing.
        chunks: Keys of all chunks that any of them names.
        rows: Ids of all rows that any of them names.
    """

    left: dict[str, Intent] = field(default_factory=dict[str, Intent])
    busy: set[str] = field(default_factory=set[str])
    chunks: set[str] = field(default_factory=set[str])
    rows: set[str] = field(default_factory=set[str])

    @classmethod
    def of(cls, intents: Iterable[Intent]) -> Intents:
        """Take in all that some intents name."""
        found = cls()
        for intent in intents:
            found.chunks.update(entry.key for entry in intent.entries)
            found.rows.update(id_ for e in intent.entries for id_ in e.variation_ids())
            if claims.is_writing(intent.writer):
                found.busy.add(intent.document_id)
            else:
                found.left[intent.document_id] = intent
        return found

    def overwritten(self, document_id: str) -> Collection[str]:
        """Return the keys of a document's chunks that may have been written in place."""
        intent = self.left.get(document_id)
        return () if intent is None else intent.overwrites


def in_groups(manifests: Iterable[Manifest]) -> Iterator[list[Manifest]]:
    """Cut into groups whose chunks fit into memory together."""
    group: list[Manifest] = []
    chunks = 0
    for manifest in manifests:
        if group and chunks + len(manifest.chunks) > MAX_CHUNKS:
            yield group
            group, chunks = [], 0
        group.append(manifest)
        chunks += len(manifest.chunks)
    if group:
        yield group


def views_of(
    parts: Parts,
    manifests: Sequence[Manifest],
    listing: Listing | None,
    intents: Intents,
) -> Flow[list[View]]:
    """Read all that some manifests name.

    Args:
        parts: What is looked at.
        manifests: The manifests.
        listing: The rows, where they are known already; they are read by id otherwise.
        intents: What is not finished.
    """
    corrupt = Corrupt()
    entries = [entry for manifest in manifests for entry in manifest.chunks]
    keys = [entry.key for entry in entries]
    chunks, variations = yield from parts.records.chunks_and_variations(keys, corrupt)
    rows: Listing | Found | None = listing
    if rows is None:
        ids = [id_ for entry in entries for id_ in entry.variation_ids()]
        rows = yield from parts.rows.get(ids)
    return [
        View(
            manifest,
            chunks,
            variations,
            corrupt,
            None if rows is None else rows.owners,
            rows.documents if isinstance(rows, Found) else {},
            () if rows is None else rows.doubled,
            intents.overwritten(manifest.document_id),
        )
        for manifest in manifests
    ]
