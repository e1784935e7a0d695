"""Auto-merging over stores, against a reference that goes through all leaves."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.document_transformers import marked
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.nodes import Node
from langchain_rag.document_transformers.trees.hierarchical import HierarchicalSplitter
from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers.auto_merging import AutoMergingRetriever
from langchain_rag.testing import ScriptedTransformer, audit
from langchain_rag.vectorstores import RAGVectorStore


def by(separator: str) -> ScriptedTransformer:
    return ScriptedTransformer(lambda text: text.split(separator))


def levels(*separators: str, **options: Any) -> HierarchicalSplitter:
    splitters = [by(one) for one in separators]
    return HierarchicalSplitter(splitters=splitters, version=repr(separators), **options)


# Documents of sections ("\n\n") of paragraphs ("\n") of leaves ("; ").
CORPUS = [
    [
        [[f"leaf {d}.{s}.{p}.{n}" for n in range(2 + (d + s) % 3)] for p in range(2)]
        for s in range(2)
    ]
    for d in range(4)
]


def text_of(part: Any, separators: tuple[str, ...] = ("\n\n", "\n", "; ")) -> str:
    if isinstance(part, str):
        return part
    return separators[0].join(text_of(one, separators[1:]) for one in part)


def merged(part: Any, ranks: dict[str, int], share: float) -> list[tuple[str, list[str]]]:
    """What is left of a part: texts, each with the leaves that it stands for."""
    if isinstance(part, str):
        return [(part, [part])] if part in ranks else []
    texts = [text_of(one, {1: ("; ",), 2: ("\n", "; ")}.get(depth(one), ())) for one in part]
    below = [merged(one, ranks, share) for one in part]
    whole = [text for text, some in zip(texts, below, strict=True) if text in dict(some)]
    every = [one for some in below for one in some]
    if not whole or len(whole) / len(part) < share:
        return every
    own = text_of(part, {1: ("; ",), 2: ("\n", "; ")}[depth(part)])
    return [(own, [leaf for _, leaves in every for leaf in leaves])]


def depth(part: Any) -> int:
    return 0 if isinstance(part, str) else 1 + depth(part[0])


def reference(
    space: Any, query: str, k: int, asked: int, share: float
) -> list[tuple[str, float, int]]:
    """Text, score and number of leaves of what is left of the nearest leaves."""
    sections = [section for document in CORPUS for section in document]
    leaves = [leaf for section in sections for paragraph in section for leaf in paragraph]
    ranking = [leaves[n] for n in space.embeddings.ranked(query, leaves)]
    ranks = {leaf: rank for rank, leaf in enumerate(ranking[:asked])}
    left = [one for section in sections for one in merged(section, ranks, share)]
    left.sort(key=lambda one: min(ranks[leaf] for leaf in one[1]))
    # Where few are left, what comes further down follows as it is, if no piece contains it.
    left += [
        (leaf, [leaf]) for leaf in ranking[asked:] if not any(leaf in text for text, _ in left)
    ]
    scores = {leaf: space.score(space.embeddings.similarity(query, leaf)) for leaf in leaves}
    return [
        (text, sum(scores[leaf] for leaf in some) / len(some), len(some))
        for text, some in left[:k]
    ]


async def test_against_a_reference(driver, space):
    rag = space.rag(parent_transformer=levels("\n\n", "\n", "; ", add_start_index=True))
    documents = [
        Document(text_of(one), id=f"d{d}", metadata={"d": d, "more": {"in": d}})
        for d, one in enumerate(CORPUS)
    ]
    await driver(rag, "add_documents", documents)
    assert audit(rag) == []
    leaves = [leaf for d in CORPUS for s in d for p in s for leaf in p]
    # Nothing but the leaves is embedded.
    assert sorted(space.embeddings.documents) == sorted(leaves)
    lengths = set()
    for k, fetch_k, share in [
        (3, None, 0.5),
        (2, 10, 0.34),
        (4, 5, 0.75),
        (6, 30, 1.0),
        (5, 1, 0.5),
    ]:
        retriever = AutoMergingRetriever(
            vectorstore=rag,
            k=k,
            fetch_k=fetch_k,
            threshold=share,
            search_kwargs={"match_details": True},
            fallback=False,
        )
        for query in ("first", "second", "third"):
            expected = reference(space, query, k, max(k, fetch_k or 3 * k), share)
            space.embeddings.reset()
            found = await driver(retriever, "invoke", query)
            assert space.embeddings.queries == [query]
            details = [one.metadata.pop("langchain_rag_match") for one in found]
            assert [
                (one.page_content, match["score"], match["leaves"])
                for one, match in zip(found, details, strict=True)
            ] == [(text, pytest.approx(score, abs=1e-5), n) for text, score, n in expected]
            lengths |= {n for _, _, n in expected}
            for one, match in zip(found, details, strict=True):
                d = one.metadata["d"]
                assert one.metadata["more"] == {"in": d}
                start = one.metadata["start_index"]
                assert documents[d].page_content.startswith(one.page_content, start)
                assert match["text"] in one.page_content
    assert len(lengths) > 3  # pieces of several levels were found


@pytest.fixture
async def rag(driver, embeddings) -> RAGVectorStore:
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(embeddings),
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=levels("\n\n", "; "),
    )
    text = "prime one; prime two; odd three; odd four\n\nround five; round six\n\nalone seven"
    await driver(rag, "add_documents", [Document(text, id="a", metadata={"v": 1})])
    return rag


async def test_exactly_half_of_the_children(driver, rag):
    """Two of four are nearest; of three asked for, the third is of another piece."""
    for threshold, first in [
        (0.5, "prime one; prime two; odd three; odd four"),
        (0.51, "prime one"),
    ]:
        retriever = AutoMergingRetriever(
            vectorstore=rag, k=2, fetch_k=2, threshold=threshold, fallback=False
        )
        found = await driver(retriever, "invoke", "prime one prime")
        assert found[0].page_content == first


async def test_short_documents_are_leaves_themselves(driver, rag):
    retriever = AutoMergingRetriever(vectorstore=rag, k=1, fetch_k=1, fallback=False)
    [found] = await driver(retriever, "invoke", "alone seven")
    assert found.page_content == "alone seven"
    await driver(rag, "add_documents", [Document("very short", id="b")])
    [found] = await driver(retriever, "invoke", "very short")
    assert (found.page_content, found.id) == ("very short", "b")


async def test_k_are_found_where_the_nearest_leaves_merge(driver, rag):
    retriever = AutoMergingRetriever(vectorstore=rag, k=3, fetch_k=2, fallback=False)
    found = await driver(retriever, "invoke", "prime")
    assert len(found) == 3
    assert found[0].page_content.startswith("prime one; prime two;")


async def test_the_metadata_of_what_is_merged_is_the_newest(driver, rag, embeddings):
    [before] = [
        one for one in rag.get_by_ids(["a"]) if one.page_content == "round five; round six"
    ]
    documents = [
        Document(
            "round five; round six\n\nalone seven",
            id="a",
            metadata={"v": 2},
        )
    ]
    embeddings.reset()
    await driver(rag, "add_documents", documents)
    assert embeddings.documents == []
    retriever = AutoMergingRetriever(vectorstore=rag, k=1, fallback=False)
    [found] = await driver(retriever, "invoke", "round five")
    assert (found.page_content, found.id) == (before.page_content, before.id)
    assert (before.metadata, found.metadata) == ({"v": 1}, {"v": 2})


async def test_whole_documents_are_not_what_it_returns(driver, rag):
    with pytest.raises(ConfigurationError, match="leave return_documents out"):
        await driver(
            AutoMergingRetriever(vectorstore=rag), "invoke", "prime", return_documents=True
        )


class Overlapping(LazyDocumentTransformer):
    """Two clusters of the lines, which share the middle one, below one top."""

    def transform_document(self, document: Document):
        lines = document.page_content.splitlines()
        middle = len(lines) // 2
        for n, line in enumerate(lines):
            parents = [
                name for name, inside in (("p", n <= middle), ("q", n >= middle)) if inside
            ]
            yield marked(Document(line), Node(f"l{n}", tuple(parents)))
        for name in ("p", "q"):
            yield marked(Document(f"cluster {name}"), Node(name, ("top",), 1, searched=False))
        yield marked(Document("the top"), Node("top", (), 2, searched=False))


async def test_clusters_that_overlap(driver, space):
    """A line of two clusters is counted in one, and no line is lost or there twice."""
    rag = space.rag(parent_transformer=Overlapping())
    lines = [f"line {n}" for n in range(5)]
    await driver(rag, "add_documents", [Document("\n".join(lines), id="a")])
    assert audit(rag) == []
    retriever = AutoMergingRetriever(
        vectorstore=rag,
        k=5,
        threshold=1.0,
        search_kwargs={"match_details": True},
        fallback=False,
    )
    found = await driver(retriever, "invoke", "q")
    assert sum(one.metadata["langchain_rag_match"]["leaves"] for one in found) == 5
    retriever = AutoMergingRetriever(vectorstore=rag, k=1, threshold=0.5, fallback=False)
    [found] = await driver(retriever, "invoke", "q", filter=None)
    assert found.page_content == "the top"


@pytest.mark.parametrize("fallback", [True, False])
async def test_a_manifest_that_cannot_be_read(driver, rag, caplog, fallback):
    [key] = [key for key in rag.docstore.yield_keys() if "manifest" in key]
    rag.docstore.mset([(key, Document("nonsense", metadata={"x": 1}))])
    retriever = AutoMergingRetriever(vectorstore=rag, k=1, fallback=fallback)
    if not fallback:
        with pytest.raises(Exception, match="manifest"):
            await driver(retriever, "invoke", "alone seven")
        return
    with caplog.at_level(logging.WARNING):
        [found] = await driver(retriever, "invoke", "alone seven")
    assert found.page_content == "alone seven"
    assert caplog.messages[0].startswith("AutoMergingRetriever failed (CorruptStoreError:")


async def test_a_manifest_that_is_gone(driver, rag):
    """A document that another process is deleting: its leaves are there for a moment yet."""
    [key] = [key for key in rag.docstore.yield_keys() if "manifest" in key]
    rag.docstore.mdelete([key])
    retriever = AutoMergingRetriever(vectorstore=rag, k=2, fallback=False)
    found = await driver(retriever, "invoke", "prime one")
    assert [one.page_content for one in found] == ["prime one", "prime two"]


async def test_other_sizes_make_other_levels_of_the_same_texts(driver, embeddings, memory):
    """What was above others is a leaf now, and the other way round; nothing stale is found."""
    docstore = InMemoryStore()

    def start(*separators: str) -> RAGVectorStore:
        return RAGVectorStore(
            vectorstore=memory,
            docstore=docstore,
            source_id_key=None,
            parent_transformer=levels(*separators),
        )

    document = Document("a one; a two\nb one; b two\n\nc one; c two", id="a")
    wanted = {
        ("\n\n", "\n"): {"a one; a two", "b one; b two", "c one; c two"},
        ("\n", "; "): {"a one", "a two", "b one", "b two", "c one", "c two"},
        ("\n\n",): {"a one; a two\nb one; b two", "c one; c two"},
    }
    for separators in [*wanted, *reversed(wanted)]:
        rag = start(*separators)
        await driver(rag, "add_documents", [document])
        assert audit(rag) == []
        assert (await driver(rag, "verify")).ok
        assert {row["text"] for row in memory.store.values()} == wanted[separators]
        found = await driver(rag, "similarity_search", "one", k=20)
        assert {one.page_content for one in found} == wanted[separators]
        retriever = AutoMergingRetriever(vectorstore=rag, k=20, fetch_k=20, fallback=False)
        found = await driver(retriever, "invoke", "one")
        tops = document.page_content.split(separators[0])
        assert sorted(one.page_content for one in found) == sorted(filter(None, tops))
