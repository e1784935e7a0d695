"""What every embedding cache does; the tests of each inherit it.

A subclass, or its module, has the fixtures `driver` and `make_cache`, which makes a cache of
a namespace on the test's one store.
"""

import asyncio
import logging
import math
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from langchain_rag.caches import cache as caches_cache
from langchain_rag.embedding_cache import EmbeddingCache

MODEL, OTHER = "OpenAIEmbeddings small 0123", "Größer"
EXACT = [0.1, -0.0, 0.0, 5e-324, -1.7976931348623157e308, 1 / 3, 1e-45, 3.4028234663852886e38]

# What is left of two vectors of each model (m, M of one, o, O of the other), the capital ones
# written a day later, at the time of the purge two days and one day old.
PURGES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"model": MODEL}, "oO"),
    ({"model": MODEL[:-1]}, "mMoO"),
    ({"model": ""}, "mMoO"),
    ({"model": "%"}, "mMoO"),
    ({"model": "\0"}, "mMoO"),
    ({"model": "\ud800"}, "mMoO"),
    ({"older_than": timedelta(days=1, hours=1)}, "MO"),
    ({"older_than": timedelta(days=2)}, "mMoO"),  # not older: just as old
    ({"older_than": timedelta(0)}, ""),
    ({"older_than": timedelta.max}, "mMoO"),
    ({"older_than": timedelta(hours=36), "model": OTHER}, "mMO"),
]

UNKEPT: list[Any] = [
    [],
    [math.nan],
    [0.0, math.inf],
    [-math.inf],
    ["x"],
    [None],
    None,
    7,
    "ab",
    b"12345678",
    [10**400],
    [2**53 + 1],
    [[1.0, 2.0]],
    np.array([math.nan]),
    np.array([]),
]


def same(left, right):
    """Equal, the sign of zero included, and all Python floats."""
    if left is None or right is None:
        return left is right
    return [number.hex() for number in left] == [float(number).hex() for number in right]


