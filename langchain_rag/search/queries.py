"""One flow for each way of searching that LangChain knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.collapse import first_ask
from langchain_rag.search.engine import SearchEngine

V = TypeVar("V")
Scored: TypeAlias = list[tuple[Document, float]]
Found = TypeVar("Found")
Searches: TypeAlias = tuple[Callable[..., Found], Callable[..., Awaitable[Found]]]

_FOR_MMR: Final = frozenset({"fetch_k", "lambda_mult"})
_FOR_THRESHOLD: Final = frozenset({"score_threshold"})


class Queries:
    """Searches the wrapped store's variations, and returns chunks.

    Options of every method go to the wrapped store as they are (`filter`, for example).

    Args:
        lifecycle: Whose chunks are searched.
        defaults: The constructor's `search_kwargs`; what a call says beats them.
    """

    def __init__(self, lifecycle: Lifecycle, defaults: dict[str, Any]) -> None:
        self._lifecycle = lifecycle
        self._engine = SearchEngine(lifecycle)
        self._defaults = defaults
        self._backend = lifecycle.stores.rows.backend
        self._dense = self._backend.dense

    @property
    def _store(self) -> VectorStore:
        return self._lifecycle.stores.vectorstore

    def similarity(
        self, query: str, k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find the chunks nearest to a text."""
        k, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        store = self._store
        if self._dense is not None:
            found = yield from self._scored(query, k, options)
            return _documents(found)
        searches = store.similarity_search, store.asimilarity_search
        return _documents((yield from self._search(searches, query, k, options, _unscored)))

    def scored(self, query: str, k: int | None, options: dict[str, Any]) -> Flow[Scored]:
        """Find the chunks nearest to a text, with the wrapped store's own scores."""
        k, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        return (yield from self._scored(query, k, options))

    def relevant(self, query: str, k: int | None, options: dict[str, Any]) -> Flow[Scored]:
        """Find the chunks nearest to a text, with relevances between 0 and 1."""
        k, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        store = self._store
        if self._dense is not None:
            found = yield from self._scored(query, k, options)
            relevance = self._dense.relevance()
            return [(document, relevance(score)) for document, score in found]
        searches = (
            store.similarity_search_with_relevance_scores,
            store.asimilarity_search_with_relevance_scores,
        )
        return (yield from self._search(searches, query, k, options, _as_it_is))

    def by_vector(
        self, embedding: list[float], k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find the chunks nearest to an embedding."""
        k, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        store = self._store
        searches = store.similarity_search_by_vector, store.asimilarity_search_by_vector
        found = yield from self._search(searches, embedding, k, options, _unscored)
        return _documents(found)

    def diverse(
        self, query: str, k: int | None, fetch_k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find chunks that are near a text and unlike each other (MMR)."""
        embeddings = self._store.embeddings
        if self._dense is not None and embeddings is not None:
            if self._merged(k, options)[0] <= 0:
                return []
            embedding = yield from _embed(embeddings, query)
            return (yield from self.diverse_by_vector(embedding, k, fetch_k, options))
        search = self._store.max_marginal_relevance_search
        asearch = self._store.amax_marginal_relevance_search
        return (yield from self._diverse((search, asearch), query, k, fetch_k, options))

    def diverse_by_vector(
        self,
        embedding: list[float],
        k: int | None,
        fetch_k: int | None,
        options: dict[str, Any],
    ) -> Flow[list[Document]]:
        """Find chunks that are near an embedding and unlike each other (MMR)."""
        search = self._store.max_marginal_relevance_search_by_vector
        asearch = self._store.amax_marginal_relevance_search_by_vector
        return (yield from self._diverse((search, asearch), embedding, k, fetch_k, options))

    def _diverse(
        self,
        searches: Searches[list[Document]],
        query: Any,
        k: int | None,
        fetch_k: int | None,
        options: dict[str, Any],
    ) -> Flow[list[Document]]:
        given = {} if fetch_k is None else {"fetch_k": fetch_k}
        k, options = self._merged(k, {**options, **given}, without=_FOR_THRESHOLD)
        # The caller counts candidates in chunks, the wrapped store in variations.
        candidates = int(options.pop("fetch_k", 20))
        late = self._backend.filtered_from
        most = late() if late is not None and _filters(options) else 0
        if k <= 0 or not (yield from self._lifecycle.stores.rows.exists()):
            return []
        options = self._with_filtering(options)

        def fetch(asked: int) -> Flow[list[tuple[Document, None]]]:
            asked = self._capped(asked)
            wide = self._capped(max(among, asked))
            found = yield from call(
                *searches, query, **{**options, "k": asked, "fetch_k": wide}
            )
            return _unscored(found)

        while True:
            among = first_ask(candidates, self._lifecycle.fan_out)
            # Chroma gives what it chose in the order of nearness, so choosing among all that
            # it chose would undo the choice: ask for few.
            found = yield from self._engine.search(fetch, k, choosing=True)
            if len(found) < k and among < most:
                # It filters what it has fetched, and has not fetched enough.
                candidates *= 4
            # A process that has only now learnt how many variations chunks have chose among
            # too few chunks: what it finds must not depend on what it has seen before.
            elif first_ask(candidates, self._lifecycle.fan_out) <= among:
                return _documents(found)

    def _scored(self, query: str, k: int, options: dict[str, Any]) -> Flow[Scored]:
        store, dense = self._store, self._dense
        if k <= 0:
            return []
        if dense is None or store.embeddings is None:
            by_text = (
                store.similarity_search_with_score,
                store.asimilarity_search_with_score,
            )
            return (yield from self._search(by_text, query, k, options, _as_it_is))
        embedding = yield from _embed(store.embeddings, query)
        by_vector = dense.scored, dense.ascored
        return (yield from self._search(by_vector, embedding, k, options, _as_it_is))

    def _search(
        self,
        searches: Searches[Found],
        query: Any,
        k: int,
        options: dict[str, Any],
        paired: Callable[[Found], list[tuple[Document, V]]],
    ) -> Flow[list[tuple[Document, V]]]:
        """Search with a method of the wrapped store, again and again where need be."""
        if k <= 0 or not (yield from self._lifecycle.stores.rows.exists()):
            return []
        options = self._with_filtering(options)

        def fetch(asked: int) -> Flow[list[tuple[Document, V]]]:
            found = yield from call(*searches, query, k=self._capped(asked), **options)
            return paired(found)

        return (yield from self._engine.search(fetch, k))

    def _capped(self, asked: int) -> int:
        # Fewer hits than the engine asked for tell it that there are no more.
        most = self._backend.max_hits
        return asked if most is None else min(asked, most)

    def _with_filtering(self, options: dict[str, Any]) -> dict[str, Any]:
        """Add what the wrapped store needs to filter before it counts."""
        if not _filters(options):
            return options
        late = self._backend.filtered_from
        wide = {} if late is None else {"fetch_k": late()}
        return {**self._backend.filtering, **wide, **options}

    def _merged(
        self, k: int | None, options: dict[str, Any], without: frozenset[str] = frozenset()
    ) -> tuple[int, dict[str, Any]]:
        """Lay a call's arguments over the constructor's, without what is for other searches."""
        defaults = {key: v for key, v in self._defaults.items() if key not in without}
        merged = {**defaults, **options}
        default_k = merged.pop("k", 4)
        # Stores want a plain int, where a caller may well have one of numpy's.
        return index(default_k if k is None else k), merged


def defaults_for(search_type: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """Leave out of the constructor's defaults what is for other types of search.

    Args:
        search_type: One of LangChain's search types.
        defaults: The constructor's `search_kwargs`.

    Returns:
        What a call of that search can be given: stores refuse arguments they do not know.
    """
    foreign = {"mmr": _FOR_THRESHOLD, "similarity_score_threshold": _FOR_MMR}
    without = foreign.get(search_type, _FOR_MMR | _FOR_THRESHOLD)
    return {key: value for key, value in defaults.items() if key not in without}


def _embed(embeddings: Embeddings, query: str) -> Flow[list[float]]:
    return (yield from call(embeddings.embed_query, embeddings.aembed_query, query))


def _filters(options: dict[str, Any]) -> bool:
    return options.get("filter") is not None


def _as_it_is(found: Scored) -> Scored:
    return found


def _unscored(found: list[Document]) -> list[tuple[Document, None]]:
    return [(document, None) for document in found]


def _documents(found: Sequence[tuple[Document, object]]) -> list[Document]:
    return [document for document, _ in found]
