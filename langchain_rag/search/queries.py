"""One flow for each way of searching that LangChain knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from operator import index
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.diversity import most_diverse, vectors_of
from langchain_rag.search.engine import Hit, Plan, SearchEngine
from langchain_rag.search.options import Wanted, wanted_of
from langchain_rag.search.results import answers

V = TypeVar("V")
Scored: TypeAlias = list[tuple[Document, float]]
Answer = TypeVar("Answer")
Searches: TypeAlias = tuple[Callable[..., Answer], Callable[..., Awaitable[Answer]]]

_FOR_MMR: Final = frozenset({"fetch_k", "lambda_mult"})
_FOR_THRESHOLD: Final = frozenset({"score_threshold"})

_MOST_VALUES: Final = 10_000
"""Values that a store's filter is given; of more, hits are looked at one by one."""

_CANDIDATES: Final = 20
"""Chunks among which ranks are summed, as many as MMR chooses among by default."""


class Question(NamedTuple):
    """A query as the wrapped store is asked it.

    Attributes:
        searches: The store's search that gives scores, sync and async.
        what: The vector of the query, or its text.
    """

    searches: Searches[Scored]
    what: Any


class Queries:
    """Searches the wrapped store's variations, and returns chunks.

    Options of every method go to the wrapped store as they are (`filter`, for example).

    Args:
        lifecycle: Whose chunks are searched.
        defaults: The constructor's `search_kwargs`; what a call says beats them.

    Attributes:
        lifecycle: The same.
        engine: Makes chunks of hits.
        defaults: Those for similarity, but for `k`.
    """

    def __init__(self, lifecycle: Lifecycle, defaults: dict[str, Any]) -> None:
        self.lifecycle = lifecycle
        self.engine = SearchEngine(lifecycle)
        self._defaults = defaults
        similar = defaults_for("similarity", defaults)
        self.defaults = {key: value for key, value in similar.items() if key != "k"}
        self._backend = lifecycle.stores.rows.backend
        self._dense = self._backend.dense

    @property
    def _store(self) -> VectorStore:
        return self.lifecycle.stores.vectorstore

    @property
    def _gives_scores(self) -> bool:
        search = type(self._store).similarity_search_with_score
        return search is not VectorStore.similarity_search_with_score

    def similarity(
        self, query: str, k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find the chunks nearest to a text."""
        k, wanted, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        if self._dense is not None or (wanted.match_details and self._gives_scores):
            hits = yield from self._scored(query, k, wanted, options)
            return _documents((yield from answers(self.lifecycle, hits, wanted)))
        store = self._store
        searches = store.similarity_search, store.asimilarity_search
        unscored = yield from self._search(
            searches, query, k, options, wanted=wanted, paired=_unscored
        )
        return _documents((yield from answers(self.lifecycle, unscored, wanted)))

    def scored(self, query: str, k: int | None, options: dict[str, Any]) -> Flow[Scored]:
        """Find the chunks nearest to a text, with the wrapped store's own scores."""
        k, wanted, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        hits = yield from self._scored(query, k, wanted, options)
        return (yield from answers(self.lifecycle, hits, wanted))

    def ask(self, query: str) -> Flow[Question]:
        """Embed a query, where the store can be searched by a vector, for several searches.

        Args:
            query: A text.

        Returns:
            What `hits` and `variations` take in place of the text.
        """
        store, dense = self._store, self._dense
        embeddings = store.embeddings
        if dense is None or embeddings is None:
            searches = store.similarity_search_with_score, store.asimilarity_search_with_score
            return Question(searches, query)
        vector = yield from call(embeddings.embed_query, embeddings.aembed_query, query)
        return Question((dense.scored, dense.ascored), vector)

    def hits(
        self, query: str | Question, k: int | None, options: dict[str, Any]
    ) -> Flow[list[Hit[float]]]:
        """Find the chunks nearest to a text, with what found them.

        Args:
            query: A text, or what `ask` made of it.
            k: Distinct chunks wanted, None for the default.
            options: As those of a search.

        Returns:
            One hit for each chunk, best first; for each document with `return_documents`.
        """
        k, wanted, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        return (yield from self._scored(query, k, wanted, options))

    def variations(
        self, query: str | Question, number: int, options: dict[str, Any]
    ) -> Flow[tuple[list[Hit[float]], int]]:
        """Find the variations nearest to a text, several of one chunk where it has them.

        Args:
            query: A text, or what `ask` made of it.
            number: Variations wanted.
            options: As those of a search.

        Returns:
            The variations with their chunks, best first, and how many hits the store gave,
            of which some may not count.
        """
        _, wanted, options = self._merged(number, options, without=_FOR_MMR | _FOR_THRESHOLD)
        if number <= 0 or wanted.nothing:
            return [], 0
        if not (yield from self.lifecycle.stores.rows.exists()):
            return [], 0
        question = (yield from self.ask(query)) if isinstance(query, str) else query
        fetch, plan = self._fetching(question.searches, question.what, options, wanted)
        rows = yield from fetch(number)
        hits = yield from self.engine.every(rows, plan)
        return hits, len(rows)

    def relevant(self, query: str, k: int | None, options: dict[str, Any]) -> Flow[Scored]:
        """Find the chunks nearest to a text, with relevances between 0 and 1."""
        k, wanted, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        if self._dense is not None:
            hits = yield from self._scored(query, k, wanted, options)
            relevance = self._dense.relevance()
            found = yield from answers(self.lifecycle, hits, wanted)
            return [(document, relevance(score)) for document, score in found]
        store = self._store
        searches = (
            store.similarity_search_with_relevance_scores,
            store.asimilarity_search_with_relevance_scores,
        )
        hits = yield from self._search(
            searches, query, k, options, wanted=wanted, paired=_as_it_is
        )
        return (yield from answers(self.lifecycle, hits, wanted))

    def by_vector(
        self, embedding: list[float], k: int | None, options: dict[str, Any]
    ) -> Flow[list[Document]]:
        """Find the chunks nearest to an embedding."""
        k, wanted, options = self._merged(k, options, without=_FOR_MMR | _FOR_THRESHOLD)
        hits = yield from self._near(embedding, k, wanted, options)
        return _documents((yield from answers(self.lifecycle, hits, wanted)))

    def diverse(
        self,
        query: str,
        k: int | None,
        fetch_k: int | None,
        lambda_mult: float | None,
        options: dict[str, Any],
    ) -> Flow[list[Document]]:
        """Find chunks that are near a text and unlike each other (MMR)."""
        if self._merged(k, options)[0] <= 0:
            return []
        embeddings = self._embeddings
        embedding = yield from call(embeddings.embed_query, embeddings.aembed_query, query)
        return (
            yield from self._diverse(
                embedding,
                k,
                _with_mmr(fetch_k, lambda_mult, options),
                # A store that does more with a text than embed it is asked by text.
                text=query if self._dense is None else None,
            )
        )

    def diverse_by_vector(
        self,
        embedding: list[float],
        k: int | None,
        fetch_k: int | None,
        lambda_mult: float | None,
        options: dict[str, Any],
    ) -> Flow[list[Document]]:
        """Find chunks that are near an embedding and unlike each other (MMR)."""
        return self._diverse(embedding, k, _with_mmr(fetch_k, lambda_mult, options))

    def with_threshold(
        self, k: int | None, options: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Lay a call's `k` and threshold over the constructor's.

        LangChain's base class looks at both before it asks for relevances.

        Args:
            k: Distinct chunks wanted, None for the default.
            options: As those of a search.
        """
        ours = {key: v for key, v in self._defaults.items() if key in _FOR_THRESHOLD}
        return (self._defaults.get("k", 4) if k is None else k), {**ours, **options}

    def retriever_fields(self, search_type: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Lay the fields of a `VectorStoreRetriever` over the constructor's defaults.

        Args:
            search_type: The constructor's.
            fields: What the caller gives.
        """
        given: dict[str, Any] = fields.get("search_kwargs") or {}
        fields = {"search_type": search_type, **fields}
        defaults = defaults_for(fields["search_type"], self._defaults)
        return {**fields, "search_kwargs": {**defaults, **given}}

    @property
    def _embeddings(self) -> Embeddings:
        embeddings = self._store.embeddings
        if embeddings is None:
            message = (
                f"{type(self._store).__name__} does not say what it embeds with, which is "
                "needed to choose chunks that are unlike each other: search by similarity, or "
                "wrap a store that has embeddings."
            )
            raise ConfigurationError(message)
        return embeddings

    def _diverse(
        self,
        embedding: list[float],
        k: int | None,
        options: dict[str, Any],
        *,
        text: str | None = None,
    ) -> Flow[list[Document]]:
        k, wanted, options = self._merged(k, options, without=_FOR_THRESHOLD)
        candidates = max(k, int(options.pop("fetch_k", 20)))
        lambda_mult = float(options.pop("lambda_mult", 0.5))
        if k <= 0:
            return []
        hits: Sequence[Hit[Any]]
        if text is None:
            hits = yield from self._near(embedding, candidates, wanted, options)
        else:
            hits = yield from self._scored(text, candidates, wanted, options)
        vectors = yield from vectors_of(self._backend, self._embeddings, hits)
        chosen = most_diverse(embedding, hits, vectors, k, lambda_mult)
        return _documents((yield from answers(self.lifecycle, chosen, wanted)))

    def _near(
        self, embedding: list[float], k: int, wanted: Wanted, options: dict[str, Any]
    ) -> Flow[Sequence[Hit[Any]]]:
        """Search by a vector, with scores where the store gives them."""
        if self._dense is not None:
            by_vector = self._dense.scored, self._dense.ascored
            return (
                yield from self._search(
                    by_vector, embedding, k, options, wanted=wanted, paired=_as_it_is
                )
            )
        store = self._store
        searches = store.similarity_search_by_vector, store.asimilarity_search_by_vector
        return (
            yield from self._search(
                searches, embedding, k, options, wanted=wanted, paired=_unscored
            )
        )

    def _scored(
        self, query: str | Question, k: int, wanted: Wanted, options: dict[str, Any]
    ) -> Flow[list[Hit[float]]]:
        if k <= 0:
            return []
        question = (yield from self.ask(query)) if isinstance(query, str) else query
        searches, what = question.searches, question.what
        return (
            yield from self._search(searches, what, k, options, wanted=wanted, paired=_as_it_is)
        )

    def _search(
        self,
        searches: Searches[Answer],
        query: Any,
        k: int,
        options: dict[str, Any],
        *,
        wanted: Wanted,
        paired: Callable[[Answer], list[tuple[Document, V]]],
    ) -> Flow[list[Hit[V]]]:
        """Search with a method of the wrapped store, again and again where need be."""
        if k <= 0 or wanted.nothing or not (yield from self.lifecycle.stores.rows.exists()):
            return []
        ask, plan = self._fetching(searches, query, options, wanted)
        plan = replace(
            plan, candidates=0 if wanted.aggregation == "best" else max(k, _CANDIDATES)
        )

        def fetch(asked: int) -> Flow[list[tuple[Document, V]]]:
            return paired((yield from ask(asked)))

        return (yield from self.engine.search(fetch, k, plan))

    def _fetching(
        self,
        searches: Searches[Answer],
        query: Any,
        options: dict[str, Any],
        wanted: Wanted,
    ) -> tuple[Callable[[int], Flow[Answer]], Plan]:
        """Make what asks the wrapped store for a number of hits, and say which count."""
        narrow = self._backend.narrow
        allowed = wanted.allowed
        if max(map(len, allowed.values()), default=0) > _MOST_VALUES:
            narrow = None
        if narrow is not None and allowed:
            options = narrow(options, allowed)
        look = bool(wanted.except_kinds) or (narrow is None and bool(allowed))
        options = self._with_filtering(options)

        def fetch(asked: int) -> Flow[Answer]:
            found: Answer = yield from call(*searches, query, k=self._capped(asked), **options)
            return found

        return fetch, Plan(
            allowed=wanted.is_allowed if look else None, by_document=wanted.return_documents
        )

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
    ) -> tuple[int, Wanted, dict[str, Any]]:
        """Lay a call's arguments over the constructor's, without what is for other searches.

        Returns:
            How many chunks are wanted, what else is, and what the wrapped store is told.
        """
        defaults = {key: v for key, v in self._defaults.items() if key not in without}
        wanted, merged = wanted_of({**defaults, **options})
        default_k = merged.pop("k", 4)
        # Stores want a plain int, where a caller may well have one of numpy's.
        return index(default_k if k is None else k), wanted, merged


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


def _with_mmr(
    fetch_k: int | None, lambda_mult: float | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Put the arguments of MMR that a call gives to its other options."""
    given = {"fetch_k": fetch_k, "lambda_mult": lambda_mult}
    return {**options, **{key: v for key, v in given.items() if v is not None}}


def _filters(options: dict[str, Any]) -> bool:
    return options.get("filter") is not None


def _as_it_is(found: Scored) -> Scored:
    return found


def _unscored(found: list[Document]) -> list[tuple[Document, None]]:
    return [(document, None) for document in found]


def _documents(found: Sequence[tuple[Document, object]]) -> list[Document]:
    return [document for document, _ in found]
