"""Searching any docstore by words, with an index in memory (bm25s, Lù 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any, Final, cast

import numpy as np
from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.stores import BaseStore, InMemoryBaseStore

from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical.analysis import Analysis
from langchain_rag.lexical.bm25 import K1, B
from langchain_rag.lexical.protocol import LexicalSearch
from langchain_rag.lexical.texts import text_of
from langchain_rag.lifecycle.batches import batched
from langchain_rag.lifecycle.stores import keys_of

_AT_ONCE: Final = 1000
"""Records that are read in one call."""


@dataclass(frozen=True, slots=True)
class _Index:
    """What was indexed, and how it is scored.

    Attributes:
        records: Terms of each chunk by key, in the order of the scores; and, where the
            docstore hands out what it holds, the record that they were made of.
        keys: Of the chunks that can be found.
        scorer: A bm25s.BM25; None where there is nothing to find.
    """

    records: Mapping[str, tuple[Any, list[str] | None]]
    keys: tuple[str, ...] = ()
    scorer: Any = None


class InMemoryLexicalSearch:
    """Searches the chunks of a docstore by their words.

    The index is made by the first search, and made anew by a search that finds other chunks in
    the docstore than those that it was made of. A chunk whose text changes is another chunk;
    where only its headings change, an `InMemoryStore` shows it, and of another docstore it is
    noticed when chunks come or go.

    Args:
        docstore: The docstore.
        language: Of the texts; see `langchain_rag.lexical.Analysis`.

    Raises:
        ConfigurationError: bm25s is not installed, or there is no stemmer for the language.
    """

    def __init__(self, docstore: BaseStore[str, Document], language: str = "english") -> None:
        self._docstore = docstore
        self._analysis = Analysis(language)
        self._bm25s = _bm25s()
        self._indexes: dict[str, _Index] = {}
        self._lock = Lock()

    def lexical_search(self, query: str, k: int, *, prefix: str) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best; see `LexicalSearch`."""
        return run(self._search(query, k, prefix))

    async def alexical_search(
        self, query: str, k: int, *, prefix: str
    ) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best; see `LexicalSearch`."""
        return await arun(self._search(query, k, prefix))

    def _search(self, query: str, k: int, prefix: str) -> Flow[list[tuple[str, float]]]:
        if k <= 0:
            return []
        old = self._indexes.get(prefix, _Index({}))
        there = yield from self._listed(prefix)
        if _differ(old, there):
            index: _Index = yield from call(
                self._made, self._amade, old, there, (yield from self._read(there))
            )
            with self._lock:
                self._indexes[prefix] = index
        else:
            index = old
        return self._best(index, query, k)

    def _listed(self, prefix: str) -> Flow[dict[str, Any]]:
        """Return the keys that are there, with the records where that costs nothing."""
        docstore = self._docstore
        if isinstance(docstore, InMemoryBaseStore):
            # A copy is made in one step, whatever other threads write.
            held = cast("dict[str, Any]", dict(docstore.store))
            return {key: value for key, value in held.items() if key.startswith(prefix)}
        return dict.fromkeys((yield from keys_of(docstore, prefix)))

    def _read(self, there: Mapping[str, Any]) -> Flow[dict[str, Document]]:
        """Read all that the docstore has not shown: its headings may be others."""
        found = {key: value for key, value in there.items() if value is not None}
        missing = [key for key in there if key not in found]
        for keys in batched(missing, _AT_ONCE):
            read = yield from call(self._docstore.mget, self._docstore.amget, keys)
            found.update(
                (key, value) for key, value in zip(keys, read, strict=True) if value is not None
            )
        return found

    def _made(
        self, old: _Index, there: Mapping[str, Any], read: Mapping[str, Document]
    ) -> _Index:
        records: dict[str, tuple[Any, list[str] | None]] = {}
        for key in sorted(there):
            known = old.records.get(key)
            if known is not None and there[key] is not None and known[0] is there[key]:
                records[key] = known
            elif key in read:
                said = text_of(read[key])
                terms = None if said is None else self._analysis.terms(said)
                records[key] = there[key], terms
        found = {key: terms for key, (_, terms) in records.items() if terms is not None}
        if not any(found.values()):
            return _Index(records)
        scorer = self._bm25s.BM25(method="lucene", k1=K1, b=B)
        scorer.index(list(found.values()), show_progress=False)
        return _Index(records, tuple(found), scorer)

    async def _amade(
        self, old: _Index, there: Mapping[str, Any], read: Mapping[str, Document]
    ) -> _Index:
        return await run_in_executor(None, self._made, old, there, read)

    def _best(self, index: _Index, query: str, k: int) -> list[tuple[str, float]]:
        terms = self._analysis.terms(query)
        if index.scorer is None or not index.scorer.get_tokens_ids(terms):
            return []
        scores: Any = index.scorer.get_scores(terms)
        least = 0.0 if len(scores) <= k else float(np.partition(scores, -k)[-k])
        places = np.flatnonzero((scores >= least) & (scores > 0))
        pairs = [(index.keys[place], float(scores[place])) for place in places]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def _differ(index: _Index, there: Mapping[str, Any]) -> bool:
    if len(there) != len(index.records):
        return True
    return any(
        key not in index.records or index.records[key][0] is not value
        for key, value in there.items()
    )


def lexical_search_of(
    docstore: BaseStore[str, Document], language: str = "english"
) -> LexicalSearch:
    """Return what searches a docstore by words.

    Args:
        docstore: One that does it itself, such as a `SQLDocStore` with `full_text`; of any
            other, an index is kept in memory.
        language: Of the texts, for an index in memory.

    Raises:
        ConfigurationError: The docstore could do it and was not told to, or bm25s is not
            installed.
    """
    if isinstance(docstore, LexicalSearch):
        if getattr(docstore, "full_text", True) is None:
            message = (
                "The docstore keeps no full-text index: make it with full_text='english', as "
                "in SQLDocStore(engine, full_text='english') or "
                "RAGVectorStore.from_vs_in_sql(..., full_text='english'). It indexes what is "
                "there already."
            )
            raise ConfigurationError(message)
        return docstore
    return InMemoryLexicalSearch(docstore, language)


def _bm25s() -> Any:
    try:
        return import_module("bm25s")
    except ImportError as error:
        message = (
            "Searching this docstore by words takes bm25s: pip install "
            "'langchain-rag[lexical]'; or keep the chunks in a SQLDocStore with full_text, "
            "which has an index of its own."
        )
        raise ConfigurationError(message) from error
