"""Each way of searching, over both stores. Distinctness is in tests/cases/test_search."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.search.queries import defaults_for
from langchain_rag.testing import (
    CountingEmbeddings,
    DistanceVectorStore,
    Driver,
    ScriptedTransformer,
    SyncOnlyVectorStore,
)
from langchain_rag.vectorstores import RAGVectorStore

TEXTS = ["prime number", "prime factor", "square root", "round circle", "odd number"]


async def filled(
    driver: Driver, wrapped: VectorStore, variations: int = 15, **options: Any
) -> RAGVectorStore:
    """Fill a store; by default with so many variations that a search has to widen."""
    rag = RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(
            lambda text: [f"{text} {n}" for n in range(variations)]
        ),
        **options,
    )
    documents = [Document(text, metadata={"n": n}) for n, text in enumerate(TEXTS)]
    await driver(rag, "add_documents", documents, ids=TEXTS)
    # One that has not learnt how many variations a chunk has.
    return RAGVectorStore(
        vectorstore=wrapped, docstore=rag.docstore, source_id_key=None, **options
    )


@pytest.mark.parametrize(
    "method",
    [
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
        "max_marginal_relevance_search",
    ],
)
async def test_the_query_is_embedded_once(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings, method: str
) -> None:
    rag = await filled(driver, wrapped)
    embeddings.reset()
    assert len(await driver(rag, method, "prime", k=5)) == 5
    assert embeddings.queries == ["prime"]
    embeddings.reset()
    assert len(await driver(rag, method, "prime", k=2)) == 2
    assert embeddings.queries == ["prime"]


@pytest.mark.parametrize(
    "method", ["similarity_search_by_vector", "max_marginal_relevance_search_by_vector"]
)
async def test_by_vector_embeds_nothing(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings, method: str
) -> None:
    rag = await filled(driver, wrapped)
    embeddings.reset()
    vector = embeddings.vector("prime number")
    found = await driver(rag, method, vector, k=5)
    assert len({document.id for document in found}) == 5
    assert found[0].id == "prime number"
    assert embeddings.queries == []


async def test_by_vector_and_by_text_agree(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings
) -> None:
    rag = await filled(driver, wrapped)
    vector = embeddings.vector("odd number")
    by_text = await driver(rag, "similarity_search", "odd number", k=3)
    assert by_text == await driver(rag, "similarity_search_by_vector", vector, k=3)
    scored = await driver(rag, "similarity_search_with_score", "odd number", k=3)
    assert [document for document, _ in scored] == by_text


async def test_scores_are_the_wrapped_store_s(
    driver: Driver, wrapped: VectorStore, embeddings: CountingEmbeddings
) -> None:
    rag = await filled(driver, wrapped)
    found = await driver(rag, "similarity_search_with_score", "odd number", k=5)
    own = wrapped.similarity_search_with_score("odd number", k=150)
    best: dict[str, float] = {}
    for document, score in own:
        best.setdefault(document.metadata["langchain_rag_document"], score)
    assert {document.id: score for document, score in found} == pytest.approx(best)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=isinstance(wrapped, InMemoryVectorStore))


async def test_relevances_are_between_0_and_1(driver: Driver, wrapped: VectorStore) -> None:
    rag = await filled(driver, wrapped)
    found = await driver(rag, "similarity_search_with_relevance_scores", "odd number", k=5)
    relevances = [relevance for _, relevance in found]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)
    for threshold in (0.0, relevances[2], 1.0):
        kept = await driver(
            rag,
            "similarity_search_with_relevance_scores",
            "odd number",
            k=5,
            score_threshold=threshold,
        )
        assert kept == [item for item in found if item[1] >= threshold]


async def test_relevances_of_a_store_without_a_shortcut(driver: Driver) -> None:
    rag = await filled(driver, DistanceVectorStore(CountingEmbeddings()))
    found = await driver(rag, "similarity_search_with_relevance_scores", "odd number", k=5)
    assert found[0][0].id == "odd number"
    assert all(0 <= relevance <= 1 for _, relevance in found)


async def test_a_store_that_has_only_text_searches(driver: Driver) -> None:
    rag = await filled(driver, SyncOnlyVectorStore(CountingEmbeddings()))
    for method in (
        "similarity_search",
        "similarity_search_with_score",
        "max_marginal_relevance_search",
    ):
        assert len(await driver(rag, method, "prime", k=5)) == 5
        assert await driver(rag, method, "prime", k=0) == []


async def test_mmr_prefers_what_differs(driver: Driver, wrapped: VectorStore) -> None:
    rag = await filled(driver, wrapped, variations=6)
    method = "max_marginal_relevance_search"
    # The first search of a process, which has not learnt yet how many variations there are.
    far = await driver(rag, method, "prime number", k=2, lambda_mult=0.0, fetch_k=5)
    assert far[0].id == "prime number"
    assert far[1].id in {"square root", "round circle"}
    assert far == await driver(rag, method, "prime number", k=2, lambda_mult=0.0, fetch_k=5)
    near = await driver(rag, method, "prime number", k=2, lambda_mult=1.0)
    assert {document.id for document in near} <= {"prime number", "prime factor", "odd number"}


async def test_mmr_chooses_among_fetch_k_chunks(driver: Driver, wrapped: VectorStore) -> None:
    rag = await filled(driver, wrapped, variations=6)
    # Among the two that are nearest, "round circle" is not, however much it differs.
    found = await driver(
        rag, "max_marginal_relevance_search", "prime number", k=2, lambda_mult=0.0, fetch_k=2
    )
    assert "round circle" not in {document.id for document in found}
    # Fewer candidates than results are wanted is no obstacle.
    found = await driver(rag, "max_marginal_relevance_search", "prime", k=5, fetch_k=1)
    assert len(found) == 5


class Noting(InMemoryVectorStore):
    """Notes the options of each search, and refuses what it does not know, as Chroma does."""

    def __init__(self) -> None:
        super().__init__(CountingEmbeddings())
        self.options: list[dict[str, Any]] = []

    def similarity_search_with_score(  # type: ignore[override]
        self,
        query: str,
        k: int = 4,
        *,
        filter: Any = None,  # noqa: A002
        extra: Any = None,
    ) -> Any:
        self.options.append({"k": k, "extra": extra})
        return super().similarity_search_with_score(query, k, filter=filter)

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(query, k, **kwargs)


async def test_constructor_s_defaults_and_what_a_call_says(driver: Driver) -> None:
    store = Noting()
    rag = RAGVectorStore(
        vectorstore=store,
        docstore=InMemoryStore(),
        source_id_key=None,
        search_kwargs={
            "k": 2,
            "fetch_k": 7,
            "lambda_mult": 0.3,
            "score_threshold": 0.5,
            "extra": "default",
        },
    )
    await driver(rag, "add_texts", TEXTS)
    assert len(await driver(rag, "similarity_search", "prime")) == 2
    assert len(await driver(rag, "similarity_search", "prime", k=3, extra="call")) == 3
    assert store.options == [{"k": 2, "extra": "default"}, {"k": 3, "extra": "call"}]
    store.options.clear()
    method = "max_marginal_relevance_search"
    await driver(rag, method, "prime")
    await driver(rag, method, "prime", k=1, fetch_k=3, lambda_mult=0.9, extra="call")
    # Chunks are chosen here, so the wrapped store is asked for candidates only.
    assert store.options == [{"k": 7, "extra": "default"}, {"k": 3, "extra": "call"}]


async def test_k_is_four_where_nobody_says(driver: Driver, wrapped: VectorStore) -> None:
    rag = await filled(driver, wrapped)
    for method in (
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
        "max_marginal_relevance_search",
    ):
        assert len(await driver(rag, method, "prime")) == 4
    # Given by position, as LangChain's own parts do.
    assert len(await driver(rag, "similarity_search", "prime", 2)) == 2


async def test_a_default_threshold(driver: Driver, wrapped: VectorStore) -> None:
    rag = await filled(driver, wrapped, search_kwargs={"score_threshold": 1.0, "k": 3})
    method = "similarity_search_with_relevance_scores"
    assert await driver(rag, method, "no such words") == []
    assert len(await driver(rag, method, "no such words", score_threshold=0.0)) == 3
    assert len(await driver(rag, "similarity_search", "no such words")) == 3
    found = await driver(
        rag, "search", "no such words", search_type="similarity_score_threshold"
    )
    assert found == []


async def test_search_by_the_constructor_s_type(driver: Driver) -> None:
    store = Noting()
    rag = RAGVectorStore(
        vectorstore=store, docstore=InMemoryStore(), source_id_key=None, search_type="mmr"
    )
    await driver(rag, "add_texts", TEXTS)
    await driver(rag, "search", "prime")
    # The candidates, rather than the four that come of them.
    assert [options["k"] for options in store.options] == [20]
    with pytest.raises(ValueError, match="search_type"):
        await driver(rag, "search", "prime", "no such type")


@pytest.mark.parametrize(
    ("search_type", "expected"),
    [
        ("similarity", {"k", "filter"}),
        ("mmr", {"k", "filter", "fetch_k", "lambda_mult"}),
        ("similarity_score_threshold", {"k", "filter", "score_threshold"}),
    ],
)
def test_defaults_for(search_type: str, expected: set[str]) -> None:
    every = {"k": 1, "filter": 2, "fetch_k": 3, "lambda_mult": 4, "score_threshold": 5}
    assert set(defaults_for(search_type, every)) == expected
