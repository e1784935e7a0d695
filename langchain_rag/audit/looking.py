"""Looking at all that is stored, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from langchain_core.indexing import RecordManager

from langchain_rag._flow import Flow
from langchain_rag.audit._reading import Corrupt, parsed
from langchain_rag.audit._rows import Found, Listing, Rows
from langchain_rag.audit.examine import Expectations, View
from langchain_rag.lifecycle import claims, records
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.manifest import Intent, Manifest
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

    def read(self, keys: Sequence[str]) -> Flow[list[object]]:
        """Read values that may be damaged."""
        return (yield from self.lifecycle.stores.mget(keys))

    def listed(self, prefix: str) -> Flow[list[str]]:
        """List the keys that begin with a prefix."""
        return (yield from self.lifecycle.stores.keys(prefix))


def prefix_of(place: Callable[[str], str]) -> str:
    """Return what all keys of one kind of record begin with.

    Args:
        place: `StorageKeys.chunk` or `StorageKeys.variations`.
    """
    return place("").rpartition("/")[0] + "/"


def manifests_of(
    parts: Parts, keys: Sequence[str]
) -> Flow[tuple[list[Manifest], dict[str, Corrupt]]]:
    """Read manifests, and say which keys hold none that can be read.

    Args:
        parts: What is looked at.
        keys: Where they should be; those that are gone give nothing.
    """
    found = yield from parts.read(keys)
    good: list[Manifest] = []
    corrupt: dict[str, Corrupt] = {}
    for key, value in zip(keys, found, strict=True):
        manifest = parsed(parts.lifecycle.reader.manifest, key, value)
        if isinstance(manifest, Corrupt):
            corrupt[key] = manifest
        elif manifest is not None:
            good.append(manifest)
    return good, corrupt


@dataclass(slots=True)
class Intents:
    """Changes that are not finished.

    Attributes:
        all: All that can be read.
        left: Those that no call of this process is making, by document id.
        busy: Ids of documents that a call is writing.
        corrupt: Keys of intents that cannot be read.
        chunks: Keys of all chunks that any of them names.
        rows: Ids of all rows that any of them names.
    """

    all: list[Intent] = field(default_factory=list[Intent])
    left: dict[str, Intent] = field(default_factory=dict[str, Intent])
    busy: set[str] = field(default_factory=set[str])
    corrupt: dict[str, Corrupt] = field(default_factory=dict[str, Corrupt])
    chunks: set[str] = field(default_factory=set[str])
    rows: set[str] = field(default_factory=set[str])

    def overwritten(self, document_id: str) -> Collection[str]:
        """Return the keys of a document's chunks that may have been written in place."""
        intent = self.left.get(document_id)
        return () if intent is None else intent.overwrites


def intents_of(parts: Parts, keys: Sequence[str]) -> Flow[Intents]:
    """Read intents, and what they name.

    Args:
        parts: What is looked at.
        keys: Where they may be.
    """
    intents = Intents()
    for batch in batched(keys, BATCH):
        found = yield from parts.read(batch)
        for key, value in zip(batch, found, strict=True):
            intent = parsed(parts.lifecycle.reader.intent, key, value)
            if isinstance(intent, Corrupt):
                intents.corrupt[key] = intent
            elif intent is not None:
                intents.all.append(intent)
                intents.chunks.update(entry.key for entry in intent.entries)
                intents.rows.update(id_ for e in intent.entries for id_ in e.variation_ids())
                if claims.is_writing(intent.writer):
                    intents.busy.add(intent.document_id)
                else:
                    intents.left[intent.document_id] = intent
    return intents


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
    keys = parts.lifecycle.keys
    entries = [entry for manifest in manifests for entry in manifest.chunks]
    chunk_keys = [keys.chunk(entry.key) for entry in entries]
    variation_keys = [keys.variations(entry.key) for entry in entries]
    found = yield from parts.read([*chunk_keys, *variation_keys])
    chunks = {
        entry.key: parsed(parts.lifecycle.reader.chunk, key, value)
        for entry, key, value in zip(entries, chunk_keys, found, strict=False)
    }
    variations: dict[str, list[records.Variation] | Corrupt | None] = {}
    rest = found[len(entries) :]
    for entry, key, value in zip(entries, variation_keys, rest, strict=True):
        chunk = chunks[entry.key]
        content = chunk.content if isinstance(chunk, records.ChunkRecord) else None

        def read(
            key: str, value: object, content: str | None = content
        ) -> list[records.Variation]:
            return records.read_variations(key, value, content)

        variations[entry.key] = parsed(read, key, value)
    rows: Listing | Found | None = listing
    if rows is None:
        ids = [id_ for entry in entries for id_ in entry.variation_ids()]
        rows = yield from parts.rows.get(ids)
    return [
        View(
            manifest,
            {entry.key: chunks[entry.key] for entry in manifest.chunks},
            {entry.key: variations[entry.key] for entry in manifest.chunks},
            None if rows is None else rows.owners,
            rows.documents if isinstance(rows, Found) else {},
            () if rows is None else rows.doubled,
            intents.overwritten(manifest.document_id),
        )
        for manifest in manifests
    ]
