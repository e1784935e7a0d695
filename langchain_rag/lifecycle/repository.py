"""The records of one namespace in the docstore: reading them, and writing them under a claim.

Ids and chunk keys go in, and records come out by the same ids and keys; what is not there is
left out. No record is believed: see `langchain_rag.lifecycle.records.Reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from langchain_core.documents import Document

from langchain_rag._flow import Flow
from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle import records
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.manifest import Intent, Manifest
from langchain_rag.lifecycle.records import ChunkRecord, Reader, Record, Variation
from langchain_rag.lifecycle.stores import Stores

R = TypeVar("R")

Corrupt: TypeAlias = dict[str, str]
"""What is wrong with records that cannot be read, by their keys in the docstore."""


@dataclass(slots=True)
class Stored(Generic[R]):
    """A record that is there, and is only verified when it is read.

    Attributes:
        key: Its key in the docstore.
        value: What the docstore returned.
        reader: A method of `langchain_rag.lifecycle.records.Reader`.
    """

    key: str
    value: object
    reader: Callable[[str, object], R]

    def read(self) -> R:
        """Return the record.

        Raises:
            CorruptStoreError: It cannot be read, or does not belong there.
        """
        return self.reader(self.key, self.value)


class Repository:
    """Reads and writes the records of one namespace.

    Each flow makes one call to the docstore, or as many as the size of a call asks for. A
    record that cannot be read raises `CorruptStoreError`; where a flow is given a dictionary
    as `corrupt`, it notes there what is wrong with the record, and leaves it out.

    Args:
        stores: The docstore is among them.
        keys: Of the namespace.

    Attributes:
        keys: The same.
    """

    def __init__(self, stores: Stores, keys: StorageKeys) -> None:
        self.keys = keys
        self._stores = stores
        self._reader = Reader(keys)

    def manifests(
        self, document_ids: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[dict[str, Manifest]]:
        """Read the manifests of documents."""
        keys = {id_: self.keys.manifest(id_) for id_ in document_ids}
        return self._read(self._reader.manifest, keys, corrupt)

    def intents(
        self, document_ids: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[dict[str, Intent]]:
        """Read the intents of documents."""
        keys = {id_: self.keys.intent(id_) for id_ in document_ids}
        return self._read(self._reader.intent, keys, corrupt)

    def chunks(
        self, chunk_keys: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[dict[str, ChunkRecord]]:
        """Read chunks."""
        keys = {key: self.keys.chunk(key) for key in chunk_keys}
        return self._read(self._reader.chunk, keys, corrupt)

    def variations(
        self, contents: Mapping[str, str | None], corrupt: Corrupt | None = None
    ) -> Flow[dict[str, list[Variation]]]:
        """Read the variations of chunks.

        Args:
            contents: The text of each chunk by chunk key; None where it is lost, and what is a
                part of it is empty.
            corrupt: Is told of what cannot be read.
        """
        keys = {key: self.keys.variations(key) for key in contents}
        return self._read(_variations_of(keys, contents), keys, corrupt)

    def chunks_and_variations(
        self, chunk_keys: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[tuple[dict[str, ChunkRecord], dict[str, list[Variation]]]]:
        """Read chunks and their variations in one call."""
        keys = {key: self.keys.chunk(key) for key in chunk_keys}
        others = {key: self.keys.variations(key) for key in keys}
        found, rest = yield from self._two(keys, others)
        chunks = _verified(self._reader.chunk, keys, found, corrupt)
        contents = {key: chunk.content for key, chunk in chunks.items()}
        return chunks, _verified(_variations_of(others, contents), others, rest, corrupt)

    def stored_manifests(
        self, document_ids: Iterable[str]
    ) -> Flow[dict[str, Stored[Manifest]]]:
        """Find the manifests of documents; none is read yet."""
        keys = {id_: self.keys.manifest(id_) for id_ in document_ids}
        values = yield from self._stores.mget(list(keys.values()))
        return _stored(self._reader.manifest, keys, values)

    def stored_chunks(self, chunk_keys: Iterable[str]) -> Flow[dict[str, Stored[ChunkRecord]]]:
        """Find chunks; none is read yet."""
        keys = {key: self.keys.chunk(key) for key in chunk_keys}
        values = yield from self._stores.mget(list(keys.values()))
        return _stored(self._reader.chunk, keys, values)

    def manifests_and_intents(
        self, document_ids: Iterable[str]
    ) -> Flow[tuple[dict[str, Stored[Manifest]], dict[str, Stored[Intent]]]]:
        """Find the manifests and the intents of documents in one call; none is read yet.

        The docstore is asked for the intents first: where a change ends in between, its
        manifest is found.
        """
        intents = {id_: self.keys.intent(id_) for id_ in document_ids}
        manifests = {id_: self.keys.manifest(id_) for id_ in intents}
        found, rest = yield from self._two(intents, manifests)
        return (
            _stored(self._reader.manifest, manifests, rest),
            _stored(self._reader.intent, intents, found),
        )

    def manifests_and_chunks(
        self, ids: Iterable[str]
    ) -> Flow[tuple[dict[str, Stored[Manifest]], dict[str, Stored[ChunkRecord]]]]:
        """Find the documents and the chunks with some ids in one call; none is read yet."""
        manifests = {id_: self.keys.manifest(id_) for id_ in ids}
        chunks = {id_: self.keys.chunk(id_) for id_ in manifests}
        found, rest = yield from self._two(manifests, chunks)
        return (
            _stored(self._reader.manifest, manifests, found),
            _stored(self._reader.chunk, chunks, rest),
        )

    def manifest_keys(self) -> Flow[list[str]]:
        """List the keys of all manifests."""
        return self._stores.keys(self.keys.manifests)

    def intent_keys(self) -> Flow[list[str]]:
        """List the keys of all intents."""
        return self._stores.keys(self.keys.intents)

    def chunk_keys(self) -> Flow[list[str]]:
        """List the keys of all chunks and of their variations."""
        chunks = yield from self._stores.keys(self.keys.chunks)
        return chunks + (yield from self._stores.keys(self.keys.all_variations))

    def all_manifests(self, but: Iterable[str] = ()) -> Flow[list[Manifest]]:
        """Read the manifests of all documents.

        Args:
            but: Ids of documents whose manifests are not needed.
        """
        passed_over = {self.keys.manifest(id_) for id_ in but}
        keys = yield from self.manifest_keys()
        return (yield from self.manifests_at([key for key in keys if key not in passed_over]))

    def document_ids(self) -> Flow[list[str]]:
        """Return the ids of all documents that are stored."""
        return [manifest.document_id for manifest in (yield from self.all_manifests())]

    def manifests_at(
        self, keys: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[list[Manifest]]:
        """Read manifests by their keys in the docstore."""
        found = yield from self._read(self._reader.manifest, {k: k for k in keys}, corrupt)
        return list(found.values())

    def intents_at(
        self, keys: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[list[Intent]]:
        """Read intents by their keys in the docstore."""
        found = yield from self._read(self._reader.intent, {k: k for k in keys}, corrupt)
        return list(found.values())

    def records_at(
        self, keys: Iterable[str], corrupt: Corrupt | None = None
    ) -> Flow[dict[str, Record]]:
        """Read records of any kind by their keys in the docstore."""
        return self._read(self._reader.record, {key: key for key in keys}, corrupt)

    def write_manifests(self, claim: Claim, manifests: Iterable[Manifest]) -> Flow[None]:
        """Write manifests of documents that are claimed."""
        return claim.mset(
            [(self.keys.manifest(m.document_id), records.write_manifest(m)) for m in manifests]
        )

    def write_intents(self, claim: Claim, intents: Iterable[Intent]) -> Flow[None]:
        """Write intents of documents that are claimed."""
        return claim.mset(
            [(self.keys.intent(i.document_id), records.write_intent(i)) for i in intents]
        )

    def write_chunks(
        self, claim: Claim, chunks: Iterable[tuple[ChunkRecord, list[Variation] | None]]
    ) -> Flow[None]:
        """Write chunks, each with its variations; None where those stay as they are."""
        written: list[tuple[str, Document]] = []
        for chunk, variations in chunks:
            written.append((self.keys.chunk(chunk.key), records.write_chunk(chunk)))
            if variations is not None:
                record = records.write_variations(chunk.key, variations, chunk.content)
                written.append((self.keys.variations(chunk.key), record))
        return claim.mset(written)

    def delete_manifests(self, claim: Claim, document_ids: Iterable[str]) -> Flow[None]:
        """Delete the manifests of documents that are claimed."""
        return claim.mdelete([self.keys.manifest(id_) for id_ in document_ids])

    def delete_intents(self, claim: Claim, document_ids: Iterable[str]) -> Flow[None]:
        """Delete the intents of documents that are claimed."""
        return claim.mdelete([self.keys.intent(id_) for id_ in document_ids])

    def delete_chunks(self, claim: Claim, chunk_keys: Iterable[str]) -> Flow[None]:
        """Delete chunks and their variations."""
        return claim.mdelete([key for one in chunk_keys for key in self.keys.of_chunk(one)])

    def _read(
        self,
        reader: Callable[[str, object], R],
        keys: Mapping[str, str],
        corrupt: Corrupt | None,
    ) -> Flow[dict[str, R]]:
        values = yield from self._stores.mget(list(keys.values()))
        return _verified(reader, keys, values, corrupt)

    def _two(
        self, keys: Mapping[str, str], others: Mapping[str, str]
    ) -> Flow[tuple[list[object], list[object]]]:
        """Get the values of two kinds of records in one call."""
        values = yield from self._stores.mget([*keys.values(), *others.values()])
        return values[: len(keys)], values[len(keys) :]


def _verified(
    reader: Callable[[str, object], R],
    keys: Mapping[str, str],
    values: Sequence[object],
    corrupt: Corrupt | None,
) -> dict[str, R]:
    found: dict[str, R] = {}
    for (name, key), value in zip(keys.items(), values, strict=True):
        if value is not None:
            try:
                found[name] = reader(key, value)
            except CorruptStoreError as error:
                if corrupt is None:
                    raise
                corrupt[key] = str(error)
    return found


def _stored(
    reader: Callable[[str, object], R], keys: Mapping[str, str], values: Sequence[object]
) -> dict[str, Stored[R]]:
    return {
        name: Stored(key, value, reader)
        for (name, key), value in zip(keys.items(), values, strict=True)
        if value is not None
    }


def _variations_of(
    keys: Mapping[str, str], contents: Mapping[str, str | None]
) -> Callable[[str, object], list[Variation]]:
    """Return what reads the variations of chunks, given their texts by chunk key."""
    by_key = {key: contents.get(chunk) for chunk, key in keys.items()}
    return lambda key, value: records.read_variations(key, value, by_key[key])
