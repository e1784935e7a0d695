"""Contextual retrieval over the life of its documents: what is found, and what it costs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    ContextualSplitter,
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    Prefixed,
)
from langchain_rag.errors import TransformerError
from langchain_rag.testing import Driver, ScriptedChatModel, audit
from tests.cases.patterns import Pattern, Row, page

PROMPT = re.compile(r"<document>\n(.*)\n</document>.*<passage>\n(.*)\n</passage>\Z", re.DOTALL)


def context(document: str, chunk: str) -> str:
    return f"About {chunk.rsplit(maxsplit=1)[-1]}, from {len(document)} characters."


def answer(prompt: str) -> str:
    found = PROMPT.search(prompt)
    return context(*found.groups()) if found else f"What is {prompt.splitlines()[0]}?"


def lines() -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        separators=["\n"], chunk_size=14, chunk_overlap=0, keep_separator=False
    )


def transformers(llm: ScriptedChatModel) -> dict[str, Any]:
    return {
        "parent_transformer": ContextualSplitter.from_llm(llm, lines()),
        "chunk_transformer": Prefixed(CopyDocumentTransformer(), keys=("context",)),
    }


@pytest.fixture
def pattern(driver: Driver) -> Pattern:
    return Pattern(driver, answer, transformers)


def reference(*documents: Document) -> list[Row]:
    """Rows of documents that were asked about as they are."""
    return [
        ("copy", f"{context(document.page_content, line)}\n\n{line}")
        for document in documents
        for line in document.page_content.splitlines()
    ]


def chunks(*documents: Document) -> list[str]:
    return [line for document in documents for line in document.page_content.splitlines()]


A = page("a", "alpha one", "beta two", "gamma three")
B = page("b", "delta four", "omega five")
# One paragraph changed, and the document got longer.
A2 = page("a", "alpha one", "kappa seven", "gamma three", "zeta eight")
A2_ROWS = [
    *(reference(A)[n] for n in (0, 2)),
    *(reference(A2)[n] for n in (1, 3)),
]


async def test_what_is_indexed_and_found(pattern: Pattern) -> None:
    report = await pattern.index([A, B])
    assert (report.llm_calls, report.embeddings) == (5, 5)
    await pattern.check(reference(A, B), chunks(A, B))
    found = await pattern.driver(pattern.start(), "similarity_search", "omega five", k=1)
    assert found[0].page_content == "b omega five"
    assert found[0].metadata == {
        "source": "b",
        "context": context(B.page_content, "b omega five"),
    }
    # A word of the context finds the chunk, which does not have it.
    found = await pattern.driver(pattern.rag, "similarity_search", "About three", k=1)
    assert found[0].page_content == "a gamma three"


async def test_an_edit_costs_one_call_for_each_new_chunk(pattern: Pattern) -> None:
    await pattern.index([A, B])
    pattern.forget()
    one = page("a", "alpha one", "kappa seven", "gamma three")
    report = await pattern.index([one, B])
    assert (report.llm_calls, report.cache_hits) == (1, 2)
    assert (report.rows_written, report.rows_deleted) == (1, 1)
    assert pattern.spent() == (1, 1)
    assert "a kappa seven\n</passage>" in pattern.llm.prompts[0]
    assert one.page_content in pattern.llm.prompts[0]
    await pattern.check([*reference(A)[::2], reference(one)[1], *reference(B)], chunks(one, B))
    pattern.forget()
    report = await pattern.index([A2, B])
    assert pattern.spent() == (1, 1)  # of "zeta" only
    await pattern.index([A2, B])
    assert pattern.spent() == (1, 1)


async def test_update_and_delete(pattern: Pattern) -> None:
    await pattern.index([A, B])
    await pattern.index([A2, B])
    await pattern.check([*A2_ROWS, *reference(B)], chunks(A2, B))
    await pattern.index([A2], cleanup="full")
    await pattern.check(A2_ROWS, chunks(A2))
    for gone in ("b omega five", "a beta two"):
        found = await pattern.driver(pattern.start(), "similarity_search", gone, k=9)
        assert sorted(one.page_content for one in found) == sorted(chunks(A2))


async def test_langchains_index(pattern: Pattern) -> None:
    async def run(*documents: Document) -> None:
        rag = pattern.start()
        kwargs = pattern.world.index_kwargs(rag)
        await pattern.driver.index(list(documents), **{**kwargs, "cleanup": "full"})

    await run(A, B)
    assert pattern.spent()[0] == 5
    await pattern.check(reference(A, B), chunks(A, B))
    pattern.forget()
    one = page("a", "alpha one", "kappa seven", "gamma three")
    # To `index()` it is another document, under another id; to the cache it is not.
    await run(one, B)
    assert pattern.llm.calls == 1
    await pattern.check([*reference(A)[::2], reference(one)[1], *reference(B)], chunks(one, B))
    await run(one)
    assert pattern.llm.calls == 1
    await pattern.check([*reference(A)[::2], reference(one)[1]], chunks(one))


async def test_following_the_document(driver: Driver) -> None:
    def following(llm: ScriptedChatModel) -> dict[str, Any]:
        parent = ContextualSplitter.from_llm(llm, lines(), follow_document=True)
        return transformers(llm) | {"parent_transformer": parent}

    pattern = Pattern(driver, answer, following)
    await pattern.index([A, B])
    pattern.forget()
    await pattern.index([A2, B])
    assert pattern.spent() == (4, 4)
    await pattern.check(reference(A2, B), chunks(A2, B))


async def test_without_a_cache_everything_of_a_changed_document_is_asked(
    driver: Driver,
) -> None:
    pattern = Pattern(driver, answer, lambda llm: transformers(llm) | {"variation_cache": None})
    await pattern.index([A, B])
    pattern.forget()
    await pattern.index([A2, B])
    assert pattern.spent() == (4, 4)
    await pattern.check(reference(A2, B), chunks(A2, B))


async def test_another_context_makes_other_rows_of_an_unchanged_text(
    pattern: Pattern,
) -> None:
    await pattern.index([A, B])
    pattern.answers.store.clear()
    pattern.llm.answer = lambda prompt: f"New: {answer(prompt)}"
    pattern.forget()
    await pattern.index([A, B], force=True)
    assert pattern.llm.calls == 5
    rows = [(kind, f"New: {text}") for kind, text in reference(A, B)]
    await pattern.check(rows, chunks(A, B))


async def test_a_failed_context_leaves_its_document_as_it_was(pattern: Pattern) -> None:
    await pattern.index([A, B])
    pattern.forget()
    pattern.llm.fail_when = lambda prompt: "a kappa seven\n</passage>" in prompt
    b2 = page("b", "delta four", "sigma six")
    with pytest.raises(TransformerError, match="ContextualSplitter"):
        await pattern.driver(pattern.start(), "index", [A2], batch_size=1)
    for on_error in ("skip", "copy"):
        report = await pattern.index([A2, b2], on_error=on_error)
        assert [(one.source_id, one.chunk) for one in report.failed] == [("a", None)]
        # An answer that would lie about its document is none.
        rows = [*reference(A), reference(B)[0], reference(b2)[1]]
        await pattern.check(rows, chunks(A, b2))
    pattern.llm.fail_when = None
    pattern.forget()
    await pattern.index([A2, b2])
    assert pattern.llm.calls == 1  # what was answered beside the failure is not asked again
    await pattern.check([*A2_ROWS, reference(B)[0], reference(b2)[1]], chunks(A2, b2))


async def test_a_document_that_has_a_context_is_left_out(pattern: Pattern) -> None:
    taken = page("c", "sigma six", context="mine")
    report = await pattern.index([taken, B], on_error="skip")
    assert [one.source_id for one in report.failed] == ["c"]
    assert "'context'" in report.failed[0].reason
    assert pattern.llm.calls == 2
    await pattern.check(reference(B), chunks(B))


async def test_a_dry_run_says_what_it_would_cost(pattern: Pattern) -> None:
    report = await pattern.index([A, B], dry_run=True)
    assert (report.llm_calls, pattern.llm.calls) == (5, 0)
    assert report.input_tokens > 5 * 60
    await pattern.check([], [])
    await pattern.index([A, B])
    report = await pattern.index([A2, B], dry_run=True)
    assert (report.llm_calls, pattern.llm.calls) == (2, 5)


async def test_questions_with_a_context(driver: Driver) -> None:
    """What the model is asked about a chunk does not depend on the context before it."""

    def both(llm: ScriptedChatModel) -> dict[str, Any]:
        questions = GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=1)
        inner = CopyDocumentTransformer() + questions
        return transformers(llm) | {"chunk_transformer": Prefixed(inner, keys=("context",))}

    pattern = Pattern(driver, answer, both)
    await pattern.index([A])
    rows = reference(A)
    for line, (_, text) in zip(chunks(A), reference(A), strict=True):
        rows.append(("questions", text.replace(f"\n\n{line}", f"\n\nWhat is {line}?")))
    await pattern.check(rows, chunks(A))
    pattern.forget()
    # Other metadata: the rows are written anew, and no model is asked.
    moved = Document(A.page_content, metadata={"source": "a", "rev": 2})
    await pattern.index([moved])
    assert pattern.llm.calls == 0
    await pattern.check(rows, chunks(A))


@pytest.mark.parametrize("step", ["update", "delete", "new context"])
async def test_faults_at_every_write(pattern: Pattern, driver: Driver, step: str) -> None:
    documents = [(A, "a"), (B, "b")]
    for document, id_ in documents:
        await driver(pattern.rag, "add_documents", [document], ids=[id_])
    if step == "new context":
        pattern.llm.answer = lambda prompt: f"New: {answer(prompt)}"

    async def change(rag: Any) -> None:
        if step == "delete":
            await driver(rag, "delete", ["a"])
        elif step == "update":
            await driver(rag, "add_documents", [A2], ids=["a"])
        else:
            pattern.answers.store.clear()
            moved = Document(A.page_content, metadata={"source": "a", "rev": 2})
            await driver(rag, "add_documents", [moved], ids=["a"])

    in_place = step == "new context"
    assert await pattern.check_faults(change, in_place=in_place) > 3
    await change(pattern.start())
    wanted = {
        "delete": reference(B),
        "update": [*A2_ROWS, *reference(B)],
        "new context": [
            *((kind, f"New: {text}") for kind, text in reference(A)),
            *reference(B),
        ],
    }
    assert pattern.rows() == sorted(wanted[step])
    assert audit(pattern.rag) == []
