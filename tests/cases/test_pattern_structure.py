"""Sections of Markdown with the way to them, over the life of their documents."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag.document_transformers import (
    HEADINGS,
    ContextualSplitter,
    CopyDocumentTransformer,
    HeadingSplitter,
    Prefixed,
)
from langchain_rag.testing import Driver, ScriptedChatModel
from tests.cases.patterns import Pattern, Row


def transformers(_: ScriptedChatModel) -> dict[str, Any]:
    short = RecursiveCharacterTextSplitter(
        separators=["\n"], chunk_size=16, chunk_overlap=0, keep_separator=False
    )
    return {
        "parent_transformer": HeadingSplitter.markdown() | short,
        "chunk_transformer": Prefixed(CopyDocumentTransformer(), keys=HEADINGS),
    }


@pytest.fixture
def pattern(driver: Driver) -> Pattern:
    return Pattern(driver, lambda prompt: "It is so.", transformers)


def page(name: str, text: str) -> Document:
    return Document(text, metadata={"source": name})


GUIDE = page(
    "guide",
    "Hello.\n# Guide\n## Linux\nRun apt.\nThen wait a bit.\n## Windows\nRun setup.\n"
    "```\n# not me\n```\n# End\nBye.",
)
GUIDE_ROWS = [
    ("copy", "Hello."),
    ("copy", "Guide > Linux\n\nRun apt."),
    ("copy", "Guide > Linux\n\nThen wait a bit."),
    ("copy", "Guide > Windows\n\nRun setup.\n```"),
    ("copy", "Guide > Windows\n\n# not me\n```"),
    ("copy", "End\n\nBye."),
]
OTHER = page("other", "# Other\nRun apt.")
OTHER_ROWS = [("copy", "Other\n\nRun apt.")]
# A heading has another name: only what is below it changes.
RENAMED = page("guide", GUIDE.page_content.replace("## Linux", "## Debian"))
RENAMED_ROWS = [(kind, text.replace("Linux", "Debian")) for kind, text in GUIDE_ROWS]
# A section moves to the end: its chunks stay, with another way to them.
MOVED = page(
    "guide",
    "Hello.\n# Guide\n## Windows\nRun setup.\n```\n# not me\n```\n# End\nBye.\n## Linux\n"
    "Run apt.\nThen wait a bit.",
)
MOVED_ROWS = [(kind, text.replace("Guide > Linux", "End > Linux")) for kind, text in GUIDE_ROWS]


def texts(rows: list[Row]) -> list[str]:
    return [text.split("\n\n")[-1] for _, text in rows]


async def test_what_is_indexed_and_found(pattern: Pattern) -> None:
    await pattern.index([GUIDE, OTHER])
    await pattern.check([*GUIDE_ROWS, *OTHER_ROWS], texts([*GUIDE_ROWS, *OTHER_ROWS]))
    # One text in two places: the heading tells which is meant, and is in the metadata.
    for query, metadata in (
        ("guide linux run apt", {"source": "guide", "Header 1": "Guide", "Header 2": "Linux"}),
        ("other run apt", {"source": "other", "Header 1": "Other"}),
    ):
        found = await pattern.driver(pattern.start(), "similarity_search", query, k=1)
        assert [(one.page_content, one.metadata) for one in found] == [("Run apt.", metadata)]
    filtered = await pattern.driver(
        pattern.rag,
        "similarity_search",
        "run",
        k=9,
        filter=lambda row: row.metadata.get("Header 2") == "Windows",
    )
    assert sorted(one.page_content for one in filtered) == ["# not me\n```", "Run setup.\n```"]


@pytest.mark.parametrize(
    ("changed", "rows", "embedded"),
    [(RENAMED, RENAMED_ROWS, 2), (MOVED, MOVED_ROWS, 2)],
    ids=["renamed", "moved"],
)
async def test_what_is_below_a_heading_changes_with_it(
    pattern: Pattern, changed: Document, rows: list[Row], embedded: int
) -> None:
    await pattern.index([GUIDE, OTHER])
    pattern.forget()
    await pattern.index([changed, OTHER])
    assert pattern.spent() == (0, embedded)
    await pattern.check([*rows, *OTHER_ROWS], texts([*rows, *OTHER_ROWS]))
    pattern.forget()
    await pattern.index([changed], cleanup="full")
    assert pattern.spent() == (0, 0)
    await pattern.check(rows, texts(rows))


async def test_langchains_index(pattern: Pattern) -> None:
    for documents, rows in (
        ([GUIDE, OTHER], [*GUIDE_ROWS, *OTHER_ROWS]),
        ([RENAMED, OTHER], [*RENAMED_ROWS, *OTHER_ROWS]),
        ([RENAMED], RENAMED_ROWS),
    ):
        rag = pattern.start()
        kwargs = {**pattern.world.index_kwargs(rag), "cleanup": "full"}
        await pattern.driver.index(documents, **kwargs)
        await pattern.check(rows, texts(rows))


async def test_headings_and_a_context(driver: Driver) -> None:
    """Sections, cut; each piece with the way to it, and a sentence of the model before that."""

    def both(llm: ScriptedChatModel) -> dict[str, Any]:
        found = transformers(llm)
        splitter = found["parent_transformer"]
        return {
            "parent_transformer": ContextualSplitter.from_llm(llm, splitter),
            "chunk_transformer": Prefixed(found["chunk_transformer"], keys=("context",)),
        }

    pattern = Pattern(driver, lambda prompt: "It is so.", both)
    await pattern.index([GUIDE])
    rows = [(kind, f"It is so.\n\n{text}") for kind, text in GUIDE_ROWS]
    await pattern.check(rows, texts(GUIDE_ROWS))
    pattern.forget()
    await pattern.index([RENAMED])
    assert pattern.spent() == (0, 2)
    rows = [(kind, f"It is so.\n\n{text}") for kind, text in RENAMED_ROWS]
    await pattern.check(rows, texts(RENAMED_ROWS))


async def test_a_heading_that_cannot_be_written_fails_its_document(driver: Driver) -> None:
    def by_tags(_: ScriptedChatModel) -> dict[str, Any]:
        return {"chunk_transformer": Prefixed(CopyDocumentTransformer(), keys=("tags",))}

    pattern = Pattern(driver, str, by_tags)
    good = Document("b", metadata={"source": "b", "tags": ["x", "y"]})
    bad = Document("a", metadata={"source": "a", "tags": {"x": 1}})
    report = await pattern.index([bad, good], on_error="skip")
    assert [one.source_id for one in report.failed] == ["a"]
    assert "metadata 'tags'" in report.failed[0].reason
    await pattern.check([("copy", "x > y\n\nb")], ["b"])


@pytest.mark.parametrize("step", ["update", "rename", "delete"])
async def test_faults_at_every_write(pattern: Pattern, driver: Driver, step: str) -> None:
    for document, id_ in ((GUIDE, "g"), (OTHER, "o")):
        await driver(pattern.rag, "add_documents", [document], ids=[id_])
    updated = page("guide", GUIDE.page_content.replace("Bye.", "Farewell."))
    rows = [(kind, text.replace("Bye.", "Farewell.")) for kind, text in GUIDE_ROWS]

    async def change(rag: Any) -> None:
        if step == "delete":
            await driver(rag, "delete", ["g"])
        else:
            document = updated if step == "update" else RENAMED
            await driver(rag, "add_documents", [document], ids=["g"])

    assert await pattern.check_faults(change, in_place=step == "rename") > 3
    await change(pattern.start())
    wanted = {"delete": [], "update": rows, "rename": RENAMED_ROWS}
    assert pattern.rows() == sorted([*wanted[step], *OTHER_ROWS])
