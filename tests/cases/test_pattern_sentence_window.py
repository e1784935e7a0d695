"""Sentences are searched and windows returned, over the life of their documents."""

from __future__ import annotations

import pytest

from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.retrievers.sentence_window import SentenceWindowRetriever
from langchain_rag.testing import Driver
from tests.cases.ways import (
    AFTER,
    BEFORE,
    EDITED,
    PARAGRAPHS,
    WAYS,
    Corpus,
    Life,
    text_of,
)


def transformers():
    return {"parent_transformer": PARAGRAPHS, "chunk_transformer": SentenceSplitter()}


@pytest.fixture(params=WAYS)
def life(driver: Driver, request: pytest.FixtureRequest) -> Life:
    return Life(driver, request.param, transformers)


def chunks_of(corpus: Corpus) -> list[str]:
    return [" ".join(paragraph) for paragraphs in corpus.values() for paragraph in paragraphs]


def reference(life: Life, corpus: Corpus, query: str, within: str) -> tuple[str, str, int]:
    """The best sentence with one on either side, its source and its offset."""
    texts = {}
    for id_, paragraphs in corpus.items():
        for number, paragraph in enumerate(paragraphs):
            whole = [one for some in paragraphs for one in some]
            for sentence in paragraph:
                inside = whole if within == "document" else paragraph
                text = text_of(paragraphs if within == "document" else [paragraphs[number]])
                place = inside.index(sentence)
                first = text.index(inside[max(0, place - 1)])
                last = inside[min(len(inside) - 1, place + 1)]
                end = text.index(last, first) + len(last)
                texts[sentence] = (text[first:end], id_, first)
    best = max(texts, key=lambda sentence: life.embeddings.similarity(query, sentence))
    return texts[best]


async def check(life: Life, corpus: Corpus) -> None:
    chunks = chunks_of(corpus)
    sentences = [one for some in corpus.values() for paragraph in some for one in paragraph]
    await life.check([("sentence", one) for one in sentences], chunks)
    for within in ("chunk", "document"):
        retriever = SentenceWindowRetriever(
            vectorstore=life.rag, k=1, window=1, within=within, fallback=False
        )
        for query in ("first", "second", "third", "fourth") if corpus else ():
            [found] = await life.driver(retriever, "invoke", query)
            metadata = found.metadata
            assert (
                found.page_content,
                metadata["source"],
                metadata["start_index"],
            ) == reference(life, corpus, query, within)
        everything = await life.driver(retriever, "invoke", "all", k=100)
        texts = chunks if within == "chunk" else [text_of(some) for some in corpus.values()]
        assert sorted(one.page_content for one in everything) == sorted(texts)


async def test_one_is_changed_and_one_deleted(life):
    for corpus in (BEFORE, EDITED, AFTER, {}, BEFORE):
        await life.become(corpus)
        await check(life, corpus)


async def test_an_edit_costs_the_sentences_of_its_chunk(life):
    await life.become(BEFORE)
    life.forget()
    await life.become(BEFORE)
    assert life.embeddings.documents == []
    await life.become(EDITED)
    changed = (
        EDITED["a"][1] if life.is_incremental else [one for some in EDITED["a"] for one in some]
    )
    assert sorted(life.embeddings.documents) == sorted(changed)
    life.forget()
    await life.become(AFTER)
    assert life.embeddings.documents == []


async def test_no_text_is_stored_twice(life):
    await life.become(BEFORE)
    stored = "".join(one.page_content for one in life.world.docs.store.values())
    for paragraph in chunks_of(BEFORE):
        assert stored.count(paragraph) == 1
    for row in life.world.rows.store.values():
        assert set(row["metadata"]) <= {
            "source",
            "start_index",
            "transformer",
            "langchain_rag_kind",
            "langchain_rag_chunk",
            "langchain_rag_document",
        }
