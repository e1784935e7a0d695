"""Chunks that are near a query and new."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag.retrievers._base import RAGRetriever


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class TimeWeightedRetriever(RAGRetriever):
    """Orders chunks by their relevance plus their recency.

    Recency is (1 - `decay_rate`) to the power of the hours since the time that a chunk's
    metadata names, as in LangChain's `TimeWeightedVectorStoreRetriever`. That one keeps every
    document in memory, and notes each access; this one reads the time from the chunk, so that
    it needs no memory, and a document that is imported again is new again.

    Attributes:
        timestamp_key: Metadata key of the time: a `datetime`, a `date`, ISO 8601 text, or
            seconds since 1970; UTC where no zone is given. A chunk without one has no recency.
        decay_rate: Share of its recency that a chunk loses in an hour, from 0 to 1.
        fetch_k: Chunks to choose among; by default five times `k`, at least 20.
        now: Returns the present time; the local one where it has no zone.
    """

    timestamp_key: str = "updated_at"
    decay_rate: float = Field(default=0.01, ge=0, le=1)
    fetch_k: int | None = Field(default=None, ge=1)
    now: Callable[[], dt.datetime] = _now

    @override
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        number = max(k, self.fetch_k or max(20, 5 * k))
        found = yield from self._queries.relevant(query, number, options)
        now = self.now().astimezone(dt.UTC)
        weighed = [(score + self._recency(one, now), one) for one, score in found]
        # Python's sort keeps the more relevant first where the sums are the same.
        weighed.sort(key=lambda pair: -pair[0])
        return [document for _, document in weighed[:k]]

    def _recency(self, document: Document, now: dt.datetime) -> float:
        moment = moment_of(document.metadata.get(self.timestamp_key))
        if moment is None:
            return 0.0
        hours = max(0.0, (now - moment).total_seconds() / 3600)
        return float((1.0 - self.decay_rate) ** hours)


def moment_of(value: object) -> dt.datetime | None:
    """Read a time.

    Args:
        value: A `datetime`, a `date`, ISO 8601 text, or seconds since 1970.

    Returns:
        The time with its zone; None for anything else.

    Example:
        >>> moment_of("2026-11-30")
        datetime.datetime(2026, 11, 30, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return dt.datetime.fromtimestamp(value, dt.UTC)
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value)
    except (OSError, OverflowError, ValueError):
        return None
    if isinstance(value, dt.datetime):
        return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    return None
