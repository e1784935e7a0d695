"""Words and vectors, fused by rank."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import override

from langchain_rag._flow import Flow, gather
from langchain_rag.errors import ConfigurationError
from langchain_rag.retrievers._words import WordsRetriever, dense_hits, lexical_hits
from langchain_rag.retrievers.filters import directive_of
from langchain_rag.search.engine import Hit
from langchain_rag.search.options import wanted_of
from langchain_rag.search.results import answers

logger = logging.getLogger(__name__)

Side: TypeAlias = "list[Hit[float]] | Exception"
Weight = Annotated[float, Field(ge=0)]

_FETCHED: Final = 20
"""Chunks that each side finds at least, so that what both find a little can come first."""


class HybridRetriever(WordsRetriever):
    """Finds chunks by their words and by their variations' vectors, and fuses both by rank.

    Reciprocal rank fusion (Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms
    Condorcet and individual Rank Learning Methods", 2009): a chunk gets `weight / (c + rank)`
    from each side that finds it. Both sides run at the same time. Where one fails, the other
    answers, with a warning in the log; where both fail, that is an error.

    The side of the words is `LexicalRetriever`'s, and needs what that needs. With
    `match_details`, a chunk's kind and text are those of the side that ranks it higher, its
    score is the fused one, and its rank that of the fused list.

    Attributes:
        weights: Of the vectors, and of the words.
        c: How little the first ranks count more than those after them.
        fetch_k: Chunks that each side finds; by default 4 times `k`, at least 20.
        fallback: Not needed here, since one side answers where the other fails.
    """

    fallback: bool = False
    weights: tuple[Weight, Weight] = (0.5, 0.5)
    c: float = Field(default=60, ge=0)
    fetch_k: int | None = Field(default=None, ge=1)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        if not any(self.weights):
            message = "weights are (0, 0), so that nothing could be found: give one above 0."
            raise ConfigurationError(message)

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        queries = self._queries
        wanted, rest = wanted_of(options)
        directive = directive_of(rest.pop("filter", None))
        fetched = max(k, self.fetch_k or max(4 * k, _FETCHED))
        by_words = lexical_hits(
            queries,
            self._search,
            query,
            fetched,
            wanted=wanted,
            directive=directive,
            # The search for words runs in a thread of its own, that by vectors in the caller's.
            mode="counted" if queries.lifecycle.stores.any_thread else "plain",
        )
        by_vectors = dense_hits(queries, query, fetched, options, directive)
        # The words come first, so that their thread starts before the vectors keep this one
        # busy. Neither side is given up when the other fails: the first of a group never is,
        # and the vectors ask for nothing that is counted.
        words, vectors = yield from gather([by_words, by_vectors])
        fused = fuse(
            _sound([vectors, words]), self.weights, self.c, by_document=wanted.return_documents
        )
        found = yield from answers(queries.lifecycle, _ordered(fused)[:k], wanted)
        return [document for document, _ in found]


def fuse(
    sides: Sequence[Sequence[Hit[float]]],
    weights: Sequence[float],
    c: float,
    *,
    by_document: bool = False,
) -> list[Hit[float]]:
    """Fuse lists of chunks by rank.

    Args:
        sides: Lists, best first; no chunk twice in one of them.
        weights: Of each list.
        c: How little the first ranks count more than those after them.
        by_document: Whether documents are fused, of which each list has one chunk.

    Returns:
        One hit for each chunk, that of the list which gives it most, with its sum.
    """
    sums: dict[str, float] = {}
    best: dict[str, tuple[float, Hit[float]]] = {}
    for hits, weight in zip(sides, weights, strict=True):
        if not weight:
            continue
        for rank, hit in enumerate(hits, start=1):
            key = hit.chunk.document_id if by_document else hit.chunk.key
            part = weight / (c + rank)
            sums[key] = sums.get(key, 0.0) + part
            if key not in best or part > best[key][0]:
                best[key] = part, hit
    return [
        Hit(hit.chunk, hit.variation, sums[key], hit.rank) for key, (_, hit) in best.items()
    ]


def _ordered(fused: list[Hit[float]]) -> list[Hit[float]]:
    # Sorting keeps the order of equals: the vectors' before the words'.
    ordered = sorted(fused, key=lambda hit: -hit.value)
    return [
        Hit(hit.chunk, hit.variation, hit.value, rank)
        for rank, hit in enumerate(ordered, start=1)
    ]


def _sound(sides: Sequence[Side]) -> list[list[Hit[float]]]:
    failed = [side for side in sides if isinstance(side, Exception)]
    for error in failed:
        if isinstance(error, ConfigurationError | TypeError):  # which would fail again
            raise error
    if len(failed) == len(sides):
        raise failed[0]
    for name, side in zip(("vectors", "words"), sides, strict=True):
        if isinstance(side, Exception):
            logger.warning(
                "The search by %s failed (%s: %s); the other half of the hybrid answers.",
                name,
                type(side).__name__,
                side,
            )
    return [[] if isinstance(side, Exception) else side for side in sides]
