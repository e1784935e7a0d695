"""A test suite for vector stores: whether a `RAGVectorStore` keeps its promises over yours.

It needs pytest, and nothing else that your tests may not have. Inherit from it, make your
store, and pytest runs everything with synchronous methods and with asynchronous ones::

    from langchain_rag.testing.conformance import VectorStoreConformance


    class TestMyStore(VectorStoreConformance):
        lacks = frozenset({"get_by_ids"})  # declared, or the suite fails

        def make_store(self, embeddings):
            store = MyStore(embeddings, collection="test")
            yield store
            store.drop()

What your store needs that LangChain's interface does not say (how many rows it takes in a
call, how its rows can be listed) goes into `langchain_rag.backends.register_backend`.
"""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

import asyncio
import sys
from typing import Final

import pytest

_PARTS: Final = [
    f"langchain_rag.testing._{name}"
    for name in (
        "conforming_failures",
        "conforming_searches",
        "conforming_writes",
        "over_store",
    )
]
# So that a failure shows values; before the modules are imported, where nobody has yet.
pytest.register_assert_rewrite(*(name for name in _PARTS if name not in sys.modules))

# ruff: noqa: E402
from langchain_rag.testing._conforming_failures import ConformingFailures
from langchain_rag.testing._conforming_searches import ConformingSearches
from langchain_rag.testing._conforming_writes import ConformingWrites
from langchain_rag.testing._over_store import SIZE, OverStore, opened
from langchain_rag.testing.capabilities import StoreReport, probe
from langchain_rag.testing.fakes import CountingEmbeddings

__all__ = ["VectorStoreConformance", "report_on"]


class VectorStoreConformance(ConformingWrites, ConformingSearches, ConformingFailures):
    """Inherit from it as `Test...`, and override `make_store`.

    Attributes:
        lacks: What the store does not do, by the names of `StoreReport`.
    """

    def test_what_it_does_is_what_is_declared(self) -> None:
        """What a store lacks is declared, and what is declared is lacking."""
        report = self.report()
        assert report.refused is None
        assert report.missing == self.lacks

    def report(self, name: str = "") -> StoreReport:
        """Find out what the store does.

        Args:
            name: What to call it; the name of its class by default.

        Returns:
            The report.
        """
        return asyncio.run(report_on(self, name))


async def report_on(suite: OverStore, name: str = "") -> StoreReport:
    """Find out what the store of a suite does; see `VectorStoreConformance.report`.

    Args:
        suite: Any part of the suite, with a store to make.
        name: What to call it; the name of its class by default.

    Returns:
        The report.
    """
    embeddings = CountingEmbeddings(SIZE)
    async with opened(suite.make_store(embeddings)) as store:

        def filter_for(key: str, value: object) -> dict[str, object] | None:
            return suite.filter_for(store, key, value)

        return await probe(name or type(store).__name__, store, embeddings, filter_for)
