"""One flow for each way of searching that LangChain knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.backends import dense_store
from langchain_rag.search.collapse import first_ask
from langchain_rag.search.engine import SearchEngine

V = TypeVar("V")
Scored: TypeAlias = list[tuple[Document, float]]
Fetch: TypeAlias = Callable[[int], Flow[list[tuple[Document, V]]]]

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
        self._dense = dense_store(lifecycle.stores.vectorstore)

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
        fetch = _unscored(store.similarity_search, store.asimilarity_search, query, options)
        return _documents((yield from self._engine.search(fetch, k)))

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
        search = store.similarity_search_with_relevance_scores
        asearch = store.asimilarity_search_with_relevance_scores
        return (yield from self._engine.search(_asking(search, asearch, query, options), k))

    def by_vector(
        self, embedding: list[float], k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find the chunks nearest to an embedding."""
        k, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        store = self._store
        fetch = _unscored(
            store.similarity_search_by_vector,
            store.asimilarity_search_by_vector,
            embedding,
            options,
        )
        return _documents((yield from self._engine.search(fetch, k)))

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
        searches: tuple[
            Callable[..., list[Document]], Callable[..., Awaitable[list[Document]]]
        ],
        query: Any,
        k: int | None,
        fetch_k: int | None,
        options: dict[str, Any],
    ) -> Flow[list[Document]]:
        given = {} if fetch_k is None else {"fetch_k": fetch_k}
        k, options = self._merged(k, {**options, **given}, without=_FOR_THRESHOLD)
        # The caller counts candidates in chunks, the wrapped store in variations.
        candidates = int(options.pop("fetch_k", 20))

        def fetch(asked: int) -> Flow[list[tuple[Document, None]]]:
            wide = max(among, asked)
            found = yield from call(*searches, query, k=asked, fetch_k=wide, **options)
            return [(document, None) for document in found]

        while True:
            among = first_ask(candidates, self._lifecycle.fan_out)
            # Chroma gives what it chose in the order of nearness, so choosing among all that
            # it chose would undo the choice: ask for few.
            found = yield from self._engine.search(fetch, k, choosing=True)
            # A process that has only now learnt how many variations chunks have chose among
            # too few chunks: what it finds must not depend on what it has seen before.
            if first_ask(candidates, self._lifecycle.fan_out) <= among:
                return _documents(found)

    def _scored(self, query: str, k: int, options: dict[str, Any]) -> Flow[Scored]:
        store, dense = self._store, self._dense
        if k <= 0:
            return []
        if dense is None or store.embeddings is None:
            search, asearch = (
                store.similarity_search_with_score,
                store.asimilarity_search_with_score,
            )
            return (yield from self._engine.search(_asking(search, asearch, query, options), k))
        embedding = yield from _embed(store.embeddings, query)
        in_executor = partial(run_in_executor, None, dense.scored)
        fetch = _asking(dense.scored, in_executor, embedding, options)
        return (yield from self._engine.search(fetch, k))

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


def _asking(
    search: Callable[..., list[tuple[Document, float]]],
    asearch: Callable[..., Awaitable[list[tuple[Document, float]]]],
    query: Any,
    options: dict[str, Any],
) -> Fetch[float]:
    """Make a search of the wrapped store into what the engine can call again."""

    def fetch(asked: int) -> Flow[Scored]:
        return (yield from call(search, asearch, query, k=asked, **options))

    return fetch


def _unscored(
    search: Callable[..., list[Document]],
    asearch: Callable[..., Awaitable[list[Document]]],
    query: Any,
    options: dict[str, Any],
) -> Fetch[None]:
    """Do the same for a search without scores."""

    def fetch(asked: int) -> Flow[list[tuple[Document, None]]]:
        found = yield from call(search, asearch, query, k=asked, **options)
        return [(document, None) for document in found]

    return fetch


def _documents(found: Sequence[tuple[Document, object]]) -> list[Document]:
    return [document for document, _ in found]
