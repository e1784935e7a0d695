"""How the conformance suite opens a store, runs a body over it, and looks what is left."""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from langchain_core.vectorstores import VectorStore

from langchain_rag.testing.bench import Bench
from langchain_rag.testing.capabilities import translated_filter
from langchain_rag.testing.drivers import DRIVERS, Driver
from langchain_rag.testing.fakes import CountingEmbeddings

__all__ = ["SIZE", "OverStore", "opened", "over_store"]

SIZE: Final = 192
"""Dimensions of the embeddings: enough that the words of the suite do not collide."""


class OverStore:
    """What every part of the suite has: a store to make, and how to filter it.

    Attributes:
        lacks: What the store does not do, by the names of `StoreReport`. The suite finds out
            what a store does, and fails where that is not what is declared here.
    """

    lacks: frozenset[str] = frozenset()

    def make_store(self, embeddings: CountingEmbeddings) -> Any:
        """Make an empty store.

        Args:
            embeddings: What it has to embed with.

        Returns:
            The store. A generator, synchronous or not, that yields the store may clear up
            after the `yield`; a coroutine may return it.
        """
        raise NotImplementedError

    def filter_for(self, store: VectorStore, key: str, value: Any) -> dict[str, Any] | None:
        """Return the arguments of a search for rows whose metadata has a value.

        Args:
            store: The store.
            key: Metadata key.
            value: What it must be equal to.

        Returns:
            Search arguments, None where there is no filter.
        """
        return translated_filter(store)(key, value)

    @pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
    def driver(self, request: pytest.FixtureRequest) -> Driver:
        """Runs a test with synchronous methods and with asynchronous ones."""
        driver: Driver = request.param
        return driver


def over_store(body: Callable[[Any, Bench], Awaitable[None]]) -> Callable[[Any, Driver], None]:
    """Make a test of a body that is given a fresh store.

    The store is made, used and cleared up in one event loop. Afterwards everything in it must
    be what the manifests name, whatever the body did.

    Args:
        body: A method of the suite, given a bench.

    Returns:
        A test method, which runs sync and async.
    """

    async def over_a_fresh_store(suite: OverStore, driver: Driver) -> None:
        embeddings = CountingEmbeddings(SIZE)
        async with opened(suite.make_store(embeddings)) as store:
            bench = Bench(store, embeddings, driver)
            await body(suite, bench)
            assert await bench.problems() == []

    def test(self: OverStore, driver: Driver) -> None:
        asyncio.run(over_a_fresh_store(self, driver))

    # Not functools.wraps: pytest would take the body's arguments for fixtures.
    test.__name__, test.__doc__ = body.__name__, body.__doc__
    return test


@asynccontextmanager
async def opened(made: Any) -> AsyncGenerator[VectorStore]:
    """Take a store out of whatever `make_store` returned, and clear up afterwards.

    Args:
        made: A store, a coroutine that returns one, or a generator, synchronous or not, that
            yields one.

    Yields:
        The store.
    """
    store: Any
    if inspect.isgenerator(made):
        store = next(made)
        try:
            yield store
        finally:
            next(made, None)
    elif inspect.isasyncgen(made):
        store = await anext(made)
        try:
            yield store
        finally:
            await anext(made, None)
    else:
        store = await made if inspect.isawaitable(made) else made
        yield store
