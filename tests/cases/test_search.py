"""Cases 10, 11 and 13: distinct chunks, the wrapped store's scores, filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from typing_extensions import override

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.testing import (
    CountingEmbeddings,
    DistanceVectorStore,
    Driver,
    ScriptedTransformer,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore

NEAR = [f"prime {word}" for word in ["a", "b", "c", "d", "e", "f", "g", "h"]]
OTHERS = ["prime numbers", "odd prime things", "many prime factors and more words"]


def pieces() -> ScriptedTransformer:
    return ScriptedTransformer(lambda text: text.split("; "))


async def crowded(driver: Driver, rag: RAGVectorStore) -> None:
    """One document whose eight pieces all beat the three others."""
    crowd = Document("; ".join(NEAR), metadata={"kind": "crowd"})
    others = [Document(text, metadata={"kind": "other"}) for text in OTHERS]
    await driver(rag, "add_documents", [crowd, *others], ids=["crowd", "1", "2", "3"])


SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "similarity": ("similarity_search", {}),
    "scores": ("similarity_search_with_score", {}),
    "relevance": ("similarity_search_with_relevance_scores", {}),
    "vector": ("similarity_search_by_vector", {}),
    "mmr": ("max_marginal_relevance_search", {}),
    "mmr vector": ("max_marginal_relevance_search_by_vector", {}),
    "search": ("search", {"search_type": "similarity"}),
    "search mmr": ("search", {"search_type": "mmr"}),
    "search threshold": (
        "search",
        {"search_type": "similarity_score_threshold", "score_threshold": 0.0},
    ),
}


@pytest.mark.parametrize("fresh", [False, True], ids=["warm", "fresh"])
@pytest.mark.parametrize("name", SEARCHES)
async def test_case_10_four_distinct_chunks(
    driver: Driver,
    make: Callable[..., RAGVectorStore],
    wrapped: VectorStore,
    embeddings: CountingEmbeddings,
    name: str,
    fresh: bool,
) -> None:
    rag = make(wrapped, source_id_key=None, chunk_transformer=pieces())
    await crowded(driver, rag)
    if fresh:  # a process that has not learnt yet how many variations a chunk has
        rag = make(wrapped, docstore=rag.docstore, source_id_key=None)
    method, options = SEARCHES[name]
    query: Any = embeddings.vector("prime") if "vector" in name else "prime"
    found = await driver(rag, method, query, k=4, **options)
    documents = [item[0] if isinstance(item, tuple) else item for item in found]
    assert documents[0].id == "crowd"
    assert sorted(str(d.id) for d in documents) == ["1", "2", "3", "crowd"]
    found = await driver(rag, method, query, k=2, **options)
    assert len(found) == 2


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "similarity_score_threshold"])
async def test_case_10_as_retriever(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore, search_type: str
) -> None:
    rag = make(wrapped, source_id_key=None, chunk_transformer=pieces())
    await crowded(driver, rag)
    kwargs: dict[str, Any] = {"k": 4}
    if search_type == "similarity_score_threshold":
        kwargs["score_threshold"] = 0.01
    retriever = rag.as_retriever(search_type=search_type, search_kwargs=kwargs)
    documents = await driver(retriever, "invoke", "prime")
    assert sorted(str(d.id) for d in documents) == ["1", "2", "3", "crowd"]


class Angles(CountingEmbeddings):
    """The cosine of a text with any query is the number that the text begins with."""

    @override
    def vector(self, text: str) -> list[float]:
        cosine = float(text.split(maxsplit=1)[0])
        return [cosine, (1 - cosine**2) ** 0.5]


def at_distance(distance: float) -> str:
    return f"{1 - distance / 2:.6f} at distance {distance}"


async def test_case_11_distances_stay_distances(
    driver: Driver, make: Callable[..., RAGVectorStore]
) -> None:
    rag = make(DistanceVectorStore(Angles()), source_id_key=None, chunk_transformer=pieces())
    near, far = at_distance(0.2), at_distance(1.4)
    documents = [
        Document(f"{far}; {at_distance(1.6)}"),
        Document(f"{at_distance(1.8)}; {near}"),
    ]
    await driver(rag, "add_documents", documents, ids=["far", "near"])
    found = await driver(rag, "similarity_search_with_score", "1")
    assert [document.id for document, _ in found] == ["near", "far"]
    assert [score for _, score in found] == pytest.approx([0.2, 1.4], abs=1e-5)


async def test_case_11_chroma_s_distances(
    driver: Driver, make: Callable[..., RAGVectorStore], chroma: VectorStore
) -> None:
    rag = make(chroma, source_id_key=None, chunk_transformer=pieces())
    await crowded(driver, rag)
    found = await driver(rag, "similarity_search_with_score", "prime", k=4)
    own = chroma.similarity_search_with_score("prime", k=20)
    assert found[0][1] == own[0][1]
    assert [score for _, score in found] == sorted(score for _, score in found)
    assert {score for _, score in found} <= {score for _, score in own}


@pytest.mark.parametrize("kind", [InMemoryVectorStore, DistanceVectorStore])
async def test_case_11_threshold_counts_the_best_variation(
    driver: Driver, make: Callable[..., RAGVectorStore], kind: type[InMemoryVectorStore]
) -> None:
    rag = make(kind(Angles()), source_id_key=None, chunk_transformer=pieces())
    texts = ["0.9 much like it; 0.3 hardly like it", "0.2 something else"]
    # A distance of 2 - 2 cos is a relevance of cos.
    await driver(rag, "add_documents", [Document(t) for t in texts], ids=["best", "other"])
    ((document, relevance),) = await driver(
        rag, "similarity_search_with_relevance_scores", "1", k=4, score_threshold=0.8
    )
    assert document.id == "best"
    assert relevance == pytest.approx(0.9, abs=1e-6)
    retriever = rag.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"score_threshold": 0.8, "k": 4},
    )
    assert await driver(retriever, "invoke", "1") == [document]
    # The other variation alone does not count.
    low = await driver(
        rag, "similarity_search_with_relevance_scores", "1", k=4, score_threshold=0.95
    )
    assert low == []


async def test_case_11_threshold_over_chroma(
    driver: Driver, make: Callable[..., RAGVectorStore], chroma: VectorStore
) -> None:
    rag = make(chroma, source_id_key=None, chunk_transformer=pieces())
    await crowded(driver, rag)
    own = chroma.similarity_search_with_relevance_scores("prime", k=20)
    scored = await driver(rag, "similarity_search_with_relevance_scores", "prime", k=4)
    assert scored[0][1] == pytest.approx(own[0][1])
    threshold = (scored[1][1] + scored[2][1]) / 2
    assert (
        await driver(
            rag,
            "similarity_search_with_relevance_scores",
            "prime",
            k=4,
            score_threshold=threshold,
        )
        == scored[:2]
    )


def only(wrapped: VectorStore, key: str, value: str) -> Any:
    """A filter as each of the stores takes it."""
    if isinstance(wrapped, InMemoryVectorStore):
        return lambda document: document.metadata.get(key) == value
    return {key: value}


async def test_case_13_a_filter_of_the_call_beats_the_constructor_s(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    rag = make(
        wrapped,
        source_id_key=None,
        chunk_transformer=pieces(),
        search_kwargs={"filter": only(wrapped, "kind", "crowd"), "k": 3},
    )
    await crowded(driver, rag)
    other = only(wrapped, "kind", "other")
    assert [d.id for d in await driver(rag, "similarity_search", "prime")] == ["crowd"]
    for method in ("similarity_search", "max_marginal_relevance_search"):
        found = await driver(rag, method, "prime", filter=other)
        assert sorted(str(d.id) for d in found) == ["1", "2", "3"]
        assert len(await driver(rag, method, "prime", filter=other, k=2)) == 2
    retriever = rag.as_retriever()
    assert [d.id for d in await driver(retriever, "invoke", "prime")] == ["crowd"]
    retriever = rag.as_retriever(search_kwargs={"filter": other})
    assert len(await driver(retriever, "invoke", "prime")) == 3


async def test_case_13_a_filter_on_what_made_a_variation(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    rag = make(
        wrapped,
        source_id_key=None,
        chunk_transformer=CopyDocumentTransformer() + pieces(),
    )
    await crowded(driver, rag)
    copies = only(wrapped, "transformer", "CopyDocumentTransformer")
    rows = contents(rag).rows.values()
    assert len([r for r in rows if r.metadata["transformer"] == "CopyDocumentTransformer"]) == 4
    found = await driver(rag, "similarity_search_with_score", "prime a", k=4, filter=copies)
    assert len(found) == 4
    # The best piece of the crowd is the query itself; its copy is not.
    scores = {document.id: score for document, score in found}
    everything = await driver(rag, "similarity_search_with_score", "prime a", k=4)
    assert everything[0][0].id == "crowd"
    assert scores["crowd"] != pytest.approx(everything[0][1], abs=1e-3)


async def test_case_13_filter_in_the_middle_of_a_crowd(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    """Hits that the filter leaves are still widened until there are enough."""
    rag = make(wrapped, source_id_key=None, chunk_transformer=pieces())
    crowd = [
        Document("; ".join(f"prime {word}{n}" for word in "abcdefgh"), metadata={"of": "crowd"})
        for n in range(4)
    ]
    await driver(rag, "add_documents", crowd, ids=list("wxyz"))
    await crowded(driver, rag)
    found = await driver(
        rag, "similarity_search", "prime", k=4, filter=only(wrapped, "of", "crowd")
    )
    assert sorted(str(d.id) for d in found) == list("wxyz")
