"""The part of the conformance suite that searches."""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from langchain_core.documents import Document

from langchain_rag.testing._over_store import OverStore, over_store
from langchain_rag.testing.fakes import ScriptedTransformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_rag.testing.bench import Bench

__all__ = ["ConformingSearches"]

_ANIMALS = ("cats", "dogs", "cows", "pigs", "hens", "goats", "ducks", "mice", "bees", "owls")

# Every search by text, and what a store may lack for it.
_BY_TEXT: Final = {
    "similarity_search": "",
    "similarity_search_with_score": "",
    "similarity_search_with_relevance_scores": "relevance",
    "max_marginal_relevance_search": "mmr",
}


def _pages() -> list[Document]:
    return [
        Document(f"{animal} live on page {n}", metadata={"page": n, "even": n % 2 == 0})
        for n, animal in enumerate(_ANIMALS)
    ]


async def _filled(bench: Bench) -> None:
    await bench.do("add_documents", _pages(), ids=list(_ANIMALS))


class ConformingSearches(OverStore):
    """Searches."""

    @over_store
    async def test_k_distinct_chunks(self, bench: Bench) -> None:
        """One chunk has twenty variations, all nearer than any other chunk's."""

        def vary(text: str) -> list[str]:
            return [f"cats {n}" for n in range(20)] if "cats" in text else [text]

        bench.rag = bench.start(chunk_transformer=ScriptedTransformer(vary))
        await _filled(bench)
        for method, lacking in _BY_TEXT.items():
            if lacking in self.lacks:
                continue
            # A new process does not know how many variations chunks have.
            bench.rag = bench.start()
            bench.embeddings.queries.clear()
            hits: list[Any] = await bench.do(method, "cats", k=5)
            # Some searches give pairs of a chunk and a score.
            chunks = [hit if isinstance(hit, Document) else hit[0] for hit in hits]
            assert chunks[0].page_content == "cats live on page 0", method
            assert len({chunk.id for chunk in chunks}) == 5, method
            if "embeds_once" not in self.lacks:
                assert bench.embeddings.queries == ["cats"], method
        assert len(set(await bench.found("cats", k=10))) == 10
        assert len(set(await bench.found("cats", k=500))) == 10
        assert await bench.found("cats", k=0) == []

    @over_store
    async def test_scores_are_the_store_s_own_best_first(self, bench: Bench) -> None:
        """Whether near is a small score or a large one, the best come first."""
        await _filled(bench)
        scored = await bench.do("similarity_search_with_score", "gamma hens live", k=4)
        assert scored[0][0].page_content == "hens live on page 4"
        scores = [float(score) for _, score in scored]
        assert scores in (sorted(scores), sorted(scores, reverse=True))
        own = await bench.driver(
            bench.store, "similarity_search_with_score", "gamma hens live", k=1
        )
        assert scores[0] == pytest.approx(float(own[0][1]), abs=1e-5)

    @over_store
    async def test_relevances(self, bench: Bench) -> None:
        """They fall, from 1 at most to 0 at least, and a threshold cuts them off."""
        await _filled(bench)
        search = "similarity_search_with_relevance_scores"

        async def relevant(**options: Any) -> list[float]:
            return [score for _, score in await bench.do(search, "hens", k=4, **options)]

        async def attempt() -> None:
            scores = await relevant()
            assert len(scores) == 4
            assert scores == sorted(scores, reverse=True)
            assert 1 >= scores[0] > scores[1]
            assert scores[-1] >= 0
            between = (scores[0] + scores[1]) / 2
            assert len(await relevant(score_threshold=between)) == 1

        await self._unless_lacking("relevance", attempt)

    @over_store
    async def test_diverse_hits(self, bench: Bench) -> None:
        """MMR by text and by vector gives k distinct chunks."""
        await _filled(bench)
        vector = bench.embeddings.vector("hens live")

        async def attempt() -> None:
            for method, query in (
                ("max_marginal_relevance_search", "hens live"),
                ("max_marginal_relevance_search_by_vector", vector),
            ):
                found = await bench.do(method, query, k=3, fetch_k=10)
                assert len({chunk.page_content for chunk in found}) == 3
                assert found[0].page_content == "hens live on page 4"

        await self._unless_lacking("mmr", attempt)

    @over_store
    async def test_by_vector(self, bench: Bench) -> None:
        """It finds what a search by text finds."""
        await _filled(bench)

        async def attempt() -> None:
            vector = bench.embeddings.vector("gamma owls live")
            found = await bench.do("similarity_search_by_vector", vector, k=3)
            texts = [chunk.page_content for chunk in found]
            assert texts[0] == "owls live on page 9"
            assert len(set(texts)) == 3

        await self._unless_lacking("by_vector", attempt)

    @over_store
    async def test_filters(self, bench: Bench) -> None:
        """Every chunk that passes is found, however far it is from the query."""
        await _filled(bench)
        cases: list[tuple[str, Any, set[str]]] = [
            ("page", 7, {"mice live on page 7"}),
            ("even", True, {p.page_content for p in _pages() if p.metadata["even"]}),
            ("transformer", "NoSuchTransformer", set()),
        ]

        async def attempt() -> None:
            for key, value, expected in cases:
                options = self.filter_for(bench.store, key, value)
                if options is None:
                    raise NotImplementedError
                # No more than there are: a store that filters late finds fewer.
                k = len(expected) or 1
                assert set(await bench.found("cats", k=k, **options)) == expected
                if "mmr" not in self.lacks:
                    found = await bench.do(
                        "max_marginal_relevance_search", "cats", k=k, fetch_k=1, **options
                    )
                    assert {chunk.page_content for chunk in found} == expected

        await self._unless_lacking("filter", attempt)

    @over_store
    async def test_chunks_by_their_ids(self, bench: Bench) -> None:
        """They come from the docstore, so every store has them."""
        await bench.do("add_documents", [Document("one\ntwo", metadata={"n": [1]})], ids=["d"])
        chunks = await bench.do("get_by_ids", ["d"])
        assert [chunk.page_content for chunk in chunks] == ["one", "two"]
        again = await bench.do("get_by_ids", [chunks[1].id, "gone"])
        assert again == [chunks[1]]

    async def _unless_lacking(self, what: str, attempt: Callable[[], Any]) -> None:
        """Make the attempt; where the store lacks something, it has to say so."""
        if what not in self.lacks:
            await attempt()
            return
        with pytest.raises(NotImplementedError):
            await attempt()
