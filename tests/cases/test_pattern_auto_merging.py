"""Leaves are searched and what is above them returned, over the life of their documents."""

from __future__ import annotations

import pytest

from langchain_rag.document_transformers.splitters.sentences import SentenceSplitter
from langchain_rag.document_transformers.trees.hierarchical import HierarchicalSplitter
from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
from langchain_rag.testing import Driver, ScriptedTransformer
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


class _Whole(ScriptedTransformer):
    fingerprint = "whole"


def transformers():
    """Documents, paragraphs, sentences."""
    whole = _Whole(lambda text: [text])
    splitter = HierarchicalSplitter(splitters=[whole, PARAGRAPHS, SentenceSplitter()])
    assert splitter.fingerprint is not None
    return {"parent_transformer": splitter}


@pytest.fixture(params=WAYS)
def life(driver: Driver, request: pytest.FixtureRequest) -> Life:
    return Life(driver, request.param, transformers)


def levels_of(corpus: Corpus) -> tuple[list[str], list[str], list[str]]:
    """Texts of the documents, paragraphs and sentences; each is kept once."""
    wholes = [text_of(some) for some in corpus.values() if len(some) > 1]
    paragraphs = [one for some in corpus.values() for one in some]
    sentences = [sentence for one in paragraphs for sentence in one]
    return wholes, [" ".join(one) for one in paragraphs if len(one) > 1], sentences


def reference(life: Life, corpus: Corpus, query: str, number: int) -> list[str]:
    """The nearest sentences, merged at a half, then the paragraphs of each document."""
    sentences = levels_of(corpus)[2]
    ranking = [sentences[n] for n in life.embeddings.ranked(query, sentences)[:number]]
    found: dict[str, int] = {}
    for paragraphs in corpus.values():
        below: dict[str, int] = {}
        whole = 0
        for paragraph in paragraphs:
            ranks = {one: ranking.index(one) for one in paragraph if one in ranking}
            if ranks and len(ranks) / len(paragraph) >= 0.5:
                whole += 1
                ranks = {" ".join(paragraph): min(ranks.values())}
            below |= ranks
        if whole and whole / len(paragraphs) >= 0.5:
            below = {text_of(paragraphs): min(below.values())}
        found |= below
    return sorted(found, key=lambda text: found[text])


async def check(life: Life, corpus: Corpus) -> None:
    wholes, paragraphs, sentences = levels_of(corpus)
    await life.check([("chunk", one) for one in sentences], [*wholes, *paragraphs, *sentences])
    for number in (1, 3, 6, 100):
        # Fewer are wanted than there are, so that it does not ask for more.
        for query in ("first", "second", "third") if corpus else ():
            expected = reference(life, corpus, query, number)
            k = min(number, len(expected))
            retriever = AutoMergingRetriever(
                vectorstore=life.rag, k=k, fetch_k=number, fallback=False
            )
            found = await life.driver(retriever, "invoke", query)
            assert [one.page_content for one in found] == expected
            for one in found:
                assert one.page_content in text_of(corpus[one.metadata["source"]])
                assert one.metadata.keys() == {"source"}


async def test_one_is_changed_and_one_deleted(life):
    for corpus in (BEFORE, EDITED, AFTER, {}, BEFORE):
        await life.become(corpus)
        await check(life, corpus)


async def test_an_edit_costs_the_leaf_that_changed(life):
    await life.become(BEFORE)
    life.forget()
    await life.become(BEFORE)
    assert life.embeddings.documents == []
    await life.become(EDITED)
    changed = [EDITED["a"][1][1]]
    if not life.is_incremental:
        changed = levels_of({"a": EDITED["a"]})[2]
    assert sorted(life.embeddings.documents) == sorted(changed)
    life.forget()
    await life.become(AFTER)
    assert life.embeddings.documents == []


async def test_a_leaf_that_moves_to_another_paragraph_costs_nothing(driver):
    life = Life(driver, "rag.index", transformers)
    await life.become(BEFORE)
    first, second = BEFORE["a"]
    moved = {**BEFORE, "a": [[*first, second[0]], second[1:]]}
    life.forget()
    await life.become(moved)
    assert life.embeddings.documents == []
    await check(life, moved)
