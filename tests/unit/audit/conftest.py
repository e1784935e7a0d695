"""Three documents that were indexed, and ways to damage what is stored of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag._reserved import CHUNK, DOCUMENT, KIND
from langchain_rag.audit import FindingKind, RepairReport, VerifyReport
from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.lifecycle.manifest import Intent, Manifest
from langchain_rag.lifecycle.records import (
    read_manifest,
    read_variations,
    write_intent,
    write_manifest,
    write_variations,
)
from langchain_rag.testing import Contents, Driver, InjectedCrash, World, audit, contents
from langchain_rag.vectorstores import RAGVectorStore


def page(letter: str, lines: int = 2, **metadata: Any) -> Document:
    text = "\n".join(f"{letter}{n} alpha" for n in range(lines))
    return Document(text, metadata={"source": letter, **metadata})


PAGES = [page("a"), page("b"), page("c")]


def transformers() -> dict[str, Any]:
    """Each line is a chunk; each chunk has its words and itself as variations."""
    words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    return {
        "parent_transformer": RecursiveCharacterTextSplitter(
            separators=["\n"], chunk_size=8, chunk_overlap=0, keep_separator=False
        ),
        "chunk_transformer": CopyDocumentTransformer() + words,
    }


class Lab:
    """A world with indexed documents, and the process that runs in it now."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.world = World()
        self.start()

    def start(self, **options: Any) -> None:
        """Start a process."""
        manager = self.world.record_manager
        self.rag: RAGVectorStore = self.world.start(
            **{"record_manager": manager, **transformers(), **options}
        )

    async def index(self, pages: list[Document], **options: Any) -> dict[str, Any]:
        kwargs = {"cleanup": "scoped_full", **self.rag.index_kwargs(), **options}
        return await self.driver.index(pages, **kwargs)

    async def verify(self) -> VerifyReport:
        report: VerifyReport = await self.driver(self.rag, "verify")
        return report

    async def repair(self, **options: Any) -> RepairReport:
        report: RepairReport = await self.driver(self.rag, "repair", **options)
        return report

    async def found(self) -> list[FindingKind]:
        return sorted(finding.kind for finding in (await self.verify()).findings)

    def manifest(self, letter: str) -> Manifest:
        for key, value in self.world.docs.store.items():
            if key.startswith("manifests/"):
                manifest = read_manifest(key, value)
                if manifest.source_id == letter:
                    return manifest
        raise KeyError(letter)

    def place(self, what: str, letter: str) -> str:
        """The key of a document's manifest or intent, or of something of its first chunk."""
        keys, manifest = self.rag._lifecycle.keys, self.manifest(letter)
        if what in {"manifest", "intent"}:
            key: str = getattr(keys, what)(manifest.document_id)
        else:
            key = getattr(keys, what)(manifest.chunks[0].key)
        return key

    def row(self, letter: str) -> str:
        return self.manifest(letter).chunks[0].variation_ids()[0]

    def settled(self) -> None:
        assert audit(self.rag) == []


@pytest.fixture
async def lab(driver: Driver) -> Lab:
    lab = Lab(driver)
    await lab.index(PAGES)
    assert (await lab.verify()).ok
    lab.world.plan.forget()
    lab.world.embeddings.reset()
    return lab


def stored(rag: RAGVectorStore) -> Contents:
    """What is stored, without how often it was written."""
    found = contents(rag)
    for record in found.room("manifests").values():
        record.metadata.pop("revision", None)
    return found


def lose(*what: str) -> Callable[[Lab], Any]:
    async def damage(lab: Lab) -> None:
        keys = [lab.place(one, "b") for one in what]
        for key in keys:
            del lab.world.docs.store[key]

    return damage


def corrupt(what: str, value: Any = None) -> Callable[[Lab], Any]:
    async def damage(lab: Lab) -> None:
        found = value if value is not None else Document("nonsense")
        lab.world.docs.store[lab.place(what, "b")] = found

    return damage


async def unfinished_change(lab: Lab) -> None:
    lab.world.plan.arm(3, "inside", InjectedCrash)  # some rows of the new version
    with pytest.raises(InjectedCrash):
        await lab.index([page("b", 3)])
    lab.start()


