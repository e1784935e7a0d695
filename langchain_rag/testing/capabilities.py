"""What a vector store does when it is wrapped, found by trying.

Example:
    >>> import asyncio
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from langchain_rag.testing import CountingEmbeddings, probe
    >>> embeddings = CountingEmbeddings()
    >>> store = InMemoryVectorStore(embeddings)
    >>> report = asyncio.run(probe("InMemoryVectorStore", store, embeddings))
    >>> report.missing, report.asynchronous
    (frozenset(), 'native')
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.structured_query import Comparator, Comparison
from langchain_core.vectorstores import VectorStore

from langchain_rag.backends import backend_of
from langchain_rag.errors import NoTranslatorError, RAGError
from langchain_rag.structured_query import translator_for
from langchain_rag.testing.bench import Bench
from langchain_rag.testing.drivers import DRIVERS

if TYPE_CHECKING:
    from langchain_rag.testing.fakes import CountingEmbeddings

__all__ = ["FilterFor", "StoreReport", "probe", "translated_filter"]

FilterFor: TypeAlias = Callable[[str, Any], dict[str, Any] | None]
"""From a metadata key and a value to the search arguments that ask for rows which have it."""

_SYNC: Final = DRIVERS[0]
_TWINS: Final = (
    ("aadd_documents", "aadd_texts"),
    ("adelete",),
    ("asimilarity_search_with_score", "asimilarity_search"),
)


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What a store does when a `RAGVectorStore` wraps it.

    Attributes:
        name: What the store is called.
        refused: Why it cannot be wrapped; the rest is then False.
        filter: Its searches take a filter on metadata, and still find k chunks.
        delete: It deletes rows by id.
        replaces: A row that is added again takes the place of the one before in one step.
        get_by_ids: It returns rows by id.
        lists: Its rows can be listed, so that a check finds those that should not be there.
        relevance: A search with relevances works.
        mmr: A search for chunks that are unlike each other works.
        by_vector: A search by an embedding works.
        embeds_once: A search that has to ask the store again embeds the query once.
        asynchronous: Whether its asynchronous methods are its own, LangChain's executor, or
            some of each.
    """

    name: str
    refused: str | None = None
    filter: bool = False
    delete: bool = False
    replaces: bool = False
    get_by_ids: bool = False
    lists: bool = False
    relevance: bool = False
    mmr: bool = False
    by_vector: bool = False
    embeds_once: bool = False
    asynchronous: Literal["native", "partly", "executor"] = "executor"

    @property
    def missing(self) -> frozenset[str]:
        """The names of what it does not do."""
        return frozenset(
            field.name for field in fields(self) if getattr(self, field.name) is False
        )


def translated_filter(store: VectorStore) -> FilterFor:
    """Return how to filter a store that has a translator of structured queries.

    Args:
        store: A vector store.

    Returns:
        A function that returns None where there is no translator.
    """

    def filter_for(key: str, value: Any) -> dict[str, Any] | None:
        try:
            translator = translator_for(store)
        except NoTranslatorError:
            return None
        return {"filter": translator.visit_comparison(Comparison(Comparator.EQ, key, value))}

    return filter_for


async def probe(
    name: str,
    store: VectorStore,
    embeddings: CountingEmbeddings,
    filter_for: FilterFor | None = None,
) -> StoreReport:
    """Find out what a store does. It is empty before and after.

    Args:
        name: What to call it.
        store: An empty store.
        embeddings: Those that it was made with.
        filter_for: How to filter it; by its translator where there is one.

    Returns:
        The report.
    """
    bench = Bench(store, embeddings, _driver_of(store))
    pages = [Document(f"page {n} on cats", metadata={"page": n}) for n in range(30)]
    ids = [str(n) for n in range(30)]
    try:
        await bench.do("add_documents", pages, ids=ids)
    except RAGError as error:
        return StoreReport(name, refused=str(error))
    filtered = (filter_for or translated_filter(store))("page", 29)
    some_id = min(bench.expected())

    async def filters() -> bool:
        return filtered is not None and await bench.found("cats", **filtered) == [
            "page 29 on cats"
        ]

    async def gets() -> bool:
        return len(await bench.driver(store, "get_by_ids", [some_id])) == 1

    async def finds(method: str, query: Any) -> bool:
        return len(await bench.do(method, query, k=3)) == 3

    async def deletes() -> bool:
        await bench.do("delete", ids)
        return not await bench.problems()

    vector = embeddings.vector("cats")
    backend = backend_of(store)
    return StoreReport(
        name,
        filter=await _works(filters),
        replaces=backend.replaces,
        get_by_ids=await _works(gets),
        lists=backend.rows is not None,
        relevance=await _works(
            lambda: finds("similarity_search_with_relevance_scores", "cats")
        ),
        mmr=await _works(lambda: finds("max_marginal_relevance_search", "cats")),
        by_vector=await _works(lambda: finds("similarity_search_by_vector", vector)),
        embeds_once=await _embeds_once(bench),
        asynchronous=_asynchronous(store),
        delete=await _works(deletes),  # last, since it empties the store
    )


def _driver_of(store: VectorStore) -> Any:
    # Some have no synchronous methods, or none that works as they were made.
    return DRIVERS[1] if _asynchronous(store) == "native" else _SYNC


async def _works(trial: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await trial()
    except NotImplementedError:
        return False


async def _embeds_once(bench: Bench) -> bool:
    """Search in a process that does not know yet how many variations chunks have."""
    bench.rag = bench.start()
    bench.embeddings.queries.clear()
    await bench.do("similarity_search_with_score", "cats", k=12)
    return len(bench.embeddings.queries) == 1


def _asynchronous(store: VectorStore) -> Literal["native", "partly", "executor"]:
    own = [any(_overridden(store, method) for method in methods) for methods in _TWINS]
    if all(own):
        return "native"
    return "partly" if any(own) else "executor"


def _overridden(store: VectorStore, method: str) -> bool:
    return getattr(type(store), method) is not getattr(VectorStore, method)
