"""A summary of the whole document above its chunks."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore

from langchain_rag.document_transformers import ByteStoreVariationCache
from langchain_rag.document_transformers.nodes import Node, marked, node_of
from langchain_rag.document_transformers.overseer import OVERSEER, Overseer
from langchain_rag.document_transformers.trees.document_summary import (
    DocumentSummaryTransformer,
)
from langchain_rag.errors import ConfigurationError, TransformerError
from langchain_rag.testing import ScriptedTransformer
from tests.cases.topics import context_of, model, page, said, splitter


def summarizing(llm, **options) -> DocumentSummaryTransformer:
    return DocumentSummaryTransformer(llm, splitter(), **options)


def test_chunks_and_one_summary(transform) -> None:
    llm = model()
    documents = [page("a", "red", "grey", page=1), page("b", "blue"), page("c", " ")]
    made = transform(summarizing(llm), documents)
    first, second = said("red\n\ngrey"), said("blue")
    assert [one.page_content for one in made] == ["red", "grey", first, "blue", second]
    assert [one.metadata["level"] for one in made] == [0, 0, 1, 0, 1]
    assert [node_of(one.metadata) for one in made[:3]] == [
        Node("0.0", ("summary",)),
        Node("0.1", ("summary",)),
        Node("summary", level=1, kind="document_summary"),
    ]
    assert made[2].metadata["page"] == 1
    assert llm.calls == 2
    assert documents[0] == page("a", "red", "grey", page=1)


def test_long_documents_are_summarised_in_parts(transform) -> None:
    llm = model()
    paragraphs = [f"red number {n:03} " + "x" * 40 for n in range(40)]
    made = transform(summarizing(llm, max_length=400), [page("a", *paragraphs)])
    contexts = [context_of(prompt) for prompt in llm.prompts]
    assert max(map(len, contexts)) <= 400
    # Every word is in one prompt; the last one is of summaries only, and is what is returned.
    first = [one for one in contexts if "number" in one]
    words = [word for one in first for word in one.split() if word.isdecimal()]
    assert sorted(words) == [f"{n:03}" for n in range(40)]
    answers = {said(one) for one in contexts}
    top = made[-1].page_content
    (last,) = [one for one in contexts if said(one) == top]
    assert set(last.split("\n\n")) <= answers
    assert len(made) == 41


def test_an_edit_costs_its_part_and_what_is_above(transform) -> None:
    cache = ByteStoreVariationCache(InMemoryByteStore())
    config = {"configurable": {"variation_cache": cache}}
    llm = model()
    transformer = summarizing(llm, max_length=2000)
    paragraphs = [f"red number {n:03} " + "x" * (200 + n) for n in range(40)]
    transform(transformer, [page("a", *paragraphs)], config)
    whole = llm.calls
    assert whole >= 6
    paragraphs[20] = "blue and longer " + "y" * 300
    transform(transformer, [page("a", *paragraphs)], config)
    assert llm.calls - whole <= 4
    again = llm.calls
    transform(transformer, [page("a", *paragraphs)], config)
    assert llm.calls == again


def test_failures(transform) -> None:
    llm = model(fail_when=lambda prompt: "blue" in prompt)
    documents = [page("a", "red"), page("b", "blue")]
    documents[1].id = "broken"
    with pytest.raises(TransformerError, match="broken"):
        transform(summarizing(llm), documents)
    for number, document in enumerate(documents):
        document.metadata["langchain_rag_lineage"] = str(number)
    overseer = Overseer(tolerant=True)
    made = transform(summarizing(llm), documents, {"configurable": {OVERSEER: overseer}})
    assert said("red") in {one.page_content for one in made}
    assert list(overseer.troubles) == [1]
    dry = Overseer(dry_run=True)
    asked = llm.calls
    transform(summarizing(llm), documents, {"configurable": {OVERSEER: dry}})
    assert (llm.calls, dry.calls) == (asked, 2)


def test_fingerprints_and_refusals() -> None:
    llm = model()
    same = summarizing(llm).fingerprint
    assert same is not None
    others = [
        summarizing(llm, prompt="{context} What of it?"),
        summarizing(model(model="another")),
        summarizing(llm, max_length=500),
        summarizing(llm, level_key="height"),
        summarizing(llm, version="2"),
    ]
    assert len({same, *(one.fingerprint for one in others)}) == len(others) + 1
    assert summarizing(llm, length=lambda text: 2 * len(text)).fingerprint is None
    assert DocumentSummaryTransformer(llm, ScriptedTransformer(str.split)).fingerprint is None
    assert not summarizing(llm).reads_metadata
    with pytest.raises(ConfigurationError):
        summarizing(llm, max_length=0)
    tree = ScriptedTransformer(str.splitlines)
    tree.transform_documents = lambda documents, **kwargs: [  # type: ignore[method-assign]
        marked(documents[0], Node("top"))
    ]
    with pytest.raises(TransformerError, match="one level of chunks"):
        DocumentSummaryTransformer(llm, tree).transform_documents([Document("red")])
