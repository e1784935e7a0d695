"""Propositions and keywords beside a copy, over the life of their documents."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    KeywordsTransformer,
    PropositionsTransformer,
)
from langchain_rag.testing import Driver, ScriptedChatModel
from tests.cases.patterns import Pattern, Row, page


def statements(line: str) -> list[str]:
    return [f"{line} is a thing.", f"Somebody saw {line}."]


def answer(prompt: str) -> str:
    line = prompt.splitlines()[0]
    if "statement" in prompt:
        return "Here you are:\n" + "\n".join(
            f"{n}. {one}" for n, one in enumerate(statements(line), start=1)
        )
    name, *_, last = line.split()
    return f"Names: {name}\n- {last}" if "entities:" in prompt else f"Keywords: {last}, {name}"


def transformers(llm: ScriptedChatModel) -> dict[str, Any]:
    return {
        "parent_transformer": RecursiveCharacterTextSplitter(
            separators=["\n"], chunk_size=14, chunk_overlap=0, keep_separator=False
        ),
        "chunk_transformer": CopyDocumentTransformer()
        + PropositionsTransformer.from_llm(llm)
        + KeywordsTransformer.from_llm(llm)
        + KeywordsTransformer.from_llm(llm, entities=True),
    }


@pytest.fixture
def pattern(driver: Driver) -> Pattern:
    return Pattern(driver, answer, transformers)


def chunks(*documents: Document) -> list[str]:
    return [line for document in documents for line in document.page_content.splitlines()]


def reference(*documents: Document) -> list[Row]:
    rows: list[Row] = []
    for line in chunks(*documents):
        name, *_, last = line.split()
        rows += [("copy", line), *(("propositions", one) for one in statements(line))]
        rows += [("keywords", f"{last}, {name}"), ("keywords", f"{name}, {last}")]
    return rows


A = page("a", "alpha one", "beta two", "gamma three")
B = page("b", "delta four", "omega five")
A2 = page("a", "alpha one", "kappa seven", "gamma three")


async def test_what_is_indexed_and_found(pattern: Pattern) -> None:
    report = await pattern.index([A, B])
    assert (report.llm_calls, report.embeddings) == (15, 25)
    await pattern.check(reference(A, B), chunks(A, B))
    search = "similarity_search"
    found = await pattern.driver(pattern.start(), search, "Somebody saw b omega five.", k=1)
    assert [(one.page_content, one.metadata) for one in found] == [
        ("b omega five", {"source": "b"})
    ]
    found = await pattern.driver(pattern.rag, search, "two, a", k=9)
    assert found[0].page_content == "a beta two"
    assert sorted(one.page_content for one in found) == sorted(chunks(A, B))


async def test_an_edit_costs_the_calls_of_one_chunk(pattern: Pattern) -> None:
    await pattern.index([A, B])
    pattern.forget()
    report = await pattern.index([A2, B])
    assert pattern.spent() == (3, 5)
    assert (report.rows_written, report.rows_deleted) == (5, 5)
    assert all("a kappa seven" in prompt for prompt in pattern.llm.prompts)
    await pattern.check(reference(A2, B), chunks(A2, B))
    pattern.forget()
    await pattern.index([A2], cleanup="full")
    assert pattern.spent() == (0, 0)
    await pattern.check(reference(A2), chunks(A2))
    # What was said of a text is known for good.
    await pattern.index([A, B])
    assert pattern.llm.calls == 0
    await pattern.check(reference(A, B), chunks(A, B))


async def test_a_search_by_kind(pattern: Pattern) -> None:
    await pattern.index([A, B])

    async def first(query: str, *kinds: str) -> str:
        found = await pattern.driver(
            pattern.rag, "similarity_search", query, k=1, kinds=set(kinds)
        )
        text: str = found[0].page_content
        return text

    assert await first("Somebody saw a beta two.", "propositions") == "a beta two"
    assert await first("three, a", "keywords") == "a gamma three"


async def test_langchains_index(pattern: Pattern) -> None:
    for documents in ([A, B], [A2, B], [A2]):
        rag = pattern.start()
        kwargs = {**pattern.world.index_kwargs(rag), "cleanup": "full"}
        await pattern.driver.index(documents, **kwargs)
        await pattern.check(reference(*documents), chunks(*documents))
    assert pattern.llm.calls == 15 + 3


async def test_a_chunk_that_failed_is_found_by_its_text(pattern: Pattern) -> None:
    pattern.llm.fail_when = lambda prompt: "beta" in prompt and "statement" in prompt
    report = await pattern.index([A], on_error="copy")
    assert len(report.failed) == 1
    rows = [row for row in reference(A) if row[0] != "propositions" or "beta" not in row[1]]
    await pattern.check(rows, chunks(A))
    pattern.llm.fail_when = None
    pattern.forget()
    await pattern.index([A])
    assert pattern.llm.calls == 1
    await pattern.check(reference(A), chunks(A))


@pytest.mark.parametrize("step", ["update", "delete"])
async def test_faults_at_every_write(pattern: Pattern, driver: Driver, step: str) -> None:
    for document, id_ in ((A, "a"), (B, "b")):
        await driver(pattern.rag, "add_documents", [document], ids=[id_])

    async def change(rag: Any) -> None:
        if step == "delete":
            await driver(rag, "delete", ["a"])
        else:
            await driver(rag, "add_documents", [A2], ids=["a"])

    assert await pattern.check_faults(change) > 3
    await change(pattern.start())
    wanted = reference(B) if step == "delete" else reference(A2, B)
    assert pattern.rows() == sorted(wanted)
