"""The search itself: ask the wrapped store, collapse, read the chunks, widen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from langchain_core.documents import Document

from langchain_rag._flow import Flow
from langchain_rag.errors import CorruptStoreError
from langchain_rag.lifecycle.write import Lifecycle
from langchain_rag.search.collapse import first_ask, first_hits, next_ask

logger = logging.getLogger(__name__)

V = TypeVar("V")


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
        *,
        choosing: bool = False,
    ) -> Flow[list[tuple[Document, V]]]:
        """Find the k best chunks.

        Args:
            fetch: Asks the wrapped store for a number of hits, best first. It is called
                again with a larger number where many hits stand for one chunk.
            k: Distinct chunks wanted; none for 0 or less.
            choosing: Whether the store chooses hits that go together (MMR), so that more
                hits are another choice, and should be asked for sparingly.

        Returns:
            Chunks, best first, each with what belongs to its first hit. Fewer than k only
            where no more exist.
        """
        if k <= 0:
            return []
        chunks: dict[str, Document | None] = {}
        asked = k if choosing else first_ask(k, self._lifecycle.fan_out)
        received = -1
        while True:
            hits = yield from fetch(asked)
            best = first_hits(hits)
            found = yield from self._resolve(best, chunks, k)
            # A store that gives no more than it did before has no more, whatever it is asked.
            exhausted = len(hits) < asked or len(hits) <= received
            if len(found) >= k or exhausted:
                return found
            received = len(hits)
            asked = asked * 2 if choosing else next_ask(asked, k, self._lifecycle.fan_out)

    def _resolve(
        self, best: dict[str, V], chunks: dict[str, Document | None], k: int
    ) -> Flow[list[tuple[Document, V]]]:
        """Read the chunks of the best hits, no more of them than needed."""
        while True:
            present = [key for key in best if key not in chunks or chunks[key] is not None]
            unread = [key for key in present[:k] if key not in chunks]
            if not unread:
                return [
                    (chunk, value)
                    for key, value in best.items()
                    if (chunk := chunks.get(key)) is not None
                ][:k]
            # A second turn only where the first met chunks that are gone.
            yield from self._read(unread, chunks)

    def _read(self, keys: Sequence[str], chunks: dict[str, Document | None]) -> Flow[None]:
        storage_keys = [self._lifecycle.keys.chunk(key) for key in keys]
        found = yield from self._lifecycle.stores.mget(storage_keys)
        for key, storage_key, value in zip(keys, storage_keys, found, strict=True):
            if value is None:
                self.dropped += 1
                logger.debug("A hit stands for chunk %r, which is not in the docstore.", key)
                chunks[key] = None
                continue
            try:
                record = self._lifecycle.reader.chunk(storage_key, value)
            except CorruptStoreError as error:
                # One damaged chunk must not make a search fail that finds others.
                # get_by_ids() raises this error, and verify() reports it.
                self.dropped += 1
                logger.error("A hit was left out: %s", error)  # noqa: TRY400 - no traceback
                chunks[key] = None
                continue
            self._lifecycle.fan_out = max(self._lifecycle.fan_out, record.fan_out)
            chunks[key] = record.public()
