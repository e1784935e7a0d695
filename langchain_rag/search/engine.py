"""The search itself: ask the wrapped store, collapse, read the chunks, widen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from langchain_core.documents import Document

from langchain_rag._flow import Flow
from langchain_rag._reserved import CHUNK, DOCUMENT
from langchain_rag.lifecycle.records import ChunkRecord
from langchain_rag.lifecycle.repository import Corrupt
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.collapse import (
    MAX_FIRST_FAN_OUT,
    Found,
    by_rank_sum,
    first_ask,
    first_hits,
    next_ask,
    ours,
)

logger = logging.getLogger(__name__)

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Hit(Generic[V]):
    """A chunk that was found.

    Attributes:
        chunk: The chunk.
        variation: What found it, as the wrapped store gave it: not to be handed out.
        value: What belongs to it; its score, where there is one.
        rank: Its place among the variations that were found, from 1.
    """

    chunk: ChunkRecord
    variation: Document
    value: V
    rank: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How to make chunks of hits.

    Attributes:
        allowed: Says which variations count, where the store could not be told.
        by_document: Whether at most one chunk of each document is wanted.
        candidates: Chunks among which all hits are weighed by their ranks; 0 to go by the
            best hit of each chunk.
    """

    allowed: Callable[[Document], bool] | None = None
    by_document: bool = False
    candidates: int = 0


PLAIN = Plan()
"""The best hit of each chunk."""


class SearchEngine:
    """Finds distinct chunks through their variations.

    Args:
        lifecycle: Whose chunks are searched.

    Attributes:
        dropped: How many hits so far stood for a chunk that is not in the docstore, or is
            damaged there. A change that is going on leaves a few for a moment; if the number
            keeps growing, the two stores have drifted apart: verify() says how.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self.dropped = 0

    def search(
        self,
        fetch: Callable[[int], Flow[Sequence[tuple[Document, V]]]],
        k: int,
        plan: Plan = PLAIN,
    ) -> Flow[list[Hit[V]]]:
        """Find the k best chunks.

        Args:
            fetch: Asks the wrapped store for a number of hits, best first. It is called
                again with a larger number where many hits stand for one chunk.
            k: Distinct chunks wanted; none for 0 or less.
            plan: How to make chunks of hits.

        Returns:
            Chunks, best first, each with its first hit. Fewer than k only where no more exist.
        """
        if k <= 0:
            return []
        known = _Known()
        collapse = by_rank_sum if plan.candidates else first_hits
        most = max(k, plan.candidates)
        # What is found by sums must not depend on what this process has seen before.
        fan_out = MAX_FIRST_FAN_OUT if plan.candidates else self._lifecycle.fan_out
        asked = first_ask(most, fan_out)
        received = -1
        while True:
            hits = yield from fetch(asked)
            best = collapse(hits, plan.allowed)
            found = yield from self._resolve(best, known, k, plan)
            # A store that gives no more than it did before has no more, whatever it is asked.
            exhausted = len(hits) < asked or len(hits) <= received
            if len(found) >= k or exhausted:
                return found
            received = len(hits)
            asked = next_ask(asked, most, self._lifecycle.fan_out)

    def every(
        self, rows: Sequence[tuple[Document, V]], plan: Plan = PLAIN
    ) -> Flow[list[Hit[V]]]:
        """Find the chunk of each hit.

        Args:
            rows: Hits of the wrapped store, best first.
            plan: Says which of them count.

        Returns:
            All hits whose chunk is there, several of one chunk where it has them.
        """
        kept = list(ours(rows, plan.allowed))
        keys = list(dict.fromkeys(row.metadata[CHUNK] for row, _ in kept))
        chunks = yield from self.chunks(keys)
        return [
            Hit(chunks[key], row, value, rank)
            for rank, (row, value) in enumerate(kept, start=1)
            if (key := row.metadata[CHUNK]) in chunks
        ]

    def _resolve(
        self, best: dict[str, Found[V]], known: _Known, k: int, plan: Plan
    ) -> Flow[list[Hit[V]]]:
        """Read the chunks of the best hits, no more of them than needed."""
        chunks = known.chunks
        while True:
            chosen = _chosen(best, known, k, plan)
            unread = [key for key in chosen if key not in chunks]
            if unread:
                # A second turn only where the first met chunks that are gone.
                found = yield from self.chunks(unread)
                chunks |= {key: found.get(key) for key in unread}
                continue
            hits = [
                Hit(chunk, best[key].row, best[key].value, best[key].rank)
                for key in chosen
                if (chunk := chunks[key]) is not None
            ]
            unsure = [hit.chunk.document_id for hit in hits] if plan.by_document else []
            unsure = [id_ for id_ in unsure if id_ not in known.documents]
            if not unsure:
                return hits
            # Chunks of a document are there before it is, and still there when it has gone.
            there = yield from self._lifecycle.records.manifests(unsure)
            known.documents.update((id_, id_ in there) for id_ in unsure)

    def chunks(self, keys: Sequence[str]) -> Flow[dict[str, ChunkRecord]]:
        """Read chunks; one that is not there, or damaged, is left out and counted.

        Args:
            keys: Chunk keys.

        Returns:
            The chunks by key.
        """
        damaged = Corrupt()
        chunks = yield from self._lifecycle.records.chunks(keys, damaged)
        if len(chunks) < len(keys):
            self._drop([key for key in keys if key not in chunks], damaged)
        for chunk in chunks.values():
            self._lifecycle.fan_out = max(self._lifecycle.fan_out, chunk.fan_out)
        return chunks

    def _drop(self, keys: Sequence[str], damaged: Corrupt) -> None:
        """Count hits without a chunk, and log why they have none."""
        self.dropped += len(keys)
        for key in keys:
            problem = damaged.get(self._lifecycle.keys.chunk(key))
            if problem is None:
                logger.debug("A hit stands for chunk %r, which is not in the docstore.", key)
            else:
                # One damaged chunk must not make a search fail that finds others.
                # get_by_ids() raises this error, and verify() reports it.
                logger.error("A hit was left out: %s", problem)


@dataclass(frozen=True, slots=True)
class _Known:
    """What a search has read.

    Attributes:
        chunks: Chunks by key, None for one that is not there.
        documents: Whether a document is there, by its id.
    """

    chunks: dict[str, ChunkRecord | None] = field(default_factory=dict[str, ChunkRecord | None])
    documents: dict[str, bool] = field(default_factory=dict[str, bool])


def _chosen(best: dict[str, Found[V]], known: _Known, k: int, plan: Plan) -> list[str]:
    """Return the keys of the best k chunks that are there, as far as is known."""
    chosen: list[str] = []
    seen: set[str] = set()
    for key, hit in best.items():
        if len(chosen) == k:
            break
        if key in known.chunks and known.chunks[key] is None:
            continue
        if plan.by_document:
            document = str(hit.row.metadata.get(DOCUMENT))
            if document in seen or not known.documents.get(document, True):
                continue
            seen.add(document)
        chosen.append(key)
    return chosen
