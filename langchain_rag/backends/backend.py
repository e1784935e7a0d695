"""What there is to know about a vector store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor

from langchain_rag.errors import RAGError

MAX_ROWS: Final = 5_000
"""Rows in one call: below Chroma's limit of 5,461, the lowest of the stores we know."""

Row: TypeAlias = tuple[str, dict[str, Any]]
"""Id and metadata of a row of the wrapped store."""

Scored: TypeAlias = list[tuple[Document, float]]

Narrowing: TypeAlias = Callable[
    [Mapping[str, Any], Mapping[str, Sequence[str]]], dict[str, Any]
]
"""From search arguments, and the values allowed under metadata keys, to search arguments."""


@dataclass(frozen=True, slots=True)
class DenseStore:
    """A store that searches by nothing but a vector.

    LangChain has a search by vector, but none by vector that gives scores under one name. A
    store that has one, and searches by nothing but the vector, can be asked again without
    embedding the query again. Any other store is asked by text: it may do more with a text
    than embed it (sparse vectors, a hybrid mode).

    Attributes:
        scored: Its search by vector with scores.
        relevance: Returns the function that turns such a score into a relevance between 0
            and 1.
        native: Its asynchronous search by vector with scores, None where it has none.
    """

    scored: Callable[..., Scored]
    relevance: Callable[[], Callable[[float], float]]
    native: Callable[..., Awaitable[Scored]] | None = None

    @property
    def ascored(self) -> Callable[..., Awaitable[Scored]]:
        """The asynchronous twin of `scored`; in LangChain's executor where there is none."""
        return self.native or partial(run_in_executor, None, self.scored)


@dataclass(frozen=True, slots=True)
class Backend:
    """What is known of a store. The defaults are for one that is not in the table.

    Attributes:
        name: Dotted name of the class in the table; that of the store itself where it is
            not in the table.
        max_rows: Rows in one call that adds, deletes or gets.
        max_hits: Hits that one search may ask for, None where there is no limit.
        replaces: Whether a row that is added under an id that is there takes its place.
            Where not, the row has to be deleted first, and for a moment is not there.
        refusal: Returns the error that says why the store cannot be wrapped as it is, None
            where it can.
        exists: Says whether the collection is there yet, for stores that cannot search or
            delete before the first row is added. None for all others.
        fitted: Turns rows into such as the store's collection takes. None for stores that
            take any flat metadata.
        relabel: Gives rows other metadata without embedding their texts again, and returns
            the ids of those that were there with the same text. None for stores that can only
            be given the whole row.
        narrow: Returns search arguments by which, beside what the given ones filter on, the
            text under each key of a row's metadata has to be one of some values. None for
            stores whose filters we do not know: there, hits are looked at one by one. The
            caller's arguments are not changed; a filter in them may be in any form that the
            store takes.
        vectors: Reads the vectors of rows by id, as far as they are there. None for stores
            that do not give them out.
        filtering: Search arguments to add where a filter is given.
        filtered_from: Returns how many hits a search with a filter has to fetch to miss
            none, for stores that filter what they have fetched. None for all others.
        dense: How to search it by vector, None where it must be asked by text.
        rows: Lists the id and the metadata of every row, a page at a time; None where the
            store cannot list.
        arows: The asynchronous twin, for stores whose synchronous half does not work in an
            event loop; None where `rows` in LangChain's executor serves.
    """

    name: str
    max_rows: int = MAX_ROWS
    max_hits: int | None = None
    replaces: bool = True
    refusal: Callable[[], RAGError | None] | None = None
    exists: Callable[[], bool] | None = None
    fitted: Callable[[Sequence[Document]], list[Document]] | None = None
    relabel: Callable[[Sequence[Document]], set[str]] | None = None
    narrow: (
        Callable[[Mapping[str, Any], Mapping[str, Sequence[str]]], dict[str, Any]] | None
    ) = None
    vectors: Callable[[Sequence[str]], dict[str, Sequence[float]]] | None = None
    filtering: Mapping[str, Any] = field(default_factory=dict[str, Any])
    filtered_from: Callable[[], int] | None = None
    dense: DenseStore | None = None
    rows: Callable[[], Iterator[Row]] | None = None
    arows: Callable[[], AsyncIterator[Row]] | None = None