async def unfinished_overwrite(lab: Lab) -> None:
    """The metadata of live chunks was written in place, and the commit never came."""
    id_ = lab.manifest("b").document_id
    lab.world.plan.arm(3, "inside", InjectedCrash)
    with pytest.raises(InjectedCrash):
        await lab.driver(lab.rag, "add_documents", [page("b", rev=2)], ids=[id_])
    lab.start()


async def missing_row(lab: Lab) -> None:
    lab.world.rows.delete([lab.row("b")])


async def wiped_rows(lab: Lab) -> None:
    lab.world.rows.store.clear()


async def misnamed_row(lab: Lab) -> None:
    row = lab.world.rows.store[lab.row("b")]
    lab.world.rows.store[lab.row("b")] = {
        **row,
        "metadata": {**row["metadata"], DOCUMENT: lab.manifest("a").document_id},
    }


async def orphan_row(lab: Lab) -> None:
    metadata = {CHUNK: lab.manifest("b").chunks[0].key, DOCUMENT: "gone", KIND: "copy"}
    lab.world.rows.add_documents([Document("x", metadata=metadata)], ids=["orphan"])


async def ownerless_row(lab: Lab) -> None:
    lab.world.rows.add_documents([Document("x", metadata={CHUNK: "nobody's"})], ids=["orphan"])


async def ownerless_row_of_a_chunk(lab: Lab) -> None:
    metadata = {CHUNK: lab.manifest("b").chunks[0].key}
    lab.world.rows.add_documents([Document("x", metadata=metadata)], ids=["orphan"])


async def unknown_row(lab: Lab) -> None:
    """Of another database on the same collection, or of one that was lost."""
    other = Lab(lab.driver)
    await other.index([page("z", 1)])
    row = other.row("z")
    lab.world.rows.store[row] = other.world.rows.store[row]


async def orphan_records(lab: Lab) -> None:
    """As an older program, or a restored backup, might leave them."""
    other = Lab(lab.driver)
    await other.index([page("z", 1)])
    for what in ("chunk", "variations"):
        key = other.place(what, "z")
        lab.world.docs.store[key] = other.world.docs.store[key]


async def orphan_variations(lab: Lab) -> None:
    await orphan_records(lab)
    key = next(k for k, v in lab.world.docs.store.items() if v.page_content == "z0 alpha")
    del lab.world.docs.store[key]


async def corrupt_orphan(lab: Lab) -> None:
    await orphan_records(lab)
    key = next(k for k, v in lab.world.docs.store.items() if v.page_content == "z0 alpha")
    lab.world.docs.store[key] = Document("nonsense")


async def corrupt_kinds(lab: Lab) -> None:
    """Fewer variations than the manifest names."""
    key = lab.place("variations", "b")
    variations = read_variations(key, lab.world.docs.store[key], "b0 alpha")
    lab.world.docs.store[key] = write_variations(
        key.rpartition("/")[2], variations[1:], "b0 alpha"
    )


async def corrupt_metadata(lab: Lab) -> None:
    value: Document = lab.world.docs.store[lab.place("chunk", "b")]
    record = value.model_copy(deep=True)
    record.metadata["metadata"]["source"] = "elsewhere"
    lab.world.docs.store[lab.place("chunk", "b")] = record


async def truncated_chunk(lab: Lab) -> None:
    value: Document = lab.world.docs.store[lab.place("chunk", "b")]
    lab.world.docs.store[lab.place("chunk", "b")] = value.model_copy(
        update={"page_content": "b0 al"}
    )


async def corrupt_unfinished(lab: Lab) -> None:
    """The intent of an interrupted change cannot be read any more."""
    await unfinished_overwrite(lab)
    await corrupt("intent")(lab)


async def misplaced_manifest(lab: Lab) -> None:
    lab.world.docs.store[lab.place("manifest", "b")] = write_manifest(lab.manifest("a"))


async def misplaced_intent(lab: Lab) -> None:
    intent = Intent(lab.manifest("a").document_id, "writer", None, ())
    lab.world.docs.store[lab.place("intent", "b")] = write_intent(intent)


async def tracked_not_stored(lab: Lab) -> None:
    lab.world.record_manager.update(["0" * 64], group_ids=["b"])


