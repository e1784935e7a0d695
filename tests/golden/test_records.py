"""What stands in docstores and vector stores, and under which ids and keys."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import CopyDocumentTransformer, RAGVectorStore
from langchain_rag.document_transformers import (
    HeadingSplitter,
)
from langchain_rag.lifecycle import codec, identity, records
from langchain_rag.lifecycle.layout import Layout
from langchain_rag.lifecycle.manifest import ChunkEntry, Intent, Manifest
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.vectorstores.factories import key_encoder
from tests.golden.pinned import pinned

STORED = json.loads(Path(__file__).with_name("records.json").read_text())
"""What is stored, by the name of a test's case."""

KEYS = identity.StorageKeys("maths")
CHUNK = "9f8e7d6c-0000-5000-8000-000000000001"
ENTRY = ChunkEntry(CHUNK, "m" * 8, (("copy", 1), ("questions", 3)))
FULL_ENTRY = replace(ENTRY, incomplete=True, given=True, parents=("above",), level=1)
MANIFEST = Manifest(
    "doc", None, "c" * 8, "m" * 8, None, None, whole=False, chunks=(), revision=1
)
FULL_MANIFEST = Manifest(
    "doc",
    "book",
    "c" * 8,
    "m" * 8,
    "p" * 8,
    "f" * 8,
    whole=True,
    chunks=(ENTRY, FULL_ENTRY),
    revision=7,
    ignored=("read_at",),
    layout=Layout((("", 0), ("\n\n", 0), ("", 5)), "\n", ("title",)),
)
INTENT = Intent("doc", "writer", None, ())
FULL_INTENT = Intent("doc", "writer", "v" * 8, (ENTRY,), (CHUNK,), "f" * 8)
METADATA: dict[str, Any] = {
    "title": "Zahl 数",
    "pages": [1, 2.5, None, True],
    "nested": {"a": {"b": []}, "lc": 1},
    "odd": [float("inf"), (1,), {3, 2}, frozenset({"x"}), b"\x00\xff", {1: 2}],
    "when": [
        date(2026, 11, 30),
        datetime(2026, 11, 30, 12, 5, tzinfo=UTC),
        datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        time(8, 15),
        timedelta(days=1, seconds=2, microseconds=3),
    ],
    "exact": [Decimal("1.10"), UUID(CHUNK)],
}
CHUNK_RECORD = records.ChunkRecord(CHUNK, "doc", "A text.", 0, {}, whole=True, fan_out=0)
FULL_CHUNK_RECORD = replace(
    CHUNK_RECORD, ordinal=2, metadata=codec.encode(METADATA, "doc"), whole=False, fan_out=4
)
VARIATIONS = [
    records.Variation("copy", "CopyDocumentTransformer", "A text.", {}),
    records.Variation("piece", None, "text", {"start_index": 2}),
    records.Variation("questions", "GenerateQuestionsTransformer", "What?", {}),
]


def plain(record: Document) -> dict[str, Any]:
    """Return all that there is of a record."""
    return record.model_dump(exclude={"type"})


def as_text(value: object) -> str:
    """Return JSON text: the order of keys counts, since it does in a row of SQL."""
    return json.dumps(value, indent=1)


