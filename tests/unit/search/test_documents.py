"""Whole documents, read from their chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag._reserved import CHUNK
from langchain_rag.document_transformers.nodes import Node
from langchain_rag.errors import CorruptStoreError
from langchain_rag.search.access import queries_of
from langchain_rag.search.documents import Whole, wholes
from langchain_rag.testing import Driver, ScriptedTransformer, World, contents
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.trees import ScriptedTree, three_levels
from tests.unit.flows import drive_plainly

TEXT = " First things first.\n\nThen, things that come second; first things too.\n\n\nLast. "
METADATA = {"source": "s", "page": 3, "tags": ["a", {"b": (1, 2)}]}


async def stored(
    driver: Driver, parent: Any, text: str = TEXT, metadata: Any = METADATA
) -> tuple[World, RAGVectorStore]:
    world = World()
    rag = world.start(parent_transformer=parent)
    await driver(rag, "add_documents", [Document(text, metadata=metadata)], ids=["d"])
    return world, rag


async def read(driver: Driver, rag: RAGVectorStore, *ids: str) -> dict[str, Whole]:
    flow = wholes(queries_of(rag).lifecycle, ids)
    found: dict[str, Whole] = await drive_plainly(driver, flow)
    return found


def splitter(size: int, overlap: int, **options: Any) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, **options)


PARENTS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "paragraphs": lambda: ScriptedTransformer(lambda text: text.split("\n\n")),
    "small": lambda: splitter(25, 0),
    "overlapping": lambda: splitter(40, 20),
    "with indices": lambda: splitter(30, 10, add_start_index=True),
    "a tree": lambda: ScriptedTree(three_levels),
}


@pytest.mark.parametrize("name", PARENTS)
async def test_to_the_letter(driver: Driver, name: str) -> None:
    _, rag = await stored(driver, PARENTS[name]())
    (whole,) = (await read(driver, rag, "d")).values()
    assert whole.public() == Document(TEXT, metadata=METADATA, id="d")
    chunks = contents(rag).room("chunks")
    levels = {key: value.metadata["metadata"].get("level", 0) for key, value in chunks.items()}
    assert whole.starts.keys() == {key for key, level in levels.items() if level == 0}
    for key, start in whole.starts.items():
        text = chunks[key].page_content
        assert TEXT[start : start + len(text)] == text


async def test_chunks_that_are_no_parts_of_the_text(driver: Driver) -> None:
    parent = ScriptedTransformer(lambda text: [p.upper() for p in text.split("; ")])
    _, rag = await stored(driver, parent, "one; two; three")
    (whole,) = (await read(driver, rag, "d")).values()
    assert whole.text == "ONE\n\nTWO\n\nTHREE"
    assert sorted(whole.starts.values()) == [0, 5, 10]
    for key, start in whole.starts.items():
        text = contents(rag).room("chunks")[key].page_content
        assert whole.text[start:].startswith(text)


async def test_what_the_transformer_adds_is_no_metadata_of_the_document(
    driver: Driver,
) -> None:
    class Numbering(ScriptedTransformer):
        def transform_documents(
            self, documents: Sequence[Document], **kwargs: Any
        ) -> list[Document]:
            made = super().transform_documents(documents, **kwargs)
            for n, chunk in enumerate(made):
                chunk.metadata |= {"language": "en", "n": n, "page": n}
            return made

    _, rag = await stored(driver, Numbering(str.splitlines), "one line\nother line")
    (whole,) = (await read(driver, rag, "d")).values()
    # What it changed cannot be known any more.
    assert whole.public().metadata == {k: v for k, v in METADATA.items() if k != "page"}


async def test_several_and_such_as_are_not_there(driver: Driver) -> None:
    _, rag = await stored(driver, splitter(25, 0))
    await driver(rag, "add_texts", ["two", ""], [{"source": "t"}] * 2, ids=["e", "blank"])
    found = await read(driver, rag, "e", "no", "d", "e", "blank")
    assert {id_: whole.text for id_, whole in found.items()} == {
        "e": "two",
        "d": TEXT,
        "blank": "",
    }
    assert await read(driver, rag) == {}


async def test_a_chunk_that_is_lost_is_left_out(driver: Driver) -> None:
    world, rag = await stored(driver, ScriptedTransformer(str.splitlines), "one\ntwo\nthree")
    gone = next(k for k, v in world.docs.store.items() if v.page_content == "two")
    del world.docs.store[gone]
    # A part of a document is not handed out for the whole.
    assert await read(driver, rag, "d") == {}


@pytest.mark.parametrize("room", ["chunks", "manifests"])
async def test_a_damaged_record_is_reported(driver: Driver, room: str) -> None:
    world, rag = await stored(driver, ScriptedTransformer(str.splitlines), "one\ntwo")
    key = next(k for k in world.docs.store if k.startswith(room))
    world.docs.store[key] = Document("")
    with pytest.raises(CorruptStoreError, match=key):
        await read(driver, rag, "d")


async def test_nothing_is_shared(driver: Driver) -> None:
    _, rag = await stored(driver, splitter(25, 0))
    before = contents(rag)
    (whole,) = (await read(driver, rag, "d")).values()
    whole.public().metadata["tags"][1]["b"] = "mine"
    assert whole.public().metadata == METADATA
    assert contents(rag) == before


async def test_after_an_update(driver: Driver) -> None:
    _, rag = await stored(driver, splitter(25, 0))
    for text in (TEXT + "More.", "Short.", TEXT):
        document = Document(text, metadata={**METADATA, "page": 4})
        await driver(rag, "add_documents", [document], ids=["d"])
        (whole,) = (await read(driver, rag, "d")).values()
        assert whole.public() == Document(text, metadata={**METADATA, "page": 4}, id="d")


async def test_a_tree_without_a_level_0(driver: Driver) -> None:
    """The lowest there is stands for the text."""
    parent = ScriptedTree(
        lambda text: [
            ("top", Node("top", level=2)),
            *((line, Node(line, ("top",), level=1)) for line in text.split("\n")),
        ]
    )
    _, rag = await stored(driver, parent, "one\ntwo")
    rows = {row.metadata[CHUNK] for row in contents(rag).rows.values()}
    assert len(rows) == 3
    (whole,) = (await read(driver, rag, "d")).values()
    assert whole.text == "one\ntwo"
