"""Searches of one store by words and by vectors, and the base of the retrievers by words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from langchain_core.documents import Document
from langchain_core.structured_query import FilterDirective
from pydantic import PrivateAttr, SkipValidation
from typing_extensions import override

from langchain_rag._documents import document_of
from langchain_rag._flow import Flow, Mode, call_as
from langchain_rag._reserved import KIND
from langchain_rag.lexical import LexicalSearch, lexical_search_of
from langchain_rag.lifecycle.records import ChunkRecord
from langchain_rag.retrievers._base import RAGRetriever
from langchain_rag.retrievers.filters import directive_of, native_of, predicate_of
from langchain_rag.search.engine import Hit
from langchain_rag.search.options import Wanted
from langchain_rag.search.queries import Queries

_WIDEN: Final = 4

_searches: WeakKeyDictionary[Any, dict[str, LexicalSearch]] = WeakKeyDictionary()
"""By the lifecycle of a store and language: an index in memory serves all its retrievers."""


def search_of(queries: Queries, language: str) -> LexicalSearch:
    """Return what searches the chunks of a store by words.

    Args:
        queries: Of the store.
        language: Of the texts, for an index in memory.

    Raises:
        ConfigurationError: Its docstore keeps no index, and none can be made.
    """
    known = _searches.setdefault(queries.lifecycle, {})
    if language not in known:
        known[language] = lexical_search_of(queries.lifecycle.stores.docstore, language)
    return known[language]


def lexical_hits(
    queries: Queries,
    search: LexicalSearch,
    query: str,
    k: int,
    *,
    wanted: Wanted,
    directive: FilterDirective | None,
    mode: Mode = "plain",
) -> Flow[list[Hit[float]]]:
    """Find chunks by their words.

    Args:
        queries: Of the store.
        search: Searches its docstore.
        query: A text.
        k: Chunks wanted.
        wanted: What else is.
        directive: A filter.
        mode: Of the search for words.

    Returns:
        One hit for each chunk, best first, with BM25's score; for each document with
        `return_documents`.
    """
    prefix = queries.lifecycle.keys.chunks
    passes = _passes(wanted, directive)
    picky = passes is not None or wanted.of_kinds or wanted.return_documents
    known: dict[str, ChunkRecord | None] = {}
    asked = _WIDEN * k if picky else k
    while True:
        found = yield from call_as(
            mode, search.lexical_search, search.alexical_search, query, asked, prefix=prefix
        )
        # All of them each time: what is found may change between two rounds.
        scores = {key.removeprefix(prefix): score for key, score in found}
        chunks = yield from queries.engine.chunks([key for key in scores if key not in known])
        known |= {key: chunks.get(key) for key in scores if key not in known}
        hits: dict[str, Hit[float]] = {}
        kinds = yield from _kinds(queries, wanted, [one for one in known.values() if one])
        for rank, (key, score) in enumerate(scores.items(), start=1):
            chunk = known[key]
            if chunk is None or (passes is not None and not passes(chunk)):
                continue
            if kinds is not None and not wanted.has_kind(kinds.get(key, ())):
                continue
            variation = document_of(chunk.content, {KIND: "text"}, None)
            owner = chunk.document_id if wanted.return_documents else key
            hits.setdefault(owner, Hit(chunk, variation, score, rank))
        if len(hits) >= k or len(found) < asked:
            return list(hits.values())[:k]
        asked *= _WIDEN


def _kinds(
    queries: Queries, wanted: Wanted, chunks: Sequence[ChunkRecord]
) -> Flow[dict[str, tuple[str, ...]] | None]:
    """Say of which kinds the variations of chunks are, where that matters."""
    if not wanted.of_kinds:
        return None
    ids = [chunk.document_id for chunk in chunks]
    manifests = yield from queries.lifecycle.records.manifests(ids)
    return {
        entry.key: tuple(kind for kind, _ in entry.kinds)
        for manifest in manifests.values()
        for entry in manifest.chunks
    }


def dense_hits(
    queries: Queries,
    query: str,
    k: int,
    options: dict[str, Any],
    directive: FilterDirective | None,
) -> Flow[list[Hit[float]]]:
    """Find chunks by vectors.

    Args:
        queries: Of the store.
        query: A text.
        k: Chunks wanted.
        options: Arguments of the store's searches.
        directive: A filter, in place of the options'.

    Returns:
        One hit for each chunk, best first.
    """
    rest = {key: value for key, value in options.items() if key != "filter"}
    if directive is not None:
        rest |= native_of(directive, queries.lifecycle.stores.vectorstore)
    return (yield from queries.hits(query, k, rest))


def _passes(
    wanted: Wanted, directive: FilterDirective | None
) -> Callable[[ChunkRecord], bool] | None:
    within = wanted.within
    predicate = None if directive is None else predicate_of(directive)
    if within is None and predicate is None:
        return None

    def passes(chunk: ChunkRecord) -> bool:
        if within is not None and chunk.document_id not in within:
            return False
        return predicate is None or predicate(chunk.public())

    return passes


class WordsRetriever(RAGRetriever):
    """Base of the retrievers that search a store's docstore by words.

    Attributes:
        filter: Which chunks count: a `Comparison` or `Operation` of LangChain's structured
            queries, or a dict of metadata keys and the values that they must have.
        language: Of the texts, for an index in memory.
    """

    filter: SkipValidation[FilterDirective | dict[str, Any] | None] = None
    language: str = "english"

    _search: LexicalSearch = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        # Not in a validator: pydantic would put an error of its own in place of ours.
        self._search = search_of(self._queries, self.language)
        directive_of(self.filter)

    @override
    def _answer(self, query: str, k: int | None, given: dict[str, Any]) -> Flow[list[Document]]:
        if self.filter is not None:
            given = {"filter": self.filter, **given}
        return (yield from super()._answer(query, k, given))