class EmbeddingCacheBehaviour:
    many = 2500
    """More than a SQL statement takes."""

    @pytest.fixture
    def cache(self, make_cache):
        return make_cache()

    @pytest.fixture
    def clock(self, monkeypatch):
        """The time, in a list that a test changes."""
        clock = [1_800_000_000.0]
        monkeypatch.setattr(caches_cache, "now", lambda: clock[0])
        return clock

    def test_it_is_an_embedding_cache(self, cache):
        assert isinstance(cache, EmbeddingCache)

    async def test_what_was_kept_is_found_in_the_order_asked(self, driver, cache):
        await driver(cache, "mset", MODEL, [("a", EXACT), ("b", [0.5])])
        found = await driver(cache, "mget", MODEL, ["b", "none", "a", "b"])
        wanted = [[0.5], None, EXACT, [0.5]]
        assert all(same(*pair) for pair in zip(found, wanted, strict=True))

    async def test_numbers_of_any_kind_come_back_as_floats(self, driver, cache):
        vectors: dict[str, Any] = {
            "singles": np.array([0.1, -2.5], dtype=np.float32),
            "doubles": np.array([0.1, -2.5]),
            "listed": list(np.array([0.1, -2.5], dtype=np.float32)),
            "tuple": (0.25, -0.0),
            "whole": [3, -127],
        }
        await driver(cache, "mset", MODEL, list(vectors.items()))
        found = await driver(cache, "mget", MODEL, list(vectors))
        assert all(same(*pair) for pair in zip(found, vectors.values(), strict=True))
        assert {type(number) for vector in found for number in vector} == {float}

    async def test_nothing_to_do(self, driver, cache):
        await driver(cache, "mset", MODEL, [])
        assert await driver(cache, "mget", MODEL, []) == []
        assert await driver(cache, "mget", MODEL, ["a"]) == [None]
        assert await driver(cache, "purge") == 0

    async def test_nothing_aliases_what_is_kept(self, driver, cache):
        given = [1.0]
        await driver(cache, "mset", MODEL, [("a", given)])
        given.append(2.0)
        first, second = await driver(cache, "mget", MODEL, ["a", "a"])
        first.clear()
        assert second == [1.0]
        assert await driver(cache, "mget", MODEL, ["a"]) == [[1.0]]

    async def test_model_and_text_tell_vectors_apart(self, driver, cache):
        pairs = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), (OTHER, "c")]
        for number, (model, text) in enumerate(pairs):
            await driver(cache, "mset", model, [(text, [float(number)])])
        for number, (model, text) in enumerate(pairs):
            assert await driver(cache, "mget", model, [text]) == [[float(number)]]

    async def test_a_text_may_be_any_text(self, driver, cache):
        texts = ["", "../..", "\0", "\ud800", "\U0001f600" * 3000, "a\r\n", "A" * 64]
        await driver(cache, "mset", MODEL, [(text, [float(len(text))]) for text in texts])
        found = await driver(cache, "mget", MODEL, texts)
        assert found == [[float(len(text))] for text in texts]

    async def test_the_last_vector_stays(self, driver, cache, clock):
        await driver(cache, "mset", MODEL, [("a", [1.0, 2.0, 3.0])])
        before = await driver(cache, "stats")
        clock[0] += 60
        await driver(cache, "mset", MODEL, [("a", [4.0]), ("a", [5.0])])
        assert await driver(cache, "mget", MODEL, ["a"]) == [[5.0]]
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.by_model) == (1, {MODEL: 1})
        assert stats.size == before.size - 8
        assert stats.oldest == stats.newest == datetime.fromtimestamp(clock[0], UTC)

    async def test_what_cannot_be_kept_keeps_nothing_else_out(self, driver, cache, caplog):
        for number, bad in enumerate(UNKEPT):
            good, pair = f"good {number}", [("bad", bad), ("too", bad)]
            with caplog.at_level(logging.WARNING, "langchain_rag"):
                await driver(cache, "mset", MODEL, [pair[0], (good, [1.0]), pair[1]])
                await driver(cache, "mset", MODEL, pair[:1])
            found = await driver(cache, "mget", MODEL, ["bad", good, "too"])
            assert found == [None, [1.0], None], bad
            first, second = [record.getMessage() for record in caplog.records]
            assert first.startswith(f"2 of 3 vectors of '{MODEL}' are not cached"), bad
            assert second.startswith("1 of 1 vectors"), bad
            caplog.clear()

    async def test_a_model_that_no_store_takes(self, driver, cache, caplog):
        for bad in ["a\0b", "\ud800", "x" * 70_000]:
            await driver(cache, "mset", bad, [("a", [1.0])])
            assert await driver(cache, "mget", bad, ["a"]) == [None]
            [record] = caplog.records
            assert "identity" in record.getMessage()
            assert len(record.getMessage()) < 400
            assert "\0" not in caplog.text
            caplog.clear()

    async def filled(self, driver, cache, clock):
        """A vector of each of two models, and a day later another one."""
        for text in ("first", "second"):
            for model in (MODEL, OTHER):
                await driver(cache, "mset", model, [(text, [1.0, 2.0])])
            clock[0] += timedelta(days=1).total_seconds()

    async def left(self, driver, cache):
        found = []
        for model in (MODEL, OTHER):
            found += await driver(cache, "mget", model, ["first", "second"])
        return [name for name, one in zip("mMoO", found, strict=True) if one]

    async def test_purging(self, driver, make_cache, clock):
        for number, (conditions, left) in enumerate(PURGES):
            cache = make_cache(f"purge {number}")
            await self.filled(driver, cache, clock)
            assert await driver(cache, "purge", **conditions) == 4 - len(left), conditions
            assert await self.left(driver, cache) == list(left), conditions
            assert (await driver(cache, "stats")).entries == len(left)

    async def test_a_negative_age_is_a_mistake(self, driver, cache, clock):
        await self.filled(driver, cache, clock)
        with pytest.raises(ValueError, match="older_than is -1 day"):
            await driver(cache, "purge", older_than=timedelta(days=-1))
        assert await self.left(driver, cache) == list("mMoO")

    async def test_statistics(self, driver, make_cache, clock):
        cache = make_cache()
        empty = await driver(cache, "stats")
        assert (empty.entries, empty.size, empty.by_model) == (0, 0, {})
        assert (empty.oldest, empty.newest, empty.hits, empty.misses) == (None, None, 0, 0)
        assert str(empty) == "0 vectors, 0 bytes\n0 hits and 0 misses"
        first = datetime.fromtimestamp(clock[0], UTC)
        await self.filled(driver, cache, clock)
        await driver(cache, "mget", MODEL, ["first", "first", "none"])
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.by_model) == (4, {MODEL: 2, OTHER: 2})
        assert 4 * 8 < stats.size < 4 * 100
        assert (stats.oldest, stats.newest) == (first, first + timedelta(days=1))
        assert (stats.hits, stats.misses) == (2, 1)
        assert str(stats) == (
            f"4 vectors, {stats.size} bytes\n- Größer: 2\n- OpenAIEmbeddings small 0123: 2\n"
            "written 2027-01-15 08:00 to 2027-01-16 08:00\n2 hits and 1 misses (67 % hits)"
        )
        # Hits and misses are the object's own, the rest is the store's.
        other = await driver(make_cache(), "stats")
        assert (other.hits, other.misses, other.entries) == (0, 0, 4)

    async def test_namespaces_share_nothing(self, driver, make_cache):
        names = ["", "one", "one/two", "Gauß: 'x'", "embeddings"]
        caches = [make_cache(name) for name in names]
        for number, cache in enumerate(caches):
            await driver(cache, "mset", MODEL, [("a", [float(number)])])
        for number, cache in enumerate(caches):
            assert await driver(cache, "mget", MODEL, ["a"]) == [[float(number)]]
            assert (await driver(cache, "stats")).entries == 1
        assert await driver(caches[0], "purge", model=MODEL) == 1
        assert await driver(caches[1], "purge") == 1
        found = [await driver(cache, "mget", MODEL, ["a"]) for cache in caches]
        assert found == [[None], [None], [[2.0]], [[3.0]], [[4.0]]]

    async def test_many_in_one_call(self, driver, cache):
        pairs = [(str(n), [float(n)]) for n in range(self.many)]
        await driver(cache, "mset", MODEL, pairs)
        texts = [text for text, _ in reversed(pairs)]
        found = await driver(cache, "mget", MODEL, ["none", *texts])
        assert found == [None, *(vector for _, vector in reversed(pairs))]
        assert (await driver(cache, "stats")).entries == self.many
        assert await driver(cache, "purge", model=MODEL) == self.many

    # The clock stands, so that all values are as long: a store that writes in place, as
    # LocalFileStore does, would else now and then end with a mixture, which is a miss.
    async def test_many_write_and_read_at_a_time(self, driver, cache, clock):
        texts, start = ["a", "b", "c"], threading.Barrier(6)
        whole = [None, *([float(writer)] * 500 for writer in range(6))]

        async def work(writer):
            for turn in range(5):
                order = texts if (writer + turn) % 2 else texts[::-1]  # in a ring, if it could
                pairs = [(text, whole[writer + 1]) for text in order]
                await driver(cache, "mset", MODEL, pairs)
                for found in await driver(cache, "mget", MODEL, texts):
                    assert found in whole

        if driver.name == "async":
            await asyncio.gather(*(work(writer) for writer in range(6)))
        else:
            errors = []

            def in_thread(writer):
                try:
                    start.wait()
                    asyncio.run(work(writer))
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=in_thread, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert errors == []
        stats = await driver(cache, "stats")
        assert (stats.entries, stats.hits + stats.misses) == (3, 6 * 5 * 3)
        assert None not in await driver(cache, "mget", MODEL, texts)
