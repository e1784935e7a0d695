"""Cases 5, 6, 7, 9 and 14: what ids name, through every change of a document."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
)
from langchain_rag.testing import (
    Driver,
    ScriptedChatModel,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore


def by_line() -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        separators=["\n"], chunk_size=12, chunk_overlap=0, keep_separator=False
    )


def numbered(*numbers: int) -> Document:
    return Document("\n".join(f"chunk no. {n:02}" for n in numbers))


async def test_case_05_ids_name_documents_and_chunk_ids_are_derived(driver: Driver) -> None:
    rag = World().start(source_id_key=None, parent_transformer=by_line())
    documents = [numbered(1, 2), Document("short")]
    ids = await driver(rag, "add_documents", documents, ids=["cut", "whole"])
    assert ids == ["cut", "whole"]
    first, second = await driver(rag, "get_by_ids", ["cut"])
    assert [first.page_content, second.page_content] == ["chunk no. 01", "chunk no. 02"]
    assert uuid.UUID(first.id) != uuid.UUID(second.id)
    # A document that came out of the splitter whole keeps its id.
    (whole,) = await driver(rag, "get_by_ids", ["whole"])
    assert whole.id == "whole"
    # A chunk's id finds the chunk, in any mix with documents' ids.
    mixed = await driver(rag, "get_by_ids", [second.id, "whole", "cut", "unknown"])
    assert mixed == [second, whole, first]
    # And the ids are the same in every store of the same namespace.
    other = World().start(source_id_key=None, parent_transformer=by_line())
    await driver(other, "add_documents", documents, ids=["cut", "whole"])
    assert await driver(other, "get_by_ids", ["cut"]) == [first, second]


async def test_case_05_deleting_by_document_id_takes_its_chunks(driver: Driver) -> None:
    rag = World().start(source_id_key=None, parent_transformer=by_line())
    await driver(rag, "add_documents", [numbered(1, 2), numbered(3)], ids=["a", "b"])
    assert await driver(rag, "delete", ["a"]) is True
    assert {row[0] for row in reachable(rag)} == {"b"}
    assert await driver(rag, "get_by_ids", ["a"]) == []


async def test_case_06_no_row_of_the_old_version(driver: Driver, make, wrapped) -> None:
    rag = make(wrapped, source_id_key=None, chunk_transformer=CopyDocumentTransformer())
    await driver(rag, "add_documents", [Document("apples and pears")], ids=["a"])
    await driver(rag, "add_documents", [Document("lemons")], ids=["a"])
    assert [row.page_content for row in contents(rag).rows.values()] == ["lemons"]
    hits = await driver(rag, "similarity_search", "apples and pears", k=5)
    assert [(hit.id, hit.page_content) for hit in hits] == [("a", "lemons")]
    assert audit(rag) == []


async def test_case_06_with_chunks(driver: Driver, make, wrapped) -> None:
    rag = make(wrapped, source_id_key=None, parent_transformer=by_line())
    await driver(rag, "add_documents", [numbered(1, 2, 3)], ids=["a"])
    await driver(rag, "add_documents", [numbered(2, 4)], ids=["a"])
    hits = await driver(rag, "similarity_search", "chunk no. 01", k=9)
    assert {hit.page_content for hit in hits} == {"chunk no. 02", "chunk no. 04"}
    assert audit(rag) == []


async def test_case_07_document_shrinks(driver: Driver, make, wrapped: VectorStore) -> None:
    rag = make(wrapped, source_id_key=None, parent_transformer=by_line())

    async def sizes() -> tuple[int, int, int]:
        found = contents(rag)
        hits = await driver(rag, "similarity_search", "chunk", k=20)
        return len(hits), len(found.rows), len(found.room("chunks"))

    await driver(rag, "add_documents", [numbered(*range(10))], ids=["a"])
    assert await sizes() == (10, 10, 10)
    await driver(rag, "add_documents", [numbered(*range(7))], ids=["a"])
    assert await sizes() == (7, 7, 7)
    assert await driver(rag, "add_documents", [Document(" \n ")], ids=["a"]) == ["a"]
    assert await sizes() == (0, 0, 0)
    assert audit(rag) == []
    assert await driver(rag, "get_by_ids", ["a"]) == []
    await driver(rag, "add_documents", [numbered(*range(2))], ids=["a"])
    assert await sizes() == (2, 2, 2)
    assert await driver(rag, "delete", ["a"]) is True
    assert contents(rag) == ({}, {})


async def test_case_09_unknown_ids_and_deleting_twice(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    assert await driver(rag, "delete", ["unknown"]) is True
    await driver(rag, "add_documents", [Document("a"), Document("b")], ids=["a", "b"])
    world.plan.forget()
    assert await driver(rag, "delete", ["unknown", "a", "a"]) is True
    assert await driver(rag, "delete", ["a"]) is True
    assert await driver(rag, "delete", ["a", "b"]) is True
    assert all(call.size > 0 for call in world.plan.calls)
    assert [call.size for call in world.plan.calls if call.name == "delete"] == [1, 1]
    assert contents(rag) == ({}, {})


@pytest.mark.parametrize("with_parent", [True, False])
async def test_case_14_the_same_line_three_times(
    driver: Driver, make, wrapped: VectorStore, with_parent: bool
) -> None:
    llm = ScriptedChatModel(answer=lambda prompt: "What is it?\nWhat is it?\nWhy?\nWhat is it?")
    rag = make(
        wrapped,
        source_id_key=None,
        parent_transformer=by_line() if with_parent else None,
        chunk_transformer=GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=4),
    )
    text = "\n".join(["the same one"] * 3)
    await driver(rag, "add_documents", [Document(text)], ids=["a"])
    chunks = await driver(rag, "get_by_ids", ["a"])
    assert len({chunk.id for chunk in chunks}) == len(chunks) == (3 if with_parent else 1)
    rows = contents(rag).rows
    assert len(rows) == 2 * len(chunks)
    assert {row.page_content for row in rows.values()} == {"What is it?", "Why?"}
    assert audit(rag) == []
    hits = await driver(rag, "similarity_search", "What is it?", k=5)
    assert len(hits) == len(chunks)


async def test_case_14_repeated_variations_of_any_transformer(driver: Driver) -> None:
    world = World()
    rag = world.start(
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(lambda text: ["same", text, "same", " ", ""]),
    )
    await driver(rag, "add_documents", [Document("other")], ids=["a"])
    rows = contents(rag).rows
    assert sorted(row.page_content for row in rows.values()) == ["other", "same"]
    # Equal texts of two kinds are two variations: a user may filter on either.
    both = World().start(
        source_id_key=None,
        chunk_transformer=CopyDocumentTransformer() + ScriptedTransformer(lambda text: [text]),
    )
    await driver(both, "add_documents", [Document("text")], ids=["a"])
    kinds = {row.metadata["transformer"] for row in contents(both).rows.values()}
    assert kinds == {"CopyDocumentTransformer", "ScriptedTransformer"}