async def stored_not_tracked(lab: Lab) -> None:
    lab.world.record_manager.delete_keys([lab.manifest("b").document_id])


async def lost_record_and_document(lab: Lab) -> None:
    await lab.driver(lab.rag, "delete", [lab.manifest("b").document_id])


async def rows_and_variations(lab: Lab) -> None:
    await lose("variations")(lab)
    await missing_row(lab)


K = FindingKind

DAMAGES: dict[str, tuple[Callable[[Lab], Any], set[FindingKind], int]] = {
    # what damages, what is found, how many documents the next index() has to import again
    "unfinished change": (unfinished_change, {K.UNFINISHED_CHANGE}, 0),
    "unfinished overwrite": (unfinished_overwrite, {K.UNFINISHED_CHANGE}, 1),
    "missing chunk": (lose("chunk"), {K.MISSING_CHUNK}, 1),
    "missing variations": (lose("variations"), {K.MISSING_VARIATIONS}, 0),
    "missing chunk and variations": (lose("chunk", "variations"), {K.MISSING_CHUNK}, 1),
    "missing variations and rows": (
        rows_and_variations,
        {K.MISSING_VARIATIONS, K.MISSING_ROW},
        1,
    ),
    "missing manifest": (
        lose("manifest"),
        {K.ORPHAN_ROW, K.ORPHAN_CHUNK, K.ORPHAN_VARIATIONS, K.TRACKED_NOT_STORED},
        1,
    ),
    "missing row": (missing_row, {K.MISSING_ROW}, 0),
    "wiped rows": (wiped_rows, {K.MISSING_ROW}, 0),
    "misnamed row": (misnamed_row, {K.MISNAMED_ROW}, 0),
    "orphan row": (orphan_row, {K.ORPHAN_ROW}, 0),
    "unknown row": (unknown_row, {K.UNKNOWN_ROW}, 0),
    "ownerless row": (ownerless_row, {K.UNKNOWN_ROW}, 0),
    "corrupt orphan": (corrupt_orphan, {K.ORPHAN_CHUNK, K.ORPHAN_VARIATIONS}, 0),
    "orphan records": (orphan_records, {K.ORPHAN_CHUNK, K.ORPHAN_VARIATIONS}, 0),
    "orphan variations": (orphan_variations, {K.ORPHAN_VARIATIONS}, 0),
    "corrupt chunk": (corrupt("chunk"), {K.CORRUPT_RECORD}, 1),
    "truncated chunk": (truncated_chunk, {K.CORRUPT_RECORD}, 1),
    "corrupt metadata": (corrupt_metadata, {K.CORRUPT_RECORD}, 1),
    "corrupt variations": (corrupt("variations"), {K.CORRUPT_RECORD}, 0),
    "corrupt kinds": (corrupt_kinds, {K.CORRUPT_RECORD}, 0),
    "corrupt manifest": (
        corrupt("manifest"),
        {K.CORRUPT_RECORD, K.ORPHAN_ROW, K.ORPHAN_CHUNK, K.ORPHAN_VARIATIONS},
        1,
    ),
    "misplaced manifest": (
        misplaced_manifest,
        {K.CORRUPT_RECORD, K.ORPHAN_ROW, K.ORPHAN_CHUNK, K.ORPHAN_VARIATIONS},
        1,
    ),
    "corrupt intent": (corrupt("intent"), {K.CORRUPT_RECORD}, 1),
    "misplaced intent": (misplaced_intent, {K.CORRUPT_RECORD}, 1),
    "corrupt unfinished": (corrupt_unfinished, {K.CORRUPT_RECORD}, 1),
    "tracked, not stored": (tracked_not_stored, {K.TRACKED_NOT_STORED}, 0),
    "stored, not tracked": (stored_not_tracked, {K.STORED_NOT_TRACKED}, 0),
    "deleted, still tracked": (lost_record_and_document, {K.TRACKED_NOT_STORED}, 1),
}


@pytest.fixture(params=list(DAMAGES))
def damage(request: pytest.FixtureRequest) -> tuple[Callable[[Lab], Any], set[K], int]:
    return DAMAGES[request.param]
