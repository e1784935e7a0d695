"""Small pieces are searched and chunks returned, over the life of their documents."""

from __future__ import annotations

import pytest
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag.testing import Driver
from tests.cases.ways import AFTER, BEFORE, EDITED, PARAGRAPHS, WAYS, Corpus, Life, documents

MOST = 20


def transformers():
    return {
        "parent_transformer": PARAGRAPHS,
        "chunk_transformer": CharacterTextSplitter(
            separator=" ", chunk_size=MOST, chunk_overlap=0
        ),
    }


@pytest.fixture(params=WAYS)
def life(driver: Driver, request: pytest.FixtureRequest) -> Life:
    return Life(driver, request.param, transformers)


def pieces(chunk: str) -> list[str]:
    """As many words as fit, over and over."""
    found: list[str] = []
    for word in chunk.split():
        if found and len(found[-1]) + 1 + len(word) <= MOST:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def chunks_of(corpus: Corpus) -> list[str]:
    return [" ".join(paragraph) for paragraphs in corpus.values() for paragraph in paragraphs]


def reference(life: Life, corpus: Corpus, query: str, k: int) -> list[str]:
    """Chunks by the best of their pieces."""
    best = {
        chunk: max(life.embeddings.similarity(query, piece) for piece in pieces(chunk))
        for chunk in chunks_of(corpus)
    }
    return sorted(best, key=lambda chunk: -best[chunk])[:k]


async def check(life: Life, corpus: Corpus) -> None:
    chunks = chunks_of(corpus)
    rows = [("CharacterTextSplitter", piece) for chunk in chunks for piece in pieces(chunk)]
    await life.check(rows, chunks)
    for query in ("first", "second", "third"):
        for k in (1, 3, 50):
            found = await life.driver(
                life.rag.as_retriever(search_kwargs={"k": k}), "invoke", query
            )
            assert [one.page_content for one in found] == reference(life, corpus, query, k)


async def test_one_is_changed_and_one_deleted(life):
    for corpus in (BEFORE, EDITED, AFTER, {}, BEFORE):
        await life.become(corpus)
        await check(life, corpus)


async def test_an_edit_costs_the_chunk_it_is_in(life):
    await life.become(BEFORE)
    life.forget()
    await life.become(BEFORE)
    assert life.embeddings.documents == []
    await life.become(EDITED)
    changed = pieces(" ".join(EDITED["a"][1]))
    if not life.is_incremental:
        changed = [*pieces(" ".join(EDITED["a"][0])), *changed]
    assert sorted(life.embeddings.documents) == sorted(changed)
    life.forget()
    await life.become(AFTER)
    assert life.embeddings.documents == []


async def test_faults(driver):
    life = Life(driver, "add_documents", transformers)
    await life.become(BEFORE)

    async def step(rag):
        docs = [one for one in documents(EDITED) if one.id == "a"]
        await driver(rag, "add_documents", docs)
        await driver(rag, "delete", ["b"])

    assert await life.check_faults(step) > 6
    await check(life, AFTER)