def test_hashes() -> None:
    pinned(
        identity.digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    pinned(
        identity.digest("a", "bc", "\ud800"),
        "225603461c0ff99c88b0d526493eb33ca3558077e57ebaa66f574eb47b73cbb8",
    )
    pinned(
        identity.metadata_hash({"b": 1, "a": [None, "é"]}),
        "39c624e756ebad9a31a6e016d7cc7edcf97abb0a48944bc303db1a64b70d06f5",
    )
    pinned(
        identity.metadata_hash({"b": 1, "a": 2}, ["a"]),
        "9b5b9d05d0ee8d7b3e59dca02b2d975c20ee2a6d7c9d96bbede9021d6f533a96",
    )
    pinned(
        identity.metadata_hash(codec.encode(METADATA, "doc")),
        "920b55645f56f8167cc6913f3f59f74186a7416ab1e3a0ea8ef701cd92b44301",
    )


def test_ids() -> None:
    pinned(identity.document_id(None, "A text.", "{}"), "1fdda057-90ee-52bb-876c-1e905bd4dd47")
    pinned(
        identity.document_id("book", "A text.", "{}"), "cdca1f32-f6a9-5f1b-8b54-61bd6d520aee"
    )
    pinned(identity.positional_id("book", 3), "c4df8ac5-bdd6-557a-9a14-13999ddf4594")
    pinned(
        identity.chunk_key("maths", "doc", "A text.", 1), "125554a6-bb9d-5ace-ab92-c0b5d1efc520"
    )
    pinned(identity.variation_id(CHUNK, "questions", 2), "a206a37b-a3b4-583d-a081-b23254139d64")
    pinned(identity.GROUPS, "summary-group:")


def test_keys() -> None:
    pinned(
        identity.StorageKeys("").manifest("doc"),
        "manifests/77fb6eea7e396b55/ec324dc9857235bd9146f707a85df8aec6775dcfb4680411467eac279953fc25",
    )
    pinned(
        KEYS.manifest("doc"),
        "manifests/57de3173126e4f1e/ec324dc9857235bd9146f707a85df8aec6775dcfb4680411467eac279953fc25",
    )
    pinned(
        KEYS.intent("doc"),
        "intents/57de3173126e4f1e/ec324dc9857235bd9146f707a85df8aec6775dcfb4680411467eac279953fc25",
    )
    pinned(KEYS.chunk(CHUNK), "chunks/57de3173126e4f1e/9f8e7d6c-0000-5000-8000-000000000001")
    pinned(
        KEYS.chunk("of somebody"),
        "chunks/57de3173126e4f1e/e87a52e24f25e80deda66e0cb9907d357f06637f97c44ce5d43b63f3599382b5",
    )
    pinned(
        KEYS.variations(CHUNK),
        "variations/57de3173126e4f1e/9f8e7d6c-0000-5000-8000-000000000001",
    )


def test_versions_of_manifests() -> None:
    pinned(MANIFEST.version, "a1328018ce76e7355906ecb0bf86aad9e32a7dfab4c529d424996b6bc98604bd")
    pinned(
        FULL_MANIFEST.version,
        "398db860d83a642fd2177759e58a754652d5f8b8a26f64df848b031a0ad3ad42",
    )


def test_keys_of_the_record_manager() -> None:
    document = Document("A text.", metadata={"source": "book", "on": date(2026, 11, 30)})
    pinned(
        key_encoder((None, None))(document),
        "ce7946d2c338267d45ca98b31e693a09aed3ff77e4004bfd9e9637b91b37f4b7",
    )
    pinned(
        key_encoder(("p" * 8, "f" * 8))(document),
        "3ee2204223e19694f326d2c12c27cf31dafc2415c95abf6bf468208ca953be66",
    )


RECORDS = {
    "manifest": records.write_manifest(MANIFEST),
    "full manifest": records.write_manifest(FULL_MANIFEST),
    "intent": records.write_intent(INTENT),
    "full intent": records.write_intent(FULL_INTENT),
    "chunk": records.write_chunk(CHUNK_RECORD),
    "full chunk": records.write_chunk(FULL_CHUNK_RECORD),
    "no variations": records.write_variations(CHUNK, [], "A text."),
    "variations": records.write_variations(CHUNK, VARIATIONS, "A text."),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str) -> None:
    pinned(as_text(plain(RECORDS[name])), as_text(STORED["records"][name]))


def test_records_of_earlier_versions_are_read() -> None:
    stored = {
        name: Document(one["page_content"], metadata=one["metadata"])
        for name, one in STORED["records"].items()
    }
    assert records.read_manifest("key", stored["manifest"]) == MANIFEST
    assert records.read_manifest("key", stored["full manifest"]) == FULL_MANIFEST
    assert records.read_intent("key", stored["intent"]) == INTENT
    assert records.read_intent("key", stored["full intent"]) == FULL_INTENT
    assert records.read_chunk("key", stored["chunk"]) == CHUNK_RECORD
    assert records.read_chunk("key", stored["full chunk"]) == FULL_CHUNK_RECORD
    assert FULL_CHUNK_RECORD.public().metadata == METADATA
    key = KEYS.variations(CHUNK)
    assert records.read_variations(key, stored["no variations"], "A text.") == []
    assert records.read_variations(key, stored["variations"], "A text.") == VARIATIONS


def test_an_imported_document() -> None:
    docstore, vectorstore = InMemoryStore(), InMemoryVectorStore(CountingEmbeddings(8))
    rag = RAGVectorStore(
        vectorstore=vectorstore,
        docstore=docstore,
        namespace="maths",
        parent_transformer=HeadingSplitter.markdown(),
        chunk_transformer=CopyDocumentTransformer(),
        source_id_key="source",
    )
    text = "# Sets\n\nThey have members.\n\n# Groups\n\nThey have an operation.\n"
    rag.add_documents([Document(text, metadata={"source": "book", "on": date(2026, 11, 30)})])
    rows = {id_: {**row, "vector": None} for id_, row in vectorstore.store.items()}
    kept = {key: plain(record) for key, record in docstore.store.items()}
    pinned(as_text({"rows": rows, "docstore": kept}), as_text(STORED["imported"]))
